"""The federation document: meshes that serve each other, with the exports and imports of each."""

from __future__ import annotations

import re
import ssl
from collections.abc import Iterable, Mapping
from enum import StrEnum
from itertools import combinations
from typing import Annotated, Any, Self, TypeVar

from pydantic import AfterValidator, Field, model_validator

from pulumi_hosted_mesh import canonical
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
    Port,
    QualifiedName,
    Setter,
    Switch,
    Text,
    domain,
    host_name,
    is_address,
    mesh_name,
)
from pulumi_hosted_mesh.spec.mesh import at_least_one
from pulumi_hosted_mesh.spec.name_lengths import federated_names, require_short_names
from pulumi_hosted_mesh.vocabulary import EAST_WEST_PORT, namespace_of

# In a principal, Istio replaces it with the reader's own trust domain: pilot/pkg/security/trustdomain/bundle.go.
LOCAL_TRUST_DOMAIN = "cluster.local"
START = r"[a-z0-9][-a-z0-9]*"
"""Begin of a name, before `*`."""
IDENTITY = re.compile(rf"\*|{DNS_LABEL.pattern}/({DNS_LABEL.pattern}|({START})?\*)|{START}\*/\*")
ALL_PEERS = "*"
LOCALITY = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(/[a-z0-9]([-a-z0-9]*[a-z0-9])?){0,2}")


HTTP_PORTS = (80, 8080)
"""Ports of HTTP that an import has by default. No protocol in which the server sends first uses them."""


T = TypeVar("T")


def at_least_two(values: tuple[T, ...]) -> tuple[T, ...]:
    if len(values) < 2:
        raise RuleBrokenError("requires two or more", "Add one")
    return values


def gateway_address(value: str) -> str:
    return canonical.host(value) if is_address(value) else host_name(value)


def identity(value: str) -> str:
    if not IDENTITY.fullmatch(value):
        raise RuleBrokenError(
            "must be a namespace and a service account, or a pattern of one",
            "Write it like shop/frontend, shop/front*, shop/*, shop-*/* or *. Istio matches no * in between",
        )
    return value


def locality(value: str) -> str:
    if not LOCALITY.fullmatch(value):
        raise RuleBrokenError("must be a region, optionally with a zone", "Write it like eu-west or eu-west/a")
    return value


def foreign_trust_domain(value: str) -> str:
    domain(value)
    if value == LOCAL_TRUST_DOMAIN:
        raise RuleBrokenError(
            "is Istio's name of the reader's own trust domain: a gateway would confuse its own mesh with this one",
            "Give the mesh another (meshConfig.trustDomain in Istio, with cluster.local among trustDomainAliases)",
        )
    return value


def export_domain(value: str) -> str:
    """A domain for exported services: two labels before it must make a host name that both sides resolve."""
    domain(value)
    try:
        host_name(f"service.namespace.{value}")
    except RuleBrokenError as broken:
        fix = "Write it like shop.example.com, or mesh.internal"
        raise RuleBrokenError(f"cannot be the end of a service's host name: that {broken.rule}", fix) from None
    return value


Address = Annotated[Text, AfterValidator(gateway_address)]
Identity = Annotated[Text, AfterValidator(identity)]
Locality = Annotated[Text, AfterValidator(locality)]
ExportDomain = Annotated[Text, AfterValidator(export_domain), Field(json_schema_extra={"format": "hostname"})]
TrustDomain = Annotated[Text, AfterValidator(foreign_trust_domain), Field(json_schema_extra={"format": "hostname"})]


PeerName = Annotated[
    Text, AfterValidator(mesh_name), Field(json_schema_extra={"pattern": rf"^(\*|{DNS_LABEL.pattern})$"})
]
"""A peer in a document, or `*`, which `Federation` expands before it reads the names."""


def principal(domain: str, identity: str) -> str:
    """An identity or a pattern in Istio's form, which has `*` at the end only. domain: the trust domain."""
    namespace, _, account = identity.partition("/")
    if namespace.endswith("*"):
        return f"{domain}/*" if identity == "*" else f"{domain}/ns/{namespace}"
    return f"{domain}/ns/{namespace}/sa/{account}"


