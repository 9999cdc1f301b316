"""Verdicts on a mesh's certificates: its root among its peers', and the authority that its istiod signs with. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from pulumi_hosted_mesh.operations.doctor.chain import BrokenChainError, certificates, chain, name_of
from pulumi_hosted_mesh.operations.doctor.observation import TLS_CERTIFICATE, MeshObservation
from pulumi_hosted_mesh.operations.verdict import Verdict
from pulumi_hosted_mesh.spec.federation import Federation, root_certificates
from pulumi_hosted_mesh.spec.trust import Intermediate, Root
from pulumi_hosted_mesh.vocabulary import CACERTS_PRIVATE_KEY, control_plane_namespace_of

SOON = timedelta(days=30)
FILES = ("ca-cert.pem", CACERTS_PRIVATE_KEY, "cert-chain.pem", "root-cert.pem")
TLS_FILES = {"ca-cert.pem": TLS_CERTIFICATE, CACERTS_PRIVATE_KEY: "tls.key", "root-cert.pem": "ca.crt"}
"""Names of a Secret of type kubernetes.io/tls, as cert-manager makes it."""
RENEW = "Run `pulumi up` of the stacks root and control-plane of {mesh}, and see `hosted-mesh status`"
CERT_MANAGER = (
    "See `kubectl describe certificates -n {namespace}` on the control plane: its tool writes the Secret. Then "
)
CERT_MANAGER += "restart istiod of {mesh}"


def roots(
    federation: Federation | None, mesh: str, observed: MeshObservation, soon: timedelta = SOON
) -> Iterator[Verdict]:
    """Checks the root that a mesh's proxies trust: present, within its validity, and the same as the federation's."""
    check = f"root certificate of {mesh}"
    if observed.root is None:
        fix = f"See that --kubeconfig is of a data plane of {mesh}, and that its istiod runs: it writes the ConfigMap. "
        fix += "`hosted-mesh check-webhooks` reports more"
        yield Verdict(check, "missing-root", "its proxies have none", fix)
        return
    try:
        found = certificates(observed.root)
    except ValueError:
        yield Verdict(check, "unreadable-root", "it is no certificate", RENEW.format(mesh=mesh))
        return
    if federation and (different := _differs(federation, mesh, observed.root)):
        yield Verdict(check, "roots-differ", *different)
    else:
        yield _in_time(check, found, observed.now, soon, mesh)


def issuance(mesh: str, observed: MeshObservation) -> Iterator[Verdict]:
    """Checks cert-manager's Certificate of the Secret `cacerts`: ready, and its last request not refused.

    A refused renewal shows here weeks before the end that `authority` sees. The status has no key.
    """
    centre = observed.control_plane
    found = centre.certificate if centre else None
    if centre is None or found is None:
        return
    namespace = control_plane_namespace_of(mesh, centre.tenant)
    check = f"Certificate cacerts in namespace {namespace} of the control plane"
    fix = f"See `kubectl describe certificates,certificaterequests -n {namespace}` on the control plane, and correct "
    fix += f"the issuer. Then `cmctl renew cacerts -n {namespace}`: cert-manager alone waits for an hour or more"
    status = found.get("status") or {}
    conditions = {one.get("type"): one for one in status.get("conditions") or ()}
    ready, issuing = conditions.get("Ready", {}), conditions.get("Issuing", {})
    ends = str(status.get("notAfter") or "").partition("T")[0]
    if ready.get("status") != "True":
        reason = issuing.get("message") or ready.get("message") or "cert-manager has not read it. Does it run?"
        yield Verdict(check, "not-issued", str(reason), fix)
    elif issuing.get("status") == "False":
        seen = f"cert-manager cannot renew it, and it ends on {ends}: {issuing.get('message')}"
        yield Verdict(check, "not-renewed", seen, fix)
    else:
        yield Verdict(check, None, f"ready, until {ends}")


def _differs(federation: Federation, mesh: str, root: str) -> tuple[str, str] | None:
    """Finding and fix if the root of a mesh's proxies is not the document's; else None."""
    if federation.has_bundles:
        given = root_certificates(federation.peer(mesh).root_certificate or "")
        if root_certificates(root) <= given:
            return None
        fix = f"Put it into rootCertificate of {mesh}, beside the old one while both are in use, and run `pulumi up` "
        return f"the document, and so its peers, have another for {mesh}", f"{fix}of its peers' stacks federation"
    by_peer = {one.mesh: root_certificates(one.root_certificate) for one in federation.peers if one.root_certificate}
    held = root_certificates(root)
    if others := sorted(peer for peer, certificates in by_peer.items() if not certificates <= held):
        fix = "Give these meshes intermediates under one root (stacks root and trust), or correct rootCertificate"
        return f"it is not the one of {', '.join(others)} in the document", fix
    return None


def authority(mesh: str, observed: MeshObservation, soon: timedelta = SOON) -> Iterator[Verdict]:
    """Checks the Secret `cacerts`: complete, key and certificate match, chain to the mesh's root, validity of each."""
    centre = observed.control_plane
    namespace = control_plane_namespace_of(mesh, centre.tenant if centre else None)
    check = f"Secret cacerts in namespace {namespace} of the control plane"
    again = f"Run `pulumi up --refresh` of the stack control-plane of {mesh}, then restart its istiod"
    files = centre.cacerts if centre else None
    if files is None:
        yield Verdict(
            check, "missing-cacerts", "it is not there: a new istiod would make an authority of its own", again
        )
        return
    names, renew = {name: name for name in FILES}, ""
    if TLS_CERTIFICATE in files:
        names, again = TLS_FILES, CERT_MANAGER.format(namespace=namespace, mesh=mesh)
        renew = again
    if absent := [own for own in names.values() if not files.get(own)]:
        yield Verdict(check, "incomplete-cacerts", f"it lacks {', '.join(absent)}", again)
        return
    files = _by_istios_names(files)
    try:
        found = _chain(files)
    except BrokenChainError as broken:
        yield Verdict(check, "mismatched-cacerts", str(broken), again)
        return
    if observed.root is not None and root_certificates(files["root-cert.pem"]) != root_certificates(observed.root):
        seen = "its root is not the one that the mesh's proxies have"
        yield Verdict(check, "another-root", seen, f"Restart istiod of {mesh}, and the proxies after it")
    else:  # another check reports the root
        yield _in_time(check, found[:-1] or found, observed.now, soon, mesh, renew)


