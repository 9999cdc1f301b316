"""Helm values of the istiod chart on the control plane. Pure, without Outputs, so previews show each object."""

from __future__ import annotations

from typing import Any

from pulumi_hosted_mesh.charts.merge import merged
from pulumi_hosted_mesh.charts.pods import requests_and_limits
from pulumi_hosted_mesh.charts.spread import over_nodes
from pulumi_hosted_mesh.control_plane.manifests import istiod_selector
from pulumi_hosted_mesh.control_plane.pushed_metrics import pushed_metrics
from pulumi_hosted_mesh.spec import features
from pulumi_hosted_mesh.spec.data_plane import Membership
from pulumi_hosted_mesh.spec.issuer_ranges import blocked_ranges
from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.spec.networks import CrossNetwork
from pulumi_hosted_mesh.spec.proxies import Proxies
from pulumi_hosted_mesh.spec.reserved import BLOCKED_FOR_ISSUERS, DEFAULTS, JOINED, LISTS, SPLITS_ARGUMENTS
from pulumi_hosted_mesh.spec.revision import Profile, Revision
from pulumi_hosted_mesh.vocabulary import (
    REMOTE_CLUSTERS_SECRET,
    chart_revision,
    revocation_list_config_map,
    root_certificate_config_map,
    suffixed,
)

REMOTE_CLUSTERS = "/var/run/secrets/hosted-mesh/remote-clusters"


def istiod_values(mesh: Mesh, revision: Revision) -> dict[str, Any]:
    """The values: the document's `chartValues` with those that the library sets; lists of both are joined.

    No value of the document is overridden, because validation rejects such a value (`spec.reserved`).
    """
    values = merged(required_values(mesh, revision), typed_values(revision))
    if mesh.control_plane.priority is not None:
        values["global"]["priorityClassName"] = mesh.priority_class
    return merged(merged(given_defaults(mesh), revision.chart_values), values, joined=LISTS)


def given_defaults(mesh: Mesh) -> dict[str, Any]:
    """Values that the document may replace: the namespace enforces Pod Security `restricted`, which requires a profile.

    With a tenant, the data plane's namespace has another name than istiod's.
    """
    root = {"meshConfig": {"rootNamespace": mesh.namespace}} if mesh.tenant else {}
    return {"seccompProfile": {"type": "RuntimeDefault"}, **root}


def typed_values(revision: Revision) -> dict[str, Any]:
    """Values from the document's typed fields."""
    istiod = revision.istiod
    values: dict[str, Any] = {
        "autoscaleEnabled": istiod.autoscaling is not None,
        "resources": requests_and_limits(istiod.resources),
        "nodeSelector": dict(istiod.scheduling.node_selector),
        "tolerations": [one.model_dump(exclude_none=True) for one in istiod.scheduling.tolerations],
        "affinity": dict(istiod.scheduling.affinity),
        "meshConfig": mesh_config(revision.proxies),
        "global": {"logging": {"level": istiod.log_level}, "proxy": proxy_values(revision.proxies)},
    }
    if revision.profile is not Profile.DEFAULT:
        values["profile"] = revision.profile.value
    if istiod.autoscaling:
        values["autoscaleMin"], values["autoscaleMax"] = istiod.replicas, istiod.autoscaling.max_replicas
        values["cpu"] = {"targetAverageUtilization": istiod.autoscaling.cpu_utilization}
    else:
        values["replicaCount"] = istiod.replicas
    if istiod.most_replicas > 1:
        values["topologySpreadConstraints"] = over_nodes(istiod_selector(revision))
    chosen = {
        "hub": revision.charts.hub,
        "tag": revision.charts.tag,
        "priorityClassName": istiod.scheduling.priority_class,
        "imagePullSecrets": [*istiod.image_pull_secrets, *revision.proxies.image_pull_secrets] or None,
    }
    values["global"] |= {key: value for key, value in chosen.items() if value is not None}
    return values


def mesh_config(proxies: Proxies) -> dict[str, Any]:
    """Istio's mesh config from the document's typed fields."""
    config: dict[str, Any] = {
        "outboundTrafficPolicy": {"mode": proxies.outbound_traffic.value},
        "defaultConfig": {"holdApplicationUntilProxyStarts": proxies.hold_application},
    }
    if log := proxies.access_log:
        config |= {"accessLogFile": log.file, "accessLogEncoding": log.encoding.value}
        config |= {"accessLogFormat": log.format} if log.format else {}
    return merged(config, pushed_metrics(proxies.metrics)) if proxies.metrics else config


def proxy_values(proxies: Proxies) -> dict[str, Any]:
    """`global.proxy`: the sidecars' resources in the document."""
    sizes = proxies.resources
    resources = {
        "requests": {"cpu": sizes.cpu_request, "memory": sizes.memory_request},
        "limits": {"cpu": sizes.cpu_limit, "memory": sizes.memory_limit},
    }
    given = {kind: {name: size for name, size in part.items() if size} for kind, part in resources.items()}
    return {"resources": found} if (found := {kind: part for kind, part in given.items() if part}) else {}


