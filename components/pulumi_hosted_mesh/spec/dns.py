"""The document of the DNS bridge: edges, zones and providers."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Any, Final, Self

from pydantic import Field, model_validator

from pulumi_hosted_mesh.problems import RuleBrokenError
from pulumi_hosted_mesh.spec.cluster import ClusterReference
from pulumi_hosted_mesh.spec.dns_fields import (
    EDGE,
    NOT_EMPTY,
    Argument,
    EtcdUrl,
    HttpUrl,
    ImageReference,
    NameServer,
    ServerHost,
    ZoneName,
    refuse_plain_credentials,
)
from pulumi_hosted_mesh.spec.fields import (
    ApiServer,
    DnsLabel,
    Domain,
    LabelValue,
    Model,
    Port,
    QualifiedName,
    Setter,
    Switch,
    Text,
    refuse_same_names,
)
from pulumi_hosted_mesh.spec.name_lengths import MadeName, publisher_names, require_short_names
from pulumi_hosted_mesh.vocabulary import CONTROL_PLANE_RECORDS, PYTHON_IMAGE

Ttl = Annotated[int, Field(strict=True, ge=1, le=604800)]


EXTERNAL_DNS_IMAGE: Final = (
    "registry.k8s.io/external-dns/external-dns:v0.21.0"
    "@sha256:f53faaf71cb270d1ca9dce6ea0c94bfebf1a18696263487f0fbc74b9bf2bd7ff"
)
AZURE_CLIENT_ANNOTATION: Final = "azure.workload.identity/client-id"


class ProviderType(StrEnum):
    """The kind of DNS server or service. Its parameters are in the section of the same name."""

    COREDNS = "coredns"
    RFC2136 = "rfc2136"
    POWERDNS = "powerdns"
    ROUTE53 = "route53"
    GOOGLE = "google"
    AZURE = "azure"
    CLOUDFLARE = "cloudflare"
    WEBHOOK = "webhook"
    OTHER = "other"


class Authentication(StrEnum):
    """external-dns' way to authenticate at the provider."""

    CREDENTIALS = "credentials"
    WORKLOAD_IDENTITY = "workload-identity"
    NONE = "none"


class Policy(StrEnum):
    """Operations on records that external-dns may do."""

    SYNC = "sync"
    UPSERT_ONLY = "upsert-only"


class Answers(StrEnum):
    """The answer to a name with several targets."""

    PLAIN = "plain"
    WEIGHTED = "weighted"
    GEOGRAPHIC = "geographic"


class RecordType(StrEnum):
    """Types of published records."""

    A = "A"
    AAAA = "AAAA"
    CNAME = "CNAME"
    TXT = "TXT"
    SRV = "SRV"
    MX = "MX"


class Source(StrEnum):
    """Kinds of an edge's objects from which external-dns reads names."""

    ISTIO_GATEWAY = "istio-gateway"
    ISTIO_VIRTUALSERVICE = "istio-virtualservice"
    GATEWAY_HTTPROUTE = "gateway-httproute"
    GATEWAY_GRPCROUTE = "gateway-grpcroute"
    SERVICE = "service"


class TsigAlgorithm(StrEnum):
    """Algorithm of the key that signs dynamic updates."""

    HMAC_SHA1 = "hmac-sha1"
    HMAC_SHA224 = "hmac-sha224"
    HMAC_SHA256 = "hmac-sha256"
    HMAC_SHA384 = "hmac-sha384"
    HMAC_SHA512 = "hmac-sha512"


class Visibility(StrEnum):
    """Visibility of a cloud's zone."""

    PUBLIC = "public"
    PRIVATE = "private"


class CoreDns(Model):
    """CoreDNS with its etcd plug-in: records are keys of an etcd."""

    endpoints: Annotated[tuple[EtcdUrl, ...], NOT_EMPTY]
    """Addresses of etcd, `https://HOST:PORT`."""
    prefix: Annotated[Text, Field(pattern=r"^(/[A-Za-z0-9_-]+)+/$")] = "/skydns/"
    """The plug-in's `path`, with a slash at both ends."""


