"""Objects of the bridge on the control plane, as plain data."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, Final

from pulumi_hosted_mesh.dns.arguments import (
    CREDENTIALS_FOLDER,
    EDGE_FOLDER,
    KUBECONFIG,
    METRICS_PORT,
    WRITER_PORT,
    publisher_arguments,
    reader_arguments,
)
from pulumi_hosted_mesh.dns.credentials import environment, file_keys
from pulumi_hosted_mesh.dns.plan import Pair
from pulumi_hosted_mesh.spec.dns import DnsBridge, Edge
from pulumi_hosted_mesh.vocabulary import DNS_NAMESPACE

Spec = dict[str, Any]
WRITER: Final = Path(__file__).parent / "edge_writer"
PROGRAM_FOLDER: Final = "/opt/hosted-mesh"
CONFIG_FOLDER: Final = "/etc/hosted-mesh/writer"
CONFIG: Final = "config.json"
USER: Final = 65532
_SMALL: Final = {"requests": {"cpu": "10m", "memory": "64Mi"}, "limits": {"memory": "256Mi"}}
_LOCKED: Final = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
}


def credentials_secret(provider: str) -> str:
    """Name of the Secret with a provider's credentials."""
    return f"dns-provider-{provider}"


def kubeconfig_secret(edge: str, holder: str) -> str:
    """Name of the Secret with an edge's kubeconfig. holder: `publisher` or `reader`."""
    return f"dns-edge-{edge}-{holder}"


def program_files() -> dict[str, str]:
    """`data` of the ConfigMap with the writer's program."""
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(WRITER.glob("*.py"))}


def writer_config(pairs: Sequence[Pair]) -> dict[str, str]:
    """`data` of the ConfigMap with what the writer of one edge is told. pairs: the edge's."""
    zones = [{"provider": p.provider.id, "include": [*p.include], "exclude": [*p.exclude]} for p in pairs]
    config = {
        "kubeconfig": f"{EDGE_FOLDER}/{KUBECONFIG}",
        "namespace": DNS_NAMESPACE,
        "port": WRITER_PORT,
        "zones": zones,
    }
    return {CONFIG: json.dumps(config, sort_keys=True)}


def publisher_pod(bridge: DnsBridge, pair: Pair, keys: Collection[str], account: str) -> Spec:
    """`spec` of the Pod that publishes by one pair. keys: of the provider's credentials. account: ServiceAccount."""
    secret = credentials_secret(pair.provider.id)
    container = _external_dns(bridge, publisher_arguments(bridge, pair))
    container["env"] = environment(pair.provider, secret, keys)
    volumes = [_secret_volume("edge", kubeconfig_secret(pair.edge.name, "publisher"))]
    if files := file_keys(pair.provider, keys):
        container["volumeMounts"].append({"name": "credentials", "mountPath": CREDENTIALS_FOLDER, "readOnly": True})
        volumes.append(_secret_volume("credentials", secret, files))
    # Only the cloud's own identity needs a token of this cluster.
    return _pod([container], volumes, account)


def reader_pod(bridge: DnsBridge, edge: Edge) -> Spec:
    """`spec` of the Pod that finds an edge's names, and writes DNSEndpoints there."""
    writer = {
        "name": "edge-writer",
        "image": bridge.images.python,
        "command": ["python3", "-m", "edge_writer", f"{CONFIG_FOLDER}/{CONFIG}"],
        "workingDir": PROGRAM_FOLDER,
        "env": [{"name": "PYTHONDONTWRITEBYTECODE", "value": "1"}],
        "volumeMounts": [
            {"name": "edge", "mountPath": EDGE_FOLDER, "readOnly": True},
            {"name": "program", "mountPath": f"{PROGRAM_FOLDER}/edge_writer", "readOnly": True},
            {"name": "config", "mountPath": CONFIG_FOLDER, "readOnly": True},
        ],
        "resources": _SMALL,
        "securityContext": _LOCKED,
    }
    volumes = [
        _secret_volume("edge", kubeconfig_secret(edge.name, "reader")),
        {"name": "program", "configMap": {"name": "dns-edge-writer"}},
        {"name": "config", "configMap": {"name": f"dns-edge-{edge.name}-writer"}},
    ]
    pod = _pod([_external_dns(bridge, reader_arguments(bridge, edge)), writer], volumes, "default")
    if bridge.nameservers:
        pod |= {"dnsPolicy": "None", "dnsConfig": {"nameservers": list(bridge.nameservers)}}
    return pod


def deployment(name: str, pod: Spec, labels: dict[str, str], annotations: dict[str, Any]) -> Spec:
    """`spec` of a Deployment of one Pod. Two would write the same records, so the old ends before the new starts."""
    selector = {"app.kubernetes.io/name": name}
    return {
        "replicas": 1,
        "strategy": {"type": "Recreate"},
        "selector": {"matchLabels": selector},
        "template": {"metadata": {"labels": {**labels, **selector}, "annotations": annotations}, "spec": pod},
    }


def network_policy() -> Spec:
    """`spec`: nobody connects to the bridge."""
    return {"podSelector": {}, "policyTypes": ["Ingress"]}


def _external_dns(bridge: DnsBridge, arguments: list[str]) -> Spec:
    probe = {"httpGet": {"path": "/healthz", "port": METRICS_PORT}}
    return {
        "name": "external-dns",
        "image": bridge.images.external_dns,
        "args": arguments,
        "volumeMounts": [{"name": "edge", "mountPath": EDGE_FOLDER, "readOnly": True}],
        "livenessProbe": {**probe, "periodSeconds": 30, "failureThreshold": 4},
        "readinessProbe": {**probe, "periodSeconds": 5},
        "resources": _SMALL,
        "securityContext": _LOCKED,
    }


def _pod(containers: list[Spec], volumes: list[Spec], account: str) -> Spec:
    return {
        "serviceAccountName": account,
        # None of them asks this cluster's API server anything.
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": USER,
            "runAsGroup": USER,
            "fsGroup": USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": containers,
        "volumes": volumes,
    }


def _secret_volume(name: str, secret: str, keys: Sequence[str] = ()) -> Spec:
    source: Spec = {"secretName": secret, "defaultMode": 0o440}
    if keys:
        source["items"] = [{"key": key, "path": key} for key in keys]
    return {"name": name, "secret": source}
