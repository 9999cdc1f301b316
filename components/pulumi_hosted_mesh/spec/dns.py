"""The document of the DNS bridge: which edges publish which names, by which providers."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from pulumi_hosted_mesh.problems import RuleBrokenError
from pulumi_hosted_mesh.spec.cluster import ClusterReference
from pulumi_hosted_mesh.spec.dns_fields import (
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
from pulumi_hosted_mesh.spec.fields import ApiServer, DnsLabel, Domain, LabelValue, Model, QualifiedName, Text

Switch = Annotated[bool, Field(strict=True)]
Port = Annotated[int, Field(strict=True, ge=1, le=65535)]
Ttl = Annotated[int, Field(strict=True, ge=1, le=604800)]


class ProviderType(StrEnum):
    """What serves the names. Each has a section of its own name with its parameters."""

    COREDNS = "coredns"
    RFC2136 = "rfc2136"
    ROUTE53 = "route53"
    GOOGLE = "google"
    AZURE = "azure"
    CLOUDFLARE = "cloudflare"
    WEBHOOK = "webhook"
    OTHER = "other"


class Authentication(StrEnum):
    """How external-dns shows the provider who it is."""

    CREDENTIALS = "credentials"
    WORKLOAD_IDENTITY = "workload-identity"
    NONE = "none"


class Policy(StrEnum):
    """What external-dns may do with records."""

    SYNC = "sync"
    UPSERT_ONLY = "upsert-only"


class Answers(StrEnum):
    """How several targets of one name are answered."""

    PLAIN = "plain"
    WEIGHTED = "weighted"
    GEOGRAPHIC = "geographic"


class RecordType(StrEnum):
    """Types of records that may be published."""

    A = "A"
    AAAA = "AAAA"
    CNAME = "CNAME"
    TXT = "TXT"
    SRV = "SRV"
    MX = "MX"


class Source(StrEnum):
    """What external-dns takes names from, in the edge."""

    ISTIO_GATEWAY = "istio-gateway"
    ISTIO_VIRTUALSERVICE = "istio-virtualservice"
    GATEWAY_HTTPROUTE = "gateway-httproute"
    GATEWAY_GRPCROUTE = "gateway-grpcroute"
    SERVICE = "service"


class TsigAlgorithm(StrEnum):
    """Of the key that signs dynamic updates."""

    HMAC_SHA1 = "hmac-sha1"
    HMAC_SHA224 = "hmac-sha224"
    HMAC_SHA256 = "hmac-sha256"
    HMAC_SHA384 = "hmac-sha384"
    HMAC_SHA512 = "hmac-sha512"


class Visibility(StrEnum):
    """Of a zone in a cloud."""

    PUBLIC = "public"
    PRIVATE = "private"


class CoreDns(Model):
    """CoreDNS with its etcd plug-in: records are keys of an etcd."""

    endpoints: Annotated[tuple[EtcdUrl, ...], NOT_EMPTY]
    """Addresses of etcd, `https://HOST:PORT`."""
    prefix: Annotated[Text, Field(pattern=r"^(/[A-Za-z0-9_-]+)+/$")] = "/skydns/"
    """The plug-in's `path`, with a slash at both ends."""


class Rfc2136(Model):
    """A name server that takes dynamic updates: BIND, Knot, PowerDNS, Windows."""

    host: ServerHost
    """Name or address of the primary server."""
    port: Port = 53
    """Its port."""
    server_zones: Annotated[tuple[Domain, ...], NOT_EMPTY]
    """The zones that the server has; those of `zones` lie in them."""
    tsig_key_name: Domain | None = None
    """Name of the key; its secret is the credential `tsig-secret`. Required unless `authentication: none`."""
    tsig_algorithm: TsigAlgorithm = TsigAlgorithm.HMAC_SHA256
    """Algorithm of the key."""


class Route53(Model):
    """Amazon Route 53."""

    zone_type: Visibility | None = None
    """Only public or only private zones; by default both."""
    assume_role: Text | None = None
    """ARN of a role to take on."""
    evaluate_target_health: Switch = True
    """True has aliases follow the health of their targets."""


class Google(Model):
    """Google Cloud DNS."""

    project: Text
    """The Google project that has the zones."""
    visibility: Visibility | None = None
    """Only public or only private zones; by default both."""


class Azure(Model):
    """Azure DNS."""

    resource_group: Text
    """Resource group of the zones."""
    subscription: Text
    """Subscription of the zones."""
    private: Switch = False
    """True for private zones."""


class Cloudflare(Model):
    """Cloudflare."""

    proxied: Switch = False
    """True has answers lead to Cloudflare's proxies."""


class Webhook(Model):
    """A provider that speaks external-dns' webhook interface, which has no authentication."""

    url: HttpUrl
    """Its address, within the control plane's cluster."""