def root_certificates(certificates: str) -> set[bytes]:
    """The certificates of a PEM text, for comparison."""
    return set(canonical.certificates(certificates))


class TrustType(StrEnum):
    """The peers' way to verify each other."""

    COMPLETE = "complete"
    PARTIAL = "partial"
    CHANGING = "changing"


class ObjectSharing(StrEnum):
    """Objects of imports: for each service, or shared by those of one peer, port and protocol."""

    PER_SERVICE = "perService"
    CHANGING = "changing"
    SHARED = "shared"


class Protocol(StrEnum):
    """Protocol of a port, by Istio's name."""

    HTTP = "HTTP"
    HTTP2 = "HTTP2"
    GRPC = "GRPC"
    TCP = "TCP"


class Retry(StrEnum):
    """Requests that are repeated if one of several meshes does not answer."""

    IDEMPOTENT = "idempotent"
    UNSENT = "unsent"


class EastWestGateway(Model):
    """The gateway for a peer's callers: one of `gateways` in its data plane's document."""

    name: Annotated[DnsLabel, AfterValidator(gateway_name)] = "eastwest"
    """Name of its Deployment and of its ServiceAccount."""
    namespace: DnsLabel | None = None
    """Its namespace; by default the mesh's namespace, `mesh-<name>`."""
    address: Address
    """DNS name or IP address of its load balancer, reachable by the peers' proxies."""
    port: Port = EAST_WEST_PORT
    """Port of its Service; its Pods must listen on the same port."""


class Egress(Model):
    """A mesh's gateway for calls to peers. It does not terminate their TLS, so a peer sees the caller's identity."""

    gateway: Annotated[DnsLabel, AfterValidator(gateway_name)]
    """Name of its Deployment and Service: one of `gateways` in the document of this mesh's data plane."""
    namespace: DnsLabel | None = None
    """Its namespace; by default the mesh's namespace, `mesh-<name>`."""
    port: Port = EAST_WEST_PORT
    """Port of its Service; its Pods must listen on the same port. The server name selects the peer."""
    ports: dict[MeshName, Port] = {}
    """Other ports, by peer: for peers with a service of the same name, such as several meshes of one import."""

    def port_to(self, mesh: str) -> int:
        """The port for calls to a peer."""
        return self.ports.get(mesh, self.port)


class Audience(Model):
    """Allowed callers of one peer."""

    mesh: PeerName
    """The peer; `*` stands for all peers of its groups that `to` does not name."""
    identities: Annotated[tuple[Identity, ...], AfterValidator(at_least_one)]
    """Allowed identities: `namespace/serviceAccount`, or a pattern, `namespace/start*`, `namespace/*`, `start*/*` or
    `*`. The gateway rejects all others of that mesh."""


class Export(Model):
    """Services for other peers: one Service by its name, or a namespace's Services by labels."""

    namespace: DnsLabel
    """Namespace of the Services."""
    service: DnsLabel | None = None
    """One Service by its name; requires `port`. The export is then made without reading the cluster."""
    labels: dict[QualifiedName, LabelValue] = {}
    """Without `service`: labels that a Service must have. Without both, all Services of the namespace are exported."""
    port: Port | None = None
    """Port of the Service."""
    protocol: Protocol = Protocol.HTTP
    """Protocol of the port."""
    host: HostName | None = None
    """Host name for the peers; by default `<service>.<namespace>.<domain>`."""
    to: Annotated[tuple[Audience, ...], AfterValidator(at_least_one)]
    """Allowed callers, by peer and identity."""

    @model_validator(mode="after")
    def _by_name_or_by_labels(self) -> Self:
        if self.service is not None:
            if self.port is None:
                raise RuleBrokenError("port is required with service", "Give the port of the Service")
            if self.labels:
                raise RuleBrokenError("labels have no effect with service", "Leave one of the two out")
        elif self.port is not None or self.host is not None:
            raise RuleBrokenError("port and host require service", "Add service, or leave them out")
        _refuse_repeated("to", "mesh", (one.mesh for one in self.to))
        return self


