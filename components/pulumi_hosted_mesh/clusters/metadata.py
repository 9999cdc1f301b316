"""Metadata of the library's own objects: a fixed name, the ownership labels, the mesh's namespace."""

from __future__ import annotations

from collections.abc import Mapping

from pulumi_kubernetes import meta

from pulumi_hosted_mesh import vocabulary
from pulumi_hosted_mesh.clusters.cluster import Cluster, ControlPlaneCluster
from pulumi_hosted_mesh.spec.mesh import Mesh


def in_mesh(
    mesh: str, cluster: Cluster, name: str, *, annotations: Mapping[str, str] | None = None
) -> meta.v1.ObjectMetaArgs:
    """Metadata of an object in a mesh's namespace. mesh: its name."""
    metadata = cluster_wide(mesh, cluster, name, annotations=annotations)
    metadata.namespace = vocabulary.namespace_of(mesh)
    return metadata


def on_control_plane(
    mesh: Mesh,
    cluster: ControlPlaneCluster,
    name: str,
    *,
    namespace: str | None = None,
    annotations: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
) -> meta.v1.ObjectMetaArgs:
    """Metadata of a mesh's object on the control plane, with its tenant. namespace: None for a cluster-wide object."""
    own = {**vocabulary.tenant_labels(mesh.tenant), **(labels or {})}
    metadata = cluster_wide(mesh.name, cluster, name, annotations=annotations, labels=own)
    if namespace is not None:
        metadata.namespace = namespace
    return metadata


def cluster_wide(
    mesh: str,
    cluster: Cluster,
    name: str,
    *,
    annotations: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
) -> meta.v1.ObjectMetaArgs:
    """Metadata of an object without a namespace. mesh: its name."""
    return meta.v1.ObjectMetaArgs(
        name=name,
        labels={**vocabulary.labels(mesh, cluster.role), **(labels or {})},
        annotations=dict(annotations) if annotations else None,
    )