class Other(Model):
    """Any other provider of external-dns, passed through."""

    provider: DnsLabel
    """Its name, as in `--provider`."""
    flags: tuple[Argument, ...] = ()
    """More arguments, `--name=value`. What the bridge sets is refused, and so are secrets: external-dns takes each
    argument as a variable too, `EXTERNAL_DNS_<NAME>`, and those are credentials."""


class Zone(Model):
    """A domain in which edges may publish."""

    name: ZoneName
    """The domain. `{edge}` stands for the edge's name: `{edge}.example.com` is another zone for each edge."""
    shared: Switch = False
    """True lets all edges of the provider publish the same names: all targets are answered, and an edge that leaves
    takes its own. False: a zone has one edge, which owns every name in it."""


class DnsProvider(Model):
    """One DNS server, or one account with a DNS service."""

    id: DnsLabel
    """Unique; also in the names of what is made for it."""
    type: ProviderType
    """What it is; its parameters are in the section of that name."""
    project: LabelValue | None = None
    """Whose it is, for people; a label of its objects."""
    location: LabelValue | None = None
    """Where it is, for people; a label of its objects."""
    authentication: Authentication = Authentication.CREDENTIALS
    """`credentials`: the program gives them. `workload-identity`: the cloud knows external-dns by its ServiceAccount.
    `none`: the provider asks for nothing."""
    service_account_annotations: dict[QualifiedName, Text] = {}
    """Annotations by which the cloud knows the ServiceAccount, with `workload-identity`."""
    owned_domains: tuple[Domain, ...] = ()
    """Domains that the provider is authoritative for; each of `zones` must lie in one. Empty: not checked."""
    zones: tuple[Zone, ...] = ()
    """Where its edges may publish; none for a provider of the program's own records alone."""
    control_plane_zones: tuple[Domain, ...] = ()
    """Where the program itself publishes, its `records`. No edge may: a zone of an edge that lies in one is refused."""
    selector: dict[QualifiedName, LabelValue] = {}
    """Labels of the edges that publish by it; empty means all."""
    record_selector: dict[QualifiedName, LabelValue] = {}
    """Labels of the DNSEndpoints that it publishes, as for an internal and an external view; empty means all."""
    policy: Policy = Policy.SYNC
    """`upsert-only` never deletes a record."""
    record_types: Annotated[tuple[RecordType, ...], NOT_EMPTY] = (
        RecordType.A,
        RecordType.AAAA,
        RecordType.CNAME,
    )
    """Types that are published."""
    ttl: Ttl = 300
    """Time to live of records that ask for none, in seconds."""
    answers: Answers = Answers.PLAIN
    """`weighted` and `geographic` take the weights and regions of the records' own annotations."""
    coredns: CoreDns | None = None
    """Parameters of `type: coredns`."""
    rfc2136: Rfc2136 | None = None
    """Parameters of `type: rfc2136`."""
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
    def _what_the_type_can(self) -> Self:
        if self.answers is not Answers.PLAIN and self.type is not ProviderType.ROUTE53:
            rule = f"has answers {self.answers}, which external-dns cannot make with {self.type}"
            raise RuleBrokenError(rule, "Use a provider of type route53, or answers: plain")
        able = self.type is ProviderType.COREDNS or self.answers is not Answers.PLAIN
        if any(zone.shared for zone in self.zones) and not able:
            rule = f"has a shared zone, but with {self.type} one record has one owner: an edge could not add its target"
            raise RuleBrokenError(rule, "Give each edge a zone of its own, {edge}.<domain>, or use coredns")
        open_ones = (ProviderType.COREDNS, ProviderType.RFC2136, ProviderType.WEBHOOK, ProviderType.OTHER)
        if self.authentication is Authentication.NONE and self.type not in open_ones:
            rule = f"has authentication none, but {self.type} asks who one is"
            raise RuleBrokenError(rule, "Use credentials or workload-identity")
        clouds = (ProviderType.ROUTE53, ProviderType.GOOGLE, ProviderType.AZURE, ProviderType.OTHER)
        if self.authentication is Authentication.WORKLOAD_IDENTITY and self.type not in clouds:
            rule = f"has authentication workload-identity, which {self.type} does not know"
            raise RuleBrokenError(rule, "Use credentials")
        if self.rfc2136 and self.authentication is Authentication.CREDENTIALS and not self.rfc2136.tsig_key_name:
            raise RuleBrokenError("has no rfc2136.tsigKeyName", "Name the key, or set authentication: none")
        return self

    @model_validator(mode="after")
    def _has_a_zone(self) -> Self:
        if not self.zones and not self.control_plane_zones:
            rule = "has neither zones nor controlPlaneZones, so nothing could be published by it"
            raise RuleBrokenError(rule, "Give zones for edges, or controlPlaneZones for the program's own records")
        return self

    @model_validator(mode="after")
    def _zones_are_its_own(self) -> Self:
        domains = self.rfc2136.server_zones if self.rfc2136 else self.owned_domains
        for name in (*(zone.name for zone in self.zones), *self.control_plane_zones):
            if domains and not any(name == one or name.endswith(f".{one}") for one in domains):
                rule = f"has the zone {name}, which is in none of its domains: {', '.join(domains)}"
                raise RuleBrokenError(rule, "Correct the zone, or add its domain to those that the provider owns")
        return self


