"""Objects of the shared gateway, as plain data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from pulumi_hosted_mesh.charts import pods
from pulumi_hosted_mesh.charts.load_balancer import load_balancer_annotations, load_balancer_spec
from pulumi_hosted_mesh.charts.service_wait import service_wait
from pulumi_hosted_mesh.charts.spread import over_nodes
from pulumi_hosted_mesh.spec.fields import amount
from pulumi_hosted_mesh.spec.gateway import GatewaySettings
from pulumi_hosted_mesh.tenancy.envoy_bootstrap import FOLDER, METRICS_PORT, bootstrap
from pulumi_hosted_mesh.vocabulary import (
    EXTERNAL_DNS_HOSTNAME_ANNOTATION,
    GATEWAY_HOST_LABEL,
    GATEWAY_POD_LABELS,
    MESH_LABEL,
    NAMESPACE_NAME_LABEL,
    WEBHOOK_PORT,
    XDS_PORT,
)

Spec = dict[str, Any]
SIDECAR_SOURCE: Final = Path(__file__).parent / "gateway_sidecar"
"""In a checkout a link to agents/gateway_sidecar; in the wheel a copy."""
NAME: Final = "shared-gateway"
"""Name of its Deployment, Service, ServiceAccount, Role, NetworkPolicy, PodDisruptionBudget and settings."""
SOURCE: Final = "gateway-sidecar"
"""Name of the ConfigMap with the sidecar's source."""
SIDECAR_COMMAND: Final = ("python3", "-m", "gateway_sidecar")
"""The ENTRYPOINT of agents/gateway_sidecar/Dockerfile."""
SIDECAR_WORKDIR: Final = "/opt/hosted-mesh"
SETTINGS_FOLDER: Final = "/etc/hosted-mesh/gateway"
ACCOUNT_FOLDER: Final = "/var/run/secrets/hosted-mesh/account"
PROGRAM_FOLDER: Final = "/opt/envoy"
ENVOY: Final = "/usr/local/bin/envoy"
BOOTSTRAP: Final = "envoy.json"
SIDECAR_SETTINGS: Final = "sidecar.json"
SIDECAR_PORT: Final = 15091
PRIVILEGED: Final = 1024
GRACE_SECONDS: Final = 30
_SMALL: Final = {"requests": {"cpu": "10m", "memory": "128Mi"}, "limits": {"memory": "512Mi"}}
"""Labels of the Namespace."""


def inner_port(port: int) -> int:
    """Envoy's port for a public port: a process without rights may not listen below 1024."""
    return port if port >= PRIVILEGED else port + 8000


def sidecar_source(folder: Path = SIDECAR_SOURCE) -> dict[str, str]:
    """`data` of the ConfigMap with the sidecar's source. Raises FileNotFoundError without it."""
    return pods.agent_source(folder, "gateway sidecar")


def settings_data(settings: GatewaySettings) -> dict[str, str]:
    """`data` of the ConfigMap with Envoy's bootstrap and the sidecar's settings."""
    files = {BOOTSTRAP: bootstrap(settings), SIDECAR_SETTINGS: sidecar_config(settings)}
    return {name: json.dumps(content, sort_keys=True) for name, content in files.items()}


def sidecar_config(settings: GatewaySettings) -> Spec:
    """The sidecar's settings, as agents/gateway_sidecar/settings.py reads them."""
    return {
        "selector": f"{GATEWAY_HOST_LABEL}=true",
        "zones": list(settings.zones),
        "listeners": {str(port): inner_port(port) for port in settings.ports},
        "clusterDomain": settings.cluster_domain,
        "proxies": list(settings.proxy_protocol_from),
        "connections": settings.connections,
        "handshakeSeconds": settings.handshake_seconds,
    }


def rules() -> list[Spec]:
    """`rules` of the sidecar's Role: it reads the hosts of its own namespace."""
    return [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch"]}]


def deployment(settings: GatewaySettings, annotations: dict[str, Any]) -> Spec:
    """`spec` of the Deployment. annotations: of its Pods."""
    return {
        "replicas": settings.replicas,
        "selector": {"matchLabels": GATEWAY_POD_LABELS},
        # A Pod ends only after another one serves.
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}},
        "template": {"metadata": {"labels": GATEWAY_POD_LABELS, "annotations": annotations}, "spec": pod(settings)},
    }


