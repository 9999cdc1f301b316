"""The deployment document: one template of a mesh, the clusters that get one each, and overrides."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Annotated, Final, Protocol, Self, TypeVar

from pydantic import AfterValidator, model_validator

from pulumi_hosted_mesh.problems import RuleBrokenError
from pulumi_hosted_mesh.spec.charts import Charts
from pulumi_hosted_mesh.spec.cluster import ClusterReference
from pulumi_hosted_mesh.spec.control_plane import ControlPlane
from pulumi_hosted_mesh.spec.data_plane import Access, Crds, Gateway, TokenKind, Webhooks
from pulumi_hosted_mesh.spec.exposure import Exposure
from pulumi_hosted_mesh.spec.features import Features
from pulumi_hosted_mesh.spec.fields import (
    ApiServer,
    Cidr,
    DnsLabel,
    Domain,
    LabelValue,
    MeshName,
    Model,
    PemCertificate,
    QualifiedName,
    Setter,
    Text,
)
from pulumi_hosted_mesh.spec.fields import Revision as RevisionName
from pulumi_hosted_mesh.spec.istiod import Istiod
from pulumi_hosted_mesh.spec.mesh import at_least_one
from pulumi_hosted_mesh.spec.networks import CrossNetwork
from pulumi_hosted_mesh.spec.proxies import Proxies
from pulumi_hosted_mesh.spec.reserved import IstiodValues, RemoteValues
from pulumi_hosted_mesh.spec.revision import Profile
from pulumi_hosted_mesh.spec.trust import Trust
from pulumi_hosted_mesh.vocabulary import DEFAULT_REVISION

T = TypeVar("T", bound=str)

PLACES: Final = ("cluster", "mesh")
"""The placeholders of the template's texts."""


def pattern(value: str) -> str:
    """Text with the placeholders `{cluster}` and `{mesh}`. Raises: RuleBrokenError for others."""
    if unknown := [found for found in re.findall(r"\{([^{}]*)\}", value) if found not in PLACES]:
        raise RuleBrokenError(f"has the unknown placeholder {{{unknown[0]}}}", "Use {cluster} or {mesh}")
    return value


def names_once(values: tuple[T, ...]) -> tuple[T, ...]:
    if repeated := sorted({one for one in values if values.count(one) > 1}):
        raise RuleBrokenError(f"names {repeated[0]} twice", "Name it once")
    return values


Pattern = Annotated[Text, AfterValidator(pattern)]
Names = Annotated[tuple[DnsLabel, ...], AfterValidator(names_once)]


class MeshProvider(StrEnum):
    """The implementation of a mesh."""

    ISTIO = "istio"


class Component(StrEnum):
    """A gateway with the ports of its purpose."""

    INGRESS = "ingress"
    EGRESS = "egress"
    EAST_WEST = "eastwest"


class RootSharing(StrEnum):
    """The root certificate authorities of a deployment's meshes."""

    PER_MESH = "perMesh"
    SHARED = "shared"


class RevisionTemplate(Model):
    """A revision of each mesh's istiod. The mesh document describes each field."""

    name: RevisionName = DEFAULT_REVISION
    """Istio's revision. An override's revision with the same name changes it; another name adds a revision."""
    host: Pattern | None = None
    """DNS name of istiod, with `{cluster}` or `{mesh}` in it: each mesh requires its own name."""
    exposure: Exposure | None = None
    """The data planes' way to it; by default a load balancer with the cluster's `sourceRanges`. Those also replace the
    ranges of this field. An override's exposure replaces this one completely."""
    charts: Charts = Charts()
    """The source of Istio's charts and images, and their version."""
    profile: Profile = Profile.DEFAULT
    """Istio's profile: `default`, `demo` or `preview`."""
    istiod: Istiod = Istiod()
    """Number, size, scheduling and settings of its Pods."""
    features: Features = Features()
    """Rights beyond the least; `dataPlane.access.features` must grant each."""
    proxies: Proxies = Proxies()
    """Settings of its proxies."""
    chart_values: IstiodValues = {}
    """More values for the istiod chart on the control plane."""


class DataPlaneTemplate(Model):
    """The settings of each data plane, as a mesh document's membership has them."""

    namespaces: Names = ()
    """Namespaces to create there, labelled for sidecars of the first revision. They are removed with the mesh, with all
    their objects. Owners of existing namespaces set the labels themselves (`injectionLabels`)."""
    access: Access = Access()
    """istiod's rights there. `apiServer` and `certificateAuthority` belong to `clusters`, and `token` stays
    `long-lived`."""
    webhooks: Webhooks = Webhooks()
    """The injection and validation webhooks."""
    components: Annotated[tuple[Component, ...], AfterValidator(names_once)] = ()
    """Gateways by purpose: `ingress` with the chart's ports, `eastwest` for federation peers on port 15443, and
    `egress` for calls to peers, without an outer address. Each has the name of its purpose."""
    gateways: tuple[Gateway, ...] = ()
    """Gateways on each cluster. Texts such as annotations may contain `{cluster}` and `{mesh}`."""
    cluster_domain: Domain = "cluster.local"
    """DNS domain of the cluster."""
    crds: Crds = Crds()
    """Istio's custom resource definitions."""
    chart_values: RemoteValues = {}
    """More values for the istiod chart with the remote profile."""

    @model_validator(mode="after")
    def _components_have_names_of_their_own(self) -> Self:
        if both := sorted({one.name for one in self.gateways} & {one.value for one in self.components}):
            rule = f"gateways and components both have {both[0]}"
            raise RuleBrokenError(rule, "Leave it out of components, or rename the gateway")
        return self

    @model_validator(mode="after")
    def _nothing_of_one_cluster(self) -> Self:
        if self.access.api_server is not None or self.access.certificate_authority is not None:
            rule = "access.apiServer and access.certificateAuthority differ by cluster"
            raise RuleBrokenError(rule, "Set apiServer and certificateAuthority in clusters")
        if self.access.token is TokenKind.BOUNDED:
            rule = "access.token is `bounded`, but a deployment does not renew tokens"
            raise RuleBrokenError(rule, "Leave it out, or use the stacks access and control-plane")
        return self


