"""The federation document: meshes that serve each other, what each exports to whom, and what each imports."""

from __future__ import annotations

import re
import ssl
from collections.abc import Iterable
from enum import StrEnum
from itertools import combinations
from typing import Annotated, Self, TypeVar

from pydantic import AfterValidator, Field, model_validator

from pulumi_hosted_mesh.problems import RuleBrokenError
from pulumi_hosted_mesh.spec.cluster import ClusterReference
from pulumi_hosted_mesh.spec.data_plane import gateway_name
from pulumi_hosted_mesh.spec.fields import (
    DNS_LABEL,
    DnsLabel,
    Domain,
    HostName,
    LabelValue,
    MeshName,
    Model,
    PemCertificate,
    QualifiedName,
    Text,
    domain,
    host_name,
    is_address,
)
from pulumi_hosted_mesh.spec.mesh import at_least_one
from pulumi_hosted_mesh.vocabulary import EAST_WEST_PORT, namespace_of

# pilot/pkg/security/trustdomain/bundle.go in Istio: in a principal it stands for the reader's own trust domain.
LOCAL_TRUST_DOMAIN = "cluster.local"
CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----(.*?)-----END CERTIFICATE-----", re.DOTALL)
IDENTITY = re.compile(rf"{DNS_LABEL.pattern}/({DNS_LABEL.pattern}|\*)")
LOCALITY = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(/[a-z0-9]([-a-z0-9]*[a-z0-9])?){0,2}")


HTTP_PORTS = (80, 8080)
"""Ports of HTTP that an import takes without naming them: no program is served there that speaks before its client."""


T = TypeVar("T")


def at_least_two(values: tuple[T, ...]) -> tuple[T, ...]:
    if len(values) < 2:
        raise RuleBrokenError("needs two or more", "Add one")
    return values


def gateway_address(value: str) -> str:
    return value if is_address(value) else host_name(value)


def identity(value: str) -> str:
    if not IDENTITY.fullmatch(value):
        raise RuleBrokenError(
            "must be a namespace and a service account, or all service accounts of a namespace",
            "Write it like shop/frontend or shop/*",
        )
    return value


def locality(value: str) -> str:
    if not LOCALITY.fullmatch(value):
        raise RuleBrokenError("must be a region, and a zone in it if you like", "Write it like eu-west or eu-west/a")
    return value


def foreign_trust_domain(value: str) -> str:
    domain(value)
    if value == LOCAL_TRUST_DOMAIN:
        raise RuleBrokenError(
            "is Istio's word for the trust domain of whoever reads it: a gateway would take its own mesh for this one",
            "Give the mesh another (meshConfig.trustDomain in Istio, with cluster.local among trustDomainAliases)",
        )
    return value


Address = Annotated[Text, AfterValidator(gateway_address)]
Identity = Annotated[Text, AfterValidator(identity)]
Locality = Annotated[Text, AfterValidator(locality)]
TrustDomain = Annotated[Text, AfterValidator(foreign_trust_domain), Field(json_schema_extra={"format": "hostname"})]


def root_certificates(certificates: str) -> set[str]:
    """The certificates of a PEM text, without what may differ between two texts of one."""
    return {"".join(found.split()) for found in CERTIFICATE.findall(certificates)}


class TrustType(StrEnum):
    """How peers verify each other."""

    COMPLETE = "complete"
    PARTIAL = "partial"
    CHANGING = "changing"


class Protocol(StrEnum):
    """What a port speaks, as Istio names it."""

    HTTP = "HTTP"
    HTTP2 = "HTTP2"
    GRPC = "GRPC"
    TCP = "TCP"


class Retry(StrEnum):
    """Which requests are sent once more, where several meshes serve them and one does not answer."""

    IDEMPOTENT = "idempotent"
    UNSENT = "unsent"