def pod(settings: GatewaySettings) -> Spec:
    """`spec` of a Pod: the sidecar writes the first configuration, then Envoy starts."""
    scheduling = settings.scheduling
    chosen = {
        "nodeSelector": dict(scheduling.node_selector),
        "tolerations": [one.model_dump(exclude_none=True) for one in scheduling.tolerations],
        "affinity": dict(scheduling.affinity),
        "priorityClassName": scheduling.priority_class,
        "topologySpreadConstraints": over_nodes(GATEWAY_POD_LABELS) if settings.replicas > 1 else None,
    }
    return {
        "serviceAccountName": NAME,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": GRACE_SECONDS + settings.drain_seconds,
        "securityContext": pods.UNPRIVILEGED,
        "initContainers": [_program(settings), _sidecar(settings)],
        "containers": [_envoy(settings)],
        "volumes": _volumes(settings),
        **{key: value for key, value in chosen.items() if value},
    }


def _program(settings: GatewaySettings) -> Spec:
    """Copies Envoy's program for the sidecar, which validates with the version that serves."""
    return {
        "name": "envoy-program",
        "image": settings.images.envoy,
        "command": ["cp", ENVOY, f"{PROGRAM_FOLDER}/envoy"],
        "volumeMounts": [{"name": "program", "mountPath": PROGRAM_FOLDER}],
        "resources": _SMALL,
        "securityContext": pods.LOCKED,
    }


def _sidecar(settings: GatewaySettings) -> Spec:
    """The only container with the account's token. It keeps running beside Envoy (`restartPolicy: Always`)."""
    source = {"name": "source", "mountPath": f"{SIDECAR_WORKDIR}/{SIDECAR_COMMAND[-1]}", "readOnly": True}
    return {
        "name": "sidecar",
        "image": settings.images.sidecar or settings.images.python,
        "restartPolicy": "Always",
        "command": list(SIDECAR_COMMAND),
        "args": [
            f"--settings={SETTINGS_FOLDER}/{SIDECAR_SETTINGS}",
            f"--account={ACCOUNT_FOLDER}",
            f"--folder={FOLDER}",
            f"--envoy={PROGRAM_FOLDER}/envoy",
            f"--port={SIDECAR_PORT}",
        ],
        "workingDir": SIDECAR_WORKDIR,
        "env": [{"name": "PYTHONDONTWRITEBYTECODE", "value": "1"}],
        "ports": [{"name": "sidecar", "containerPort": SIDECAR_PORT}],
        "startupProbe": {**_probe("/ready", SIDECAR_PORT), "periodSeconds": 1, "failureThreshold": 120},
        "volumeMounts": [
            *([] if settings.images.sidecar else [source]),
            {"name": "settings", "mountPath": SETTINGS_FOLDER, "readOnly": True},
            {"name": "account", "mountPath": ACCOUNT_FOLDER, "readOnly": True},
            {"name": "program", "mountPath": PROGRAM_FOLDER, "readOnly": True},
            {"name": "configuration", "mountPath": FOLDER},
        ],
        "resources": _SMALL,
        "securityContext": pods.LOCKED,
    }


def _envoy(settings: GatewaySettings) -> Spec:
    sizes = settings.resources
    container: Spec = {
        "name": "envoy",
        "image": settings.images.envoy,
        "command": [ENVOY],
        "args": [
            "--config-path",
            f"{SETTINGS_FOLDER}/{BOOTSTRAP}",
            "--disable-hot-restart",
            # By default one thread for each of the node's processors, whatever the limit is.
            *("--concurrency", str(max(1, int(amount(sizes.cpu_limit))))),
            # A line of the access log appears after a second.
            *("--file-flush-interval-msec", "1000"),
            # Open connections of a removed host end after this time.
            *("--drain-time-s", "60"),
        ],
        "ports": [
            *({"name": f"tls-{port}", "containerPort": inner_port(port)} for port in settings.ports),
            {"name": "metrics", "containerPort": METRICS_PORT},
        ],
        "readinessProbe": {**_probe("/ready", METRICS_PORT), "periodSeconds": 2},
        "volumeMounts": [
            {"name": "settings", "mountPath": SETTINGS_FOLDER, "readOnly": True},
            {"name": "configuration", "mountPath": FOLDER, "readOnly": True},
        ],
        "resources": pods.requests_and_limits(sizes),
        "securityContext": pods.LOCKED,
    }
    if settings.drain_seconds:
        container["lifecycle"] = {"preStop": {"sleep": {"seconds": settings.drain_seconds}}}
    return container


