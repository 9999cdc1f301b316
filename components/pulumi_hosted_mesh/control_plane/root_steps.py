"""A step of a turnover of roots: its kind, and whether the step before has arrived at all proxies and webhooks. Pure.

A proxy gets the roots and its certificate together, at its start and at each renewal. So it has a root if it started
after istiod had it, or if istiod has had it for longer than a certificate lives.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from pulumi_hosted_mesh.boundary.cacerts import ROOT_FILE
from pulumi_hosted_mesh.boundary.signatures import is_signed

ROLLOUT: Final = timedelta(seconds=60)
"""An istiod without the root may still answer for this time after another one has written it."""
RELOAD: Final = timedelta(seconds=180)
"""A kubelet writes a changed Secret into a Pod within this time."""
MOST_NAMES: Final = 10
Key = bytes


@dataclass(frozen=True)
class Step:
    """The next files of `cacerts`, compared with the present ones.

    signing: the new signing root, if it is another; by its name and key. removed: roots that leave the bundle. unknown:
    the new signing root is not in the present bundle. at_once: the present signing root leaves with this step.
    """

    signing: tuple[str, Key] | None = None
    removed: tuple[str, ...] = ()
    unknown: bool = False
    at_once: bool = False


@dataclass(frozen=True)
class DataPlaneRoots:
    """A data plane. roots: keys in the root certificate that istiod has written; written: the time of that.

    webhooks: keys in the CA bundle by name of the configuration. started: times by namespace and Pod of each proxy.
    """

    roots: frozenset[Key] = frozenset()
    written: datetime | None = None
    webhooks: Mapping[str, frozenset[Key]] = field(default_factory=dict)
    started: Mapping[tuple[str, str], datetime | None] = field(default_factory=dict)


def keys_in(pem: str) -> dict[Key, str]:
    """Names of the certificates in a PEM text, by public key: a renewed root has the key of the former one.

    Raises: ValueError.
    """
    return {_key(one): _name(one) for one in x509.load_pem_x509_certificates(pem.encode())}


def step(present: Mapping[str, str], following: Mapping[str, str]) -> Step | None:
    """The step between two contents of `cacerts`; None if roots stay, or if no root is in both. Raises: ValueError."""
    before, after = keys_in(present[ROOT_FILE]), keys_in(following[ROOT_FILE])
    if not before.keys() & after.keys():
        return None
    signer, next_signer = _signer(present), _signer(following)
    removed = tuple(name for key, name in before.items() if key not in after)
    if next_signer is None or next_signer == signer:
        return Step(removed=removed) if removed else None
    at_once = signer is not None and signer not in after
    return Step((after[next_signer], next_signer), removed, next_signer not in before, at_once)


def _signer(files: Mapping[str, str]) -> Key | None:
    """The key of the root that the intermediate leads to; None if it cannot be followed."""
    roots = x509.load_pem_x509_certificates(files[ROOT_FILE].encode())
    (own, *_) = x509.load_pem_x509_certificates(files["ca-cert.pem"].encode())
    between = x509.load_pem_x509_certificates(files["cert-chain.pem"].encode())
    for _ in range(len(between) + 1):
        if root := next((one for one in roots if is_signed(own, one)), None):
            return _key(root)
        above = next((one for one in between if one != own and is_signed(own, one)), None)
        if above is None:
            return None
        own = above
    return None


def _key(certificate: x509.Certificate) -> Key:
    return certificate.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def _name(certificate: x509.Certificate) -> str:
    found = certificate.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
    return str(found[0].value) if found else certificate.subject.rfc4514_string()


def refusals(
    wanted: Step,
    data_planes: Sequence[DataPlaneRoots],
    signing_since: datetime | None,
    now: datetime,
    lifetime: timedelta,
) -> Iterator[str]:
    """Why the step has to wait. signing_since: the last change of `cacerts`. lifetime: of workloads' certificates."""
    if wanted.unknown and wanted.signing:
        yield f"root {wanted.signing[0]} is to sign, but is not trusted yet. First set it to trusted"
        return
    if wanted.at_once:
        yield "the signing root leaves while proxies have certificates of it. Set it to trusted in this step"
        return
    for one in data_planes:
        if wanted.signing:
            yield from _untrusted(*wanted.signing, one, now, lifetime)
        elif wanted.removed:
            since = None if signing_since is None else signing_since + RELOAD
            what = f"certificates of root {', '.join(wanted.removed)}"
            yield from _late(f"have {what}, or may have", one.started, since, now, lifetime)


def _untrusted(name: str, key: Key, one: DataPlaneRoots, now: datetime, lifetime: timedelta) -> Iterator[str]:
    if lacking := sorted(hook for hook, keys in one.webhooks.items() if key not in keys):
        yield f"webhooks do not trust root {name}: {_few(lacking)}. First run the stack data-plane"
    if key not in one.roots:
        yield f"istiod has not written root {name} to the data plane. First run the stack control-plane, and wait"
        return
    since = None if one.written is None else one.written + ROLLOUT
    yield from _late(f"do not trust root {name}, or may not", one.started, since, now, lifetime)


def _late(
    what: str,
    started: Mapping[tuple[str, str], datetime | None],
    since: datetime | None,
    now: datetime,
    lifetime: timedelta,
) -> Iterator[str]:
    if since is not None and now >= since + lifetime:
        return
    late = sorted({namespace for (namespace, _), at in started.items() if at is None or since is None or at < since})
    if late:
        until = f", or run this again after {since + lifetime:%Y-%m-%d %H:%M} UTC" if since else ""
        yield f"proxies in namespaces {_few(late)} {what}. Restart them{until}"


def _few(names: Collection[str]) -> str:
    listed = list(names)
    more = f" and {len(listed) - MOST_NAMES} more" if listed[MOST_NAMES:] else ""
    return ", ".join(listed[:MOST_NAMES]) + more
