"""Verdicts on east-west gateways: this mesh's own, and names and answers of those that it calls. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pulumi_hosted_mesh.operations.discovery.mesh_identity import labels_of, namespace_of
from pulumi_hosted_mesh.operations.doctor.connection import GatewayConnection
from pulumi_hosted_mesh.operations.doctor.network_policies import keeping_out
from pulumi_hosted_mesh.operations.doctor.observation import Manifest, MeshObservation
from pulumi_hosted_mesh.operations.doctor.selected import is_scoped, selects
from pulumi_hosted_mesh.operations.verdict import Verdict
from pulumi_hosted_mesh.spec.federation import Egress, Federation, Peer
from pulumi_hosted_mesh.spec.networks import gateway_port
from pulumi_hosted_mesh.vocabulary import NETWORK_LABEL

SAME_ROOT = "Give these meshes intermediates under one root (stacks root and trust)"
OWN_ROOT = (
    "Put the root of {mesh} into its rootCertificate in the document, and run `pulumi up` of its peers' stacks "
    "federation; or restart the gateway, where its mesh's root was changed"
)
WRITE = "Write it under gateways of the data plane's document of {mesh}, and run `pulumi up` of data-plane"
NOT_READY = "none of its Pods is ready"
RESTART = (
    "See `kubectl describe pods -l app={name} -n {namespace}`. A Pod that waits for an image is older than the "
    "webhooks: `kubectl rollout restart deployment/{name} -n {namespace}`"
)
FIXES = {
    "refused": "See that the stack federation of {mesh} ran, for without exports its gateway does not listen, and that "
    "the Service selects its Pods",
    "time-out": "Open the port in firewalls, source ranges and NetworkPolicies on the way",
    "unreachable": "See routes and firewalls on the way",
    "no-tls": "The server there has no certificate for a host that the document exports: see `kubectl logs -l "
    "app={name} -n {namespace}` there, and whether istiod of {mesh} runs",
    "another-root": SAME_ROOT + "; or restart the gateway, where its mesh's root was changed",
    "not-yet-valid": "Compare the clocks of this machine and of istiod's: one is wrong, or the certificate is new",
    "expired": "Run `kubectl rollout restart deployment/{name} -n {namespace}` there: istiod of {mesh} signs a new one",
    "another-identity": "The name leads to another gateway: correct the record in DNS, or gateway and trustDomain in "
    "the document",
}


def gateways(federation: Federation, peer: Peer, observed: MeshObservation) -> Iterator[Verdict]:
    """Leaves out consequences: a gateway without an address has no name and no answer."""
    own = _own(peer, observed)
    yield own
    if peer.egress is not None:
        yield _egress(peer, peer.egress, observed)
    for one in sorted(federation.peers, key=lambda other: other.gateway.address):
        addresses = observed.resolved.get(one.gateway.address)
        if addresses is None:
            continue
        mine = one.mesh == peer.mesh
        if mine and own.cause in ("no-gateway", "no-address"):
            continue
        name = _name(one, addresses, balancer(observed.service) if mine else [])
        yield name
        reached = observed.reached.get(one.gateway.address)
        if not name.ok or reached is None or (mine and not own.ok):
            continue
        own_roots = federation.has_bundles and not mine
        yield _port(one, mine, reached, {**FIXES, "another-root": OWN_ROOT} if own_roots else FIXES)


def crossing(peer: Peer, observed: MeshObservation) -> Iterator[Verdict]:
    """Checks that a gateway between networks forwards their requests.

    istiod sends other networks' proxies to each possible gateway of its network (`getGatewayDetails`,
    pilot/pkg/serviceregistry/kube/controller/network.go). If one forwards nothing, some requests fail.
    """
    service, name, namespace = observed.service, peer.gateway.name, peer.gateway_namespace
    if service is None or not observed.is_joined:
        return
    marks = labels_of(service)
    network, port = marks.get(NETWORK_LABEL), gateway_port(marks)
    if not network or not balancer(service) or port not in map(str, _ports(service)):
        return
    labels = labels_of(((observed.deployment or {}).get("spec") or {}).get("template") or {})
    check = f"gateway {name} in namespace {namespace} between networks"
    # The Gateway has to be in the gateway's namespace, unless istiod selects across namespaces.
    elsewhere = is_scoped(observed.control_plane) is False
    near = [one for one in observed.gateways if elsewhere or namespace_of(one) == namespace]
    if any(_passes_on(one.get("spec") or {}, port, labels) for one in near):
        yield Verdict(check, None, f"forwards other networks' requests to network {network}")
        return
    seen = f"istiod sends other networks' proxies to its port {port}, and no Gateway of its namespace with "
    seen += "AUTO_PASSTHROUGH selects it"
    fix = f"Set another port than {port}, in the data plane's document of {peer.mesh} and in gateway.port of the "
    fix += "federation's; or let the Gateway that joins networks select it too"
    yield Verdict(check, "passes-nothing-on", seen, fix)


def _passes_on(spec: Manifest, port: str, labels: Mapping[str, str]) -> bool:
    """Whether an Istio Gateway passes TLS through at a port, on a gateway with these labels."""
    return selects(spec, labels) and any(
        (one.get("tls") or {}).get("mode") == "AUTO_PASSTHROUGH" and str((one.get("port") or {}).get("number")) == port
        for one in spec.get("servers") or []
    )


def _egress(peer: Peer, egress: Egress, observed: MeshObservation) -> Verdict:
    """Checks the egress gateway's Pods and its Service's ports. It needs no address outside of the mesh."""
    name, namespace = egress.gateway, peer.egress_namespace
    check = f"egress gateway {name} in namespace {namespace}"
    service, deployment = observed.egress_service, observed.egress_deployment
    if service is None or deployment is None:
        missing = "Service" if service is None else "Deployment"
        return Verdict(check, "no-gateway", f"there is no {missing} {name}", WRITE.format(mesh=peer.mesh))
    ports = _ports(service)
    wanted = {egress.port_to(mesh) for one in peer.imports for mesh in one.meshes}
    if missing_ports := sorted(wanted - set(ports)):
        seen = f"its Service has no port {', '.join(map(str, missing_ports))}, only {ports}"
        return Verdict(check, "no-port", seen, WRITE.format(mesh=peer.mesh))
    ready = int((deployment.get("status") or {}).get("readyReplicas") or 0)
    if not ready:
        return Verdict(check, "not-ready", NOT_READY, RESTART.format(name=name, namespace=namespace))
    return Verdict(check, None, f"{', '.join(map(str, sorted(wanted))) or 'no port'} in use, {ready} ready")


def _own(peer: Peer, observed: MeshObservation) -> Verdict:
    name, namespace, port = peer.gateway.name, peer.gateway_namespace, peer.gateway.port
    check = f"gateway {name} in namespace {namespace}"
    write = WRITE.format(mesh=peer.mesh)
    service, deployment = observed.service, observed.deployment
    if service is None or deployment is None:
        missing = "Service" if service is None else "Deployment"
        return Verdict(check, "no-gateway", f"there is no {missing} {name}", write)
    ports = _ports(service)
    ready = int((deployment.get("status") or {}).get("readyReplicas") or 0)
    addresses = balancer(service)
    see = f"See `kubectl describe service {name} -n {namespace}`: its events have the load balancer's error"
    if not addresses:
        return Verdict(check, "no-address", "its load balancer has no address", see)
    if port not in ports:
        return Verdict(check, "no-port", f"its Service has no port {port}, only {ports}", write)
    labels = labels_of((deployment.get("spec") or {}).get("template") or {})
    if names := keeping_out(observed.policies, labels, port):
        fix = f"`kubectl describe networkpolicy {' '.join(names)} -n {namespace}`; allow TCP {port} from the peers"
        seen = f"{', '.join(names)} admit no caller from another network at port {port}"
        return Verdict(check, "network-policy", seen, fix)
    if not ready:
        return Verdict(check, "not-ready", NOT_READY, RESTART.format(name=name, namespace=namespace))
    return Verdict(check, None, f"{', '.join(addresses)}, port {port}, {ready} ready")


def _name(one: Peer, found: Sequence[str], balanced: Sequence[str]) -> Verdict:
    """Checks that a gateway's name resolves, and that this mesh's own leads to its load balancer."""
    check = f"gateway address {one.gateway.address} of {one.mesh}"
    if not found:
        fix = "Publish it in DNS with the address of that gateway's load balancer, or correct gateway.address"
        return Verdict(check, "name-not-found", "it does not resolve here", fix)
    if balanced and not _same(one.gateway.address, found, balanced):
        seen = f"it leads to {', '.join(found)}; the load balancer has {', '.join(balanced)}"
        return Verdict(check, "wrong-address", seen, "Correct the record in DNS, or gateway.address in the document")
    return Verdict(check, None, ", ".join(found))


def _port(one: Peer, mine: bool, reached: GatewayConnection, fixes: Mapping[str, str]) -> Verdict:
    check = f"port {one.gateway.port} of the gateway of {one.mesh}"
    cause, seen, identity = reached.cause, reached.seen, reached.identity
    if cause is None and identity != one.gateway_identity:
        cause, seen = (
            "another-identity",
            f"{identity or 'a server without a SPIFFE ID'} answers, not {one.gateway_identity}",
        )
    if cause is None and reached.without_route:
        seen = f"{seen} is {identity}, but this machine has no route to {', '.join(reached.without_route)}"
        fix = "Callers with that address family alone need a route. Else remove the address from DNS"
        return Verdict(check, "no-route", seen, fix, notice=True)
    if cause is None:
        return Verdict(check, None, f"{seen} is {identity}")
    fix = fixes[cause].format(name=one.gateway.name, namespace=one.gateway_namespace, mesh=one.mesh)
    return Verdict(
        check, cause, seen, fix if mine else f"{fix}. `hosted-mesh doctor --mesh {one.mesh}` reports more there"
    )


def _ports(service: Manifest) -> list[int]:
    return [int(one["port"]) for one in (service.get("spec") or {}).get("ports") or []]


def balancer(service: Manifest | None) -> list[str]:
    """Addresses and host names of a Service's load balancer."""
    ingress: Any = (((service or {}).get("status") or {}).get("loadBalancer") or {}).get("ingress") or []
    return [str(given) for one in ingress if (given := one.get("ip") or one.get("hostname"))]


def _same(address: str, found: Sequence[str], own: Sequence[str]) -> bool:
    """A load balancer's host name counts as the same: its addresses change, and a record may point to the name."""
    return address in own or bool(set(found) & set(own)) or any(not one[:1].isdigit() and ":" not in one for one in own)
