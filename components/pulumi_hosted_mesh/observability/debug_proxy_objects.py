"""Manifests of the debug proxy. Pure."""

from __future__ import annotations

import hashlib
from typing import Any, Final

from pulumi_hosted_mesh.charts import pods
from pulumi_hosted_mesh.charts.load_balancer import load_balancer_annotations, load_balancer_spec
from pulumi_hosted_mesh.charts.service_wait import service_wait
from pulumi_hosted_mesh.spec.exposure import LoadBalancerExposure
from pulumi_hosted_mesh.spec.observability import Observability
from pulumi_hosted_mesh.vocabulary import (
    MONITORING_PORT,
    NAMESPACE_NAME_LABEL,
    namespace_of,
)

Spec = Any
DEBUG_PROXY: Final = "debug-proxy"
SERVER_SECRET: Final = "debug-proxy-server"  # noqa: S105 (a name)
SERVER_FOLDER: Final = "/etc/debug-proxy/server"
SERVER_FILES: Final = ("tls.crt", "tls.key")
COMMAND: Final = ("python3", "-m", "debug_proxy")
WORKDIR: Final = "/opt/hosted-mesh"
ISTIOD: Final = {"app": "istiod"}
SELECTOR: Final = {"app.kubernetes.io/name": DEBUG_PROXY}
_DNS: Final = [{"protocol": kind, "port": 53} for kind in ("UDP", "TCP")]


def istiod_service_name(document: Observability) -> str:
    """Name of the objects in the mesh's namespace. Documents of one mesh, with a namespace each, have one each.

    The Service has one address for each istiod, of all revisions: each has the state of its own proxies only.
    """
    digest = hashlib.sha256(document.own_namespace.encode()).hexdigest()[:8]
    return f"istiod-debug-{digest}"


def deployment(document: Observability) -> Spec:
    """`spec` of the Deployment. It has no ServiceAccount's token, and no credential but its own key."""
    part = document.debug_proxy
    mesh = namespace_of(document.mesh)
    arguments = {
        "port": part.port,
        "certificate": f"{SERVER_FOLDER}/{SERVER_FILES[0]}",
        "key": f"{SERVER_FOLDER}/{SERVER_FILES[1]}",
        "istiod": f"{istiod_service_name(document)}.{document.istiods_namespace}.svc:{MONITORING_PORT}",
        "cluster": document.cluster_name,
        "namespace": mesh,
    }
    probe = {"tcpSocket": {"port": part.port}, "timeoutSeconds": 10}
    container = {
        "name": DEBUG_PROXY,
        "image": part.image,
        "command": list(COMMAND),
        "args": [f"--{name}={value}" for name, value in arguments.items()],
        "workingDir": WORKDIR,
        "env": [{"name": "PYTHONDONTWRITEBYTECODE", "value": "1"}],
        "ports": [{"name": "debug", "containerPort": part.port}],
        "readinessProbe": probe,
        "livenessProbe": {**probe, "failureThreshold": 5},
        "resources": pods.requests_and_limits(part.resources),
        "volumeMounts": [{"name": "server", "mountPath": SERVER_FOLDER, "readOnly": True}],
        "securityContext": pods.LOCKED,
    }
    pod = {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "serviceAccountName": DEBUG_PROXY,
        "terminationGracePeriodSeconds": 30,
        "securityContext": pods.UNPRIVILEGED,
        "containers": [container],
        "volumes": [pods.secret_volume("server", part.server_secret or SERVER_SECRET, SERVER_FILES)],
    }
    return {
        "replicas": 1,
        "selector": {"matchLabels": SELECTOR},
        "template": {"metadata": {"labels": {**SELECTOR, "sidecar.istio.io/inject": "false"}}, "spec": pod},
    }


def istiod_service() -> Spec:
    """`spec` of the headless Service in the mesh's namespace."""
    port = {"name": "http-debug", "port": MONITORING_PORT, "targetPort": MONITORING_PORT}
    return {"clusterIP": "None", "selector": ISTIOD, "ports": [port]}


def istiod_network_policy(document: Observability) -> Spec:
    """`spec` of the NetworkPolicy in the mesh's namespace: the debug proxy reaches istiod's debug port."""
    namespace = {"matchLabels": {NAMESPACE_NAME_LABEL: document.own_namespace}}
    source = {"namespaceSelector": namespace, "podSelector": {"matchLabels": SELECTOR}}
    return {
        "podSelector": {"matchLabels": ISTIOD},
        "policyTypes": ["Ingress"],
        "ingress": [{"from": [source], "ports": [pods.tcp(MONITORING_PORT)]}],
    }


def network_policy(document: Observability) -> Spec:
    """`spec` of the NetworkPolicy in the own namespace: from istioctl, to istiod and DNS, no other connection."""
    namespace = {"matchLabels": {NAMESPACE_NAME_LABEL: document.istiods_namespace}}
    istiod = {"namespaceSelector": namespace, "podSelector": {"matchLabels": ISTIOD}}
    return {
        "podSelector": {"matchLabels": SELECTOR},
        "policyTypes": ["Ingress", "Egress"],
        # Addresses are limited by the load balancer: behind it a NetworkPolicy sees a node's.
        "ingress": [{"ports": [pods.tcp(document.debug_proxy.port)]}],
        "egress": [{"to": [istiod], "ports": [pods.tcp(MONITORING_PORT)]}, {"ports": _DNS}],
    }


def service(document: Observability) -> tuple[dict[str, str], Spec]:
    """Annotations and `spec` of the Service: a load balancer, or for an integrator's exposure."""
    part = document.debug_proxy
    port = {"name": "tls-debug", "port": part.port, "targetPort": part.port, "protocol": "TCP"}
    exposure = part.exposure
    if not isinstance(exposure, LoadBalancerExposure):
        return service_wait("ClusterIP", ready=document.wait_until_ready), {"selector": SELECTOR, "ports": [port]}
    annotations = load_balancer_annotations(
        exposure.annotations,
        host=str(part.host) if exposure.publish_name else None,
        opened_by="debugProxy.exposure.openToAll" if exposure.open_to_all else None,
    )
    spec = load_balancer_spec(
        SELECTOR,
        [port],
        exposure.source_ranges,
        allocate_node_ports=exposure.allocate_node_ports,
        load_balancer_class=exposure.load_balancer_class,
    )
    return {**annotations, **service_wait("LoadBalancer", ready=document.wait_until_ready)}, spec