class EastWestGateway(Model):
    """The gateway that a peer's callers reach it by: one of `gateways` of its data plane's document."""

    name: Annotated[DnsLabel, AfterValidator(gateway_name)] = "eastwest"
    """Name of its Deployment and of its ServiceAccount."""
    namespace: DnsLabel | None = None
    """Its namespace; by default the mesh's own, `mesh-<name>`."""
    address: Address
    """DNS name, or IP address, of its load balancer as the peers' proxies reach it."""
    port: Annotated[int, Field(strict=True, ge=1, le=65535)] = EAST_WEST_PORT
    """Port of its Service, which must lead to the same port of its Pods."""


class Egress(Model):
    """A gateway of a mesh that its calls to peers leave through. It does not open their TLS: a peer sees the caller."""

    gateway: Annotated[DnsLabel, AfterValidator(gateway_name)]
    """Name of its Deployment and Service: one of `gateways` of this mesh's data plane's document."""
    namespace: DnsLabel | None = None
    """Its namespace; by default the mesh's own, `mesh-<name>`."""
    port: Annotated[int, Field(strict=True, ge=1, le=65535)] = EAST_WEST_PORT
    """Port of its Service, which must lead to the same port of its Pods. It tells peers apart by the server name."""
    ports: dict[MeshName, Annotated[int, Field(strict=True, ge=1, le=65535)]] = {}
    """Other ports, by peer: for peers that serve one name, such as several meshes of one import."""

    def port_to(self, mesh: str) -> int:
        """The port that leads to a peer."""
        return self.ports.get(mesh, self.port)


class Audience(Model):
    """Who of one peer may call."""

    mesh: MeshName
    """The peer."""
    identities: Annotated[tuple[Identity, ...], AfterValidator(at_least_one)]
    """Its callers, `namespace/serviceAccount`, or `namespace/*`. Nobody else of that mesh is let in."""


class Export(Model):
    """Services of a peer that others may call: one by its name, or those of a namespace that labels select."""

    namespace: DnsLabel
    """Where they are."""
    service: DnsLabel | None = None
    """One Service; needs `port`, and then nothing is read from the cluster."""
    labels: dict[QualifiedName, LabelValue] = {}
    """Without `service`: labels that a Service must have; without either, all of the namespace."""
    port: Annotated[int, Field(strict=True, ge=1, le=65535)] | None = None
    """Port of the Service."""
    protocol: Protocol = Protocol.HTTP
    """What the port speaks."""
    host: HostName | None = None
    """What the peers call it; by default `<service>.<namespace>.<domain>`."""
    to: Annotated[tuple[Audience, ...], AfterValidator(at_least_one)]
    """Who may call: per peer, by identity."""

    @model_validator(mode="after")
    def _by_name_or_by_labels(self) -> Self:
        if self.service is not None:
            if self.port is None:
                raise RuleBrokenError("port is required with service", "Give the port of the Service")
            if self.labels:
                raise RuleBrokenError("labels would select nothing beside service", "Leave one of the two out")
        elif self.port is not None or self.host is not None:
            raise RuleBrokenError(
                "port and host are one Service's, and none is named", "Give service, or leave them out"
            )
        _refuse_repeated("to", "mesh", (one.mesh for one in self.to))
        return self