class TcpKeepalive(Model):
    """Keepalive probes on connections to peers' gateways. Load balancers close idle connections without a message."""

    time_seconds: Annotated[int, Field(strict=True, ge=1, le=32767)] = 120
    """Idle time before the first probe, in seconds. Cloud load balancers allow 240 or 350 s."""
    interval_seconds: Annotated[int, Field(strict=True, ge=1, le=32767)] = 30
    """Time between probes without an answer, in seconds."""
    probes: Annotated[int, Field(strict=True, ge=1, le=127)] = 4
    """Unanswered probes until the connection is closed."""


class Import(Model):
    """Services that a peer takes from others."""

    meshes: Annotated[tuple[MeshName, ...], AfterValidator(at_least_one)]
    """The peers that serve it. Of several, calls go to the nearest healthy one."""
    namespace: DnsLabel | None = None
    """Only Services of this namespace there."""
    service: DnsLabel | None = None
    """Only this Service; requires `namespace`. Without it, TCP and hosts outside of `domain` are not imported."""
    port: Port | None = None
    """Only this port; requires `service`. Required for TCP, unless the document's export has service and port."""
    ports: tuple[Port, ...] = HTTP_PORTS
    """Allowed HTTP ports of Services that peers select by labels. The proxies of this mesh open a listener for each.
    Other ports are imported only with `port`, here or in the document's export."""
    host: HostName | None = None
    """Its host name in this mesh; by default the host name of the export."""
    namespaces: tuple[DnsLabel, ...] = ()
    """Namespaces of its callers; by default all of this mesh. istiod sends it to no proxies of other namespaces."""
    tcp_keepalive: TcpKeepalive = TcpKeepalive()
    """Keepalive of idle connections. Through an egress gateway the shortest of a peer's imports counts."""
    required: Switch = False
    """True rejects the run if one of its meshes exports no such service. By default the import is left out, with a
    notice, and the mesh's other imports go on."""
    retry: Retry = Retry.IDEMPOTENT
    """With several meshes: `idempotent` repeats GET, HEAD, OPTIONS, TRACE, PUT and DELETE also after a gateway's answer
    503 or a broken connection, at most five times. `unsent` repeats only requests that reached no gateway, as Istio
    does."""
    try_timeout_seconds: Annotated[int, Field(strict=True, ge=1, le=3600)] | None = None
    """With several meshes, for HTTP: time until the answer to each try must begin, in seconds; by default no limit."""

    @model_validator(mode="after")
    def _one_is_named(self) -> Self:
        if self.service is not None and self.namespace is None:
            raise RuleBrokenError("namespace is required with service", "Add the Service's namespace")
        for field in ("host", "port"):
            if getattr(self, field) is not None and self.service is None:
                raise RuleBrokenError(f"{field} requires service", f"Add service, or leave {field} out")
        if self.port is not None and "ports" in self.model_fields_set:
            raise RuleBrokenError("ports has no effect with port", "Leave one of the two out")
        if "retry" in self.model_fields_set and len(self.meshes) == 1:
            raise RuleBrokenError("retry requires two or more meshes", "Add another mesh, or leave retry out")
        if self.try_timeout_seconds is not None and len(self.meshes) == 1:
            rule = "tryTimeoutSeconds requires two or more meshes"
            raise RuleBrokenError(rule, "Add another mesh, or leave tryTimeoutSeconds out")
        return self


