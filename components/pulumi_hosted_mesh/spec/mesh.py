"""The mesh document: what a mesh is, the revisions of its control plane, and the clusters that belong to it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Self, TypeVar
from urllib.parse import urlsplit

from pydantic import AfterValidator, model_validator

from pulumi_hosted_mesh.problems import RuleBrokenError
from pulumi_hosted_mesh.spec.control_plane import ControlPlane
from pulumi_hosted_mesh.spec.data_plane import Membership
from pulumi_hosted_mesh.spec.exposure import LoadBalancerExposure
from pulumi_hosted_mesh.spec.features import Features
from pulumi_hosted_mesh.spec.fields import DnsLabel, Domain, MeshName, Model
from pulumi_hosted_mesh.spec.fields import Revision as RevisionName
from pulumi_hosted_mesh.spec.networks import CrossNetwork
from pulumi_hosted_mesh.spec.reserved import MESH_NETWORKS, value_at
from pulumi_hosted_mesh.spec.revision import Revision
from pulumi_hosted_mesh.spec.trust import AuthorityManagement, Trust
from pulumi_hosted_mesh.vocabulary import DEFAULT_TAG, HTTPS_PORT, namespace_of, suffixed

T = TypeVar("T")


def at_least_one(values: tuple[T, ...]) -> tuple[T, ...]:
    if not values:
        raise RuleBrokenError("is empty", "Add one")
    return values


class Mesh(Model):
    """One service mesh: revisions of its control plane in one cluster, its proxies in one or several others."""

    name: MeshName
    """The mesh's name, and Istio's mesh ID; its namespace in each cluster is `mesh-<name>`."""
    trust_domain: Domain | None = None
    """Trust domain of the workloads' identities, `spiffe://<trustDomain>/ns/...`; by default `<name>.mesh.local`."""
    trust: Trust = Trust()
    """Certificate authorities and lifetimes."""
    control_plane: ControlPlane = ControlPlane()
    """The control plane's cluster, and the mesh's namespace there."""
    revisions: Annotated[tuple[Revision, ...], AfterValidator(at_least_one)]
    """The revisions of istiod; one, or two while the data plane moves from one to the other."""
    tags: dict[DnsLabel, RevisionName] = {}
    """Names for revisions, `{prod: 1-31}`: namespaces labelled `istio.io/rev: prod` follow when the tag moves. The tag
    `default` chooses the revision of namespaces labelled `istio-injection: enabled`, also beside a revision of that
    name, which then gets no new Pods."""
    cross_network: CrossNetwork = CrossNetwork.NONE
    """`none`: nothing leads from one network of the members to another; proxies are told of workloads of their own
    network only. `gateways`: proxies are told of all, and reach other networks by the east-west gateways there (port
    15443, `AUTO_PASSTHROUGH`)."""
    memberships: Annotated[tuple[Membership, ...], AfterValidator(at_least_one)]
    """The data planes' clusters."""

    @property
    def namespace(self) -> str:
        """The mesh's namespace, the same in each cluster."""
        return namespace_of(self.name)

    @property
    def domain(self) -> str:
        """The trust domain."""
        return self.trust_domain or f"{self.name}.mesh.local"

    def cluster_id(self, membership: Membership) -> str:
        """Istio's name of a membership's cluster."""
        return membership.cluster_id_in(self.name)

    def network(self, membership: Membership) -> str:
        """Istio's name of a membership's network."""
        return membership.network_in(self.name)

    def tags_of(self, revision: Revision) -> tuple[str, ...]:
        """The tags that name a revision."""
        return tuple(sorted(tag for tag, name in self.tags.items() if name == revision.name))

    def injects(self, revision: Revision) -> bool:
        """Whether a revision gets Pods by its own name: `default` does not while the tag of that name is another's."""
        return self.tags.get(revision.name, revision.name) == revision.name

    def exposed_services(self, revision: Revision) -> tuple[str, ...]:
        """Names of a revision's Services for data planes: none, one, or that of the webhooks beside it."""
        if not isinstance(revision.exposure, LoadBalancerExposure):
            return ()
        name = suffixed(f"istiod-exposed-{self.name}", revision.name)
        return (name, f"{name}-webhooks") if revision.exposure.webhooks else (name,)

    @property
    def api_server_ports(self) -> set[int]:
        """Ports of the data planes' API servers, as far as the document tells their addresses."""
        servers = [one.access.api_server or (one.cluster.server if one.cluster else None) for one in self.memberships]
        return {urlsplit(server).port or HTTPS_PORT for server in servers if server}

    @model_validator(mode="after")
    def _names_are_unique(self) -> Self:
        hosts = [revision.host for revision in self.revisions]
        hosts += [
            one.exposure.webhooks.host
            for one in self.revisions
            if isinstance(one.exposure, LoadBalancerExposure) and one.exposure.webhooks
        ]
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

    def _objects(self) -> Iterable[tuple[str, str, str]]:
        """What revisions have in the mesh's namespace: kind, name made of the revision's, and which revision."""
        for position, revision in enumerate(self.revisions):
            owner = f"revisions[{position}]"
            for name in (suffixed("istiod", revision.name), *self.exposed_services(revision)):
                yield "Service", name, owner
            for begin in ("istio", "istio-sidecar-injector"):
                yield "ConfigMap", suffixed(begin, revision.name), owner

    def _data_planes(self) -> Iterable[tuple[str, str, str]]:
        """What Pulumi calls each revision's part of each data plane."""
        for place, membership in enumerate(self.memberships):
            for position, revision in enumerate(self.revisions):
                name = suffixed(suffixed(self.name, membership.name), revision.name)
                yield "RemoteDataPlane", name, f"memberships[{place}] with revisions[{position}]"

    @model_validator(mode="after")
    def _tags_name_revisions(self) -> Self:
        known = {revision.name for revision in self.revisions}
        for tag, revision in self.tags.items():
            if revision not in known:
                rule = f"tags.{tag} names a revision that is not there"
                raise RuleBrokenError(rule, f"Name one of {', '.join(sorted(known))}")
            if tag in known and (tag != DEFAULT_TAG or revision == tag):
                rule = f"tags.{tag} is the name of a revision too, so namespaces could not tell which is meant"
                raise RuleBrokenError(rule, "Choose another tag, or rename the revision")
        return self

    @model_validator(mode="after")
    def _features_are_granted(self) -> Self:
        for revision in self.revisions:
            for membership in self.memberships:
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
            if revision.features.certificate_revocation and self.trust.management is AuthorityManagement.OWN:
                rule = (
                    f"revision {revision.name} has certificateRevocation, but with trust.management: own nobody makes "
                    "the list ca-crl.pem"
                )
                fix = "Set trust.management to brought, with ca-crl.pem in cacerts, or to unmanaged; or leave it out"
                raise RuleBrokenError(rule, fix)
        return self

    @model_validator(mode="after")
    def _clusters_have_one_domain(self) -> Self:
        if len({one.cluster_domain for one in self.memberships}) > 1:
            rule = "memberships have different clusterDomains, but istiod tells all proxies of a mesh the same one"
            raise RuleBrokenError(rule, "Give all the same, or put the cluster into a mesh of its own")
        return self

    @model_validator(mode="after")
    def _networks_are_apart_or_joined(self) -> Self:
        if self.cross_network is CrossNetwork.GATEWAYS:
            return self
        for position, revision in enumerate(self.revisions):
            if value_at(revision.chart_values, MESH_NETWORKS):
                rule = f"revisions[{position}].chartValues sets {MESH_NETWORKS}, how networks are reached by gateways"
                fix = f"Set crossNetwork: gateways, or leave {MESH_NETWORKS} out"
                raise RuleBrokenError(f"{rule}, but crossNetwork is none", fix)
        if len({bool(self.network(one)) for one in self.memberships}) > 1:
            rule = "some memberships have an empty network, of which Istio tells all proxies, but crossNetwork is none"
            raise RuleBrokenError(rule, "Give each membership a network, or all an empty one")
        return self

    @model_validator(mode="after")
    def _ranges_limit_something(self) -> Self:
        policy = self.control_plane.network_policy
        if policy.api_server_ranges and policy.fetch_jwks and self.api_server_ports == {HTTPS_PORT}:
            raise RuleBrokenError(
                "controlPlane.networkPolicy.apiServerRanges would limit nothing: those servers' port is 443, which is "
                "open to any address for the keys of token issuers",
                "Set fetchJwks: false beside it, or leave the ranges out",
            )
        return self


def not_granted(wanted: Features, granted: Features) -> list[str]:
    """Features, as the document writes them, that are wanted and not granted."""
    allowed = {row.name for row in granted.chosen()}
    return [str(Features.model_fields[row.name].alias) for row in wanted.chosen() if row.name not in allowed]


def _refuse_repeated(part: str, field: str, values: Iterable[str]) -> None:
    found = list(values)
    if len(set(found)) != len(found):
        raise RuleBrokenError(f"{part} has two with one {field}", f"Give each its own {field}")