class Rfc2136(Model):
    """A name server with dynamic updates: BIND, Knot, PowerDNS, Windows."""

    host: ServerHost
    """Name or address of the primary server."""
    port: Port = 53
    """Its port."""
    server_zones: Annotated[tuple[Domain, ...], NOT_EMPTY]
    """The server's zones; each of `zones` must lie in one."""
    tsig_key_name: Domain | None = None
    """Name of the key; its secret is the credential `tsig-secret`. Required unless `authentication: none`."""
    tsig_algorithm: TsigAlgorithm = TsigAlgorithm.HMAC_SHA256
    """Algorithm of the key."""


class PowerDns(Model):
    """PowerDNS' authoritative server, through its HTTP API. Names may have weights and health checks."""

    url: HttpUrl
    """Address of its API, `https://HOST:PORT`."""
    server_id: DnsLabel = "localhost"
    """Id of the server in its API."""


class Route53(Model):
    """Amazon Route 53."""

    zone_type: Visibility | None = None
    """Only public or only private zones; by default both."""
    assume_role: Text | None = None
    """ARN of the role to assume."""
    evaluate_target_health: Switch = True
    """True: aliases follow the health of their targets."""


class Google(Model):
    """Google Cloud DNS."""

    project: Text
    """The Google project of the zones."""
    visibility: Visibility | None = None
    """Only public or only private zones; by default both."""


class Azure(Model):
    """Azure DNS."""

    resource_group: Text
    """Resource group of the zones."""
    subscription: Text
    """Subscription of the zones."""
    private: Switch = False
    """True: the zones are private."""


class Cloudflare(Model):
    """Cloudflare."""

    proxied: Switch = False
    """True: names resolve to Cloudflare's proxies."""


class Webhook(Model):
    """A provider with external-dns' webhook interface, which has no authentication."""

    url: HttpUrl
    """Its address, within the control plane's cluster."""


class Other(Model):
    """Any other provider of external-dns, passed through."""

    provider: DnsLabel
    """Its name, as in `--provider`."""
    flags: tuple[Argument, ...] = ()
    """More arguments, `--name=value`. Arguments that the bridge sets, and secrets, are rejected. Give a secret argument
    as a credential, `EXTERNAL_DNS_<NAME>`."""


class Zone(Model):
    """A domain that edges may publish in."""

    name: ZoneName
    """The domain. `{edge}` is replaced by the edge's name: `{edge}.example.com` gives each edge its own zone."""
    shared: Switch = False
    """True: all edges of the provider may publish the same names. An answer has all targets, and a removed edge loses
    only its own. False: a zone has one edge, which owns every name in it."""


