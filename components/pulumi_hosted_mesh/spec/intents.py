"""The intents document: callers and callees of an application, in any cluster. `intents/` compiles it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Self, TypeVar

from pydantic import AfterValidator, Field, model_validator

from pulumi_hosted_mesh.problems import RuleBrokenError
from pulumi_hosted_mesh.spec.cluster import ClusterReference
from pulumi_hosted_mesh.spec.fields import (
    Cidr,
    DnsLabel,
    Domain,
    HostName,
    LabelValue,
    Model,
    Port,
    Setter,
    Text,
    is_address,
)
from pulumi_hosted_mesh.spec.proxies import OutboundTraffic

DURATION = re.compile(r"(?=.)([0-9]+h)?([0-9]+m)?([0-9]+s)?([0-9]+ms)?")
METHOD = re.compile(r"[A-Z]+")
ACCOUNT = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?|\*")
PRINCIPAL = re.compile(r"([-a-z0-9.]+)/ns/([-a-z0-9]+)/sa/([-a-z0-9.]+|\*)")
ABSOLUTE = re.compile(r"/[^\s\0]*")

T = TypeVar("T")


def filled(values: tuple[T, ...]) -> tuple[T, ...]:
    if not values:
        raise RuleBrokenError("is empty", "Add an entry, or leave the field out")
    return values


def duration(value: str) -> str:
    if not DURATION.fullmatch(value) or not any(digit in value for digit in "123456789"):
        raise RuleBrokenError("must be a duration of more than zero", "Write it like 500ms, 2s or 1m30s")
    return value


def method(value: str) -> str:
    if not METHOD.fullmatch(value):
        raise RuleBrokenError("must be an HTTP method in capitals", "Write it like GET")
    return value


def path_pattern(value: str) -> str:
    if not value.startswith("/") or "*" in value[:-1]:
        raise RuleBrokenError(
            "must be a path that begins with '/', with at most one '*', at its end", "Write it like /reviews/*"
        )
    return value


def account(value: str) -> str:
    """A service account of the client's namespace, `*` for all, or a whole principal."""
    if not ACCOUNT.fullmatch(value) and not PRINCIPAL.fullmatch(value):
        raise RuleBrokenError(
            "must be a service account of the client's namespace, * for all of them, or a principal",
            "Write it like productpage, or shop.mesh.local/ns/bookinfo/sa/productpage",
        )
    return value


def absolute_path(value: str) -> str:
    if not ABSOLUTE.fullmatch(value):
        raise RuleBrokenError("must be the absolute path of a file in the proxy", "Mount it, and give its path there")
    return value


