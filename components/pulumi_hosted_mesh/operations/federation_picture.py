"""A federation's picture as Mermaid: exports of each mesh, permitted callers, and targets of imports.

It is generated from the Istio objects in the states of the meshes' own stacks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pulumi_hosted_mesh.vocabulary import FEDERATION_LABEL, MESH_LABEL, PEERS_ANNOTATION

Spec = Mapping[str, Any]


@dataclass(frozen=True)
class FederationObject:
    """One Istio object of a federation's stack."""

    federation: str
    mesh: str
    kind: str
    name: str
    spec: Spec
    peers: tuple[str, ...]


def federation_picture(resources: Iterable[Mapping[str, Any]]) -> str:
    """Mermaid text for the resources of the state exports of some meshes' stacks, the same for the same resources.

    It shows names, hosts, ports and identities only, of objects that are in a federation.
    """
    made = sorted(_made(resources), key=lambda one: (one.federation, one.mesh, one.kind, one.name))
    lines = ["flowchart LR"]
    for federation, mesh in sorted({(one.federation, one.mesh) for one in made}):
        own = [one for one in made if (one.federation, one.mesh) == (federation, mesh)]
        lines += [f'  subgraph {_id(federation, mesh)}["mesh {mesh}"]', *_exports(own), *_imports(own), "  end"]
    return "\n".join([*lines, *_calls(made)]) + "\n"


def _made(resources: Iterable[Mapping[str, Any]]) -> Iterator[FederationObject]:
    for resource in resources:
        inputs = resource.get("inputs") or {}
        metadata = inputs.get("metadata") or {}
        labels = metadata.get("labels") or {}
        if {FEDERATION_LABEL, MESH_LABEL} <= labels.keys() and "kind" in inputs:
            peers = (metadata.get("annotations") or {}).get(PEERS_ANNOTATION, "")
            yield FederationObject(
                labels[FEDERATION_LABEL],
                labels[MESH_LABEL],
                inputs["kind"],
                metadata["name"],
                inputs.get("spec") or {},
                tuple(filter(None, peers.split(","))),
            )


def _exports(own: Iterable[FederationObject]) -> Iterator[str]:
    """The gateway, its Services, and on each arrow the permitted identities."""
    allowed = {
        (host, principal)
        for one in own
        if one.kind == "AuthorizationPolicy" and one.name == one.federation
        for rule in one.spec.get("rules", ())
        for condition in rule.get("when", ())
        for host in condition["values"]
        for source in rule["from"]
        for principal in source["source"]["principals"]
    }
    gateways = [one for one in own if one.kind == "Gateway" and one.name == one.federation]
    for gateway in gateways:
        port = min(server["port"]["number"] for server in gateway.spec["servers"])
        yield f'    {_gateway(gateway)}{{{{"<b>gateway</b> {gateway.spec["selector"]["app"]}<br/>port {port}"}}}}'
    for route in own:
        if route.kind != "VirtualService" or route.spec.get("gateways") != [route.federation]:
            continue
        (host,) = route.spec["hosts"]
        ((destination,),) = (one["route"] for one in route.spec.get("http") or route.spec["tcp"])
        target = destination["destination"]
        service, namespace, *_ = target["host"].split(".")
        id_ = _id(route.federation, route.mesh, "service", service, namespace)
        callers = "<br/>".join(sorted(principal for of, principal in allowed if of == host)) or "no caller"
        yield f'    {id_}["<b>Service</b><br/>{service}.{namespace}:{target["port"]["number"]}"]'
        yield f'    {_gateway(route)} -->|"{callers}"| {id_}'


def _imports(own: Iterable[FederationObject]) -> Iterator[str]:
    for one in own:
        if one.kind == "ServiceEntry" and one.peers:
            port = one.spec["ports"][0]["number"]
            for host in one.spec["hosts"]:
                yield f'    {_entry(one, host)}(["<b>ServiceEntry</b><br/>{host}:{port}"])'


def _calls(made: Iterable[FederationObject]) -> Iterator[str]:
    """Arrows from each import to the gateways of its peers, labelled with the callers' TLS server name."""
    found = list(made)
    drawn = {(one.federation, one.mesh) for one in found}
    names = {(one.mesh, one.name): one.spec for one in found if one.kind == "DestinationRule"}
    for one in found:
        if one.kind != "ServiceEntry":
            continue
        for peer in one.peers:
            if (one.federation, peer) not in drawn:
                continue
            for host in one.spec["hosts"]:
                # Hosts that share a DestinationRule are called by their own names.
                rule = names.get((one.mesh, one.name)) or {"trafficPolicy": {"tls": {"sni": host}}}
                server = rule["trafficPolicy"]["tls"]["sni"]
                yield f'  {_entry(one, host)} ==>|"mTLS, {server}"| {_id(one.federation, peer, "gateway")}'


def _gateway(one: FederationObject) -> str:
    return _id(one.federation, one.mesh, "gateway")


def _entry(one: FederationObject, host: str) -> str:
    return _id(one.federation, one.mesh, "entry", host)


def _id(*parts: str) -> str:
    return "_".join(part.replace("-", "_").replace(".", "_") for part in parts)