class Import(Model):
    """What a peer wants of others."""

    meshes: Annotated[tuple[MeshName, ...], AfterValidator(at_least_one)]
    """Who serves it; of several, one that is near and well is chosen."""
    namespace: DnsLabel | None = None
    """Only what is in this namespace there."""
    service: DnsLabel | None = None
    """Only this Service; needs `namespace`. Without it neither TCP nor a host outside of `domain` is imported."""
    port: Annotated[int, Field(strict=True, ge=1, le=65535)] | None = None
    """Only this port of it; needs `service`. TCP needs it, unless the document's export names service and port too."""
    ports: tuple[Annotated[int, Field(strict=True, ge=1, le=65535)], ...] = HTTP_PORTS
    """Ports of HTTP that what peers select by labels may have; each is opened in the proxies of this mesh. Others are
    imported where `port` is named, here or in the document's export."""
    host: HostName | None = None
    """What it is called in this mesh; by default what it is exported as."""
    namespaces: tuple[DnsLabel, ...] = ()
    """Who calls it here; by default all namespaces of this mesh. Proxies of others are not told of it."""
    retry: Retry = Retry.IDEMPOTENT
    """With several meshes: `idempotent` sends GET, HEAD, OPTIONS, TRACE, PUT and DELETE again also where a gateway
    answered 503 or broke off, at most five times; `unsent` only what no gateway got, as Istio does."""
    try_timeout_seconds: Annotated[int, Field(strict=True, ge=1, le=3600)] | None = None
    """With several meshes, for HTTP: seconds in which the answer to each try has to begin; by default no limit."""

    @model_validator(mode="after")
    def _one_is_named(self) -> Self:
        if self.service is not None and self.namespace is None:
            raise RuleBrokenError("namespace is required with service", "Give the namespace that it is in")
        for field in ("host", "port"):
            if getattr(self, field) is not None and self.service is None:
                raise RuleBrokenError(
                    f"{field} is one Service's, and none is named", f"Give service, or leave {field} out"
                )
        if self.port is not None and "ports" in self.model_fields_set:
            raise RuleBrokenError("ports chooses nothing beside port", "Leave one of the two out")
        if "retry" in self.model_fields_set and len(self.meshes) == 1:
            raise RuleBrokenError("retry is between meshes, and one is named", "Name another mesh, or leave retry out")
        if self.try_timeout_seconds is not None and len(self.meshes) == 1:
            rule = "tryTimeoutSeconds is of each try between meshes, and one is named"
            raise RuleBrokenError(rule, "Name another mesh, or leave tryTimeoutSeconds out")
        return self


class Peer(Model):
    """One mesh of the federation: public facts, what it exports and what it imports."""

    mesh: MeshName
    """Its name."""
    trust_domain: TrustDomain | None = None
    """Its trust domain; by default `<mesh>.mesh.local`."""
    network: LabelValue | None = None
    """Istio's name of its network; by default the mesh's name."""
    gateway: EastWestGateway
    """Where it is reached."""
    locality: Locality | None = None
    """Where its gateway stands, `region/zone`: callers prefer what is near."""
    root_certificate: PemCertificate | None = None
    """Its root, PEM, public; two while it moves to another. With trust `partial` it is required: the bundle that its
    peers verify it by. With `complete`, roots that differ are found before anything is made."""
    cluster_domain: Domain = "cluster.local"
    """DNS domain of its cluster."""
    exports: tuple[Export, ...] = ()
    """What others may call, and who."""
    imports: tuple[Import, ...] = ()
    """What it calls."""
    egress: Egress | None = None
    """The gateway that its calls leave through; by default none, each caller's proxy connects to the peer's gateway."""

    @model_validator(mode="after")
    def _egress_is_a_gateway_of_its_own(self) -> Self:
        if self.egress is None:
            return self
        if (self.egress.gateway, self.egress_namespace) == (self.gateway.name, self.gateway_namespace):
            rule = f"egress.gateway is {self.egress.gateway}, the gateway by which others call this mesh"
            fix = "Name another of its gateways: what may come in at that one is judged by who calls"
            raise RuleBrokenError(rule, fix)
        for at, one in enumerate(self.imports):
            ports = {mesh: self.egress.port_to(mesh) for mesh in one.meshes}
            if shared := sorted(mesh for mesh in ports if [*ports.values()].count(ports[mesh]) > 1):
                rule = f"imports[{at}] is served by {' and '.join(shared)}, and egress leads to them by one port"
                raise RuleBrokenError(rule, "Give each a port of its own in egress.ports")
        return self

    @property
    def egress_namespace(self) -> str:
        """The namespace of the gateway that calls leave through, if there is one."""
        return (self.egress.namespace if self.egress else None) or namespace_of(self.mesh)

    @property
    def domain(self) -> str:
        """The trust domain."""
        return self.trust_domain or f"{self.mesh}.mesh.local"

    @property
    def gateway_namespace(self) -> str:
        """The gateway's namespace."""
        return self.gateway.namespace or namespace_of(self.mesh)

    @property
    def gateway_identity(self) -> str:
        """SPIFFE ID of the gateway, which its callers verify."""
        return f"spiffe://{self.domain}/ns/{self.gateway_namespace}/sa/{self.gateway.name}"


