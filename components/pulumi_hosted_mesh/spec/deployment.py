"""The deployment document: one template of a mesh, the clusters that get one each, and what differs between them."""

from __future__ import annotations

import re
from typing import Annotated, Final, Self

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
    Text,
)
from pulumi_hosted_mesh.spec.fields import Revision as RevisionName
from pulumi_hosted_mesh.spec.istiod import Istiod
from pulumi_hosted_mesh.spec.mesh import at_least_one
from pulumi_hosted_mesh.spec.networks import CrossNetwork
from pulumi_hosted_mesh.spec.proxies import Proxies
from pulumi_hosted_mesh.spec.reserved import IstiodValues, RemoteValues
from pulumi_hosted_mesh.spec.trust import Trust
from pulumi_hosted_mesh.vocabulary import DEFAULT_REVISION

PLACES: Final = ("cluster", "mesh")
"""What `{...}` may stand for in the template's texts."""


def pattern(value: str) -> str:
    """Text in which `{cluster}` and `{mesh}` stand for names."""
    if unknown := [found for found in re.findall(r"\{([^{}]*)\}", value) if found not in PLACES]:
        raise RuleBrokenError(f"has {{{unknown[0]}}}, which stands for nothing", "Use {cluster} or {mesh}")
    return value


def names_once(values: tuple[str, ...]) -> tuple[str, ...]:
    if repeated := sorted({one for one in values if values.count(one) > 1}):
        raise RuleBrokenError(f"names {repeated[0]} twice", "Name it once")
    return values


Pattern = Annotated[Text, AfterValidator(pattern)]
Names = Annotated[tuple[DnsLabel, ...], AfterValidator(names_once)]


class RevisionTemplate(Model):
    """A revision of each mesh's istiod; see the mesh document for what each field does."""

    name: RevisionName = DEFAULT_REVISION
    """Istio's revision. An override's revision of the same name changes it, one of another name is added."""
    host: Pattern | None = None
    """DNS name of istiod, with `{cluster}` or `{mesh}` in it: no two meshes may have one name."""
    exposure: Exposure | None = None
    """How data planes reach it; by default a load balancer for the cluster's `sourceRanges`, which also replace those
    given here. An override's exposure replaces this one whole."""
    charts: Charts = Charts()
    """Where Istio's charts and images come from, and their version."""
    istiod: Istiod = Istiod()
    """How many Pods, how large, where, and their settings."""
    features: Features = Features()
    """What it may do beside the least; `dataPlane.access.features` grants each."""
    proxies: Proxies = Proxies()
    """Settings of all proxies that it serves."""
    chart_values: IstiodValues = {}
    """More values for the istiod chart on the control plane."""


class DataPlaneTemplate(Model):
    """What is made on each data plane; see the mesh document's memberships."""

    namespaces: Names = ()
    """Members: namespaces that are made there, labelled for sidecars of the first revision, and removed with the mesh
    and all that is in them. Those that exist already are labelled by their owners (`injectionLabels`)."""
    access: Access = Access()
    """What istiod may do there. `apiServer` and `certificateAuthority` are a cluster's, and `token` stays
    `long-lived`."""
    webhooks: Webhooks = Webhooks()
    """Injection and validation."""
    gateways: tuple[Gateway, ...] = ()
    """Gateways to run there; texts such as annotations may have `{cluster}` and `{mesh}` in them."""
    cluster_domain: Domain = "cluster.local"
    """DNS domain of the cluster."""
    crds: Crds = Crds()
    """Istio's custom resource definitions."""
    chart_values: RemoteValues = {}
    """More values for the istiod chart with the remote profile."""

    @model_validator(mode="after")
    def _nothing_of_one_cluster(self) -> Self:
        if self.access.api_server is not None or self.access.certificate_authority is not None:
            rule = "access.apiServer and access.certificateAuthority are one cluster's"
            raise RuleBrokenError(rule, "Give apiServer and certificateAuthority in clusters")
        if self.access.token is TokenKind.BOUNDED:
            rule = "access.token is `bounded`, but nobody renews it here"
            raise RuleBrokenError(rule, "Leave it out, or use the stacks access and control-plane")
        return self


class MeshTemplate(Model):
    """A mesh without what is one cluster's alone. In its texts `{cluster}` and `{mesh}` stand for names."""

    name: Pattern | None = None
    """Each mesh's name, with `{cluster}` in it; by default `<deployment>-{cluster}`."""
    trust_domain: Pattern | None = None
    """Each mesh's trust domain; by default `{mesh}.mesh.local`."""
    network: Pattern | None = None
    """Istio's name of each cluster's network; by default `{mesh}`."""
    trust: Trust = Trust()
    """Certificate authorities and lifetimes. Each mesh has a root of its own."""
    revisions: tuple[RevisionTemplate, ...] = ()
    """The revisions of istiod; the template needs one at least."""
    tags: dict[DnsLabel, RevisionName] = {}
    """Names for revisions."""
    cross_network: CrossNetwork = CrossNetwork.NONE
    """`none`: proxies are told of workloads of their own network only. `gateways`: of all, for workloads on other
    networks, such as virtual machines."""
    data_plane: DataPlaneTemplate = DataPlaneTemplate()
    """What is made on each data plane."""


class Override(MeshTemplate):
    """What differs in some clusters: only what is given.

    Mappings are merged with the template's, revisions by their names; lists, and `exposure`, replace the template's.
    """

    clusters: Annotated[Names, AfterValidator(at_least_one)]
    """Names of the clusters; each must be chosen."""


class DeploymentCluster(Model):
    """A cluster that may get a mesh."""

    name: DnsLabel
    """Its name, in names of meshes too; unique."""
    labels: dict[QualifiedName, LabelValue] = {}
    """What `select` chooses by."""
    cluster: ClusterReference | None = None
    """Where it is."""
    api_server: ApiServer | None = None
    """Address of its API server as istiod's Pods reach it, `https://HOST:PORT`; by default the kubeconfig's."""
    certificate_authority: PemCertificate | None = None
    """PEM certificates that verify that address; by default the kubeconfig's."""
    source_ranges: tuple[Cidr, ...] = ()
    """Addresses under which its nodes and its API server leave: who may connect to its istiod, in CIDR form."""


class Selection(Model):
    """Which clusters get a mesh: those that are named, and those that have all of the labels."""

    names: Names = ()
    """Names of clusters."""
    labels: dict[QualifiedName, LabelValue] = {}
    """Labels with their values. They must match a cluster: a typing error here would remove every mesh."""


def distinct_clusters(values: tuple[DeploymentCluster, ...]) -> tuple[DeploymentCluster, ...]:
    names = [one.name for one in values]
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise RuleBrokenError(f"has two of one name, {repeated[0]}", "Give each its own name")
    return at_least_one(values)


class Deployment(Model):
    """One template of a mesh for many clusters: each gets a mesh of its own, all have one control plane's cluster."""

    name: MeshName
    """Begins the meshes' names, `<name>-<cluster>`."""
    control_plane: ControlPlane = ControlPlane()
    """The control plane's cluster, the same for all, and the NetworkPolicy of each mesh's namespace there."""
    template: MeshTemplate
    """What each mesh is."""
    clusters: Annotated[tuple[DeploymentCluster, ...], AfterValidator(distinct_clusters)]
    """The clusters that there are. Their order says nothing."""
    select: Selection | None = None
    """Which of them get a mesh; by default all."""
    overrides: tuple[Override, ...] = ()
    """What differs where; of two for one cluster the later wins."""