class Edge(Model):
    """A data plane's cluster whose users publish names."""

    name: DnsLabel
    """Unique; also who owns its records, so a new name is a new owner."""
    labels: dict[QualifiedName, LabelValue] = {}
    """What providers select it by."""
    sources: Annotated[tuple[Source, ...], NOT_EMPTY] = (Source.ISTIO_GATEWAY, Source.SERVICE)
    """What names come from. The kinds must be installed: external-dns does not start without them."""
    api_server: ApiServer | None = None
    """Address of its API server as the control plane's Pods reach it, `https://HOST:PORT`; by default the one in the
    edge's kubeconfig."""
    publishes: Switch = True
    """False for an edge that hosts no user-facing service: nothing runs for it."""


class Images(Model):
    """What runs on the control plane."""

    external_dns: ImageReference = "registry.k8s.io/external-dns/external-dns:v0.21.0"
    """Image of external-dns, v0.21."""
    python: ImageReference = "docker.io/library/python:3.13-slim"
    """Any image with python3 (3.11 or later) on PATH; the edges' writers run in it."""


class DnsBridge(Model):
    """The DNS bridge: edges, providers, and what runs between them on the control plane."""

    namespace: DnsLabel = "hosted-mesh-dns"
    """Namespace on the control plane of all that runs."""
    owner: DnsLabel = "hosted-mesh"
    """Begins the owner of each record, `<owner>.<edge>`: bridges that share a DNS server need different ones."""
    edges: tuple[Edge, ...] = ()
    """Clusters that publish; none where the program alone does."""
    providers: Annotated[tuple[DnsProvider, ...], NOT_EMPTY]
    """DNS servers and services."""
    interval_seconds: Annotated[int, Field(strict=True, ge=5, le=3600)] = 60
    """How often a provider's records are read anew and put right, in seconds. Changes in an edge do not wait for it."""
    replicas: Annotated[int, Field(strict=True, ge=1, le=3)] = 2
    """Pods of each publisher and reader; one acts, another takes over when it is gone."""
    lease_seconds: Annotated[int, Field(strict=True, ge=5, le=120)] = 15
    """How long a Pod that is gone is waited for before another takes over, in seconds."""
    nameservers: tuple[NameServer, ...] = ()
    """Addresses of the name servers that are asked whether a name is answered yet; by default the control plane's
    cluster's own."""
    images: Images = Images()
    """Images of what runs."""
    wait_until_ready: Switch = True
    """False does not wait for the Pods, nor notice that they do not start."""

    @model_validator(mode="after")
    def _names_are_unique(self) -> Self:
        for called, names in (
            ("providers", [one.id for one in self.providers]),
            ("edges", [one.name for one in self.edges]),
        ):
            if twice := sorted({name for name in names if names.count(name) > 1}):
                raise RuleBrokenError(f"{called} has two called {twice[0]}", "Give each a name of its own")
        return self


class DnsStack(Model):
    """The DNS bridge on the control plane: the stack `dns`, or a part of the stack `all-in-one`."""

    cluster: ClusterReference | None = None
    """The control plane's cluster: for `dns`. In `all-in-one` it is the mesh's."""
    bridge: DnsBridge
    """Edges and providers."""


class DnsEdgeStack(Model):
    """One edge's side of the DNS bridge: the stack `dns-edge`."""

    cluster: ClusterReference
    """The edge's cluster."""
    edge: Edge
    """The edge, as in the bridge's document."""
    install_crd: Switch = True
    """False where somebody else installs DNSEndpoint; without conditions in its schema they are lost."""
    keep_crd: Switch = True
    """True leaves the kind when the stack goes, and takes over one that is there. False removes it with the stack, and
    with it every DNSEndpoint, and refuses one that is there."""
    admission_zones: tuple[Domain, ...] = ()
    """Domains in which users may write DNSEndpoints; none by default, so that the bridge alone refuses."""
    token_generation: Annotated[int, Field(strict=True, ge=1)] = 1
    """Raise it by one to replace both tokens, then run the stack `dns`."""
