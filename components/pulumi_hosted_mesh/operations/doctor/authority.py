"""Verdicts on a mesh's certificates: its root among its peers', and the authority that its istiod signs with. Pure."""

from __future__ import annotations

import ssl
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from pulumi_hosted_mesh.operations.doctor.observation import Observed
from pulumi_hosted_mesh.operations.verdict import Verdict
from pulumi_hosted_mesh.spec.federation import Federation, root_certificates
from pulumi_hosted_mesh.vocabulary import CACERTS_PRIVATE_KEY, namespace_of

SOON = timedelta(days=30)
FILES = ("ca-cert.pem", CACERTS_PRIVATE_KEY, "cert-chain.pem", "root-cert.pem")
RENEW = "Run `pulumi up` of the stacks root and control-plane of {mesh}, and see `hosted-mesh status`"


@dataclass(frozen=True)
class Certificate:
    """What is read of an authority's certificate."""

    subject: Any
    issuer: Any
    ends: datetime


def roots(federation: Federation | None, mesh: str, observed: Observed, soon: timedelta = SOON) -> Iterator[Verdict]:
    """The root that a mesh's proxies trust is there, in time, and the one that a federation says of the peers."""
    check = f"root certificate of {mesh}"
    if observed.root is None:
        fix = f"See that --kubeconfig is of a data plane of {mesh}, and that its istiod runs: it writes the ConfigMap. "
        fix += "`hosted-mesh check-webhooks` tells more"
        yield Verdict(check, "missing-root", "its proxies have none", fix)
        return
    if (found := _read(observed.root)) is None:
        yield Verdict(check, "unreadable-root", "it is no certificate of an authority", RENEW.format(mesh=mesh))
        return
    if federation and (different := _differs(federation, mesh, observed.root)):
        yield Verdict(check, "roots-differ", *different)
    else:
        yield _in_time(check, found, observed.now, soon, RENEW.format(mesh=mesh))


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
    """The Secret `cacerts` is whole, its key fits its certificate, the mesh's root signed it, and it is in time."""
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
    own, root = _read(files["ca-cert.pem"]), _read(files["root-cert.pem"])
    if own is None or root is None or not _fit(files):
        yield Verdict(check, "mismatched-cacerts", "its key is not its certificate's, or one cannot be read", again)
    elif own.issuer != root.subject:
        seen = "the certificate was not issued by the root beside it"
        yield Verdict(check, "mismatched-cacerts", seen, again)
    elif observed.root is not None and _plain(files["root-cert.pem"]) != _plain(observed.root):
        seen = "its root is not the one that the mesh's proxies have"
        yield Verdict(check, "another-root", seen, f"Restart istiod of {mesh}, and the proxies after it")
    else:
        yield _in_time(check, own, observed.now, soon, RENEW.format(mesh=mesh))


def _in_time(check: str, certificate: Certificate, now: datetime, soon: timedelta, fix: str) -> Verdict:
    left = certificate.ends - now
    when = f"{certificate.ends:%Y-%m-%d}"
    if left <= timedelta(0):
        return Verdict(check, "expired", f"it ended on {when}", fix)
    if left < soon:
        return Verdict(check, "ends-soon", f"it ends on {when}", fix)
    return Verdict(check, None, f"until {when}")


def _read(pem: str) -> Certificate | None:
    """The first to end of an authority's certificates."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        context.load_verify_locations(cadata=pem)
    except (ssl.SSLError, ValueError, TypeError):
        return None
    found = [
        Certificate(
            one.get("subject"),
            one.get("issuer"),
            datetime.fromtimestamp(ssl.cert_time_to_seconds(str(one["notAfter"])), UTC),
        )
        for one in context.get_ca_certs()
    ]
    return min(found, key=lambda one: one.ends, default=None)


def _fit(files: Mapping[str, str]) -> bool:
    """Whether the key is the certificate's; the ssl module takes them from a file only (mode 0600)."""
    with tempfile.NamedTemporaryFile("w") as pair:
        pair.write(files["ca-cert.pem"].rstrip() + "\n" + files[CACERTS_PRIVATE_KEY])
        pair.flush()
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(pair.name)
        except (ssl.SSLError, ValueError):
            return False
    return True


def _plain(pem: str | None) -> str:
    return "".join((pem or "").split())
