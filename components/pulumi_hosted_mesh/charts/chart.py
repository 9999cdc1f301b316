"""Istio's Helm charts as Pulumi resources: the one way in which the library renders a chart."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NotRequired, TypedDict

import pulumi
from pulumi_kubernetes.helm import v4 as helm

from pulumi_hosted_mesh import vocabulary
from pulumi_hosted_mesh.charts.directory import local_chart
from pulumi_hosted_mesh.charts.service_wait import service_wait
from pulumi_hosted_mesh.clusters.cluster import Cluster
from pulumi_hosted_mesh.spec.charts import Charts
from pulumi_hosted_mesh.vocabulary import PATCH_FORCE_ANNOTATION

CONFIG_MAP = "kubernetes:core/v1:ConfigMap"
DEPLOYMENT = "kubernetes:apps/v1:Deployment"
SERVICE = "kubernetes:core/v1:Service"


PodSpec = dict[str, Any]
"""`spec` of a Pod, by Kubernetes' own field names."""
ConfigData = dict[str, str]
"""`data` of a ConfigMap."""


class Source(TypedDict):
    """The arguments of a Chart that say where it comes from."""

    chart: str
    version: NotRequired[str]
    repository_opts: NotRequired[helm.RepositoryOptsArgs]


@dataclass(frozen=True)
class Changes:
    """What is changed of the objects that a chart renders, where it has no value for it.

    pod_annotations: more of them, for the Pods of its Deployments; these may be unknown, for values may not.
    pod_spec: makes of the `spec` of those Pods another one.
    config_data: the same of the `data` of its ConfigMaps.
    """

    pod_annotations: Mapping[str, pulumi.Input[str]] = field(default_factory=dict)
    pod_spec: Callable[[PodSpec], PodSpec] | None = None
    config_data: Callable[[ConfigData], ConfigData] | None = None


UNCHANGED: Final = Changes()


@dataclass(frozen=True)
class MeshCharts:
    """Istio's charts for one mesh in one cluster, each of their objects with the mesh's ownership labels.

    mesh: its name. charts: where they come from. parent: of what is made.
    """

    mesh: str
    charts: Charts
    cluster: Cluster
    parent: pulumi.Resource

    def make(
        self,
        resource_name: str,
        chart: str,
        *,
        release: str,
        values: Mapping[str, Any],
        namespace: str | None = None,
        depends_on: Sequence[pulumi.Resource] = (),
        await_ready: bool = True,
        changes: Changes = UNCHANGED,
    ) -> helm.Chart:
        """Makes one of them.

        values: plain values; an unknown among them would hide every object of the chart from a preview.
        namespace: by default the mesh's own. await_ready: whether Pulumi waits until what it renders is ready.
        """
        labels = vocabulary.labels(self.mesh, self.cluster.role)

        def mark(args: pulumi.ResourceTransformArgs) -> pulumi.ResourceTransformResult:
            properties = marked(args.type_, args.props, labels, changes, await_ready=await_ready)
            return pulumi.ResourceTransformResult(properties, args.opts)

        options = self.cluster.options(self.parent, depends_on=depends_on)
        options.transforms = [mark]
        return helm.Chart(
            resource_name,
            helm.ChartArgs(
                name=release,
                namespace=namespace or vocabulary.namespace_of(self.mesh),
                values=dict(values),
                skip_await=not await_ready,
                **source(self.charts, chart),
            ),
            options,
        )


def crds_chart(
    resource_name: str,
    *,
    charts: Charts,
    cluster: Cluster,
    values: Mapping[str, Any],
    parent: pulumi.Resource,
    keep: bool,
) -> helm.Chart:
    """Istio's base chart, reduced to its custom resource definitions, which are the cluster's and outlive a mesh.

    So they carry no mesh's labels. Definitions that are there already, from Helm or an older version, are adopted, and
    their fields are taken over from whoever set them: what the preview shows is what comes.
    keep: leave them when the stack is destroyed.
    """

    def adopt(args: pulumi.ResourceTransformArgs) -> pulumi.ResourceTransformResult:
        if not keep:
            # The chart's annotation helm.sh/resource-policy: keep makes the provider plug-in set this.
            args.opts.retain_on_delete = None
        metadata: Any = args.props.get("metadata")
        if metadata is None:  # the chart itself
            return pulumi.ResourceTransformResult(args.props, args.opts)
        # Without it another field manager's values are a conflict, found out only in the update.
        annotations = {**(metadata.get("annotations") or {}), PATCH_FORCE_ANNOTATION: "true"}
        properties = {**args.props, "metadata": {**metadata, "annotations": annotations}}
        return pulumi.ResourceTransformResult(properties, args.opts)

    options = cluster.options(parent, adopt=True)
    options.transforms = [adopt]
    return helm.Chart(
        resource_name,
        helm.ChartArgs(name="istio-base", namespace="default", values=dict(values), **source(charts, "base")),
        options,
    )


def source(charts: Charts, name: str) -> Source:
    """Where one of Istio's charts (`base`, `istiod`, `gateway`) comes from.

    Raises: InvalidInputError if a local directory has no such charts or too old ones.
    """
    if directory := local_chart(charts, name):
        return {"chart": str(directory)}
    if charts.repository.startswith("oci://"):
        return {"chart": f"{charts.repository.rstrip('/')}/{name}", "version": charts.version}
    repository = helm.RepositoryOptsArgs(repo=charts.repository)
    return {"chart": name, "version": charts.version, "repository_opts": repository}


def marked(
    type_token: str,
    properties: Mapping[str, Any],
    labels: Mapping[str, str],
    changes: Changes = UNCHANGED,
    *,
    await_ready: bool = True,
) -> dict[str, Any]:
    """A rendered object with the labels added, and changed.

    await_ready: whether Pulumi waits for a Service's load balancer, see `service_wait`.
    """
    if "metadata" not in properties:  # the chart itself
        return dict(properties)
    metadata = dict(properties["metadata"])
    metadata["labels"] = {**metadata.get("labels", {}), **labels}
    if type_token == SERVICE:
        wait = service_wait(properties["spec"].get("type", "ClusterIP"), ready=await_ready)
        metadata["annotations"] = {**(metadata.get("annotations") or {}), **wait}
    result = {**properties, "metadata": metadata}
    if type_token == CONFIG_MAP and changes.config_data:
        result["data"] = changes.config_data(dict(properties["data"]))
    if type_token == DEPLOYMENT:
        template = dict(properties["spec"]["template"])
        if changes.pod_annotations:
            pods = template["metadata"]
            template["metadata"] = {**pods, "annotations": {**pods.get("annotations", {}), **changes.pod_annotations}}
        if changes.pod_spec:
            template["spec"] = changes.pod_spec(template["spec"])
        result["spec"] = {**properties["spec"], "template": template}
    return result