def outer_host(value: str) -> str:
    """The DNS name of a host outside of the meshes."""
    if is_address(value):
        raise RuleBrokenError("is an IP address where a name is needed", "Give its DNS name, and the IP in addresses")
    labels = value.removeprefix("*.").split(".")
    if len(labels) < 2 or not all(re.fullmatch(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", one) for one in labels):
        raise RuleBrokenError("must be a DNS name with a domain, in lower case", "Write it like api.example.com")
    return value


def ip_address(value: str) -> str:
    if not is_address(value):
        raise RuleBrokenError("must be an IP address", "Write it like 203.0.113.7 or 2001:db8::7")
    return value


Duration = Annotated[Text, AfterValidator(duration)]
Method = Annotated[Text, AfterValidator(method)]
PathPattern = Annotated[Text, AfterValidator(path_pattern)]
Account = Annotated[Text, AfterValidator(account)]
AbsolutePath = Annotated[Text, AfterValidator(absolute_path)]
OuterHost = Annotated[Text, AfterValidator(outer_host)]
IpAddress = Annotated[Text, AfterValidator(ip_address)]
Percentage = Annotated[int, Field(strict=True, ge=0, le=100)]
Count = Annotated[int, Field(strict=True, ge=1, le=1_000_000)]


class IntentType(StrEnum):
    """The direction of an intent's calls."""

    INTRA_CLUSTER = "intra-cluster"
    INTER_CLUSTER = "inter-cluster"
    INBOUND = "inbound"
    OUTBOUND = "outbound"


class WireProtocol(StrEnum):
    """Protocols of a port, in Istio's words."""

    HTTP = "HTTP"
    HTTP2 = "HTTP2"
    GRPC = "GRPC"
    TLS = "TLS"
    TCP = "TCP"

    @property
    def is_http(self) -> bool:
        """Whether proxies see requests, and not bytes alone."""
        return self not in (WireProtocol.TCP, WireProtocol.TLS)


class MeshType(StrEnum):
    """The API of the compiled routes."""

    ISTIO = "istio"
    GATEWAY_API = "gateway-api"


class DefaultDeny(StrEnum):
    """The extent of the deny-all policy."""

    NAMESPACE = "namespace"
    MESH = "mesh"
    NONE = "none"


class Action(StrEnum):
    """The effect of an access rule."""

    ALLOW = "ALLOW"
    DENY = "DENY"


class TlsMode(StrEnum):
    """The side with a certificate: the server alone, or both."""

    SIMPLE = "SIMPLE"
    MUTUAL = "MUTUAL"


class SimpleBalancing(StrEnum):
    """Algorithms of `simple`, in Istio's words."""

    LEAST_REQUEST = "LEAST_REQUEST"
    ROUND_ROBIN = "ROUND_ROBIN"
    RANDOM = "RANDOM"
    PASSTHROUGH = "PASSTHROUGH"


class ClientType(StrEnum):
    """The place of a caller."""

    MESH = "mesh"
    EXTERNAL = "external"


class IntentService(Model):
    """The called Service."""

    name: DnsLabel
    """Name of the Service. An intent has another name."""
    namespace: DnsLabel
    """Its namespace."""
    protocol: WireProtocol = WireProtocol.HTTP
    """Protocol of its port."""
    port: Port | None = None
    """Its port. Required for TCP and TLS; for HTTP the default is the inventory's, else 80."""


class Originate(Model):
    """TLS to a host outside: callers send plain text to their proxy, which adds TLS."""

    mode: TlsMode = TlsMode.SIMPLE
    """`MUTUAL` also shows a client certificate."""
    ca_certificates: AbsolutePath | None = None
    """File with the authorities that verify the host, in the proxy. Required: without it Envoy verifies nothing."""
    client_certificate: AbsolutePath | None = None
    """With `MUTUAL`: file of the client certificate."""
    private_key: AbsolutePath | None = None
    """With `MUTUAL`: file of its key. The key itself is never in a document."""

    @model_validator(mode="after")
    def _files_fit_the_mode(self) -> Self:
        if self.ca_certificates is None:
            rule = "needs caCertificates: without a CA Envoy accepts any certificate"
            raise RuleBrokenError(rule, "Mount a bundle with sidecar.istio.io/userVolume, and give its path")
        pair = (self.client_certificate, self.private_key)
        if self.mode is TlsMode.MUTUAL and None in pair:
            raise RuleBrokenError("is MUTUAL without clientCertificate and privateKey", "Give the paths of both")
        if self.mode is TlsMode.SIMPLE and pair != (None, None):
            raise RuleBrokenError("is SIMPLE with a client certificate", "Set mode: MUTUAL, or leave the files out")
        return self


class EgressProxy(Model):
    """A third party's egress proxy, reached by HTTP CONNECT."""

    host: OuterHost
    """Its DNS name."""
    port: Port = 3128
    """Its port."""
    addresses: tuple[IpAddress, ...] = ()
    """Its fixed addresses; by default DNS gives them."""


class ExternalService(Model):
    """A host outside of the meshes."""

    host: OuterHost
    """Its DNS name, as callers use it."""
    protocol: WireProtocol = WireProtocol.TLS
    """Protocol of the port, as callers speak it. `TLS` is passed on unopened."""
    port: Port = 443
    """Its port, as callers use it."""
    target_port: Port | None = None
    """Port of the host itself, if it is another one; with `tls` the default is 443."""
    addresses: tuple[IpAddress, ...] = ()
    """Its fixed addresses; by default DNS gives them."""
    tls: Originate | None = None
    """TLS origination, for HTTP."""
    proxy: EgressProxy | None = None
    """The egress proxy of a third party on the way, for TLS and TCP."""

    @model_validator(mode="after")
    def _protocol_fits(self) -> Self:
        if self.proxy and self.protocol.is_http:
            rule = f"has a proxy with protocol {self.protocol}: Istio's tunnel carries TLS and TCP only"
            raise RuleBrokenError(rule, "Have callers speak TLS, with protocol: TLS, or leave proxy out")
        if self.tls and not self.protocol.is_http:
            rule = f"originates TLS with protocol {self.protocol}, which the proxy cannot open"
            raise RuleBrokenError(rule, "Have callers speak HTTP, with protocol: HTTP, or leave tls out")
        if self.host.startswith("*.") and not self.addresses and self.protocol is WireProtocol.TCP:
            raise RuleBrokenError("is a wildcard for TCP without addresses", "Name one host, or give addresses")
        return self


class EgressGateway(Model):
    """The gateway of the callers' side that calls leave through."""

    name: DnsLabel | None = None
    """A gateway of the inventory. By default a dedicated one, `<intent>-egress`."""
    dedicated: bool = False
    """Whether the compiler makes the gateway, for this intent alone."""

    @property
    def is_dedicated(self) -> bool:
        """Whether the compiler makes it."""
        return self.dedicated or self.name is None


class IntentClient(Model):
    """Callers: a Service's workloads, or an external host."""

    service: DnsLabel | None = None
    """A Service whose workloads call."""
    host: OuterHost | None = None
    """A caller outside of the meshes, by DNS name: for `inbound`. Only documentation; `access` limits callers there."""
    namespace: DnsLabel | None = None
    """Namespace of the service; by default the called service's."""
    type: ClientType = ClientType.MESH
    """The place of the caller."""
    protocol: WireProtocol | None = None
    """Protocol that it speaks, if it is another than the service's."""
    headless: bool = False
    """Whether its Service is headless."""
    egress_gateway: EgressGateway | None = None
    """A gateway for calls of this client; wins over the intent's."""
    service_accounts: Annotated[tuple[Account, ...], AfterValidator(filled)] | None = None
    """Its service accounts, or whole principals; by default the inventory's."""

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if (self.service is None) == (self.host is None):
            raise RuleBrokenError("needs either service or host", "Give one of the two")
        if self.host is not None and (self.service_accounts or self.egress_gateway):
            rule = "is outside of the meshes and has serviceAccounts or an egressGateway"
            raise RuleBrokenError(rule, "Leave them out: an external caller has no mesh identity")
        return self


class AccessRule(Model):
    """A limit of permitted calls: all fields of a rule must match, one value of each field suffices."""

    action: Action = Action.ALLOW
    """`ALLOW` limits the clients to this rule; `DENY` refuses, whatever else allows."""
    namespaces: tuple[DnsLabel, ...] = ()
    """Namespaces of callers; by default the clients'."""
    service_accounts: tuple[Account, ...] = ()
    """Service accounts of callers, as `clients[].serviceAccounts`; by default the clients'."""
    methods: tuple[Method, ...] = ()
    """HTTP methods."""
    paths: tuple[PathPattern, ...] = ()
    """Paths; `*` at the end stands for anything."""
    hosts: tuple[HostName, ...] = ()
    """Host names of the request."""
    claims: dict[Text, Annotated[tuple[Text, ...], AfterValidator(filled)]] = {}
    """Claims of the caller's JWT, and their permitted values; needs `jwt`."""
    ranges: tuple[Cidr, ...] = ()
    """Address ranges of callers."""


class Weight(Model):
    """A share of the traffic."""

    version: LabelValue | None = None
    """The Pods with this label `version`."""
    cluster: DnsLabel | None = None
    """The Pods of this cluster."""
    weight: Percentage
    """Percent of the requests."""

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if (self.version is None) == (self.cluster is None):
            raise RuleBrokenError("needs either version or cluster", "Give one of the two")
        return self


class LoadBalancing(Model):
    """The choice among endpoints: `simple`, or one consistent hash."""

    simple: SimpleBalancing | None = None
    """An algorithm."""
    http_header_name: Text | None = None
    """Hash of a header's value."""
    http_cookie: Text | None = None
    """Hash of a cookie's value; proxies set the cookie."""
    use_source_ip: bool = False
    """Hash of the caller's address."""

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if sum(map(bool, (self.simple, self.http_header_name, self.http_cookie, self.use_source_ip))) != 1:
            raise RuleBrokenError("needs exactly one of its fields", "Leave one")
        return self


class CircuitBreaking(Model):
    """Limits of connections and requests, and ejection of failing endpoints."""

    max_connections: Count | None = None
    """Connections to the service, from each proxy."""
    max_pending_requests: Count | None = None
    """Requests that wait for a connection."""
    max_requests: Count | None = None
    """Active requests."""
    max_requests_per_connection: Count | None = None
    """Requests after which a connection is closed."""
    consecutive_errors: Count | None = None
    """Consecutive 5xx answers after which an endpoint is ejected."""
    interval: Duration | None = None
    """Time between two checks for ejection."""
    base_ejection_time: Duration | None = None
    """Least time of an ejection."""


class Retries(Model):
    """Retries of failed requests."""

    attempts: Annotated[int, Field(strict=True, ge=0, le=10)] = 2
    """Retries of one request."""
    per_try_timeout: Duration | None = None
    """Time of each try."""
    retry_on: Text = "connect-failure,refused-stream,unavailable,cancelled,503"
    """Envoy's conditions, separated by commas."""


class Mirror(Model):
    """A copy of requests, with ignored answers."""

    version: LabelValue
    """The Pods with this label `version`."""
    percentage: Percentage = 100
    """Percent of the requests."""


class LocalityPreference(Model):
    """A preference for near endpoints."""

    failover: dict[Text, Text] = {}
    """Regions to use when a region fails, `from: to`."""


class Jwt(Model):
    """An issuer of the callers' tokens."""

    issuer: Text
    """The token's `iss`."""
    jwks_uri: Annotated[Text, Field(pattern="^https://")] | None = None
    """Address of its public keys. istiod must reach it."""
    jwks: Text | None = None
    """Its public keys, a JSON Web Key Set."""

    @model_validator(mode="after")
    def _has_keys(self) -> Self:
        if (self.jwks_uri is None) == (self.jwks is None):
            raise RuleBrokenError("needs either jwksUri or jwks", "Give one of the two")
        return self


class InboundCertificate(Model):
    """The server certificate of an inbound host: a Secret of your own, or files in the gateway."""

    mode: TlsMode = TlsMode.SIMPLE
    """`MUTUAL` also requires client certificates."""
    secret: DnsLabel | None = None
    """Your Secret in the gateway's namespace. The program does not read it. It needs feature `gatewayCertificates`."""
    certificate: AbsolutePath | None = None
    """File of the certificate, mounted in the gateway."""
    private_key: AbsolutePath | None = None
    """File of its key."""
    ca_certificates: AbsolutePath | None = None
    """With `MUTUAL`: file of the authorities that verify clients."""

    @model_validator(mode="after")
    def _is_secret_or_files(self) -> Self:
        files = (self.certificate, self.private_key)
        if (self.secret is None) == (None in files) or (self.secret and any(files)):
            raise RuleBrokenError("needs either secret, or certificate and privateKey", "Give one of the two")
        if self.mode is TlsMode.MUTUAL and not self.secret and self.ca_certificates is None:
            raise RuleBrokenError("is MUTUAL without caCertificates", "Give the file that verifies clients")
        return self


class Intent(Model):
    """Calls to one service: its callers, and the treatment of the calls."""

    type: IntentType
    """The direction of the calls."""
    name: DnsLabel
    """The intent's name, unique in the project, and not the service's."""
    application: LabelValue | None = None
    """The application; by default the document's."""
    description: Text | None = None
    """For people."""
    service: IntentService | None = None
    """The called Service; all types but `outbound`."""
    external: ExternalService | None = None
    """The called host; `outbound` only."""
    external_prefix: DnsLabel | None = None
    """First label of the host for callers elsewhere, `<externalPrefix>.<domain>`; by default the intent's name."""
    headless: bool = False
    """Whether the Service is headless: callers reach each Pod."""
    mutual_tls: bool = False
    """Whether calls must be mutual TLS. Between clusters of one mesh this implies a dedicated egress gateway."""
    service_mesh: MeshType | None = None
    """The API of routes; by default the cluster's record in the inventory."""
    load_balancing: LoadBalancing | None = None
    """The choice among endpoints."""
    service_accounts: tuple[Account, ...] = ()
    """Service accounts of the called service, which callers verify."""
    clients: tuple[IntentClient, ...] = ()
    """The callers. Required but for `inbound`."""
    egress_gateway: EgressGateway | None = None
    """The gateway that calls leave through."""
    gateway: DnsLabel | None = None
    """For `inbound`: the entry gateway; by default the cluster's only one."""
    certificate: InboundCertificate | None = None
    """For `inbound`: the certificate; without it the host is plain HTTP or TCP."""
    jwt: Jwt | None = None
    """Issuer of tokens that callers must show."""
    weights: Annotated[tuple[Weight, ...], AfterValidator(filled)] | None = None
    """Shares by version or cluster; together 100."""
    circuit_breaking: CircuitBreaking | None = None
    """Limits and ejection."""
    retries: Retries | None = None
    """Retries of requests."""
    timeout: Duration | None = None
    """Time until the answer of a request."""
    mirror: Mirror | None = None
    """A copy of the requests."""
    locality: LocalityPreference | None = None
    """A preference for near endpoints."""
    access: tuple[AccessRule, ...] = ()
    """Limits of permitted calls; without one the clients may call everything."""

    @model_validator(mode="after")
    def _callee_fits_the_type(self) -> Self:
        is_outbound = self.type is IntentType.OUTBOUND
        wanted, other = ("external", "service") if is_outbound else ("service", "external")
        if getattr(self, wanted) is None:
            raise RuleBrokenError(f"is {self.type} without {wanted}", f"Give {wanted}")
        if getattr(self, other) is not None:
            raise RuleBrokenError(f"is {self.type} with {other}", f"Leave {other} out, or change type")
        if self.service and self.service.port is None and not self.service.protocol.is_http:
            rule = f"has protocol {self.service.protocol} without service.port"
            raise RuleBrokenError(rule, "Give the Service's port: TCP has no default")
        if self.service and self.name == self.service.name:
            raise RuleBrokenError("has the name of its service", "Give the intent a name of its own")
        return self

    @model_validator(mode="after")
    def _clients_fit_the_type(self) -> Self:
        is_inbound = self.type is IntentType.INBOUND
        if not is_inbound and not self.clients:
            raise RuleBrokenError("has no clients, so nobody may call", "Add a client, or remove the intent")
        for at, client in enumerate(self.clients):
            is_external = client.host is not None or client.type is ClientType.EXTERNAL
            if is_external != is_inbound:
                place = "outside of the meshes" if is_external else "in the mesh"
                rule = f"clients[{at}] is {place}, and the intent is {self.type}"
                raise RuleBrokenError(rule, "Use type inbound for callers from outside, and only for them")
        if not is_inbound and (self.certificate or self.gateway):
            rule = f"is {self.type} with gateway or certificate, which are for inbound"
            raise RuleBrokenError(rule, "Leave them out, or change type")
        if self.egress_gateway and self.type in (IntentType.INBOUND, IntentType.INTRA_CLUSTER):
            rule = f"is {self.type} with an egressGateway: its calls leave no cluster"
            raise RuleBrokenError(rule, "Leave egressGateway out, or change type")
        return self

    @model_validator(mode="after")
    def _routes_can_be_written(self) -> Self:
        if self.weights is not None:
            if (total := sum(one.weight for one in self.weights)) != 100:
                raise RuleBrokenError(f"has weights that add up to {total}", "Make them add up to 100")
            if len({one.version is None for one in self.weights}) > 1:
                raise RuleBrokenError("has weights by version and by cluster", "Use one of the two")
        if not self.protocol.is_http:
            for field in ("retries", "timeout", "mirror", "jwt"):
                if getattr(self, field) is not None:
                    raise RuleBrokenError(
                        f"has {field} with protocol {self.protocol}", f"Leave {field} out: it is HTTP's"
                    )
            if any(one.methods or one.paths or one.hosts or one.claims for one in self.access):
                rule = f"has methods, paths, hosts or claims with protocol {self.protocol}, so no rule could match"
                raise RuleBrokenError(rule, "Leave them out, or set an HTTP protocol")
        if self.type is IntentType.OUTBOUND:
            for field in ("jwt", "weights", "mirror", "locality", "load_balancing", "headless"):
                if getattr(self, field):
                    words = "".join(part.capitalize() if at else part for at, part in enumerate(field.split("_")))
                    rule = f"is outbound with {words}, which is for services of a mesh"
                    raise RuleBrokenError(rule, f"Leave {words} out")
        if any(one.claims for one in self.access) and self.jwt is None:
            raise RuleBrokenError("has claims without jwt, so no token would be verified", "Give jwt with the issuer")
        if self.is_http_route and self.retries:
            rule = "has retries with gateway-api, whose standard channel has no field for them"
            raise RuleBrokenError(rule, "Set serviceMesh: istio, or leave retries out")
        return self

    @property
    def is_http_route(self) -> bool:
        """Whether the document asks for the Gateway API."""
        return self.service_mesh is MeshType.GATEWAY_API

    @property
    def protocol(self) -> WireProtocol:
        """The callee's protocol."""
        callee = self.external or self.service
        return callee.protocol if callee else WireProtocol.HTTP


class IntentGroup(Model):
    """Intents that belong together."""

    name: DnsLabel
    """The group's name."""
    description: Text | None = None
    """For people."""
    project: DnsLabel | None = None
    """The project, where a file may hold another's; must be the document's."""
    intents: tuple[Intent, ...] = ()
    """The intents. Their order has no effect."""


class Intents(Model):
    """The calls of one application. All of it is public."""

    setter = Setter.OWNER

    project: DnsLabel
    """The project: names of objects begin with it."""
    application: LabelValue
    """The application."""
    version: LabelValue = "v1"
    """The application's version."""
    domain: Domain | None = None
    """DNS suffix of hosts for callers elsewhere; required for `inbound`."""
    default_deny: DefaultDeny = DefaultDeny.NAMESPACE
    """Extent of deny-all: each namespace with a called service, the whole mesh, or none."""
    namespaces: tuple[DnsLabel, ...] = ()
    """Namespaces of the application. They stay closed when their last intent goes; without it they open again."""
    outbound_traffic: OutboundTraffic | None = None
    """Hosts without an intent: `REGISTRY_ONLY` closes them for the namespaces of callers. By default the mesh's own."""
    groups: tuple[IntentGroup, ...] = ()
    """Groups of intents."""

    def all(self) -> Iterator[tuple[str, Intent]]:
        """Each intent with its path in the document."""
        for at, group in enumerate(self.groups):
            for position, intent in enumerate(group.intents):
                yield f"groups[{at}].intents[{position}]", intent

    @model_validator(mode="after")
    def _belong_together(self) -> Self:
        found: dict[str, str] = {}
        for at, group in enumerate(self.groups):
            if group.project not in (None, self.project):
                rule = f"groups[{at}] is of project {group.project}, and the document is of {self.project}"
                raise RuleBrokenError(rule, "Give each project a document of its own")
        for path, intent in self.all():
            if intent.name in found:
                rule = f"{path}.name is {intent.name}, as {found[intent.name]}.name"
                raise RuleBrokenError(rule, "Give each intent of the project a name of its own")
            found[intent.name] = path
            if intent.type is IntentType.INBOUND and self.domain is None:
                rule = f"{path} ({intent.name}) is inbound, and domain is missing"
                raise RuleBrokenError(rule, "Give domain, the DNS suffix of inbound hosts")
        return self


class IntentsTarget(Model):
    """The cluster of one stack `intents`."""

    setter = Setter.OWNER

    name: DnsLabel
    """Its name in the inventory."""
    cluster: ClusterReference | None = None
    """Its kubeconfig."""