def required_values(mesh: Mesh, revision: Revision) -> dict[str, Any]:
    """The values for an external istiod with the least rights."""
    return {
        "revision": chart_revision(revision.name),
        # The chart's switch for the remote profile: set here, the document's values cannot turn it on.
        "istiodRemote": {"enabled": False},
        "configMap": True,
        "extraContainerArgs": list(SPLITS_ARGUMENTS),
        "env": {
            **DEFAULTS,
            **revision.istiod.environment,
            **joined_environment(mesh, revision),
            **environment(mesh, revision),
        },
        **read_from_files(mesh, revision),
        "meshConfig": {
            "trustDomain": mesh.domain,
            # The Ingress controller requires the right to write status on the data plane.
            "ingressControllerMode": "OFF",
            "defaultConfig": {
                "discoveryAddress": f"{revision.host}:{revision.exposure.address.xds_port}",
                "proxyMetadata": {"SECRET_TTL": lifetime(mesh)},
            },
        },
        "global": required_global(mesh, revision),
    }


def read_from_files(mesh: Mesh, revision: Revision) -> dict[str, Any]:
    """Volumes of istiod's Pods and their mounts: configuration that istiod reads from this cluster only."""
    remote: dict[str, Any] = {"emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}}
    if len(mesh.memberships) > 1:
        remote = {"secret": {"secretName": REMOTE_CLUSTERS_SECRET}}
    return {
        "volumes": [
            # istiod reads mesh config and injection templates from files, so from this cluster. Without the files it
            # reads ConfigMaps of the data plane, which its user can change (pilot/pkg/bootstrap/mesh.go).
            {"name": "mesh-config", "configMap": {"name": suffixed("istio", revision.name)}},
            {"name": "injection-config", "configMap": {"name": suffixed("istio-sidecar-injector", revision.name)}},
            {"name": "remote-clusters", **remote},
        ],
        "volumeMounts": [
            {"name": "mesh-config", "mountPath": "/etc/istio/config", "readOnly": True},
            {"name": "injection-config", "mountPath": "/var/lib/istio/inject", "readOnly": True},
            {"name": "remote-clusters", "mountPath": REMOTE_CLUSTERS, "readOnly": True},
        ],
    }


def required_global(mesh: Mesh, revision: Revision) -> dict[str, Any]:
    """`global`: istiod's names for proxies of the first membership, and the chart's parts that are off here."""
    first = mesh.memberships[0]
    return {
        "istioNamespace": mesh.control_plane_namespace,
        "externalIstiod": True,
        "omitSidecarInjectorConfigMap": False,
        # Webhook configurations and cluster-wide roles belong to the data plane; here they would affect the control
        # plane's own cluster.
        "operatorManageWebhooks": True,
        "configValidation": False,
        "enableReaderRBAC": False,
        "resourceScope": "namespace",
        "caAddress": f"{revision.host}:{revision.exposure.address.xds_port}",
        **identity(mesh, first),
    }


def identity(mesh: Mesh, member: Membership) -> dict[str, Any]:
    """Part of the chart's `global`: names of the mesh, and of the cluster that istiod serves."""
    return {
        "meshID": mesh.name,
        "network": mesh.network(member),
        "multiCluster": {"clusterName": mesh.cluster_id(member)},
        # istiod writes it, and injected Pods mount it, by this name. Under Istio's default name two meshes in one
        # cluster would overwrite each other's.
        "trustBundleName": root_certificate_config_map(mesh.name),
        "proxy": {"clusterDomain": member.cluster_domain},
    }


def environment(mesh: Mesh, revision: Revision) -> dict[str, str]:
    """istiod's environment; parts that are off would require rights on the data plane (see also `spec.features`)."""
    hosts = (revision.host, revision.exposure.address.webhook_host)
    return {
        "ISTIOD_CUSTOM_HOST": ",".join(filter(None, hosts)),
        "PILOT_MAX_REQUESTS_PER_SECOND": str(revision.istiod.requests_per_second),
        "DEFAULT_WORKLOAD_CERT_TTL": lifetime(mesh),
        "MAX_WORKLOAD_CERT_TTL": lifetime(mesh),
        # The webhooks have a static CA bundle, so istiod has nothing to patch; empty names turn its patchers off.
        "INJECTION_WEBHOOK_CONFIG_NAME": "",
        "VALIDATION_WEBHOOK_CONFIG_NAME": "",
        # Under Istio's default name two meshes in one cluster would overwrite each other's.
        "PILOT_CRL_CONFIGMAP": revocation_list_config_map(mesh.name),
        # Kubeconfigs of further clusters come from files of this cluster, not from Secrets on the data plane.
        "PILOT_MULTICLUSTER_KUBECONFIG_PATH": REMOTE_CLUSTERS,
        "PILOT_ENABLE_REMOTE_CREDENTIALS_CONTROLLER": "false",
        # A Service of the data plane may set any host as its load balancer's. istiod resolves it by the control plane's
        # DNS and sends proxies the result (pilot/pkg/model/network.go): on only for networks with gateways.
        "RESOLVE_HOSTNAME_GATEWAYS": str(mesh.cross_network is CrossNetwork.GATEWAYS).lower(),
        # Turns off reading and writing of a CA key on the data plane.
        "USE_REMOTE_CERTS": "false",
        **features.environment(revision.features),
    }


def joined_environment(mesh: Mesh, revision: Revision) -> dict[str, str]:
    """Variables that join the library's value and the document's."""
    blocked = ",".join(blocked_ranges(mesh.control_plane.network_policy.issuer_ranges))
    own = {**JOINED, BLOCKED_FOR_ISSUERS: blocked}
    given = revision.istiod.environment
    return {name: ",".join(filter(None, (value, given.get(name)))) for name, value in own.items()}


def lifetime(mesh: Mesh) -> str:
    """Lifetime of workloads' certificates, as istiod reads it."""
    return f"{mesh.trust.workload_lifetime_hours}h"
