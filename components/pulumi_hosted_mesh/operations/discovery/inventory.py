"""The inventory document of discovered meshes: their clusters, gateways and services. Pure.

A service is a Service of a namespace with injection. Its account and versions come from workloads that it selects.
Federations, and the config cluster of a mesh, are not in the objects that discovery reads: add them by hand.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from pulumi_hosted_mesh.operations.discovery.cluster_observation import ClusterObservation, Manifest
from pulumi_hosted_mesh.operations.discovery.facts import Discovery, FoundGateway, FoundMesh, Installation
from pulumi_hosted_mesh.operations.discovery.mesh_identity import containers_of, labels_of, name_of, namespace_of
from pulumi_hosted_mesh.operations.discovery.services import selected_workloads, template
from pulumi_hosted_mesh.spec.fields import is_address
from pulumi_hosted_mesh.spec.inventory import GatewayRole, Inventory
from pulumi_hosted_mesh.spec.load import read_document
from pulumi_hosted_mesh.vocabulary import namespace_of as namespace_of_mesh

SOURCE: Final = "hosted-mesh discover --inventory"
TLS_PORT: Final = 15443
STATUS_PORT: Final = 15021
PROTOCOLS: Final = {"http": "HTTP", "http2": "HTTP2", "grpc": "GRPC", "tls": "TLS", "https": "TLS"}
"""By `appProtocol`, or the beginning of a port's name. All others are TCP."""
NO_LABEL: Final = re.compile(r"[^-a-z0-9]+")


def inventory_of(observed: Sequence[ClusterObservation], found: Discovery) -> Inventory:
    """The document. Raises: InvalidInputError if two meshes or clusters would have one name in it."""
    by_cluster = {one.cluster: one for one in observed}
    clusters, services = list[dict[str, Any]](), dict[tuple[str, str], dict[str, Any]]()
    for mesh in found.meshes:
        for one in _data_planes(mesh):
            name = _label(one.cluster_id or one.cluster)
            clusters.append(_cluster(name, mesh, one))
            for service in _services(by_cluster[one.cluster], one):
                known = services.setdefault((service["namespace"], service["name"]), service)
                known["clusters"] = sorted({*known["clusters"], name})
    document = {"clusters": clusters, "services": [one for _, one in sorted(services.items())], "source": SOURCE}
    return read_document(Inventory, document, "the discovered inventory")


def _data_planes(mesh: FoundMesh) -> Iterator[Installation]:
    """One installation of each cluster with workloads, whatever the number of its revisions."""
    seen = set()
    for one in mesh.installations:
        if one.role != "control-plane" and one.cluster not in seen:
            seen.add(one.cluster)
            yield one


def _cluster(name: str, mesh: FoundMesh, one: Installation) -> dict[str, Any]:
    mesh_name = _label(mesh.name)
    made: dict[str, Any] = {"name": name, "mesh": mesh_name}
    if mesh.trust_domain and mesh.trust_domain != f"{mesh_name}.mesh.local":
        made["trustDomain"] = mesh.trust_domain
    if one.network and one.network != mesh_name:
        made["network"] = one.network
    revisions = [part for part in mesh.installations if part.cluster == one.cluster]
    gateways = {(gate.namespace, gate.name): gate for part in revisions for gate in part.gateways}
    if gateways:
        root = namespace_of_mesh(mesh_name)
        made["gateways"] = [_gateway(gate, root) for _, gate in sorted(gateways.items())]
    return made


def _gateway(gate: FoundGateway, root: str) -> dict[str, Any]:
    role = _role(gate)
    made: dict[str, Any] = {"name": gate.name, "role": role.value}
    if gate.namespace != root:
        made["namespace"] = gate.namespace
    ports = [port for port in gate.ports if port != STATUS_PORT]
    if role is not GatewayRole.INGRESS and ports and TLS_PORT not in ports:
        made["port"] = ports[0]
    if addresses := [one for one in gate.addresses if is_address(one)]:
        made["addresses"] = addresses
    return made


def _role(gate: FoundGateway) -> GatewayRole:
    """By its name, else by its ports: a gateway without an outer address is for calls that leave."""
    plain = gate.name.replace("-", "")
    named = (("eastwest", GatewayRole.EAST_WEST), ("egress", GatewayRole.EGRESS), ("ingress", GatewayRole.INGRESS))
    for word, role in named:
        if word in plain:
            return role
    if not gate.addresses:
        return GatewayRole.EGRESS
    return GatewayRole.EAST_WEST if gate.network or TLS_PORT in gate.ports else GatewayRole.INGRESS


def _services(observed: ClusterObservation, one: Installation) -> Iterator[dict[str, Any]]:
    members = {member.namespace for member in one.members}
    gateways = {(gate.namespace, gate.name) for gate in one.gateways}
    for service in observed.of("Service"):
        spec, place = service.get("spec") or {}, (namespace_of(service), name_of(service))
        selector = spec.get("selector") or {}
        if place[0] not in members or place in gateways or not selector:
            continue
        workloads = [each for _, each in selected_workloads(observed, service)]
        made: dict[str, Any] = {"name": place[1], "namespace": place[0], "clusters": []}
        accounts = {(template(each).get("spec") or {}).get("serviceAccountName") for each in workloads} - {None}
        if len(accounts) == 1:
            made["serviceAccount"] = accounts.pop()
        if selector != {"app": place[1]}:
            made["labels"] = dict(selector)
        if versions := sorted({labels_of(template(each)).get("version", "") for each in workloads} - {""}):
            made["versions"] = versions
        if ports := [_port(port, workloads) for port in spec.get("ports") or [] if port.get("protocol") != "UDP"]:
            made["ports"] = ports
        yield made


def _port(port: Mapping[str, Any], workloads: Sequence[Manifest]) -> dict[str, Any]:
    word = str(port.get("appProtocol") or str(port.get("name") or "").partition("-")[0]).lower()
    made: dict[str, Any] = {"port": port["port"], "protocol": PROTOCOLS.get(word, "TCP")}
    target = port.get("targetPort", port["port"])
    if isinstance(target, str):
        named = [
            each["containerPort"]
            for workload in workloads
            for container in containers_of(workload)
            for each in container.get("ports") or []
            if each.get("name") == target
        ]
        target = named[0] if named else port["port"]
    if target != port["port"]:
        made["targetPort"] = target
    return made


def _label(name: str) -> str:
    """A DNS label; a mesh without an ID has the name `cluster/namespace`."""
    return NO_LABEL.sub("-", name.lower()).strip("-")