class Peer(Model):
    """One mesh of the federation: public facts, exports and imports."""

    mesh: MeshName
    """Its name."""
    trust_domain: TrustDomain | None = None
    """Its trust domain; by default `<mesh>.mesh.local`."""
    network: LabelValue | None = None
    """Istio's name of its network; by default the mesh's name."""
    gateway: EastWestGateway
    """The gateway for its callers."""
    locality: Locality | None = None
    """Location of its gateway, `region/zone`. Callers prefer a near one."""
    root_certificate: PemCertificate | None = None
    """Its root, PEM, public; two while it moves to another. With trust `partial` it is required: its peers verify it by
    these certificates. With `complete`, different roots are rejected before any object is created."""
    cluster_domain: Domain = "cluster.local"
    """DNS domain of its cluster."""
    exports: tuple[Export, ...] = ()
    """Its services for peers, with the allowed callers."""
    imports: tuple[Import, ...] = ()
    """Services that it takes from peers."""
    dns_capture: Switch = True
    """With imports: its proxies answer DNS queries of their Pods for imported hosts, and pass on all others. A change
    counts for Pods that start after it."""
    egress: Egress | None = None
    """The gateway for its calls to peers; by default none: each caller's proxy connects to the peer's gateway."""

    @model_validator(mode="after")
    def _egress_is_a_gateway_of_its_own(self) -> Self:
        if self.egress is None:
            return self
        if (self.egress.gateway, self.egress_namespace) == (self.gateway.name, self.gateway_namespace):
            rule = f"egress.gateway is {self.egress.gateway}, the gateway by which others call this mesh"
            fix = "Name another of its gateways: that one admits calls by the caller's identity"
            raise RuleBrokenError(rule, fix)
        for at, one in enumerate(self.imports):
            ports = {mesh: self.egress.port_to(mesh) for mesh in one.meshes}
            if shared := sorted(mesh for mesh in ports if [*ports.values()].count(ports[mesh]) > 1):
                rule = f"imports[{at}] is served by {' and '.join(shared)}, and egress has one port for them"
                raise RuleBrokenError(rule, "Give each a port of its own in egress.ports")
        return self

    @property
    def egress_namespace(self) -> str:
        """The egress gateway's namespace."""
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
        """SPIFFE ID of the gateway; its callers verify it."""
        return f"spiffe://{self.domain}/ns/{self.gateway_namespace}/sa/{self.gateway.name}"


class Group(Model):
    """Peers that may serve each other. A mesh may be in several groups."""

    name: DnsLabel
    """The group's name."""
    meshes: Annotated[tuple[MeshName, ...], AfterValidator(at_least_two)]
    """Its meshes."""


