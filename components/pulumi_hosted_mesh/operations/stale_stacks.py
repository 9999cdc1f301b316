"""Whether each of separate stacks has what the one before it made of a mesh's authority: read from engine's states.

The stack `trust` makes a request, `root` signs it, `control-plane` gives istiod the certificate. A state has what its
stack took from another when it last ran, so the states of two stacks tell whether the second is behind.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from cryptography import x509

from pulumi_hosted_mesh.boundary.ownership import CERTIFICATE_TYPES, STACK_REFERENCE_TYPE
from pulumi_hosted_mesh.vocabulary import TYPE_EXTERNAL_CONTROL_PLANE

REQUEST: Final = "tls:index/certRequest:CertRequest"
SIGNED: Final = "tls:index/locallySignedCert:LocallySignedCert"
SOON: Final = timedelta(days=30)
Resource = Mapping[str, Any]


@dataclass(frozen=True)
class Judgement:
    """said: in words. due: whether a `pulumi up` is; None where these states do not tell."""

    said: str
    due: bool | None

    def __str__(self) -> str:
        return f"NOT JUDGED: {self.said}" if self.due is None else self.said


def judgements(states: Mapping[str, Sequence[Resource]], now: datetime | None = None) -> Iterator[Judgement]:
    """states: resources of state exports, by where they are from. now: UTC, by default now."""
    everything = [resource for resources in states.values() for resource in resources]
    signed = {_name(one).partition("-signs-")[2]: one for one in _of(everything, SIGNED)}
    yield from _requests(everything, signed)
    planes = set()
    for source, resources in states.items():
        own = {_name(one) for one in _of(resources, TYPE_EXTERNAL_CONTROL_PLANE)}
        planes |= own
        if next(_of(resources, SIGNED), None) is None:
            for mesh in sorted(own):
                yield _control_plane(mesh, _taken(resources, mesh), signed.get(mesh), now or datetime.now(UTC))
        elif own:  # one stack has all of it
            planes |= {_name(one).partition("-signs-")[2] for one in _of(resources, SIGNED)}
        if not own and not any(one.get("type") in (*CERTIFICATE_TYPES, REQUEST) for one in resources):
            said = f"{source} has nothing of an authority: look at root, trust and control-plane, or all-in-one"
            yield Judgement(said, None)
    for mesh in sorted(signed.keys() - planes):
        yield Judgement(f"whether istiod of {mesh} has what root signed: the stack control-plane tells", None)


def _requests(everything: Sequence[Resource], signed: Mapping[str, Resource]) -> Iterator[Judgement]:
    """Whether root signed the request that is there."""
    known = {_plain((one.get("inputs") or {}).get("certRequestPem")) for one in signed.values()}
    for one in _of(everything, REQUEST):
        mesh = _name(one).removesuffix("-intermediate-request")
        if _plain((one.get("outputs") or {}).get("certRequestPem")) in known:
            continue
        if mesh in signed:
            said = f"{mesh}: root has signed another request than today's of trust: run `pulumi up` of root, then of "
            yield Judgement(f"{said}control-plane", True)
        else:
            yield Judgement(f"whether the request of {mesh} is signed: the stack root tells", None)


def _control_plane(mesh: str, taken: object, signed: Resource | None, now: datetime) -> Judgement:
    """Of the certificate that istiod has."""
    certificate = _read(taken)
    if certificate is None:
        said = f"the authority of {mesh}, which no stack root signed: `hosted-mesh doctor --control-plane-kubeconfig` "
        return Judgement(f"{said}looks at it", None)
    ends = certificate.not_valid_after_utc
    said = f"istiod of {mesh}: its authority's certificate ends {ends:%Y-%m-%d}"
    if signed is not None and _plain((signed.get("outputs") or {}).get("certPem")) != _plain(taken):
        return Judgement(f"{said}; root HAS SIGNED ANOTHER, run `pulumi up` of control-plane", True)
    if ends - now < SOON:
        return Judgement(f"{said}; RENEWAL IS DUE, run `pulumi up` of root, then of control-plane", True)
    if signed is None:
        return Judgement(f"{said}; whether root has signed another since, the stack root tells", None)
    return Judgement(f"{said}; it is the one that root signed", False)


def _taken(resources: Iterable[Resource], mesh: str) -> object:
    """The certificate that a stack took from a stack root, PEM; None if it took none."""
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
