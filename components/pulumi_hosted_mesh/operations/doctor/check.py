"""From observed facts to verdicts: the federation's objects, the gateway, names. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pulumi_hosted_mesh.federation.manifests import objects
from pulumi_hosted_mesh.operations.doctor.authority import authority, roots
from pulumi_hosted_mesh.operations.doctor.observation import KINDS, Manifest, Observed
from pulumi_hosted_mesh.operations.verdict import Verdict
from pulumi_hosted_mesh.spec.federation import Federation, Offer, Peer

RUN = "Run `pulumi up --refresh` of the stack federation of {mesh}"
Key = tuple[str, str, str]


def verdicts(federation: Federation, mesh: str, offers: Iterable[Offer], observed: Observed) -> list[Verdict]:
    """All checks of one mesh. offers: as its stack has them. Raises: InvalidInputError as `manifests.objects`."""
    peer = federation.peer(mesh)
    wanted = objects(federation, mesh, offers)
    return [
        *_objects(mesh, wanted, observed.objects),
        *_gateway(peer, observed),
        *_names(federation, peer, observed),
        *roots(federation, mesh, observed),
        *(authority(mesh, observed) if observed.authority_was_read else ()),
    ]


def _objects(mesh: str, wanted: Sequence[Manifest], there: Sequence[Manifest]) -> Iterator[Verdict]:
    """What the document asks for is there, as it asks for it, and nothing else with the federation's label."""
    expected, found = {_key(one): one for one in wanted}, {_key(one): one for one in there}
    wrong = False
    for key in sorted({*expected, *found}):
        kind, namespace, name = key
        check = f"{kind} {name} in namespace {namespace}"
        if key not in found:
            wrong = True
            yield Verdict(check, f"missing-{_word(kind)}", "it is not there", RUN.format(mesh=mesh))
        elif key not in expected:
            wrong = True
            fix = f"`kubectl delete {KINDS[kind][1]}.{KINDS[kind][0].split('/')[0]} {name} -n {namespace}`, for no "
            fix += "export or import asks for it; if one should, give the stack today's offers"
            yield Verdict(check, f"stale-{_word(kind)}", "nothing in the document asks for it", fix)
        elif (said := _difference(expected[key], found[key])) is not None:
            wrong = True
            cause, seen = said
            yield Verdict(check, cause, seen, RUN.format(mesh=mesh))
    if not wrong:
        yield Verdict(f"objects of {mesh}", None, f"{len(expected)}, all as the document says")


def _difference(expected: Manifest, found: Manifest) -> tuple[str, str] | None:
    """Cause and what was seen; None where both specs are the same."""
    if expected["spec"] == found.get("spec"):
        return None
    if expected["kind"] == "ServiceEntry":
        should, has = _addresses(expected), _addresses(found)
        if should != has:
            return "wrong-address", f"it leads to {', '.join(has) or 'nowhere'}; the gateway is {', '.join(should)}"
    part = next(
        key for key in {**expected["spec"], **(found.get("spec") or {})} if expected["spec"].get(key) != _at(found, key)
    )
    return f"changed-{_word(expected['kind'])}", f"its spec.{part} is not what the document says"


def _gateway(peer: Peer, observed: Observed) -> Iterator[Verdict]:
    name, namespace = peer.gateway.name, peer.gateway_namespace
    check = f"gateway {name} in namespace {namespace}"
    write = f"Write it under gateways of the data plane's document of {peer.mesh}, and run `pulumi up` of data-plane"
    service = observed.service
    if service is None or observed.deployment is None:
        missing = "Service" if service is None else "Deployment"
        yield Verdict(check, "no-gateway", f"there is no {missing} {name}", write)
        return
    ports = [int(one["port"]) for one in (service.get("spec") or {}).get("ports") or []]
    ready = int((observed.deployment.get("status") or {}).get("readyReplicas") or 0)
    addresses = balancer(service)
    see = f"See `kubectl describe service {name} -n {namespace}`: who gives out load balancers there says why"
    if not addresses:
        yield Verdict(check, "no-address", "its load balancer has no address", see)
    elif peer.gateway.port not in ports:
        yield Verdict(check, "no-port", f"its Service has no port {peer.gateway.port}, only {ports}", write)
    elif not ready:
        fix = f"See `kubectl describe pods -l app={name} -n {namespace}`. One that waits for an image was made "
        fix += f"before the webhooks: `kubectl rollout restart deployment/{name} -n {namespace}`"
        yield Verdict(check, "not-ready", "none of its Pods is ready", fix)
    else:
        yield Verdict(check, None, f"{', '.join(addresses)}, port {peer.gateway.port}, {ready} ready")


def _names(federation: Federation, peer: Peer, observed: Observed) -> Iterator[Verdict]:
    """Names of gateways resolve, and this mesh's own leads to its own load balancer."""
    by_address = {one.gateway.address: one for one in federation.peers}
    for address, found in sorted(observed.resolved.items()):
        check = f"gateway address {address} of {by_address[address].mesh}"
        if not found:
            fix = "Publish it in DNS with the address of that gateway's load balancer, or correct gateway.address"
            yield Verdict(check, "name-not-found", "it does not resolve here", fix)
        elif address == peer.gateway.address and (own := balancer(observed.service)) and not _same(address, found, own):
            seen = f"it leads to {', '.join(found)}; the load balancer has {', '.join(own)}"
            yield Verdict(check, "wrong-address", seen, "Correct the record in DNS, or gateway.address in the document")
        else:
            yield Verdict(check, None, ", ".join(found))


def balancer(service: Manifest | None) -> list[str]:
    """Addresses and host names of a Service's load balancer."""
    ingress: Any = (((service or {}).get("status") or {}).get("loadBalancer") or {}).get("ingress") or []
    return [str(given) for one in ingress if (given := one.get("ip") or one.get("hostname"))]


def _same(address: str, found: Sequence[str], own: Sequence[str]) -> bool:
    """A load balancer that has a name is not resolved here: its addresses change, and a record may point at it."""
    return address in own or bool(set(found) & set(own)) or any(not one[:1].isdigit() and ":" not in one for one in own)


def _key(manifest: Manifest) -> Key:
    metadata = manifest["metadata"]
    return str(manifest["kind"]), str(metadata["namespace"]), str(metadata["name"])


def _word(kind: str) -> str:
    return "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in kind).removeprefix("-")


def _addresses(entry: Manifest) -> list[str]:
    return sorted(str(one.get("address")) for one in _at(entry, "endpoints") or [])


def _at(manifest: Mapping[str, Any], key: str) -> Any:
    return (manifest.get("spec") or {}).get(key)