def _by_istios_names(files: Mapping[str, str]) -> Mapping[str, str]:
    """The files by Istio's names. With tls.crt, istiod reads that form (`detectSigningCABundle`,
    pilot/pkg/bootstrap/istio_ca.go): its chain is tls.crt and ca.crt."""
    if TLS_CERTIFICATE not in files:
        return files
    chain = f"{files['tls.crt']}\n{files.get('ca.crt', '')}"
    return {name: files.get(own, "") for name, own in TLS_FILES.items()} | {"cert-chain.pem": chain}


def _chain(files: Mapping[str, str]) -> list[x509.Certificate]:
    """Certificates from istiod's signing certificate to a root. Raises: BrokenChainError.

    istiod reads the first certificate of ca-cert.pem, and the intermediates of cert-chain.pem (`Verify`,
    security/pkg/pki/util/keycertbundle.go). It also sends cert-chain.pem to workloads, so that their peers can verify
    them. So the file must contain the signing certificate.
    """
    try:
        own, *_ = certificates(files["ca-cert.pem"])
        between, roots = certificates(files["cert-chain.pem"]), certificates(files["root-cert.pem"])
        key = load_pem_private_key(files[CACERTS_PRIVATE_KEY].encode(), None).public_key()
        fits = key == own.public_key()
    except (ValueError, TypeError, UnsupportedAlgorithm):  # TypeError: a key with a password
        raise BrokenChainError("one of its certificates, or its key, cannot be read") from None
    if not fits:
        raise BrokenChainError("its key is not its certificate's")
    found = chain(own, between, roots)
    if own not in (*between, *roots):
        raise BrokenChainError("cert-chain.pem lacks the certificate of ca-cert.pem, so peers cannot verify workloads")
    return found


def _in_time(
    check: str, found: Sequence[x509.Certificate], now: datetime, soon: timedelta, mesh: str, renew: str = ""
) -> Verdict:
    """Verdict on the certificate that ends first. renew: the fix for a certificate of another tool."""
    first = min(found, key=lambda one: one.not_valid_after_utc)
    ends = first.not_valid_after_utc
    which = "it" if first == found[0] else name_of(first)
    when = f"{ends:%Y-%m-%d}"
    if ends <= now:
        return Verdict(check, "expired", f"{which} ended on {when}", renew or RENEW.format(mesh=mesh))
    if ends - now < soon:
        return Verdict(check, "ends-soon", f"{which} ends on {when}", renew or _renewal(first, now, mesh))
    return Verdict(check, None, f"until {when}")


def _renewal(certificate: x509.Certificate, now: datetime, mesh: str) -> str:
    """The fix before a certificate's end. It assumes the default window, because only a state has the document's."""
    of_root = certificate.issuer == certificate.subject
    window = timedelta(days=(Root() if of_root else Intermediate()).renew_before_days)
    opens = certificate.not_valid_after_utc - window
    if opens <= now:
        return RENEW.format(mesh=mesh)
    field = f"trust.{'root' if of_root else 'intermediate'}.renewBeforeDays"
    fix = f"No run renews it yet. From {opens:%Y-%m-%d} on, {window.days} days before its end, `pulumi up` of the "
    fix += f"stacks root and control-plane of {mesh} does, unless {field} sets another window: "
    fix += "`hosted-mesh status` reads it"
    return fix
