"""The mesh document: a mesh, the revisions of its control plane, and its data planes' clusters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Self, TypeVar

from pydantic import AfterValidator, model_validator

from pulumi_hosted_mesh import canonical
from pulumi_hosted_mesh.problems import RuleBrokenError
from pulumi_hosted_mesh.spec.control_plane import ControlPlane
from pulumi_hosted_mesh.spec.data_plane import Membership
from pulumi_hosted_mesh.spec.exposure import LoadBalancerExposure
from pulumi_hosted_mesh.spec.features import Features
from pulumi_hosted_mesh.spec.fields import DnsLabel, Domain, MeshName, Model, SetBy, Setter, Switch, TenantName
from pulumi_hosted_mesh.spec.fields import Revision as RevisionName
from pulumi_hosted_mesh.spec.name_lengths import MadeName, common_names, require_short_names
from pulumi_hosted_mesh.spec.networks import CrossNetwork
from pulumi_hosted_mesh.spec.reserved import MESH_NETWORKS, value_at
from pulumi_hosted_mesh.spec.revision import Revision
from pulumi_hosted_mesh.spec.single_cluster import in_one_cluster, local_host
from pulumi_hosted_mesh.spec.trust import AuthorityManagement, Trust
from pulumi_hosted_mesh.vocabulary import (
    DEFAULT_MEMBERSHIP,
    DEFAULT_REVISION,
    DEFAULT_TAG,
    HTTPS_PORT,
    control_plane_namespace_of,
    default_trust_domain,
    namespace_of,
    owner_of,
    suffixed,
)

T = TypeVar("T")


def at_least_one(values: tuple[T, ...]) -> tuple[T, ...]:
    if not values:
        raise RuleBrokenError("is empty", "Add one")
    return values


class Mesh(Model):
    """One service mesh: revisions of its control plane in one cluster, proxies in one or several others."""

    setter = Setter.OPERATOR

    name: Annotated[MeshName, SetBy(Setter.BOTH)]
    """The mesh's name, and Istio's mesh ID. Its namespace in each cluster is `mesh-<name>`; see `tenant`."""
    tenant: TenantName | None = None
    """The mesh's tenant. Meshes of different tenants may have one name: the namespace on the control plane is then
    `tenant-<tenant>--<name>` instead of `mesh-<name>`. Set it before the first `pulumi up`: a changed one replaces
    istiod."""
    split: Switch = True
    """False deploys an ordinary mesh: istiod runs in the cluster of the only membership, with the chart's webhooks.
    Leave out `controlPlane` (except `removeInUse`), `revisions[].host`, `revisions[].exposure`, and the membership's
    `access`, `webhooks` and `chartValues`. For `all-in-one` and HostedMesh."""
    trust_domain: Domain | None = None
    """Trust domain of the workloads' identities, `spiffe://<trustDomain>/ns/...`; by default `<name>.mesh.local`, or
    `<name>.<tenant>.mesh.local` with a tenant."""
    trust: Trust = Trust()
    """Certificate authorities and lifetimes."""
    control_plane: ControlPlane = ControlPlane()
    """The control plane's cluster, and settings of the mesh's namespace there."""
    revisions: Annotated[tuple[Revision, ...], AfterValidator(at_least_one)]
    """The revisions of istiod: one, or two while the data plane moves from one to the other."""
    tags: dict[DnsLabel, RevisionName] = {}
    """Revisions by tag, `{prod: 1-31}`: namespaces with the label `istio.io/rev: prod` follow the tag. The tag
    `default` chooses the revision of namespaces with the label `istio-injection: enabled`. If it names another
    revision, the revision `default` injects no new Pods."""
    cross_network: CrossNetwork = CrossNetwork.NONE
    """`none`: the members' networks are separate, and istiod sends proxies the workloads of their own network only.
    `gateways`: istiod sends proxies all workloads. They reach other networks by the east-west gateways there (port
    15443, `AUTO_PASSTHROUGH`)."""
    memberships: Annotated[tuple[Membership, ...], AfterValidator(at_least_one)]
    """The data planes' clusters."""

    @property
    def namespace(self) -> str:
        """The mesh's namespace on data planes."""
        return namespace_of(self.name)

    @property
    def control_plane_namespace(self) -> str:
        """The mesh's namespace on the control plane."""
        return control_plane_namespace_of(self.name, self.tenant)

    @property
    def priority_class(self) -> str:
        """Name of the mesh's own PriorityClass: its namespace's, since both are unique in the cluster."""
        return self.control_plane_namespace

    @property
    def owner(self) -> str:
        """The mesh's name, with its tenant's if it has one: unique on the control plane."""
        return owner_of(self.name, self.tenant)

    @property
    def domain(self) -> str:
        """The trust domain."""
        return self.trust_domain or default_trust_domain(self.name, self.tenant)

    def host_of(self, revision: Revision) -> str:
        """DNS name of a revision's istiod for its proxies."""
        return revision.host if self.split else local_host(self.name, revision.name)

    def cluster_id(self, membership: Membership) -> str:
        """Istio's cluster ID of a membership."""
        return membership.cluster_id_in(self.name)

    def network(self, membership: Membership) -> str:
        """Istio's name of a membership's network."""
        return membership.network_in(self.name)

    def tags_of(self, revision: Revision) -> tuple[str, ...]:
        """The tags of a revision."""
        return tuple(sorted(tag for tag, name in self.tags.items() if name == revision.name))

    def injects(self, revision: Revision) -> bool:
        """Whether a revision's name injects Pods: not for `default` while the tag `default` names another revision."""
        return self.tags.get(revision.name, revision.name) == revision.name

    def exposed_services(self, revision: Revision) -> tuple[str, ...]:
        """Names of a revision's Services for data planes: none, one, or two with the webhooks' own."""
        if not isinstance(revision.exposure, LoadBalancerExposure):
            return ()
        name = suffixed(f"istiod-exposed-{self.name}", revision.name)
        return (name, f"{name}-webhooks") if revision.exposure.webhooks else (name,)

    @property
    def api_server_clients(self) -> dict[str, tuple[str, ...]]:
        """The source addresses that each data plane's API server admits, by name of the membership; empty if the
        document has none."""
        own = self.control_plane.egress_ranges
        return {one.name: one.access.proxy_egress_ranges if one.access.proxy_url else own for one in self.memberships}

    @property
    def api_server_ports(self) -> set[int]:
        """Ports of the data planes' API servers or their proxies, as far as the document has their addresses."""
        servers = [
            one.access.proxy_url or one.access.api_server or (one.cluster.server if one.cluster else None)
            for one in self.memberships
        ]
        return {canonical.server_host_and_port(server)[1] for server in servers if server}

    @model_validator(mode="before")
    @classmethod
    def _one_cluster_has_no_split(cls, document: Any) -> Any:
        apart = not isinstance(document, Mapping) or document.get("split") is not False
        return document if apart else in_one_cluster(document)

    @model_validator(mode="after")
    def _one_injection_for_a_label(self) -> Self:
        for revision in self.revisions:
            if not self.split and not self.injects(revision):
                rule = (
                    "tags.default is not the revision default, but with split: false the chart keeps that one's webhook"
                )
                raise RuleBrokenError(rule, "Give the revision default another name")
        return self

    @model_validator(mode="after")
    def _names_are_unique(self) -> Self:
        hosts = [revision.host for revision in self.revisions]
        hosts += [host for one in self.revisions if (host := one.exposure.address.webhook_host)]
        _refuse_repeated("revisions", "name", (one.name for one in self.revisions))
        _refuse_repeated("revisions", "host", hosts)
        _refuse_repeated("memberships", "name", (one.name for one in self.memberships))
        _refuse_repeated("memberships", "clusterId", map(self.cluster_id, self.memberships))
        return self

    @model_validator(mode="after")
    def _names_made_of_names_are_unique(self) -> Self:
        owners: dict[tuple[str, str], str] = {}
        for kind, name, owner in (*self._objects(), *self._data_planes()):
            if (kind, name) in owners:
                rule = f"{owners[kind, name]} and {owner} would have a {kind} of one name"
                raise RuleBrokenError(rule, "Rename one of them")
            owners[kind, name] = owner
        return self

    @model_validator(mode="after")
    def _names_made_of_names_are_short(self) -> Self:
        require_short_names(self._made_names())
        return self

    def _made_names(self) -> Iterator[MadeName]:
        own = ("name", self.name)
        if self.tenant:
            yield MadeName("namespace", self.control_plane_namespace, (("tenant", self.tenant), own))
        for revision in self.revisions:
            of_revision = ("the revision's name", revision.name)
            both = (own,) if revision.name == DEFAULT_REVISION else (own, of_revision)
            for name in self.exposed_services(revision):
                yield MadeName("Service", name, both)
            if revision.name != DEFAULT_REVISION:
                yield MadeName("Helm release", suffixed("istiod", revision.name), (of_revision,))
        for membership in self.memberships:
            if membership.cluster_id is None and membership.name != DEFAULT_MEMBERSHIP:
                parts = (own, ("the membership's name", membership.name))
                yield MadeName("label", self.cluster_id(membership), parts)
        if self.trust.management is AuthorityManagement.OWN:
            yield from common_names(self.name)

    def _objects(self) -> Iterable[tuple[str, str, str]]:
        """The revisions' objects in the mesh's namespace: kind, name, and the revision's field."""
        for position, revision in enumerate(self.revisions):
            owner = f"revisions[{position}]"
            for name in (suffixed("istiod", revision.name), *self.exposed_services(revision)):
                yield "Service", name, owner
            for begin in ("istio", "istio-sidecar-injector"):
                yield "ConfigMap", suffixed(begin, revision.name), owner

    def _data_planes(self) -> Iterable[tuple[str, str, str]]:
        """Pulumi's resource for each revision on each data plane: kind, name, and the fields."""
        for place, membership in enumerate(self.memberships):
            for position, revision in enumerate(self.revisions):
                name = suffixed(suffixed(self.name, membership.name), revision.name)
                yield "RemoteDataPlane", name, f"memberships[{place}] with revisions[{position}]"

    @model_validator(mode="after")
    def _tags_name_revisions(self) -> Self:
        names = {revision.name for revision in self.revisions}
        for tag, revision in self.tags.items():
            if revision not in names:
                rule = f"tags.{tag} names a revision that does not exist"
                raise RuleBrokenError(rule, f"Name one of {', '.join(sorted(names))}")
            if tag in names and (tag != DEFAULT_TAG or revision == tag):
                rule = f"tags.{tag} is also the name of a revision, so the namespaces' label would be ambiguous"
                raise RuleBrokenError(rule, "Choose another tag, or rename the revision")
        return self

    @model_validator(mode="after")
    def _features_are_granted(self) -> Self:
        for revision in self.revisions:
            for membership in self.memberships if self.split else ():
                if missing := not_granted(revision.features, membership.access.features):
                    rule = (
                        f"revision {revision.name} has features that membership {membership.name} does not grant: "
                        f"{', '.join(missing)}"
                    )
                    raise RuleBrokenError(rule, "Set them in that membership's access.features too, or leave them out")
        return self

    @model_validator(mode="after")
    def _a_revocation_list_is_brought(self) -> Self:
        for revision in self.revisions:
            management = self.trust.management
            without = management in (AuthorityManagement.OWN, AuthorityManagement.CERT_MANAGER)
            if revision.features.certificate_revocation and without:
                rule = (
                    f"revision {revision.name} has certificateRevocation, but trust.management: {management.value} "
                    "makes no list ca-crl.pem"
                )
                fix = "Set trust.management to brought, with ca-crl.pem in cacerts, or to unmanaged; or leave it out"
                raise RuleBrokenError(rule, fix)
        return self

    @model_validator(mode="after")
    def _clusters_have_one_domain(self) -> Self:
        if len({one.cluster_domain for one in self.memberships}) > 1:
            rule = "memberships have different clusterDomains, but istiod sends all proxies of a mesh the same one"
            raise RuleBrokenError(rule, "Give all the same, or put the cluster into a mesh of its own")
        return self

    @model_validator(mode="after")
    def _networks_are_apart_or_joined(self) -> Self:
        if self.cross_network is CrossNetwork.GATEWAYS:
            return self
        for position, revision in enumerate(self.revisions):
            if value_at(revision.chart_values, MESH_NETWORKS):
                rule = f"revisions[{position}].chartValues sets {MESH_NETWORKS}, the gateways of other networks"
                fix = f"Set crossNetwork: gateways, or leave {MESH_NETWORKS} out"
                raise RuleBrokenError(f"{rule}, but crossNetwork is none", fix)
        if len({bool(self.network(one)) for one in self.memberships}) > 1:
            rule = "some memberships have an empty network, which Istio sends to all proxies, but crossNetwork is none"
            raise RuleBrokenError(rule, "Give each membership a network, or all an empty one")
        return self

    @model_validator(mode="after")
    def _one_priority(self) -> Self:
        for position, revision in enumerate(self.revisions):
            if revision.istiod.scheduling.priority_class and self.control_plane.priority is not None:
                rule = f"revisions[{position}].istiod.scheduling.priorityClass contradicts controlPlane.priority"
                raise RuleBrokenError(rule, "Remove one of the two")
        return self

    @model_validator(mode="after")
    def _ranges_limit_something(self) -> Self:
        policy = self.control_plane.network_policy
        if policy.api_server_ranges and policy.fetch_jwks and self.api_server_ports == {HTTPS_PORT}:
            raise RuleBrokenError(
                "controlPlane.networkPolicy.apiServerRanges would limit nothing: those servers' port is 443, which is "
                "open to any address for the keys of token issuers",
                "Also set fetchJwks: false, or leave the ranges out",
            )
        return self


def not_granted(wanted: Features, granted: Features) -> list[str]:
    """The requested features that are not granted, by their names in the document."""
    allowed = {row.name for row in granted.chosen()}
    return [str(Features.model_fields[row.name].alias) for row in wanted.chosen() if row.name not in allowed]


def _refuse_repeated(part: str, field: str, values: Iterable[str]) -> None:
    found = list(values)
    if len(set(found)) != len(found):
        raise RuleBrokenError(f"{part} has two with one {field}", f"Give each its own {field}")