class Group(Model):
    """Peers that may serve each other. A mesh may be in several groups."""

    name: DnsLabel
    """The group's name."""
    meshes: Annotated[tuple[MeshName, ...], AfterValidator(at_least_two)]
    """Its meshes."""


class Federation(Model):
    """Meshes that serve each other. All of it is public; every peer may have the same copy."""

    name: DnsLabel
    """Names what is made, `<name>` or `<name>-<host>`."""
    domain: Domain
    """DNS suffix of exported services, `<service>.<namespace>.<domain>`. Nobody has to resolve it."""
    trust: TrustType = TrustType.COMPLETE
    """`complete`: one root signs each mesh's intermediate (stacks `root` and `trust`). `partial`: each mesh has a root
    of its own, and verifies each peer by that peer's `rootCertificate` and for that peer's trust domain alone.
    `changing`: on the way from one to the other, as `partial`, but peers may have roots in common."""
    peers: Annotated[tuple[Peer, ...], AfterValidator(at_least_two)]
    """The meshes. Their order says nothing."""
    groups: tuple[Group, ...] = ()
    """Who may serve whom; by default all of them each other."""

    def peer(self, mesh: str) -> Peer:
        """A peer by its name. Raises: KeyError."""
        return {one.mesh: one for one in self.peers}[mesh]

    @property
    def has_bundles(self) -> bool:
        """Whether each peer is verified by its own `rootCertificate`, and not by the root of the mesh that does so."""
        return self.trust is not TrustType.COMPLETE

    def may_serve(self, one: str, other: str) -> bool:
        """Whether two meshes are in one group."""
        return not self.groups or any({one, other} <= set(group.meshes) for group in self.groups)

    @model_validator(mode="after")
    def _peers_are_distinct(self) -> Self:
        _refuse_repeated("peers", "mesh", (one.mesh for one in self.peers))
        _refuse_repeated("peers", "network", (one.network or one.mesh for one in self.peers))
        _refuse_repeated("peers", "trustDomain", (one.domain for one in self.peers))
        _refuse_repeated(
            "peers", "gateway.address", (f"{one.gateway.address}:{one.gateway.port}" for one in self.peers)
        )
        _refuse_repeated("groups", "name", (one.name for one in self.groups))
        return self

    @model_validator(mode="after")
    def _who_is_named_is_a_peer(self) -> Self:
        known = {one.mesh for one in self.peers}
        for group in self.groups:
            if missing := sorted(set(group.meshes) - known):
                raise RuleBrokenError(f"group {group.name} names {missing[0]}, which is no peer", "Add it to peers")
        for peer in self.peers:
            named = [(f"exports[{at}].to", one.mesh) for at, export in enumerate(peer.exports) for one in export.to]
            named += [(f"imports[{at}].meshes", mesh) for at, one in enumerate(peer.imports) for mesh in one.meshes]
            named += [("egress.ports", mesh) for mesh in (peer.egress.ports if peer.egress else ())]
            for field, mesh in named:
                self._refuse_stranger(f"{field} of {peer.mesh}", peer.mesh, mesh, known)
        return self

    def _refuse_stranger(self, field: str, own: str, mesh: str, known: set[str]) -> None:
        if mesh not in known:
            raise RuleBrokenError(f"{field} names {mesh}, which is no peer", "Add it to peers, or correct the name")
        if mesh == own:
            raise RuleBrokenError(f"{field} names the mesh itself", "Leave it out: within a mesh nothing is exported")
        if not self.may_serve(own, mesh):
            rule = f"{field} names {mesh}, and no group has both"
            raise RuleBrokenError(rule, "Add both to a group, or leave it out")

    @model_validator(mode="after")
    def _hosts_are_no_gateways(self) -> Self:
        """Proxies look gateways up by name; one that is an imported service too would lead them to itself."""
        gateways = {one.gateway.address: one.mesh for one in self.peers}
        for peer in self.peers:
            named = [(f"exports[{at}].host", one.host) for at, one in enumerate(peer.exports)]
            named += [(f"imports[{at}].host", one.host) for at, one in enumerate(peer.imports)]
            for field, host in named:
                if host in gateways:
                    rule = f"{field} of {peer.mesh} is {host}, the address of the gateway of {gateways[host]}"
                    raise RuleBrokenError(rule, "Give the service a name of its own")
        return self

    @model_validator(mode="after")
    def _roots_fit_the_trust(self) -> Self:
        roots = {one.mesh: root_certificates(one.root_certificate) for one in self.peers if one.root_certificate}
        if self.has_bundles:
            self._refuse_unknown(roots)
            if self.trust is TrustType.PARTIAL:
                self._refuse_common(roots)
        elif roots and not set.intersection(*roots.values()):
            # Some root is everybody's. While meshes move from one root to another, each has both.
            first, *others = sorted(roots)
            other = next((one for one in others if not roots[first] & roots[one]), None)
            named = f"{first} and {other}" if other else ", ".join(sorted(roots))
            rule = f"trust is complete, but {named} have different roots"
            fix = (
                "Move one to the other's root first: give both a root certificate that holds both roots, renew the "
                "intermediate of one under the other root, then drop the old root; traffic goes on all the while. "
                "Or leave each its root, with trust: partial; from complete to partial the way is trust: changing"
            )
            raise RuleBrokenError(rule, fix)
        return self

    def _refuse_unknown(self, roots: dict[str, set[str]]) -> None:
        if missing := [one.mesh for one in self.peers if one.mesh not in roots]:
            rule = f"trust is {self.trust}, and nothing is there to verify {', '.join(missing)} by"
            raise RuleBrokenError(rule, "Give each peer's rootCertificate, as root-cert.pem of its cacerts has it")
        for one in self.peers:
            if one.root_certificate and not _are_roots(one.root_certificate):
                rule = f"trust is {self.trust}, and rootCertificate of {one.mesh} holds a certificate that is no root"
                raise RuleBrokenError(rule, "Give root-cert.pem of its cacerts: proxies accept no intermediate for it")

    def _refuse_common(self, roots: dict[str, set[str]]) -> None:
        for mesh, other in combinations(sorted(roots), 2):
            if roots[mesh] & roots[other]:
                rule = f"trust is partial, but {mesh} and {other} have a root in common, which could sign for both"
                fix = "Leave trust out if they share it, else give each its own roots alone; between the two: changing"
                raise RuleBrokenError(rule, fix)


