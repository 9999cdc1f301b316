"""Helm values of the istiod chart on the control plane. Pure and plain: no unknown, so previews show each object."""

from __future__ import annotations

from typing import Any

from pulumi_hosted_mesh.charts.merge import merged
from pulumi_hosted_mesh.charts.spread import over_nodes
from pulumi_hosted_mesh.control_plane.manifests import istiod_selector
from pulumi_hosted_mesh.spec import features
from pulumi_hosted_mesh.spec.exposure import LoadBalancerExposure
from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.spec.networks import CrossNetwork
from pulumi_hosted_mesh.spec.proxies import Proxies
from pulumi_hosted_mesh.spec.reserved import DEFAULTS, JOINED, LISTS, SPLITS_ARGUMENTS
from pulumi_hosted_mesh.spec.revision import Revision
from pulumi_hosted_mesh.vocabulary import (
    REMOTE_CLUSTERS_SECRET,
    XDS_PORT,
    chart_revision,
    revocation_list_config_map,
    root_certificate_config_map,
    suffixed,
)

REMOTE_CLUSTERS = "/var/run/secrets/hosted-mesh/remote-clusters"


def istiod_values(mesh: Mesh, revision: Revision) -> dict[str, Any]:
    """The values: the document's own (`chartValues`) with those that the split depends on; lists of both are joined.

    Nothing of the document's is overridden: what would be is refused when it is read (`spec.reserved`).
    """
    values = merged(required_values(mesh, revision), typed_values(revision))
    return merged(revision.chart_values, values, joined=LISTS)


def typed_values(revision: Revision) -> dict[str, Any]:
    """Values from the document's typed fields."""
    istiod = revision.istiod
    values: dict[str, Any] = {
        "autoscaleEnabled": istiod.autoscaling is not None,
        "resources": {
            "requests": {"cpu": istiod.resources.cpu_request, "memory": istiod.resources.memory_request},
            "limits": {"cpu": istiod.resources.cpu_limit, "memory": istiod.resources.memory_limit},
        },
        "nodeSelector": dict(istiod.scheduling.node_selector),
        "tolerations": [one.model_dump(exclude_none=True) for one in istiod.scheduling.tolerations],
        "affinity": dict(istiod.scheduling.affinity),
        "meshConfig": mesh_config(revision.proxies),
        "global": {"logging": {"level": istiod.log_level}, "proxy": proxy_values(revision.proxies)},
    }
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
    return config


def proxy_values(proxies: Proxies) -> dict[str, Any]:
    """`global.proxy`: the resources that the document gives for sidecars."""
    sizes = proxies.resources
    resources = {
        "requests": {"cpu": sizes.cpu_request, "memory": sizes.memory_request},
        "limits": {"cpu": sizes.cpu_limit, "memory": sizes.memory_limit},
    }
    given = {kind: {name: size for name, size in part.items() if size} for kind, part in resources.items()}
    return {"resources": found} if (found := {kind: part for kind, part in given.items() if part}) else {}


def required_values(mesh: Mesh, revision: Revision) -> dict[str, Any]:
    """The values that make istiod an external one, with no more reach than it needs."""
    return {
        "revision": chart_revision(revision.name),
        # Where the chart has other defaults for a remote profile; so nothing in the document's values can choose that.
        "istiodRemote": {"enabled": False},
        "configMap": True,
        "extraContainerArgs": list(SPLITS_ARGUMENTS),
        "env": {
            **DEFAULTS,
            **revision.istiod.environment,
            **joined_environment(revision),
            **environment(mesh, revision),
        },
        **read_from_files(mesh, revision),
        "meshConfig": {
            "trustDomain": mesh.domain,
            # The Ingress controller would need to write status on the data plane.
            "ingressControllerMode": "OFF",
            "defaultConfig": {
                "discoveryAddress": f"{revision.host}:{XDS_PORT}",
                "proxyMetadata": {"SECRET_TTL": _lifetime(mesh)},
            },
        },
        "global": required_global(mesh, revision),
    }