class DnsProvider(Model):
    """One DNS server, or one account with a DNS service."""

    id: DnsLabel
    """Unique; also part of its objects' names."""
    type: ProviderType
    """The kind of provider. Its parameters are in the section of the same name."""
    project: LabelValue | None = None
    """Its project. It serves edges with this `project` only. It also distinguishes accounts of route53, cloudflare and
    other."""
    location: LabelValue | None = None
    """Its location. It serves edges with this `location` only."""
    authentication: Authentication = Authentication.CREDENTIALS
    """`credentials`: the program sets them. `workload-identity`: the cloud identifies external-dns by its
    ServiceAccount. `none`: the provider requires no authentication."""
    service_account_annotations: dict[QualifiedName, Text] = {}
    """Annotations that identify the ServiceAccount to the cloud, with `workload-identity`."""
    owned_domains: tuple[Domain, ...] = ()
    """Domains that the provider is authoritative for; each of `zones` must lie in one. An empty list disables this
    check."""
    zones: tuple[Zone, ...] = ()
    """Its edges' zones. Leave it empty for a provider with the program's own records alone."""
    control_plane_zones: tuple[Domain, ...] = ()
    """Zones of the program's own `records`. Edges may not publish there: an edge's zone in one of them is rejected."""
    selector: dict[QualifiedName, LabelValue] = {}
    """Labels of its edges. An empty mapping selects all."""
    record_selector: dict[QualifiedName, LabelValue] = {}
    """Labels of its DNSEndpoints, for example for an internal and an external view. An empty mapping selects all."""
    policy: Policy = Policy.SYNC
    """`upsert-only` never deletes a record."""
    record_types: Annotated[tuple[RecordType, ...], NOT_EMPTY] = (
        RecordType.A,
        RecordType.AAAA,
        RecordType.CNAME,
    )
    """Types of published records. SRV is rejected, and so is MX with coredns or rfc2136: external-dns drops them."""
    ttl: Ttl = 300
    """Time to live of records without their own, in seconds."""
    answers: Answers = Answers.PLAIN
    """`weighted` (powerdns, route53) and `geographic` (route53) use the records' weights and regions. With powerdns the
    zones need LUA records, and the server also checks the health of addresses."""
    coredns: CoreDns | None = None
    """Parameters of `type: coredns`."""
    rfc2136: Rfc2136 | None = None
    """Parameters of `type: rfc2136`."""
    powerdns: PowerDns | None = None
    """Parameters of `type: powerdns`."""
    route53: Route53 | None = None
    """Parameters of `type: route53`."""
    google: Google | None = None
    """Parameters of `type: google`."""
    azure: Azure | None = None
    """Parameters of `type: azure`."""
    cloudflare: Cloudflare | None = None
    """Parameters of `type: cloudflare`."""
    webhook: Webhook | None = None
    """Parameters of `type: webhook`."""
    other: Other | None = None
    """Parameters of `type: other`."""

    def serves(self, edge: Edge) -> bool:
        """Whether its selector, project and location match an edge."""
        both = ((self.project, edge.project), (self.location, edge.location))
        placed = all(wanted is None or wanted == given for wanted, given in both)
        return placed and self.selector.items() <= edge.labels.items()

    @model_validator(mode="before")
    @classmethod
    def _no_credentials(cls, given: Any) -> Any:
        return refuse_plain_credentials(given)

    @model_validator(mode="after")
    def _section_of_its_type(self) -> Self:
        given = [name for name in map(str, ProviderType) if getattr(self, name) is not None]
        optional = (ProviderType.ROUTE53, ProviderType.CLOUDFLARE)
        if self.type not in optional and str(self.type) not in given:
            raise RuleBrokenError(f"has type {self.type} and no section {self.type}", f"Add {self.type}: {{...}}")
        if wrong := [name for name in given if name != self.type]:
            raise RuleBrokenError(f"has type {self.type} and a section {wrong[0]}", f"Remove {wrong[0]}, or the type")
        return self

    @model_validator(mode="after")
    def _options_fit_the_type(self) -> Self:
        routed = (Answers.PLAIN, Answers.WEIGHTED) if self.powerdns else (Answers.PLAIN,)
        if self.answers not in routed and self.type is not ProviderType.ROUTE53:
            types = "route53 or powerdns" if self.answers is Answers.WEIGHTED else "route53"
            rule = f"has answers {self.answers}, which the bridge cannot make with {self.type}"
            raise RuleBrokenError(rule, f"Use a provider of type {types}, or answers: plain")
        several_owners = self.type is ProviderType.ROUTE53 and self.answers is not Answers.PLAIN
        able = self.type is ProviderType.COREDNS or several_owners
        if any(zone.shared for zone in self.zones) and not able:
            rule = f"has a shared zone, but with {self.type} one record has one owner: an edge could not add its target"
            raise RuleBrokenError(rule, "Give each edge a zone of its own, {edge}.<domain>, or use coredns")
        open_ones = (ProviderType.COREDNS, ProviderType.RFC2136, ProviderType.WEBHOOK, ProviderType.OTHER)
        if self.authentication is Authentication.NONE and self.type not in open_ones:
            rule = f"has authentication none, but {self.type} requires authentication"
            raise RuleBrokenError(rule, "Use credentials or workload-identity")
        clouds = (ProviderType.ROUTE53, ProviderType.GOOGLE, ProviderType.AZURE, ProviderType.OTHER)
        if self.authentication is Authentication.WORKLOAD_IDENTITY and self.type not in clouds:
            rule = f"has authentication workload-identity, which {self.type} does not support"
            raise RuleBrokenError(rule, "Use credentials")
        identified = AZURE_CLIENT_ANNOTATION in self.service_account_annotations
        if self.azure and self.authentication is Authentication.WORKLOAD_IDENTITY and not identified:
            rule = f"has authentication workload-identity and no annotation {AZURE_CLIENT_ANNOTATION}"
            raise RuleBrokenError(rule, "Add it to serviceAccountAnnotations, with the client id of the identity")
        if self.rfc2136 and self.authentication is Authentication.CREDENTIALS and not self.rfc2136.tsig_key_name:
            raise RuleBrokenError("has no rfc2136.tsigKeyName", "Name the key, or set authentication: none")
        return self

    @model_validator(mode="after")
    def _publishes_its_types(self) -> Self:
        if RecordType.SRV in self.record_types:
            # source/crd.go rejects a target with a final dot, and endpoint.go requires one.
            rule = "has SRV in recordTypes, but external-dns v0.21 drops SRV records of DNSEndpoints"
            raise RuleBrokenError(rule, "Remove SRV")
        if RecordType.MX in self.record_types and (self.coredns or self.rfc2136):
            rule = f"has MX in recordTypes, but external-dns cannot read MX records back from {self.type}"
            raise RuleBrokenError(rule, "Remove MX")
        return self

    @model_validator(mode="after")
    def _has_a_zone(self) -> Self:
        if not self.zones and not self.control_plane_zones:
            rule = "has neither zones nor controlPlaneZones, so it could publish nothing"
            raise RuleBrokenError(rule, "Add zones for edges, or controlPlaneZones for the program's own records")
        return self

    @model_validator(mode="after")
    def _zones_are_its_own(self) -> Self:
        domains = self.rfc2136.server_zones if self.rfc2136 else self.owned_domains
        for name in (*(zone.name for zone in self.zones), *self.control_plane_zones):
            if domains and not any(name == one or name.endswith(f".{one}") for one in domains):
                rule = f"has the zone {name}, which is in none of its domains: {', '.join(domains)}"
                raise RuleBrokenError(rule, "Correct the zone, or add its domain to the provider's domains")
        return self


