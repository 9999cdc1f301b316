"""Finds stacks with outdated certificates of a mesh's authority, from exported states.

The stack `trust` makes a request, `root` signs it, and `control-plane` gives istiod the certificate. A state has the
outputs that its stack read from another at its last run. So the states of both stacks show whether one is stale.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from cryptography import x509

from pulumi_hosted_mesh.boundary.ownership import CERTIFICATE_TYPES, STACK_REFERENCE_TYPE
from pulumi_hosted_mesh.operations.renewals import outside_renewals
from pulumi_hosted_mesh.vocabulary import CACERTS_SECRET, TYPE_EXTERNAL_CONTROL_PLANE, TYPE_MESH_ROOT

REQUEST: Final = "tls:index/certRequest:CertRequest"
SIGNED: Final = "tls:index/locallySignedCert:LocallySignedCert"
SOON: Final = timedelta(days=30)
Resource = Mapping[str, Any]


@dataclass(frozen=True)
class Staleness:
    """text: the finding. due: whether to run `pulumi up`; None if these states do not show it."""

    text: str
    due: bool | None

    def __str__(self) -> str:
        return f"NOT JUDGED: {self.text}" if self.due is None else self.text


def stale_stacks(states: Mapping[str, Sequence[Resource]], now: datetime | None = None) -> Iterator[Staleness]:
    """states: resources of state exports, by their origin. now: UTC. Default: the current time."""
    everything = [resource for resources in states.values() for resource in resources]
    signed = {_name(one).partition("-signs-")[2]: one for one in _of(everything, SIGNED)}
    certificates = dict(_given(signed, everything))
    yield from _requests(everything, signed)
    planes = set()
    for source, resources in states.items():
        own = {_name(one) for one in _of(resources, TYPE_EXTERNAL_CONTROL_PLANE)}
        planes |= own
        if next(_of(resources, SIGNED), None) is None:
            issued = {one.name for one in outside_renewals(resources)}
            for mesh in sorted(one for one in own if f"{one}-{CACERTS_SECRET}" not in issued):
                yield _control_plane(mesh, _taken(resources, mesh), certificates.get(mesh), now or datetime.now(UTC))
        elif own:  # one stack has the whole authority
            planes |= {_name(one).partition("-signs-")[2] for one in _of(resources, SIGNED)}
        if not own and not any(one.get("type") in (*CERTIFICATE_TYPES, REQUEST) for one in resources):
            text = f"{source} has no part of an authority: export root, trust and control-plane, or all-in-one"
            yield Staleness(text, None)
    for mesh in sorted(signed.keys() - planes):
        text = f"whether istiod of {mesh} has the certificate that root signed: add the stack control-plane"
        yield Staleness(text, None)


def _requests(everything: Sequence[Resource], signed: Mapping[str, Resource]) -> Iterator[Staleness]:
    """Whether root signed the current request."""
    requests = {_plain((one.get("inputs") or {}).get("certRequestPem")) for one in signed.values()}
    for one in _of(everything, REQUEST):
        mesh = _name(one).removesuffix("-intermediate-request")
        if _plain((one.get("outputs") or {}).get("certRequestPem")) in requests:
            continue
        if mesh in signed:
            text = (
                f"{mesh}: root has signed an outdated request of trust: run `pulumi up` of root, then of control-plane"
            )
            yield Staleness(text, True)
        else:
            yield Staleness(f"whether the request of {mesh} is signed: add the stack root", None)


def _given(signed: Mapping[str, Resource], resources: Sequence[Resource]) -> Iterator[tuple[str, object]]:
    """The certificates of roots by mesh: with name constraints that of the component, else of its resource."""
    for mesh, one in signed.items():
        yield mesh, (one.get("outputs") or {}).get("certPem")
    for root in _of(resources, TYPE_MESH_ROOT):
        certificates = (root.get("outputs") or {}).get("certificates")
        yield from (certificates if isinstance(certificates, Mapping) else {}).items()


def _control_plane(mesh: str, taken: object, given: object, now: datetime) -> Staleness:
    """Finding about istiod's certificate. given: the root's."""
    certificate = _read(taken)
    if certificate is None:
        text = f"the authority of {mesh}, which no stack root signed: `hosted-mesh doctor --control-plane-kubeconfig` "
        return Staleness(f"{text}checks it", None)
    ends = certificate.not_valid_after_utc
    text = f"istiod of {mesh}: its authority's certificate ends {ends:%Y-%m-%d}"
    if given is not None and _plain(given) != _plain(taken):
        return Staleness(f"{text}; root HAS SIGNED ANOTHER, run `pulumi up` of control-plane", True)
    if ends - now < SOON:
        return Staleness(f"{text}; RENEWAL IS DUE, run `pulumi up` of root, then of control-plane", True)
    if given is None:
        return Staleness(f"{text}; whether root has signed another since: add the stack root", None)
    return Staleness(f"{text}; it is the one that root signed", False)


def _taken(resources: Iterable[Resource], mesh: str) -> object:
    """The certificate that a stack read from a stack root, PEM; None without one."""
    for one in _of(resources, STACK_REFERENCE_TYPE):
        outputs = (one.get("outputs") or {}).get("outputs")
        certificates = outputs.get("certificates") if isinstance(outputs, Mapping) else None
        if isinstance(certificates, Mapping) and mesh in certificates:
            return certificates[mesh]
    return None


def _read(pem: object) -> x509.Certificate | None:
    try:
        return x509.load_pem_x509_certificate(str(pem).encode())
    except ValueError:
        return None


def _of(resources: Iterable[Resource], kind: str) -> Iterator[Resource]:
    return (one for one in resources if one.get("type") == kind)


def _name(resource: Resource) -> str:
    return str(resource["urn"]).rpartition("::")[2]


def _plain(pem: object) -> str:
    return "".join(str(pem).split())