def read_from_files(mesh: Mesh, revision: Revision) -> dict[str, Any]:
    """Volumes of istiod's Pods, and where they are mounted: what it reads from this cluster and from no other."""
    remote: dict[str, Any] = {"emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}}
    if len(mesh.memberships) > 1:
        remote = {"secret": {"secretName": REMOTE_CLUSTERS_SECRET}}
    return {
        "volumes": [
            # Mesh config and injection templates are read from files, so from this cluster: with no file istiod would
            # look for ConfigMaps on the data plane, where its user could change them (pilot/pkg/bootstrap/mesh.go).
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
    """`global`: who istiod is to proxies of the first membership, and what it keeps its hands off here."""
    first = mesh.memberships[0]
    return {
        "istioNamespace": mesh.namespace,
        "externalIstiod": True,
        "omitSidecarInjectorConfigMap": False,
        # Webhook configurations and cluster-wide roles belong to the data plane; here they would act on the Pods of the
        # control plane's own cluster.
        "operatorManageWebhooks": True,
        "configValidation": False,
        "enableReaderRBAC": False,
        "resourceScope": "namespace",
        "caAddress": f"{revision.host}:{XDS_PORT}",
        "meshID": mesh.name,
        "network": mesh.network(first),
        "multiCluster": {"clusterName": mesh.cluster_id(first)},
        # istiod writes it and injected Pods mount it by this name. Two meshes in one cluster would overwrite each
        # other's under Istio's own.
        "trustBundleName": root_certificate_config_map(mesh.name),
        "proxy": {"clusterDomain": first.cluster_domain},
    }


def environment(mesh: Mesh, revision: Revision) -> dict[str, str]:
    """istiod's environment; what is off would need a right on the data plane (see also `spec.features`)."""
    exposure = revision.exposure
    hosts = [revision.host]
    if isinstance(exposure, LoadBalancerExposure) and exposure.webhooks:
        hosts.append(exposure.webhooks.host)
    return {
        "ISTIOD_CUSTOM_HOST": ",".join(hosts),
        "PILOT_MAX_REQUESTS_PER_SECOND": str(revision.istiod.requests_per_second),
        "DEFAULT_WORKLOAD_CERT_TTL": _lifetime(mesh),
        "MAX_WORKLOAD_CERT_TTL": _lifetime(mesh),
        # The CA bundle in the webhooks is static, so there is nothing to patch; empty names switch the patchers off.
        "INJECTION_WEBHOOK_CONFIG_NAME": "",
        "VALIDATION_WEBHOOK_CONFIG_NAME": "",
        # Two meshes in one cluster would overwrite each other's under Istio's own name.
        "PILOT_CRL_CONFIGMAP": revocation_list_config_map(mesh.name),
        # Kubeconfigs of further clusters come from files of this cluster, not from Secrets on the data plane.
        "PILOT_MULTICLUSTER_KUBECONFIG_PATH": REMOTE_CLUSTERS,
        "PILOT_ENABLE_REMOTE_CREDENTIALS_CONTROLLER": "false",
        # A Service of the data plane may name any host as its load balancer's, which istiod looks up in the control
        # plane's DNS and tells proxies (pilot/pkg/model/network.go): only where the networks have such gateways.
        "RESOLVE_HOSTNAME_GATEWAYS": str(mesh.cross_network is CrossNetwork.GATEWAYS).lower(),
        # Never read, or write, a CA key on the data plane.
        "USE_REMOTE_CERTS": "false",
        **features.environment(revision.features),
    }


def joined_environment(revision: Revision) -> dict[str, str]:
    """Variables of which the library has a part and the document may have another."""
    given = revision.istiod.environment
    return {name: ",".join(filter(None, (own, given.get(name)))) for name, own in JOINED.items()}


def _lifetime(mesh: Mesh) -> str:
    return f"{mesh.trust.workload_lifetime_hours}h"