class Federation(Model):
    """Meshes that serve each other. The document is public, and every peer may have the same copy."""

    setter = Setter.OPERATOR

    name: DnsLabel
    """Prefix of its objects' names, `<name>` or `<name>-<host>`."""
    domain: ExportDomain
    """DNS suffix of exported services, `<service>.<namespace>.<domain>`. It requires no DNS server."""
    trust: TrustType = TrustType.COMPLETE
    """`complete`: one root signs each mesh's intermediate (stacks `root` and `trust`). `partial`: each mesh has its own
    root, and verifies a peer by the peer's `rootCertificate`, for the peer's trust domain alone. `changing`: for the
    move from one to the other, like `partial`, but peers may share roots."""
    objects: ObjectSharing = ObjectSharing.PER_SERVICE
    """`perService`: each imported service has a ServiceEntry and a DestinationRule. `shared`: HTTP services of one peer
    and port share a ServiceEntry, and all of them one DestinationRule, for large federations. `changing`: gateways
    accept the callers of both, as `shared` does; for the move from one to the other."""
    peers: Annotated[tuple[Peer, ...], AfterValidator(at_least_two)]
    """The meshes. Their order has no meaning."""
    groups: tuple[Group, ...] = ()
    """Peers that may serve each other; by default all."""

    def peer(self, mesh: str) -> Peer:
        """A peer by its name. Raises: KeyError."""
        return {one.mesh: one for one in self.peers}[mesh]

    @property
    def has_bundles(self) -> bool:
        """Whether each peer is verified by its own `rootCertificate`, instead of the caller's root."""
        return self.trust is not TrustType.COMPLETE

    def may_serve(self, one: str, other: str) -> bool:
        """Whether two meshes are in one group."""
        return not self.groups or any({one, other} <= set(group.meshes) for group in self.groups)

    @model_validator(mode="before")
    @classmethod
    def _all_peers_by_name(cls, content: Any) -> Any:
        return expanded(content)

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
    def _names_are_peers(self) -> Self:
        peers = {one.mesh for one in self.peers}
        for group in self.groups:
            if missing := sorted(set(group.meshes) - peers):
                raise RuleBrokenError(f"group {group.name} names {missing[0]}, which is no peer", "Add it to peers")
        for peer in self.peers:
            named = [(f"exports[{at}].to", one.mesh) for at, export in enumerate(peer.exports) for one in export.to]
            named += [(f"imports[{at}].meshes", mesh) for at, one in enumerate(peer.imports) for mesh in one.meshes]
            named += [("egress.ports", mesh) for mesh in (peer.egress.ports if peer.egress else ())]
            for field, mesh in named:
                self._refuse_unrelated(f"{field} of {peer.mesh}", peer.mesh, mesh, peers)
        return self

    def _refuse_unrelated(self, field: str, own: str, mesh: str, peers: set[str]) -> None:
        if mesh not in peers:
            raise RuleBrokenError(f"{field} names {mesh}, which is no peer", "Add it to peers, or correct the name")
        if mesh == own:
            raise RuleBrokenError(f"{field} names the mesh itself", "Leave it out: calls within a mesh need no export")
        if not self.may_serve(own, mesh):
            rule = f"{field} names {mesh}, and no group has both"
            raise RuleBrokenError(rule, "Add both to a group, or leave it out")

    @model_validator(mode="after")
    def _names_made_of_hosts_are_short(self) -> Self:
        for peer in self.peers:
            for at, one in enumerate(peer.exports):
                if one.service is not None:
                    host = one.host or f"{one.service}.{one.namespace}.{self.domain}"
                    require_short_names(federated_names(self.name, host, f"the host of exports[{at}] of {peer.mesh}"))
            for at, wish in enumerate(peer.imports):
                if wish.host is not None:
                    field = f"imports[{at}].host of {peer.mesh}"
                    require_short_names(federated_names(self.name, wish.host, field))
        return self

    @model_validator(mode="after")
    def _hosts_are_no_gateways(self) -> Self:
        """A proxy resolves a gateway by its name: an imported service of that name would replace the gateway."""
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
    def _shared_objects_have_one_root(self) -> Self:
        if self.objects is ObjectSharing.SHARED and self.has_bundles:
            rule = f"objects is shared, but trust is {self.trust}: each host needs the roots of its own peers"
            raise RuleBrokenError(rule, "Leave objects out, or set trust: complete")
        return self

    @model_validator(mode="after")
    def _roots_fit_the_trust(self) -> Self:
        roots = {one.mesh: root_certificates(one.root_certificate) for one in self.peers if one.root_certificate}
        if self.has_bundles:
            self._refuse_unknown(roots)
            if self.trust is TrustType.PARTIAL:
                self._refuse_common(roots)
        elif roots and not set.intersection(*roots.values()):
            # All peers share a root. While meshes move from one root to another, each has both.
            first, *others = sorted(roots)
            other = next((one for one in others if not roots[first] & roots[one]), None)
            named = f"{first} and {other}" if other else ", ".join(sorted(roots))
            rule = f"trust is complete, but {named} have different roots"
            fix = (
                "Move one to the other's root first, without interruption. Give both a root certificate with both "
                "roots, renew the intermediate of one under the other root, then remove the old root. "
                "Or set trust: partial to keep each root; to move from complete to partial, first set trust: changing"
            )
            raise RuleBrokenError(rule, fix)
        return self

    def _refuse_unknown(self, roots: dict[str, set[bytes]]) -> None:
        if missing := [one.mesh for one in self.peers if one.mesh not in roots]:
            rule = f"trust is {self.trust}, but rootCertificate of {', '.join(missing)} is missing"
            raise RuleBrokenError(rule, "Set each peer's rootCertificate to root-cert.pem of its cacerts")
        for one in self.peers:
            if one.root_certificate and not _are_roots(one.root_certificate):
                rule = f"trust is {self.trust}, and rootCertificate of {one.mesh} holds a certificate that is no root"
                raise RuleBrokenError(rule, "Set it to root-cert.pem of its cacerts: proxies accept no intermediate")

    def _refuse_common(self, roots: dict[str, set[bytes]]) -> None:
        for mesh, other in combinations(sorted(roots), 2):
            if roots[mesh] & roots[other]:
                rule = f"trust is partial, but {mesh} and {other} have a root in common, which could sign for both"
                fix = "Leave trust out to share it, or give each only its own roots; during the move, set changing"
                raise RuleBrokenError(rule, fix)


