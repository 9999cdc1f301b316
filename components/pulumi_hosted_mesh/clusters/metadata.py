"""Metadata of the objects that the library creates itself: a fixed name, the ownership labels, the mesh's namespace."""

from __future__ import annotations

from collections.abc import Mapping

from pulumi_kubernetes import meta

from pulumi_hosted_mesh import vocabulary
from pulumi_hosted_mesh.clusters.cluster import Cluster


def in_mesh(
    mesh: str, cluster: Cluster, name: str, *, annotations: Mapping[str, str] | None = None
) -> meta.v1.ObjectMetaArgs:
    """Metadata of an object in a mesh's namespace. mesh: its name."""
    metadata = cluster_wide(mesh, cluster, name, annotations=annotations)
    metadata.namespace = vocabulary.namespace_of(mesh)
    return metadata


def cluster_wide(
    mesh: str,
    cluster: Cluster,
    name: str,
    *,
    annotations: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
) -> meta.v1.ObjectMetaArgs:
    """Metadata of an object that belongs to no namespace. mesh: its name."""
    return meta.v1.ObjectMetaArgs(
        name=name,
        labels={**vocabulary.labels(mesh, cluster.role), **(labels or {})},
        annotations=dict(annotations) if annotations else None,
    )