class Edge(Model):
    """A data plane's cluster with names to publish."""

    setter = Setter.BOTH

    name: DnsLabel
    """Unique; also part of its records' owner, so a new name makes a new owner."""
    labels: dict[QualifiedName, LabelValue] = {}
    """Labels for the providers' `selector`."""
    project: LabelValue | None = None
    """Its project: providers with another `project` do not serve it."""
    location: LabelValue | None = None
    """Its location: providers with another `location` do not serve it."""
    sources: Annotated[tuple[Source, ...], NOT_EMPTY] = (Source.ISTIO_GATEWAY, Source.SERVICE)
    """Kinds of objects from which external-dns reads names. Install them first: external-dns does not start without
    them."""
    api_server: ApiServer | None = None
    """Address of its API server for the control plane's Pods, `https://HOST:PORT`; by default the address in the edge's
    kubeconfig."""
    publishes: Switch = True
    """False for an edge without public services: nothing runs for it."""
    only_user_facing: Switch = False
    """True: nothing runs for the edge while its cluster has no user-facing service, an object of `sources` with a
    public host. The stack `dns-edge` looks for one at each `pulumi up`, and the stack `dns` reads its answer."""


class Images(Model):
    """Images of the bridge's Pods."""

    external_dns: ImageReference = EXTERNAL_DNS_IMAGE
    """Image of external-dns, v0.21."""
    python: ImageReference = PYTHON_IMAGE
    """An image with python3 (3.11 or later) on PATH. It runs the sidecar's source from a ConfigMap."""
    sidecar: ImageReference | None = None
    """An image built from agents/dns_sidecar/Dockerfile; replaces `python` and the ConfigMap."""