class FederationMember(Model):
    """Which peer a stack `federation` is, and its own cluster: no other peer's."""

    mesh: MeshName
    """The peer."""
    cluster: ClusterReference | None = None
    """Its data plane's cluster: the first membership, where its istiod reads Istio's objects."""


class OfferedService(Model):
    """One port of a Service that a peer exports."""

    namespace: DnsLabel
    """Where it is."""
    service: DnsLabel
    """Its name there."""
    port: Annotated[int, Field(strict=True, ge=1, le=65535)]
    """Its port there, and its port where it is imported."""
    protocol: Protocol
    """What it speaks."""
    host: HostName
    """What peers call it, and the server name of the TLS connections to it."""
    to: tuple[Audience, ...]
    """Who may call it."""

    def is_for(self, mesh: str) -> bool:
        """Whether somebody of a mesh may call it."""
        return any(one.mesh == mesh for one in self.to)


class Offer(Model):
    """What one peer exports, by name: the file that is handed to its peers. All of it is public."""

    handed_over = True

    federation: DnsLabel
    """The federation's name."""
    mesh: MeshName
    """Who exports."""
    services: tuple[OfferedService, ...] = ()
    """What it exports."""


def _are_roots(certificates: str) -> bool:
    """Whether each is an authority's, and issued by itself: with an intermediate in its place Envoy finds no chain."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(cadata=certificates)
    authorities = context.get_ca_certs()
    others = context.cert_store_stats()["x509"] - len(authorities)
    return not others and all(one["subject"] == one["issuer"] for one in authorities)


def _refuse_repeated(part: str, field: str, values: Iterable[str]) -> None:
    found = list(values)
    if repeated := sorted({one for one in found if found.count(one) > 1}):
        raise RuleBrokenError(f"{part} has two with one {field}, {repeated[0]}", f"Give each its own {field}")
