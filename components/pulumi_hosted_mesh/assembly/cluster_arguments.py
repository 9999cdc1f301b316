"""The wrappers of the clusters in a composition's arguments. No cluster occurs twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import pulumi

from pulumi_hosted_mesh.boundary.arguments import CLUSTER, cluster_of
from pulumi_hosted_mesh.clusters.cluster import ControlPlaneCluster, DataPlaneCluster, refuse_one_given_twice

CONTROL_PLANE = "controlPlane"


@dataclass(frozen=True)
class ClusterArgument:
    """A data plane's cluster in the arguments. field: such as `memberships[0]`. given: the field's arguments.

    name: prefix of the names of its provider and its part of the component.
    """

    field: str
    given: Any
    name: str


@dataclass(frozen=True)
class MeshClusters:
    """The wrappers. data_planes: one for each argument, in order."""

    control_plane: ControlPlaneCluster
    data_planes: tuple[DataPlaneCluster, ...]

    @classmethod
    def of(
        cls,
        name: str,
        holder: Any,
        arguments: Sequence[ClusterArgument],
        source: str,
        *,
        parent: pulumi.Resource,
    ) -> Self:
        """The clusters of a component's arguments. name: of the component. holder: its argument `control_plane`.

        source: the component in errors. parent: of the providers.
        Raises: InvalidInputError for a cluster that is missing, of the other role, or repeated.
        """
        control_plane = ControlPlaneCluster.of(cluster_of(holder, CONTROL_PLANE, source), name=name, parent=parent)
        by_field = {
            f"{one.field}.{CLUSTER}": DataPlaneCluster.of(
                cluster_of(one.given, one.field, source), name=one.name, parent=parent
            )
            for one in arguments
        }
        refuse_one_given_twice({f"{CONTROL_PLANE}.{CLUSTER}": control_plane, **by_field}, source)
        return cls(control_plane, tuple(by_field.values()))