def expanded(content: Any) -> Any:
    """A document with the names of peers in place of `*` in `to`. Other content is returned for its own errors."""
    peers = content.get("peers") if isinstance(content, Mapping) else None
    if not isinstance(peers, list | tuple) or not all(_is_peer(one) for one in peers):
        return content
    groups = content.get("groups") or ()
    meshes = [one["mesh"] for one in peers]

    def others(mesh: str) -> list[str]:
        if not groups:
            return [one for one in meshes if one != mesh]
        sets = [set(one["meshes"]) for one in groups if isinstance(one, Mapping) and "meshes" in one]
        return [one for one in meshes if one != mesh and any({one, mesh} <= group for group in sets)]

    def audience(mesh: str, to: Any) -> Any:
        if not isinstance(to, list | tuple) or not all(isinstance(one, Mapping) for one in to):
            return to
        named = {str(one.get("mesh")) for one in to}
        found = list[Any]()
        for one in to:
            if one.get("mesh") != ALL_PEERS:
                found.append(one)
                continue
            found += [{**one, "mesh": other} for other in others(mesh) if other not in named]
        return found

    def exports(peer: Mapping[str, Any]) -> Any:
        given = peer.get("exports") or ()
        if not isinstance(given, list | tuple):
            return given
        return [
            {**one, "to": audience(peer["mesh"], one["to"])} if isinstance(one, Mapping) and "to" in one else one
            for one in given
        ]

    has_all = any(_names_all(peer) for peer in peers)
    return {**content, "peers": [{**peer, "exports": exports(peer)} for peer in peers]} if has_all else content


def _is_peer(content: object) -> bool:
    return isinstance(content, Mapping) and isinstance(content.get("mesh"), str)


def _names_all(peer: Mapping[str, Any]) -> bool:
    exports = peer.get("exports") or ()
    return isinstance(exports, list | tuple) and any(
        isinstance(to, Mapping) and to.get("mesh") == ALL_PEERS
        for one in exports
        if isinstance(one, Mapping) and isinstance(one.get("to"), list | tuple)
        for to in one["to"]
    )


class FederationMember(Model):
    """The peer of a stack `federation`, and its cluster."""

    setter = Setter.OWNER

    mesh: MeshName
    """The peer."""
    cluster: ClusterReference | None = None
    """Its data plane's config cluster, the first membership."""


class OfferedService(Model):
    """One port of a Service that a peer exports."""

    namespace: DnsLabel
    """Namespace of the Service."""
    service: DnsLabel
    """Name of the Service."""
    port: Port
    """Port of the Service, and of its import."""
    protocol: Protocol
    """Protocol of the port."""
    host: HostName
    """Host name for the peers, and the server name of the TLS connections to it."""
    to: tuple[Audience, ...]
    """Allowed callers, by peer."""

    def is_for(self, mesh: str) -> bool:
        """Whether a mesh has allowed callers."""
        return any(one.mesh == mesh for one in self.to)


class Offer(Model):
    """One peer's exports by name, a file for its peers. The file is public."""

    setter = Setter.OWNER

    handed_over = True

    federation: DnsLabel
    """The federation's name."""
    mesh: MeshName
    """The exporting mesh."""
    services: tuple[OfferedService, ...] = ()
    """The exported services."""


def _are_roots(certificates: str) -> bool:
    """Whether each is a self-issued authority's certificate: Envoy finds no chain to an intermediate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(cadata=certificates)
    authorities = context.get_ca_certs()
    others = context.cert_store_stats()["x509"] - len(authorities)
    return not others and all(one["subject"] == one["issuer"] for one in authorities)


def _refuse_repeated(part: str, field: str, values: Iterable[str]) -> None:
    found = list(values)
    if repeated := sorted({one for one in found if found.count(one) > 1}):
        raise RuleBrokenError(f"{part} has two with one {field}, {repeated[0]}", f"Give each its own {field}")
