"""The compiler's intermediate form: an intent with its callee, callers and clusters of the inventory. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from pulumi_hosted_mesh.problems import Problem
from pulumi_hosted_mesh.spec.intents import (
    PRINCIPAL,
    EgressGateway,
    Intent,
    IntentClient,
    Intents,
    IntentType,
    MeshType,
)
from pulumi_hosted_mesh.spec.inventory import (
    GatewayRole,
    Inventory,
    InventoryCluster,
    InventoryFederation,
    InventoryGateway,
    PlacedService,
)

HTTP_PORT = 80


class Places:
    """The inventory, by name."""

    def __init__(self, inventory: Inventory) -> None:
        self.inventory = inventory
        self.clusters = {one.name: one for one in inventory.clusters}
        self.services = {one.key: one for one in inventory.services}
        self.members: dict[str, list[InventoryCluster]] = {}
        for one in inventory.clusters:
            self.members.setdefault(one.mesh, []).append(one)
        self.trust_domains = {one.domain for one in inventory.clusters}

    def config(self, mesh: str) -> InventoryCluster:
        """The member in which istiod reads Istio's objects."""
        members = self.members[mesh]
        return next((one for one in members if one.config), members[0])

    def meshes(self, service: PlacedService) -> list[str]:
        """The meshes of a service, in the inventory's order."""
        return list(dict.fromkeys(self.clusters[name].mesh for name in service.clusters))

    def federation(self, one: str, other: str) -> InventoryFederation | None:
        """The federation that joins two meshes."""
        return next((found for found in self.inventory.federations if {one, other} <= {*found.meshes}), None)

    def gateways(self, mesh: str, role: GatewayRole) -> Iterator[tuple[InventoryCluster, InventoryGateway]]:
        """The gateways of a role in a mesh."""
        for cluster in self.members[mesh]:
            for gateway in cluster.gateways:
                if gateway.role is role:
                    yield cluster, gateway


@dataclass(frozen=True)
class Caller:
    """One client with its placement."""

    at: int
    client: IntentClient
    service: PlacedService

    def accounts(self, domain: str) -> list[str]:
        """Its principals in a mesh with a trust domain."""
        given = self.client.service_accounts or (self.service.account,)
        return [
            one if PRINCIPAL.fullmatch(one) else f"{domain}/ns/{self.service.namespace}/sa/{one}"
            for one in given
            if not PRINCIPAL.fullmatch(one) or one.startswith(f"{domain}/")
        ]


@dataclass
class Resolved:
    """An intent that can be compiled."""

    path: str
    document: Intents
    intent: Intent
    places: Places
    callee: PlacedService | None
    callers: list[Caller] = field(default_factory=list)

    @property
    def project(self) -> str:
        """The project's name."""
        return self.document.project

    @property
    def name(self) -> str:
        """The intent's name."""
        return self.intent.name

    @property
    def service(self) -> PlacedService:
        """The callee, of all types but `outbound`."""
        assert self.callee is not None
        return self.callee

    @cached_property
    def port(self) -> int:
        """The callee's port."""
        if self.intent.external:
            return self.intent.external.port
        assert self.intent.service is not None
        given = [one.port for one in self.service.ports if one.protocol is self.intent.service.protocol]
        return self.intent.service.port or next(iter(given), HTTP_PORT)

    def host(self, cluster: InventoryCluster) -> str:
        """The name of the callee in a mesh."""
        return f"{self.service.name}.{self.service.namespace}.svc.{cluster.cluster_domain}"

    @property
    def outer_host(self) -> str:
        """The name of the callee for callers elsewhere."""
        prefix = self.intent.external_prefix or self.intent.name
        return f"{prefix}.{self.document.domain}"

    def mesh_type(self, cluster: InventoryCluster) -> MeshType:
        """The API of routes."""
        return self.intent.service_mesh or cluster.service_mesh

    def egress(self, caller: Caller) -> EgressGateway | None:
        """The egress gateway of a caller's calls."""
        given = caller.client.egress_gateway or self.intent.egress_gateway
        if given is None and self.intent.mutual_tls and self.intent.type is IntentType.INTER_CLUSTER:
            return EgressGateway(dedicated=True)
        return given

    def by_mesh(self) -> dict[str, list[Caller]]:
        """The callers, by their meshes."""
        found: dict[str, list[Caller]] = {}
        for caller in self.callers:
            for mesh in self.places.meshes(caller.service):
                found.setdefault(mesh, []).append(caller)
        return found

    def problem(self, field: str, rule: str, fix: str) -> Problem:
        """A mistake in this intent."""
        where = f"{self.path}.{field}" if field else self.path
        return Problem(f"{where} ({self.name})", rule, fix)


def resolve(path: str, document: Intents, intent: Intent, places: Places) -> Resolved | str | list[Problem]:
    """The intent with its places; or the reason why it is pending; or its mistakes."""
    found = Resolved(path, document, intent, places, None)
    problems, waiting = list[Problem](), list[str]()

    def placed(namespace: str, name: str, field: str) -> PlacedService | None:
        service = places.services.get((namespace, name))
        if service is None:
            rule = f"names service {namespace}/{name}, which is nowhere in the inventory"
            problems.append(found.problem(field, rule, "Correct the name, or list it in services of the inventory"))
        elif not service.clusters:
            waiting.append(f"{namespace}/{name} is placed in no cluster yet")
        return service

    callee_namespace = intent.service.namespace if intent.service else None
    if intent.service:
        found.callee = placed(intent.service.namespace, intent.service.name, "service")
    for at, client in enumerate(intent.clients):
        if client.service is None:
            continue
        namespace = client.namespace or callee_namespace
        if namespace is None:
            rule = "has no namespace, and an outbound intent has none to take"
            problems.append(found.problem(f"clients[{at}]", rule, "Give namespace"))
            continue
        service = placed(namespace, client.service, f"clients[{at}]")
        if service:
            found.callers.append(Caller(at, client, service))
    accounts = [(f"clients[{at}].serviceAccounts", one.service_accounts or ()) for at, one in enumerate(intent.clients)]
    accounts += [(f"access[{at}].serviceAccounts", rule.service_accounts) for at, rule in enumerate(intent.access)]
    accounts.append(("serviceAccounts", intent.service_accounts))
    for field_name, given in accounts:
        for one in given:
            principal = PRINCIPAL.fullmatch(one)
            if principal and principal[1] not in places.trust_domains:
                rule = f"names a principal of trust domain {principal[1]}, which no mesh of the inventory has"
                fix = f"Use one of {', '.join(sorted(places.trust_domains))}"
                problems.append(found.problem(field_name, rule, fix))
    for at, weight in enumerate(intent.weights or ()):
        if weight.cluster and found.callee and found.callee.clusters and weight.cluster not in found.callee.clusters:
            rule = f"names cluster {weight.cluster}, in which {found.callee.name} does not run"
            problems.append(found.problem(f"weights[{at}].cluster", rule, "Name a cluster of the service"))
        if weight.version and found.callee and found.callee.versions and weight.version not in found.callee.versions:
            rule = f"names version {weight.version}, which {found.callee.name} does not have"
            fix = f"Use one of {', '.join(found.callee.versions)}"
            problems.append(found.problem(f"weights[{at}].version", rule, fix))
    if problems:
        return problems
    return "; ".join(dict.fromkeys(waiting)) if waiting else found
