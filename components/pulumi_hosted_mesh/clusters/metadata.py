"""Metadata of the objects that the library creates itself: a fixed name, the ownership labels, the mesh's namespace."""

from __future__ import annotations

from collections.abc import Mapping

from pulumi_kubernetes import meta

from pulumi_hosted_mesh import vocabulary
from pulumi_hosted_mesh.clusters.cluster import Cluster
from pulumi_hosted_mesh.spec.mesh import Mesh


def in_mesh(
    mesh: Mesh, cluster: Cluster, name: str, annotations: Mapping[str, str] | None = None
) -> meta.v1.ObjectMetaArgs:
    """Metadata of an object in the mesh's namespace."""
    labels = vocabulary.labels(mesh.name, cluster.role)
    return meta.v1.ObjectMetaArgs(
        name=name, namespace=mesh.namespace, labels=labels, annotations=dict(annotations) if annotations else None
    )


def cluster_wide(mesh: Mesh, cluster: Cluster, name: str) -> meta.v1.ObjectMetaArgs:
    """Metadata of an object that belongs to no namespace."""
    return meta.v1.ObjectMetaArgs(name=name, labels=vocabulary.labels(mesh.name, cluster.role))
