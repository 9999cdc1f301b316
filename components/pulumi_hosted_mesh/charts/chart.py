"""Istio's Helm charts as Pulumi resources. The library renders all charts here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NotRequired, TypedDict

import pulumi
from pulumi_kubernetes.helm import v4 as helm

from pulumi_hosted_mesh import vocabulary
from pulumi_hosted_mesh.charts import chart_errors
from pulumi_hosted_mesh.charts.directory import local_chart
from pulumi_hosted_mesh.charts.service_wait import service_wait
from pulumi_hosted_mesh.clusters.cluster import Cluster
from pulumi_hosted_mesh.spec.charts import Charts
from pulumi_hosted_mesh.vocabulary import PATCH_FORCE_ANNOTATION

CONFIG_MAP = "kubernetes:core/v1:ConfigMap"
DEPLOYMENT = "kubernetes:apps/v1:Deployment"
SERVICE = "kubernetes:core/v1:Service"


PodSpec = dict[str, Any]
"""`spec` of a Pod, by Kubernetes' field names."""
ConfigData = dict[str, str]
"""`data` of a ConfigMap."""


class ChartLocation(TypedDict):
    """The arguments of a Chart for its source."""

    chart: str
    version: NotRequired[str]
    repository_opts: NotRequired[helm.RepositoryOptsArgs]


@dataclass(frozen=True)
class Changes:
    """Changes of a chart's rendered objects that the chart's values cannot express.

    pod_annotations: more annotations for the Pods of its Deployments. They may be unknown, unlike a chart's values.
    pod_spec: a function from the `spec` of those Pods to the new one.
    config_data: a function from the `data` of its ConfigMaps to the new one.
    deployment_annotations: more annotations of its Deployments.
    deployment_hooks: resource hooks of its Deployments.
    """

    pod_annotations: Mapping[str, pulumi.Input[str]] = field(default_factory=dict)
    pod_spec: Callable[[PodSpec], PodSpec] | None = None
    config_data: Callable[[ConfigData], ConfigData] | None = None
    deployment_annotations: Mapping[str, str] = field(default_factory=dict)
    deployment_hooks: pulumi.ResourceHookBinding | None = None


UNCHANGED: Final = Changes()


@dataclass(frozen=True)
class MeshCharts:
    """Istio's charts for one mesh in one cluster. All objects have the mesh's ownership labels.

    mesh: its name. charts: their source. parent: of the resources. tenant: the mesh's, on the control plane.
    """

    mesh: str
    charts: Charts
    cluster: Cluster
    parent: pulumi.Resource
    tenant: str | None = None

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
        """Makes the resource of one chart.

        values: plain values; one unknown value would hide all of the chart's objects from a preview.
        namespace: by default the mesh's. await_ready: whether Pulumi waits until the objects are ready.
        """
        labels = {**vocabulary.labels(self.mesh, self.cluster.role), **vocabulary.tenant_labels(self.tenant)}

        def mark(args: pulumi.ResourceTransformArgs) -> pulumi.ResourceTransformResult:
            properties = marked(args.type_, args.props, labels, changes, await_ready=await_ready)
            if "metadata" in args.props:
                own = changes.deployment_hooks if args.type_ == DEPLOYMENT else None
                args.opts.hooks = self.cluster.creation_hooks(own)
            return pulumi.ResourceTransformResult(properties, args.opts)

        options = self.cluster.options(self.parent, depends_on=depends_on)
        options.hooks = None  # its objects have them
        options.transforms = [mark]
        chart_errors.report_plainly()
        return helm.Chart(
            resource_name,
            helm.ChartArgs(
                name=release,
                namespace=namespace or vocabulary.control_plane_namespace_of(self.mesh, self.tenant),
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
    """Istio's base chart, reduced to its custom resource definitions.

    The definitions belong to the cluster and outlive a mesh, so they have no mesh's labels. Existing definitions, from
    Helm or an older version, are adopted with all of their fields, so the update matches the preview.
    keep: keep them when the stack is destroyed.
    """

    def adopt(args: pulumi.ResourceTransformArgs) -> pulumi.ResourceTransformResult:
        if not keep:
            # The provider plug-in sets it for the chart's annotation helm.sh/resource-policy: keep.
            args.opts.retain_on_delete = None
        metadata: Any = args.props.get("metadata")
        if metadata is None:  # the chart itself
            return pulumi.ResourceTransformResult(args.props, args.opts)
        # Without it another field manager's values are a conflict, which only the update reports.
        annotations = {**(metadata.get("annotations") or {}), PATCH_FORCE_ANNOTATION: "true"}
        properties = {**args.props, "metadata": {**metadata, "annotations": annotations}}
        return pulumi.ResourceTransformResult(properties, args.opts)

    options = cluster.options(parent, adopt=True)
    options.transforms = [adopt]
    chart_errors.report_plainly()
    return helm.Chart(
        resource_name,
        helm.ChartArgs(name="istio-base", namespace="default", values=dict(values), **source(charts, "base")),
        options,
    )


def source(charts: Charts, name: str) -> ChartLocation:
    """The source of one of Istio's charts (`base`, `istiod`, `gateway`).

    Raises: InvalidInputError if a local directory lacks the charts or has too old ones.
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
    """A rendered object with the labels and the changes.

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
        if changes.deployment_annotations:
            metadata["annotations"] = {**(metadata.get("annotations") or {}), **changes.deployment_annotations}
    return result
