"""Helm values of the istiod chart on the control plane. Pure and plain: no unknown, so previews show each object."""

from __future__ import annotations

from typing import Any

from pulumi_hosted_mesh.charts.merge import merged
from pulumi_hosted_mesh.control_plane.manifests import istiod_selector
from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.vocabulary import DEFAULT_REVISION, XDS_PORT

REMOTE_CLUSTERS = "/var/run/secrets/hosted-mesh/remote-clusters"


def istiod_values(mesh: Mesh) -> dict[str, Any]:
    """The values: the user's own (`chartValues.controlPlane`) under those that the split depends on, over defaults."""
    return merged(merged(default_values(mesh), mesh.chart_values.control_plane), required_values(mesh))


def default_values(mesh: Mesh) -> dict[str, Any]:
    """Values that the user's own may replace: several Pods on several nodes, where there are as many."""
    if mesh.control_plane.istiod.replicas == 1:
        return {}
    spread = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": istiod_selector(mesh)},
    }
    return {"topologySpreadConstraints": [spread]}


def required_values(mesh: Mesh) -> dict[str, Any]:
    """The values that make istiod an external one, with no more reach than it needs."""
    istiod = mesh.control_plane.istiod
    revision = chart_revision(mesh)
    values: dict[str, Any] = {
        "revision": revision,
        # Where the chart has other defaults for a remote profile; so nothing in the user's values can choose that one.
        "istiodRemote": {"enabled": False},
        "configMap": True,
        "autoscaleEnabled": False,
        "replicaCount": istiod.replicas,
        "resources": {
            "requests": {"cpu": istiod.resources.cpu_request, "memory": istiod.resources.memory_request},
            "limits": {"cpu": istiod.resources.cpu_limit, "memory": istiod.resources.memory_limit},
        },
        # Port 15010 is xDS without authentication; an empty address does not open it.
        "extraContainerArgs": ["--grpcAddr=", "--tls-min-version=1.3"],
        "env": {**istiod.environment, **environment(mesh)},
        "volumes": [
            # Mesh config and injection templates are read from files, so from this cluster: with no file istiod would
            # look for ConfigMaps on the data plane, where the user could change them (pilot/pkg/bootstrap/mesh.go).
            {"name": "mesh-config", "configMap": {"name": _named("istio", revision)}},
            {"name": "injection-config", "configMap": {"name": _named("istio-sidecar-injector", revision)}},
            {"name": "remote-clusters", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}},
        ],
        "volumeMounts": [
            {"name": "mesh-config", "mountPath": "/etc/istio/config", "readOnly": True},
            {"name": "injection-config", "mountPath": "/var/lib/istio/inject", "readOnly": True},
            {"name": "remote-clusters", "mountPath": REMOTE_CLUSTERS, "readOnly": True},
        ],
        "meshConfig": {
            "trustDomain": mesh.trust_domain,
            # The Ingress controller would need to write status on the data plane.
            "ingressControllerMode": "OFF",
            "defaultConfig": {
                "discoveryAddress": f"{mesh.control_plane.host}:{XDS_PORT}",
                "proxyMetadata": {"SECRET_TTL": _lifetime(mesh)},
            },
        },
        "global": {
            "istioNamespace": mesh.namespace,
            "externalIstiod": True,
            "omitSidecarInjectorConfigMap": False,
            # Webhook configurations and cluster-wide roles belong to the data plane; here they would act on the
            # provider's own Pods.
            "operatorManageWebhooks": True,
            "configValidation": False,
            "enableReaderRBAC": False,
            "resourceScope": "namespace",
            "caAddress": f"{mesh.control_plane.host}:{XDS_PORT}",
            "meshID": mesh.name,
            "network": mesh.data_plane.network,
            "multiCluster": {"clusterName": mesh.cluster_name},
            "proxy": {"clusterDomain": mesh.cluster_domain},
            "logging": {"level": istiod.log_level},
        },
    }
    images = {"hub": mesh.charts.hub, "tag": mesh.charts.tag}
    values["global"] |= {key: value for key, value in images.items() if value is not None}
    return values


def environment(mesh: Mesh) -> dict[str, str]:
    """istiod's environment; each line switches off something that would need a right on the data plane."""
    return {
        "ISTIOD_CUSTOM_HOST": mesh.control_plane.host,
        "PILOT_MAX_REQUESTS_PER_SECOND": str(mesh.control_plane.istiod.requests_per_second),
        "DEFAULT_WORKLOAD_CERT_TTL": _lifetime(mesh),
        "MAX_WORKLOAD_CERT_TTL": _lifetime(mesh),
        # The CA bundle in the webhooks is static, so there is nothing to patch; empty names switch the patchers off.
        "INJECTION_WEBHOOK_CONFIG_NAME": "",
        "VALIDATION_WEBHOOK_CONFIG_NAME": "",
        # istiod serves gateways' certificates out of the config cluster's Secrets, and lists all of them for it, as
        # soon as this check is on (initSDSServer in pilot/pkg/bootstrap/server.go); without the right to list them it
        # would never become ready. Off, a workload of this mesh may ask for the configuration, never for the keys, of
        # another workload of the same mesh. Other meshes have another authority and another istiod.
        "PILOT_ENABLE_XDS_IDENTITY_CHECK": "false",
        # Kubeconfigs of further clusters would be Secrets on the data plane; read an empty directory instead.
        "PILOT_MULTICLUSTER_KUBECONFIG_PATH": REMOTE_CLUSTERS,
        "PILOT_ENABLE_REMOTE_CREDENTIALS_CONTROLLER": "false",
        # Writers of objects or status on the data plane.
        "PILOT_ENABLE_GATEWAY_API": "false",
        "PILOT_ENABLE_IP_AUTOALLOCATE": "false",
        "PILOT_ENABLE_WORKLOAD_ENTRY_AUTOREGISTRATION": "false",
        "PILOT_ENABLE_CA_CRL": "false",
        # Never read, or write, a CA key on the data plane.
        "USE_REMOTE_CERTS": "false",
    }


def chart_revision(mesh: Mesh) -> str:
    """The chart's word for the default revision is the empty one."""
    return "" if mesh.revision == DEFAULT_REVISION else mesh.revision


def _named(name: str, revision: str) -> str:
    return f"{name}-{revision}" if revision else name


def _lifetime(mesh: Mesh) -> str:
    return f"{mesh.trust.workload_lifetime_hours}h"
