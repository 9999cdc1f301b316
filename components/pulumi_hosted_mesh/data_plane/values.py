"""Helm values of Istio's charts on the data plane. Pure and plain."""

from __future__ import annotations

from typing import Any, Final

from pulumi_hosted_mesh.boundary.endpoint import ControlPlaneEndpoint
from pulumi_hosted_mesh.charts.merge import merged
from pulumi_hosted_mesh.charts.spread import over_nodes
from pulumi_hosted_mesh.spec.data_plane import DataPlaneSettings, Gateway, ServiceType
from pulumi_hosted_mesh.spec.networks import NETWORK_VIEW, CrossNetwork, gateway_port
from pulumi_hosted_mesh.vocabulary import NETWORK_LABEL, chart_revision

FEWEST: Final = 2
"""The autoscaler's minimum of a gateway's Pods; the chart's default is 1."""


def remote_values(endpoint: ControlPlaneEndpoint, settings: DataPlaneSettings) -> dict[str, Any]:
    """The istiod chart with the remote profile: no istiod, only a Service `istiod` with the control plane's host."""
    required = {
        "profile": "remote",
        # The profile's values, repeated: the document's values override a profile, and these could start an istiod.
        "istiodRemote": {"enabled": True, "enabledLocalInjectorIstiod": False},
        "revision": chart_revision(endpoint.revision),
        "global": {
            "istioNamespace": endpoint.namespace,
            # Makes a Service of type ExternalName: proxies use the host itself, tools expect `istiod.<namespace>`.
            "remotePilotAddress": endpoint.host,
            # The library has its own webhooks; see `webhooks`.
            "operatorManageWebhooks": True,
            "configValidation": False,
            # The library sets istiod's rights, fewer than the chart's; see `rights`.
            "enableReaderRBAC": False,
            "configCluster": False,
            "meshID": endpoint.mesh,
            "network": endpoint.document.network,
            "multiCluster": {"clusterName": endpoint.document.cluster_id},
        },
    }
    return merged(settings.chart_values, required)


def mesh_config(endpoint: ControlPlaneEndpoint) -> str:
    """The mesh config that istiod reads from further data planes: the trust domain, by default `cluster.local`.

    See pilot/pkg/serviceregistry/kube/controller/multicluster.go. istiod reads all other settings from its own files.
    """
    return f"trustDomain: {endpoint.document.trust_domain}\n"


def crds_values() -> dict[str, Any]:
    """The base chart with the remote profile, reduced to the custom resource definitions."""
    return {
        "profile": "remote",
        # No default revision, and no validation webhook of the chart.
        "defaultRevision": "",
        "global": {"enableReaderRBAC": False},
    }


def gateway_values(endpoint: ControlPlaneEndpoint, gateway: Gateway) -> dict[str, Any]:
    """The gateway chart: a proxy of the mesh's revision, completed by injection."""
    required: dict[str, Any] = {
        "name": gateway.name,
        "revision": chart_revision(endpoint.revision),
        # The chart's role lets the gateway read Secrets. It does not need them: certificates come from istiod or files.
        "rbac": {"enabled": False},
        "service": service_values(gateway),
        "nodeSelector": dict(gateway.scheduling.node_selector),
        "tolerations": [one.model_dump(exclude_none=True) for one in gateway.scheduling.tolerations],
        "affinity": dict(gateway.scheduling.affinity),
        "imagePullSecrets": [{"name": one} for one in gateway.image_pull_secrets],
    }
    if gateway.scheduling.priority_class:
        required["priorityClassName"] = gateway.scheduling.priority_class
    if gateway.replicas is not None:
        required |= {"replicaCount": gateway.replicas, "autoscaling": {"enabled": False}}
    network = endpoint.document.network
    if network:
        required["labels"] = {NETWORK_LABEL: network}
    given = {key: value for key, value in required.items() if value not in ({}, [])}
    view: dict[str, Any] = {}
    if network and endpoint.document.cross_network is CrossNetwork.GATEWAYS and leads_into_its_network(gateway):
        # With all networks' gateways in its configuration, connections could loop between gateways.
        view = {"env": {NETWORK_VIEW: network}}
    own = {key: value for key, value in while_nodes_go(gateway).items() if key not in gateway.chart_values}
    return merged(merged(own, view), merged(gateway.chart_values, given))


def while_nodes_go(gateway: Gateway) -> dict[str, Any]:
    """Values that keep a gateway serving while a node is drained: two Pods on different nodes, and a disruption budget.

    The document may replace each (`chartValues`). A single Pod has none of them: a budget would block the drain.
    """
    if gateway.replicas == 1:
        return {}
    scaled = {"autoscaling": {"minReplicas": FEWEST}} if gateway.replicas is None else {}
    return {
        **scaled,
        "podDisruptionBudget": {"maxUnavailable": 1},
        "topologySpreadConstraints": over_nodes({"app": gateway.name}),
    }


def leads_into_its_network(gateway: Gateway) -> bool:
    """Whether istiod sends other networks' proxies to the gateway, by its Service's network label, address and port.

    See `getGatewayDetails`, pilot/pkg/serviceregistry/kube/controller/network.go.
    """
    labels = gateway.chart_values.get("labels")
    port = gateway_port(labels if isinstance(labels, dict) else {})
    listens = port in {str(one.port) for one in gateway.service.ports}
    return listens and gateway.service.type is not ServiceType.CLUSTER_IP


def service_values(gateway: Gateway) -> dict[str, Any]:
    """`service` of the gateway chart, from the document's fields."""
    service = gateway.service
    values: dict[str, Any] = {"type": service.type.value} if service.type else {}
    if service.annotations:
        values["annotations"] = dict(service.annotations)
    if service.ports:
        values["ports"] = [
            {"name": one.name, "port": one.port, "targetPort": one.target_port or one.port, "protocol": "TCP"}
            for one in service.ports
        ]
    if service.load_balancer_class:
        values["loadBalancerClass"] = service.load_balancer_class
    if service.source_ranges:
        values["loadBalancerSourceRanges"] = list(service.source_ranges)
    return values