class MeshTemplate(Model):
    """A mesh without the settings of a single cluster. Its texts may contain `{cluster}` and `{mesh}`."""

    provider: MeshProvider = MeshProvider.ISTIO
    """The implementation of the meshes: `istio`."""
    name: Pattern | None = None
    """Each mesh's name, with `{cluster}` in it; by default `<deployment>-{cluster}`."""
    trust_domain: Pattern | None = None
    """Each mesh's trust domain; by default `{mesh}.mesh.local`."""
    network: Pattern | None = None
    """Istio's name of each cluster's network; by default `{mesh}`."""
    trust: Trust = Trust()
    """Certificate authorities and lifetimes. With `management: brought` the argument `intermediates` has the files of
    `cacerts` for each cluster's mesh."""
    revisions: tuple[RevisionTemplate, ...] = ()
    """The revisions of istiod; the template requires at least one."""
    tags: dict[DnsLabel, RevisionName] = {}
    """Revisions by tag."""
    cross_network: CrossNetwork = CrossNetwork.NONE
    """`none`: istiod sends proxies the workloads of their own network only. `gateways`: all workloads, also on other
    networks, such as virtual machines."""
    data_plane: DataPlaneTemplate = DataPlaneTemplate()
    """The settings of each data plane."""


class Override(MeshTemplate):
    """Differences from the template in some clusters.

    Mappings are merged with the template's, and revisions by their names. Lists and `exposure` replace the template's.
    """

    clusters: Annotated[Names, AfterValidator(at_least_one)]
    """Names of the clusters; `select` must choose each."""


class DeploymentCluster(Model):
    """A cluster that may get a mesh."""

    name: DnsLabel
    """Its name, unique; part of the mesh's name."""
    labels: dict[QualifiedName, LabelValue] = {}
    """Labels for `select`."""
    cluster: ClusterReference | None = None
    """The cluster."""
    api_server: ApiServer | None = None
    """Address of its API server for istiod's Pods, `https://HOST:PORT`; by default the kubeconfig's address."""
    certificate_authority: PemCertificate | None = None
    """PEM certificates that verify that address; by default the kubeconfig's certificates."""
    source_ranges: tuple[Cidr, ...] = ()
    """Outgoing addresses of its nodes and its API server, in CIDR form; they may connect to its istiod."""


class Selection(Model):
    """The clusters that get a mesh: those listed, and those that have all of the labels."""

    names: Names = ()
    """Names of clusters."""
    labels: dict[QualifiedName, LabelValue] = {}
    """Labels with their values. They must match a cluster, because a typing error would remove every mesh."""


class Named(Protocol):
    """A part of a document with a name."""

    @property
    def name(self) -> str: ...


N = TypeVar("N", bound=Named)


def distinct_names(values: tuple[N, ...]) -> tuple[N, ...]:
    """At least one part, each with its own name."""
    names = [one.name for one in values]
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise RuleBrokenError(f"has two of one name, {repeated[0]}", "Give each its own name")
    return at_least_one(values)


def distinct_clusters(values: tuple[DeploymentCluster, ...]) -> tuple[DeploymentCluster, ...]:
    return distinct_names(values)


class Deployment(Model):
    """One template of a mesh for many clusters. Each gets its own mesh; all share the control plane's cluster."""

    setter = Setter.OPERATOR

    name: MeshName
    """Prefix of the meshes' names, `<name>-<cluster>`."""
    control_plane: ControlPlane = ControlPlane()
    """The control plane's cluster for all meshes, and the NetworkPolicy of each mesh's namespace there."""
    template: MeshTemplate
    """The template of each mesh."""
    root: RootSharing = RootSharing.PER_MESH
    """`perMesh`: each mesh has its own root. `shared`: one root signs an intermediate for each mesh, so that the meshes
    can federate with trust `complete`. A later change replaces the roots without overlap."""
    clusters: Annotated[tuple[DeploymentCluster, ...], AfterValidator(distinct_clusters)]
    """All clusters. Their order has no meaning."""
    select: Selection | None = None
    """The clusters that get a mesh; by default all."""
    overrides: tuple[Override, ...] = ()
    """Differences by cluster. If two set one field of a cluster, the later wins."""
