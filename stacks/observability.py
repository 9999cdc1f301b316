"""Stack `observability`: the collector of a mesh's metrics, Prometheus, Kiali, and the Istio objects of its proxies.

A user can run it for a data plane alone: then it needs no credential of the control plane.
"""

from __future__ import annotations

from typing import Any

from pulumi_hosted_mesh import (
    MeshObservability,
    ObservabilityStack,
    StackSettings,
    control_plane_cluster,
    data_plane_cluster,
)

from stacks import configuration
from stacks.control_plane import signed_elsewhere


async def build(settings: StackSettings) -> dict[str, Any]:
    """Outputs, public: `push_address` for the mesh document, `debug_address` for istioctl, and `namespace`."""
    document = configuration.document(ObservabilityStack, "observability")
    source = configuration.called("observability")
    arguments: dict[str, Any] = {"observability": document.observability.arguments()}
    if document.control_plane is not None:
        field = "observability.controlPlane"
        arguments["control_plane"] = control_plane_cluster(document.control_plane, field, source)
    if document.data_plane is not None:
        arguments["data_plane"] = data_plane_cluster(document.data_plane, "observability.dataPlane", source)
    if settings.cacerts is not None:
        arguments["cacerts"] = settings.cacerts
    elif settings.references.trust is not None:
        arguments["cacerts"] = signed_elsewhere(document.observability.owner, settings).files
    if settings.kiali_kubeconfigs is not None:
        arguments["kiali_kubeconfigs"] = settings.kiali_kubeconfigs
    made = MeshObservability(document.observability.mesh, arguments)  # type: ignore[arg-type]
    return {
        "push_address": made.push_address,
        "debug_address": made.debug_address,
        "namespace": made.namespace,
    }