class DnsBridge(Model):
    """The DNS bridge: edges, providers, and the Pods on the control plane that connect them."""

    setter = Setter.OPERATOR

    namespace: DnsLabel = "hosted-mesh-dns"
    """Namespace of the bridge's Pods on the control plane."""
    owner: DnsLabel = "hosted-mesh"
    """Prefix of each record's owner, `<owner>.<edge>`. Bridges with one DNS server require different prefixes."""
    edges: tuple[Edge, ...] = ()
    """Clusters with names to publish. Leave it empty if only the program's records are published."""
    providers: Annotated[tuple[DnsProvider, ...], NOT_EMPTY]
    """DNS servers and services."""
    interval_seconds: Annotated[int, Field(strict=True, ge=5, le=3600)] = 60
    """Interval at which a provider's records are read and corrected, in seconds. Changes in an edge are published at
    once."""
    replicas: Annotated[int, Field(strict=True, ge=1, le=3)] = 2
    """Pods of each publisher and reader. One is active; another takes over when it fails."""
    lease_seconds: Annotated[int, Field(strict=True, ge=5, le=120)] = 15
    """Time from the failure of the active Pod until another takes over, in seconds."""
    nameservers: tuple[NameServer, ...] = ()
    """Addresses of the name servers that check whether a name resolves; by default the name servers of the control
    plane's cluster."""
    images: Images = Images()
    """Images of its Pods."""
    fixed_user: Switch = True
    """True: Pods run as user and group 65532. Set false on OpenShift, which assigns the ids and rejects others."""
    wait_until_ready: Switch = True
    """False: `pulumi up` does not wait for the Pods, and does not report Pods that fail to start."""

    @model_validator(mode="after")
    def _names_are_unique(self) -> Self:
        refuse_same_names("providers", [one.id for one in self.providers])
        refuse_same_names("edges", [one.name for one in self.edges])
        return self

    @model_validator(mode="after")
    def _projects_and_locations_have_an_edge(self) -> Self:
        for at, provider in enumerate(self.providers):
            for field in ("project", "location"):
                value, edges = getattr(provider, field), {getattr(edge, field) for edge in self.edges}
                if value and provider.zones and value not in edges:
                    rule = f"providers[{at}].{field} is {value}, but no edge has this {field}"
                    raise RuleBrokenError(rule, f"Set edges[].{field}, or remove it: it selects edges")
        return self

    @model_validator(mode="after")
    def _names_made_of_names_are_short(self) -> Self:
        require_short_names(self._made_names())
        return self

    def _made_names(self) -> Iterator[MadeName]:
        for at, provider in enumerate(self.providers):
            of_provider = (f"providers[{at}].id", provider.id)
            if provider.control_plane_zones:
                yield from publisher_names(("", CONTROL_PLANE_RECORDS), of_provider)
            for place, edge in enumerate(self.edges):
                if edge.publishes and provider.serves(edge):
                    of_edge = (f"edges[{place}].name", edge.name)
                    yield from publisher_names(of_edge, of_provider)
                    for zone in provider.zones:
                        yield MadeName("zone", zone.name.replace(EDGE, edge.name), (of_edge,))


class DnsStack(Model):
    """The DNS bridge on the control plane: the stack `dns`, or a part of the stack `all-in-one`."""

    setter = Setter.OPERATOR

    cluster: ClusterReference | None = None
    """The control plane's cluster, for `dns`. `all-in-one` uses the mesh's."""
    bridge: DnsBridge
    """Edges and providers."""


class DnsEdgeStack(Model):
    """One edge's side of the DNS bridge: the stack `dns-edge`."""

    setter = Setter.OWNER

    cluster: ClusterReference
    """The edge's cluster."""
    edge: Edge
    """The edge, as in the bridge's document."""
    install_crd: Switch = True
    """Set false if another program installs DNSEndpoint. Without conditions in its schema, the bridge's conditions are
    lost."""
    keep_crd: Switch = True
    """True: the custom resource definition stays after `pulumi destroy`, and an existing one is adopted. False: it is
    removed with the stack, and with it every DNSEndpoint; an existing one is rejected."""
    admission_zones: tuple[Domain, ...] = ()
    """Domains that the edge's API server allows in users' DNSEndpoints. Empty by default: only the bridge checks."""
    token_generation: Annotated[int, Field(strict=True, ge=1)] = 1
    """Raise it by one to replace both tokens. Then run `pulumi up` in the stack `dns`."""
