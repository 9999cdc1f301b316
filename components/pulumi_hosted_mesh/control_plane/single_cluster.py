"""A mesh in one cluster (`split: false`): an ordinary istiod beside its proxies, with the webhooks of Istio's chart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import pulumi
from pulumi_kubernetes import core
from pulumi_kubernetes.admissionregistration import v1 as admission

from pulumi_hosted_mesh.boundary.endpoint import ControlPlaneEndpoint
from pulumi_hosted_mesh.charts.chart import Changes, MeshCharts
from pulumi_hosted_mesh.clusters.cluster import ControlPlaneCluster
from pulumi_hosted_mesh.clusters.metadata import on_control_plane
from pulumi_hosted_mesh.control_plane import manifests
from pulumi_hosted_mesh.control_plane.removal_guard import RemovalGuard, RevisionGuard
from pulumi_hosted_mesh.control_plane.single_cluster_values import default_validation, single_cluster_values
from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.spec.revision import Revision
from pulumi_hosted_mesh.vocabulary import CACERTS_SECRET, ROOT_DIGEST_ANNOTATION, suffixed


def make_istiods(
    name: str,
    mesh: Mesh,
    cluster: ControlPlaneCluster,
    namespace: core.v1.Namespace,
    *,
    cacerts: pulumi.Output[Any] | None,
    root_digest: pulumi.Output[str],
    after: Sequence[pulumi.Resource],
    guard: RemovalGuard,
    parent: pulumi.Resource,
) -> list[pulumi.Resource]:
    """The resources of all revisions. name: prefix of their names. cacerts: None for the Secret of another program.

    root_digest: of the mesh's root certificate; a new one starts a rollout. after: the custom resource definitions.
    """
    before: list[pulumi.Resource] = [namespace, *after]
    if cacerts is not None:
        metadata = on_control_plane(mesh, cluster, CACERTS_SECRET, namespace=mesh.namespace)
        options = cluster.options(parent, depends_on=[namespace])
        before.append(core.v1.Secret(f"{name}-{CACERTS_SECRET}", metadata=metadata, string_data=cacerts, opts=options))
    made: list[pulumi.Resource] = []
    for revision in mesh.revisions:
        istiod = MeshCharts(mesh.name, revision.charts, cluster, parent=parent).make(
            f"{suffixed(name, revision.name)}-istiod",
            "istiod",
            release=suffixed("istiod", revision.name),
            values=single_cluster_values(mesh, revision),
            depends_on=before,
            await_ready=revision.istiod.wait_until_ready,
            changes=Changes(
                pod_annotations={ROOT_DIGEST_ANNOTATION: root_digest},
                pod_spec=partial(manifests.ordinary_pod, drain_seconds=revision.istiod.drain_seconds),
                config_data=partial(manifests.with_revocation_list, mesh)
                if revision.features.certificate_revocation
                else None,
                deployment_annotations=manifests.override_annotations(mesh, revision),
                deployment_hooks=guard.binding(),
            ),
        )
        made += [istiod, *_default_validation(name, mesh, revision, cluster, istiod, parent)]
    return made


def make_guards(
    name: str,
    mesh: Mesh,
    namespace: core.v1.Namespace,
    *,
    guard: RemovalGuard,
    after: Sequence[pulumi.Resource],
    parent: pulumi.Resource,
) -> None:
    """One for each revision. after: everything else of the mesh, because no other istiod's objects may go either."""
    for revision in mesh.revisions:
        called = f"{suffixed(name, revision.name)}-guard"
        RevisionGuard(called, revision.name, namespace, guard=guard, depends_on=after, parent=parent)


def _default_validation(
    name: str,
    mesh: Mesh,
    revision: Revision,
    cluster: ControlPlaneCluster,
    istiod: pulumi.Resource,
    parent: pulumi.Resource,
) -> list[pulumi.Resource]:
    """Validation of Istio's objects without a revision, by the default one; the chart `base` would have it."""
    wanted = default_validation(mesh, revision)
    if wanted is None:
        return []
    metadata = on_control_plane(mesh, cluster, wanted.name, labels=wanted.labels)
    options = cluster.options(parent, depends_on=[istiod])
    return [
        admission.ValidatingWebhookConfiguration(
            f"{name}-validation", metadata=metadata, webhooks=wanted.webhooks, opts=options
        )
    ]


def make_gateways(
    name: str,
    mesh: Mesh,
    cluster: ControlPlaneCluster,
    endpoint: ControlPlaneEndpoint,
    values: Mapping[str, Mapping[str, Any]],
    *,
    after: Sequence[pulumi.Resource],
    parent: pulumi.Resource,
) -> dict[str, Any]:
    """The member's gateways by the first revision; their charts by `<namespace>/<name>`. values: by gateway's name."""
    (member,), first = mesh.memberships, mesh.revisions[0]
    charts = MeshCharts(mesh.name, first.charts, cluster, parent=parent)
    return {
        f"{one.namespace or endpoint.namespace}/{one.name}": charts.make(
            f"{name}-gateway-{one.name}",
            "gateway",
            release=one.name,
            namespace=one.namespace,
            values=values[one.name],
            depends_on=after,
            await_ready=first.istiod.wait_until_ready,
        )
        for one in member.gateways
    }
