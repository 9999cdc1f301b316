"""Verdicts on a mesh's certificates: its root among its peers', and the authority that its istiod signs with. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from pulumi_hosted_mesh.operations.doctor.chain import BrokenChainError, certificates, chain, name_of
from pulumi_hosted_mesh.operations.doctor.observation import Observed
from pulumi_hosted_mesh.operations.verdict import Verdict
from pulumi_hosted_mesh.spec.federation import Federation, root_certificates
from pulumi_hosted_mesh.spec.trust import Intermediate, Root
from pulumi_hosted_mesh.vocabulary import CACERTS_PRIVATE_KEY, namespace_of

SOON = timedelta(days=30)
FILES = ("ca-cert.pem", CACERTS_PRIVATE_KEY, "cert-chain.pem", "root-cert.pem")
RENEW = "Run `pulumi up` of the stacks root and control-plane of {mesh}, and see `hosted-mesh status`"


def roots(federation: Federation | None, mesh: str, observed: Observed, soon: timedelta = SOON) -> Iterator[Verdict]:
    """The root that a mesh's proxies trust is there, in time, and the one that a federation says of the peers."""
    check = f"root certificate of {mesh}"
    if observed.root is None:
        fix = f"See that --kubeconfig is of a data plane of {mesh}, and that its istiod runs: it writes the ConfigMap. "
        fix += "`hosted-mesh check-webhooks` tells more"
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


def _differs(federation: Federation, mesh: str, root: str) -> tuple[str, str] | None:
    """What is seen and what to do, where the root of a mesh's proxies is not the one of the document."""
    if federation.has_bundles:
        given = root_certificates(federation.peer(mesh).root_certificate or "")
        if root_certificates(root) <= given:
            return None
        fix = f"Put it into rootCertificate of {mesh}, beside the old one while both are in use, and run `pulumi up` "
        return f"the document, and so its peers, have another for {mesh}", f"{fix}of its peers' stacks federation"
    said = {one.mesh: _plain(one.root_certificate) for one in federation.peers if one.root_certificate}
    held = _plain(root)
    if others := sorted(peer for peer, certificates in said.items() if certificates not in held):
        fix = "Give these meshes intermediates under one root (stacks root and trust), or correct rootCertificate"
        return f"it is not the one of {', '.join(others)} in the document", fix
    return None


def authority(mesh: str, observed: Observed, soon: timedelta = SOON) -> Iterator[Verdict]:
    """The Secret `cacerts` is whole, its key fits, its certificate leads to the mesh's root, and each is in time."""
    check = f"Secret cacerts in namespace {namespace_of(mesh)} of the control plane"
    again = f"Run `pulumi up --refresh` of the stack control-plane of {mesh}, then restart its istiod"
    files = observed.control_plane.cacerts if observed.control_plane else None
    if files is None:
        yield Verdict(
            check, "missing-cacerts", "it is not there: a new istiod would make an authority of its own", again
        )
        return
    if absent := [name for name in FILES if not files.get(name)]:
        yield Verdict(check, "incomplete-cacerts", f"it lacks {', '.join(absent)}", again)
        return
    try:
        found = _chain(files)
    except BrokenChainError as broken:
        yield Verdict(check, "mismatched-cacerts", str(broken), again)
        return
    if observed.root is not None and _plain(files["root-cert.pem"]) != _plain(observed.root):
        seen = "its root is not the one that the mesh's proxies have"
        yield Verdict(check, "another-root", seen, f"Restart istiod of {mesh}, and the proxies after it")
    else:  # of the root another check tells
        yield _in_time(check, found[:-1] or found, observed.now, soon, mesh)


def _chain(files: Mapping[str, str]) -> list[x509.Certificate]:
    """From the certificate that istiod signs with to a root's. Raises: BrokenChainError.

    As istiod reads them (`Verify`, security/pkg/pki/util/keycertbundle.go): of ca-cert.pem the first certificate,
    intermediates from cert-chain.pem. That file istiod gives workloads too, so it has to begin the way for their peers.
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


def _in_time(check: str, found: Sequence[x509.Certificate], now: datetime, soon: timedelta, mesh: str) -> Verdict:
    """Of the first to end."""
    first = min(found, key=lambda one: one.not_valid_after_utc)
    ends = first.not_valid_after_utc
    which = "it" if first == found[0] else name_of(first)
    when = f"{ends:%Y-%m-%d}"
    if ends <= now:
        return Verdict(check, "expired", f"{which} ended on {when}", RENEW.format(mesh=mesh))
    if ends - now < soon:
        return Verdict(check, "ends-soon", f"{which} ends on {when}", _renewal(first, now, mesh))
    return Verdict(check, None, f"until {when}")


def _renewal(certificate: x509.Certificate, now: datetime, mesh: str) -> str:
    """What to do before its end. Which window its document gives it only a state knows, so it goes by the default."""
    of_root = certificate.issuer == certificate.subject
    window = timedelta(days=(Root() if of_root else Intermediate()).renew_before_days)
    opens = certificate.not_valid_after_utc - window
    if opens <= now:
        return RENEW.format(mesh=mesh)
    field = f"trust.{'root' if of_root else 'intermediate'}.renewBeforeDays"
    fix = f"No run renews it yet. From {opens:%Y-%m-%d} on, {window.days} days before its end, `pulumi up` of the "
    fix += (
        f"stacks root and control-plane of {mesh} does, unless {field} says otherwise: `hosted-mesh status` reads that"
    )
    return fix


def _plain(pem: str | None) -> str:
    return "".join((pem or "").split())