def _probe(path: str, port: int) -> Spec:
    return {"httpGet": {"path": path, "port": port}, "timeoutSeconds": 5}


def _volumes(settings: GatewaySettings) -> list[Spec]:
    volumes: list[Spec] = [
        {"name": "settings", "configMap": {"name": NAME}},
        pods.account_volume(),
        {"name": "program", "emptyDir": {"sizeLimit": "512Mi"}},
        {"name": "configuration", "emptyDir": {"sizeLimit": "64Mi"}},
    ]
    return volumes if settings.images.sidecar else [*volumes, {"name": "source", "configMap": {"name": SOURCE}}]


def service_annotations(settings: GatewaySettings) -> dict[str, str]:
    """Annotations of the Service."""
    names = {EXTERNAL_DNS_HOSTNAME_ANNOTATION: ",".join(f"*.{zone}" for zone in settings.zones)}
    found = load_balancer_annotations(
        {**(names if settings.publish_name else {}), **settings.annotations},
        opened_by="gateway.openToAll, each host has its own ranges" if settings.open_to_all else None,
    )
    return found | service_wait("LoadBalancer", ready=settings.wait_until_ready)


def service(settings: GatewaySettings) -> Spec:
    """`spec` of the Service, the only entry."""
    found = load_balancer_spec(
        GATEWAY_POD_LABELS,
        [
            {"name": f"tls-{port}", "port": port, "targetPort": inner_port(port), "protocol": "TCP"}
            for port in settings.ports
        ],
        settings.source_ranges,
        allocate_node_ports=settings.allocate_node_ports,
        load_balancer_class=settings.load_balancer_class,
    )
    # The node's address would replace the client's, and the ranges of meshes would admit everybody or nobody.
    return {**found, "externalTrafficPolicy": "Local"}


def network_policy(settings: GatewaySettings) -> Spec:
    """`spec` of the NetworkPolicy: in by its ports, out to meshes' istiods, DNS and this cluster's API server."""
    policy = settings.network_policy
    meshes = {"namespaceSelector": {"matchExpressions": [{"key": MESH_LABEL, "operator": "Exists"}]}}
    istiods = {**meshes, "podSelector": {"matchLabels": {"app": "istiod"}}}
    dns = [{"protocol": protocol, "port": port} for port in policy.dns_ports for protocol in ("UDP", "TCP")]
    ingress: list[Spec] = [{"ports": [pods.tcp(inner_port(port)) for port in settings.ports]}]
    if policy.metrics_from:
        scrapers = [{"namespaceSelector": {"matchLabels": {NAMESPACE_NAME_LABEL: one}}} for one in policy.metrics_from]
        ingress.append({"from": scrapers, "ports": [pods.tcp(METRICS_PORT), pods.tcp(SIDECAR_PORT)]})
    return {
        "podSelector": {},
        "policyTypes": ["Ingress", "Egress"],
        "ingress": ingress,
        "egress": [
            {"to": [istiods], "ports": [pods.tcp(XDS_PORT), pods.tcp(WEBHOOK_PORT)]},
            {"ports": dns},
            {"ports": [pods.tcp(port) for port in policy.api_server_ports]},
        ],
    }


def disruption_budget() -> Spec:
    """`spec` of the PodDisruptionBudget: drained nodes evict one Pod at a time."""
    return {"maxUnavailable": 1, "selector": {"matchLabels": GATEWAY_POD_LABELS}}
