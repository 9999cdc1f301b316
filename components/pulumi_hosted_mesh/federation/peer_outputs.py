"""Fills a federation's document with outputs of other stacks: gateway addresses and root certificates. Pure.

The content is a document as written, before validation: a peer without `gateway.address` is valid with its stack's.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from pulumi_hosted_mesh.federation.exports import refused
from pulumi_hosted_mesh.vocabulary import namespace_of

DEFAULT_GATEWAY = "eastwest"


def peers_without_address(content: object) -> list[str]:
    """The meshes of peers without a gateway's address."""
    return [mesh for mesh, peer in _peers(content) if not _part(peer, "gateway").get("address")]


def peers_without_root(content: object) -> list[str]:
    """The meshes of peers without a root certificate."""
    return [mesh for mesh, peer in _peers(content) if not peer.get("rootCertificate")]


def gateway_address_of(content: object, mesh: str, addresses: Mapping[str, Sequence[str]]) -> str:
    """The address of a peer's gateway. addresses: by `<namespace>/<name>`, an output of its stack `data-plane`.

    Raises: InvalidInputError if the stack has no such gateway, or its load balancer no address.
    """
    gateway = next((_part(peer, "gateway") for name, peer in _peers(content) if name == mesh), {})
    key = f"{gateway.get('namespace') or namespace_of(mesh)}/{gateway.get('name') or DEFAULT_GATEWAY}"
    if found := list(addresses.get(key) or ()):
        return found[0]
    rule = f"is missing, and the stack data-plane of {mesh} has no address of gateway {key}"
    fix = "Write it under gateways of that data plane's document, wait for its load balancer, and run `pulumi up` there"
    raise refused(f"gateway.address of {mesh}", rule, fix)


def filled_document(content: object, addresses: Mapping[str, str], roots: Mapping[str, str]) -> object:
    """The content with the missing addresses and root certificates, by mesh."""
    if not isinstance(content, Mapping) or not isinstance(content.get("peers"), list):
        return content
    peers = [_filled(peer, addresses, roots) if isinstance(peer, Mapping) else peer for peer in content["peers"]]
    return {**content, "peers": peers}


def with_placeholders(content: object, data_planes: Collection[str], roots: Collection[str]) -> object:
    """For a check without the engine: the content with a name for each address that a stack has.

    Roots of stacks cannot be checked, so the trust is checked as `complete` then. data_planes, roots: meshes with
    stacks. Returns the same object if no output is needed.
    """
    addresses = {mesh: f"{mesh}.output.invalid" for mesh in peers_without_address(content) if mesh in data_planes}
    missing = [mesh for mesh in peers_without_root(content) if mesh in roots]
    if not isinstance(content, Mapping) or not (addresses or missing):
        return content
    trust = {"trust": "complete"} if missing and "trust" in content else {}
    found = filled_document({**content, **trust}, addresses, {})
    return _without_roots(found) if trust else found


def _without_roots(content: Any) -> object:
    peers = [{key: value for key, value in peer.items() if key != "rootCertificate"} for peer in content["peers"]]
    return {**content, "peers": peers}


def _filled(peer: Mapping[str, Any], addresses: Mapping[str, str], roots: Mapping[str, str]) -> Mapping[str, Any]:
    mesh, gateway = str(peer.get("mesh")), _part(peer, "gateway")
    result = dict(peer)
    if mesh in addresses and not gateway.get("address"):
        result["gateway"] = {**gateway, "address": addresses[mesh]}
    if mesh in roots and not peer.get("rootCertificate"):
        result["rootCertificate"] = roots[mesh]
    return result


def _peers(content: object) -> Iterator[tuple[str, Mapping[str, Any]]]:
    peers = content.get("peers") if isinstance(content, Mapping) else None
    for peer in peers if isinstance(peers, list) else []:
        if isinstance(peer, Mapping) and isinstance(peer.get("mesh"), str):
            yield peer["mesh"], peer


def _part(peer: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    part = peer.get(key)
    return part if isinstance(part, Mapping) else {}
