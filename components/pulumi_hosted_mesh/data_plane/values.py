"""Helm values of Istio's charts on the data plane. Pure and plain."""

from __future__ import annotations

from typing import Any

from pulumi_hosted_mesh.boundary.endpoint import ControlPlaneEndpoint
from pulumi_hosted_mesh.charts.merge import merged
from pulumi_hosted_mesh.spec.data_plane import Gateway
from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.vocabulary import DEFAULT_REVISION


def remote_values(mesh: Mesh, endpoint: ControlPlaneEndpoint) -> dict[str, Any]:
    """The istiod chart with the remote profile: no istiod, only the name `istiod` that leads to the provider's."""
    required = {
        "profile": "remote",
        # As in that profile, said again: values win over a profile, and these two would start an istiod here.
        "istiodRemote": {"enabled": True, "enabledLocalInjectorIstiod": False},
        "revision": _revision(mesh),
        "global": {
            "istioNamespace": mesh.namespace,
            # Becomes a Service of type ExternalName: proxies use the host itself, tools expect `istiod.<namespace>`.
            "remotePilotAddress": endpoint.host,
            # Ours are better suited; see `webhooks`.
            "operatorManageWebhooks": True,
            "configValidation": False,
            # istiod's rights are ours, and fewer; see `istiod_rights`.
            "enableReaderRBAC": False,
            "configCluster": False,
            "meshID": mesh.name,
            "network": mesh.data_plane.network,
            "multiCluster": {"clusterName": mesh.cluster_name},
        },
    }
    return merged(mesh.chart_values.data_plane, required)


def crds_values(mesh: Mesh) -> dict[str, Any]:
    """The base chart with the remote profile, reduced to the custom resource definitions."""
    return {
        "profile": "remote",
        # No default revision, no validation webhook of the chart's own.
        "defaultRevision": "",
        "global": {"istioNamespace": mesh.namespace, "enableReaderRBAC": False},
    }


def gateway_values(mesh: Mesh, gateway: Gateway) -> dict[str, Any]:
    """The gateway chart: a proxy of the mesh's revision that injection completes."""
    required: dict[str, Any] = {"name": gateway.name, "revision": _revision(mesh)}
    # The chart's role lets the gateway read Secrets; istiod cannot serve them here, so nothing needs it.
    required["rbac"] = {"enabled": False}
    if mesh.data_plane.network:
        required["labels"] = {"topology.istio.io/network": mesh.data_plane.network}
    return merged(gateway.chart_values, required)


def _revision(mesh: Mesh) -> str:
    return "" if mesh.revision == DEFAULT_REVISION else mesh.revision
