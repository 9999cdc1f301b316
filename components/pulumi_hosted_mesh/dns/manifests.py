"""Objects of the bridge on the control plane, as plain data."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, Final

from pulumi_hosted_mesh.dns.arguments import (
    CREDENTIALS_FOLDER,
    EDGE_FOLDER,
    EDGE_PORT,
    GATE_PORT,
    KUBECONFIG,
    METRICS_PORT,
    PIPE_FOLDER,
    PROVIDER_METRICS_PORT,
    PROVIDER_PORT,
    WRITER_PORT,
    provider_arguments,
    publisher_arguments,
    reader_arguments,
)
from pulumi_hosted_mesh.dns.credentials import environment, file_keys
from pulumi_hosted_mesh.dns.plan import Pair
from pulumi_hosted_mesh.spec.dns import Authentication, DnsBridge, DnsProvider, Edge
from pulumi_hosted_mesh.vocabulary import (
    DNS_EDGE_LABEL,
    DNS_NAMESPACE,
    DNS_PROVIDER_LABEL,
    LOCATION_LABEL,
    PROJECT_LABEL,
)

Spec = dict[str, Any]
WRITER: Final = Path(__file__).parent / "edge_writer"
PROGRAM_FOLDER: Final = "/opt/hosted-mesh"
CONFIG_FOLDER: Final = "/etc/hosted-mesh/writer"
CONFIG: Final = "config.json"
PROGRAM: Final = "dns-edge-writer"
"""The ConfigMap with our own programs."""
ACCOUNT: Final = "dns-bridge"
"""Of Pods whose provider asks for no identity of their own; also the Role by which all renew their Leases."""
RECORDS_ACCOUNT: Final = "dns-records"
"""Of Pods that publish the program's own records; also the Role by which they read these and set their status, and the
ConfigMap by which one of them knows whether they are published."""
IN_CLUSTER_FOLDER: Final = "/var/run/secrets/kubernetes.io/serviceaccount"
ACCOUNT_FOLDER: Final = "/var/run/secrets/hosted-mesh/account"
LEASE_VERBS: Final = ("get", "update")
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


def edge_labels(edge: str) -> dict[str, str]:
    """Of what is there for one edge. edge: its name."""
    return {DNS_EDGE_LABEL: edge}


def provider_labels(provider: DnsProvider) -> dict[str, str]:
    """Of what is one provider's; also whose it is and where, if the document says."""
    own = {DNS_PROVIDER_LABEL: provider.id, PROJECT_LABEL: provider.project, LOCATION_LABEL: provider.location}
    return {label: value for label, value in own.items() if value}


def pair_labels(pair: Pair) -> dict[str, str]:
    """Of what publishes by one pair."""
    return {**provider_labels(pair.provider), **edge_labels(pair.edge.name)}


def provider_account(provider: DnsProvider) -> str:
    """Name of the ServiceAccount by which a cloud knows a provider's Pods, with `workload-identity`."""
    return f"dns-provider-{provider.id}"


def account_of(pair: Pair) -> str:
    """Name of the ServiceAccount of a pair's Pods."""
    if pair.provider.authentication is Authentication.WORKLOAD_IDENTITY:
        return provider_account(pair.provider)
    return RECORDS_ACCOUNT if pair.own else ACCOUNT


def program_files() -> dict[str, str]:
    """`data` of the ConfigMap with the writer's program."""
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(WRITER.glob("*.py"))}


def publisher_name(pair: Pair) -> str:
    """Of a pair's Deployment, and of its Lease."""
    return f"dns-publisher-{pair.name}"


def reader_name(edge: str) -> str:
    """Of an edge's reader's Deployment, and of its Lease."""
    return f"dns-reader-{edge}"


def writer_config_map(edge: str) -> str:
    """Name of the ConfigMap with what the writer of an edge is told."""
    return f"dns-edge-{edge}-writer"


def writer_config(bridge: DnsBridge, pairs: Sequence[Pair]) -> dict[str, str]:
    """`data` of the ConfigMap with what the writer of one edge is told. pairs: the edge's."""
    config = {
        "lease": {
            "name": reader_name(pairs[0].edge.name),
            "seconds": bridge.lease_seconds,
            "account": ACCOUNT_FOLDER,
        },
        "kubeconfig": f"{EDGE_FOLDER}/{KUBECONFIG}",
        "proxy": {"port": EDGE_PORT, "pipe": f"{PIPE_FOLDER}/{KUBECONFIG}"},
        "namespace": DNS_NAMESPACE,
        "port": WRITER_PORT,
        **_conditions(bridge, pairs),
    }
    return {CONFIG: json.dumps(config, sort_keys=True)}


def conditions_config(bridge: DnsBridge, pairs: Sequence[Pair]) -> dict[str, str]:
    """`data` of the ConfigMap by which the program's own records get conditions. pairs: the control plane's own."""
    return {CONFIG: json.dumps(_conditions(bridge, pairs), sort_keys=True)}


def _conditions(bridge: DnsBridge, pairs: Sequence[Pair]) -> Spec:
    zones = [
        {
            "provider": p.provider.id,
            "include": [*p.include],
            "exclude": [*p.exclude],
            "lease": publisher_name(p),
            "types": [*p.provider.record_types],
            "labels": {} if p.own else dict(p.provider.record_selector),
        }
        for p in pairs
    ]
    return {"zones": zones, "nameservers": list(bridge.nameservers)}


def publisher_pod(bridge: DnsBridge, pair: Pair, keys: Collection[str], *, keeps_conditions: bool = False) -> Spec:
    """`spec` of the Pod that publishes by one pair. keys: of the provider's credentials.

    keeps_conditions: its gate also keeps those of the program's own records.
    """
    secret = credentials_secret(pair.provider.id)
    plans = _external_dns(bridge, "external-dns", publisher_arguments(bridge, pair), METRICS_PORT)
    at = {"name": "account", "mountPath": IN_CLUSTER_FOLDER} if pair.own else {"name": "pipe", "mountPath": PIPE_FOLDER}
    plans["volumeMounts"] = [{**at, "readOnly": True}]
    writes = _external_dns(bridge, "provider", provider_arguments(bridge, pair), PROVIDER_METRICS_PORT)
    writes["env"] = environment(pair.provider, secret, keys)
    volumes = [] if pair.own else _edge_volumes(kubeconfig_secret(pair.edge.name, "publisher"))
    if files := file_keys(pair.provider, keys):
        writes["volumeMounts"] = [{"name": "credentials", "mountPath": CREDENTIALS_FOLDER, "readOnly": True}]
        volumes.append(_secret_volume("credentials", secret, files))
    gate = [
        *("edge_writer.gate", f"--lease={publisher_name(pair)}", f"--seconds={bridge.lease_seconds}"),
        *(f"--account={ACCOUNT_FOLDER}", f"--port={GATE_PORT}", f"--upstream={PROVIDER_PORT}"),
        f"--interval={bridge.interval_seconds}",
    ]
    gate += [f"--conditions={CONFIG_FOLDER}/{CONFIG}"] if keeps_conditions else []
    if not pair.own:
        gate += [f"--edge={EDGE_FOLDER}/{KUBECONFIG}", f"--edge-port={EDGE_PORT}"]
        gate.append(f"--edge-pipe={PIPE_FOLDER}/{KUBECONFIG}")
    program = _program(bridge, "gate", gate)
    program["volumeMounts"] += [] if pair.own else _reads_edge()
    if keeps_conditions:
        program["volumeMounts"].append({"name": "config", "mountPath": CONFIG_FOLDER, "readOnly": True})
        volumes.append({"name": "config", "configMap": {"name": RECORDS_ACCOUNT}})
    first = [] if pair.own else [_pipe(bridge)]
    return _pod(publisher_name(pair), [plans, writes, program], volumes, account_of(pair), first)


def reader_pod(bridge: DnsBridge, edge: Edge) -> Spec:
    """`spec` of the Pod that finds an edge's names, and writes DNSEndpoints there."""
    finds = _external_dns(bridge, "external-dns", reader_arguments(edge), METRICS_PORT)
    finds["volumeMounts"] = [{"name": "pipe", "mountPath": PIPE_FOLDER, "readOnly": True}]
    writer = _program(bridge, "edge-writer", ["edge_writer", f"{CONFIG_FOLDER}/{CONFIG}"])
    writer["volumeMounts"] += [
        *_reads_edge(),
        {"name": "config", "mountPath": CONFIG_FOLDER, "readOnly": True},
    ]
    volumes = [
        *_edge_volumes(kubeconfig_secret(edge.name, "reader")),
        {"name": "config", "configMap": {"name": writer_config_map(edge.name)}},
    ]
    return _pod(reader_name(edge.name), [finds, writer], volumes, ACCOUNT, [_pipe(bridge)])


def deployment(bridge: DnsBridge, name: str, pod: Spec, labels: dict[str, str], annotations: dict[str, Any]) -> Spec:
    """`spec` of a Deployment. The Pods may be several at any time: the one that holds the Lease acts."""
    selector = {"app.kubernetes.io/name": name}
    return {
        "replicas": bridge.replicas,
        "selector": {"matchLabels": selector},
        "template": {"metadata": {"labels": {**labels, **selector}, "annotations": annotations}, "spec": pod},
    }


def disruption_budget(name: str) -> Spec:
    """`spec` of the PodDisruptionBudget of a Deployment of several: a drained node takes one at a time."""
    return {"maxUnavailable": 1, "selector": {"matchLabels": {"app.kubernetes.io/name": name}}}


def lease_rules() -> list[Spec]:
    """`rules` of the Role by which the bridge's Pods renew their Leases, which the program makes."""
    return [{"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": list(LEASE_VERBS)}]


def network_policy() -> Spec:
    """`spec`: nobody connects to the bridge."""
    return {"podSelector": {}, "policyTypes": ["Ingress"]}


def _external_dns(bridge: DnsBridge, name: str, arguments: list[str], metrics_port: int) -> Spec:
    # The default, a second, is too short on a node that starts many Pods at once: it kills them while they start.
    probe = {"httpGet": {"path": "/healthz", "port": metrics_port}, "timeoutSeconds": 10}
    return {
        "name": name,
        "image": bridge.images.external_dns,
        "args": arguments,
        "livenessProbe": {**probe, "periodSeconds": 30, "failureThreshold": 4},
        "readinessProbe": {**probe, "periodSeconds": 5},
        "resources": _SMALL,
        "securityContext": _LOCKED,
    }


def _reads_edge() -> list[Spec]:
    """`volumeMounts` of the one container that has the edge's kubeconfig."""
    return [
        {"name": "edge", "mountPath": EDGE_FOLDER, "readOnly": True},
        {"name": "pipe", "mountPath": PIPE_FOLDER},
    ]


def _pipe(bridge: DnsBridge) -> Spec:
    """An init container: makes what external-dns opens as its kubeconfig, and what it waits at."""
    return {
        "name": "pipe",
        "image": bridge.images.python,
        "command": ["python3", "-m", "edge_writer.proxy", f"{PIPE_FOLDER}/{KUBECONFIG}"],
        "workingDir": PROGRAM_FOLDER,
        "env": [{"name": "PYTHONDONTWRITEBYTECODE", "value": "1"}],
        "volumeMounts": [
            {"name": "program", "mountPath": f"{PROGRAM_FOLDER}/edge_writer", "readOnly": True},
            {"name": "pipe", "mountPath": PIPE_FOLDER},
        ],
        "resources": _SMALL,
        "securityContext": _LOCKED,
    }


def _program(bridge: DnsBridge, name: str, arguments: list[str]) -> Spec:
    """A container with a program of ours, and with the account's token, which no other container of the Pod has."""
    return {
        "name": name,
        "image": bridge.images.python,
        "command": ["python3", "-m", *arguments],
        "workingDir": PROGRAM_FOLDER,
        "env": [{"name": "PYTHONDONTWRITEBYTECODE", "value": "1"}],
        "volumeMounts": [
            {"name": "program", "mountPath": f"{PROGRAM_FOLDER}/edge_writer", "readOnly": True},
            {"name": "account", "mountPath": ACCOUNT_FOLDER, "readOnly": True},
        ],
        "resources": _SMALL,
        "securityContext": _LOCKED,
    }


def _pod(name: str, containers: list[Spec], volumes: list[Spec], account: str, first: list[Spec]) -> Spec:
    """first: what runs before the containers, in a Pod that reads an edge."""
    apart = {
        "topologyKey": "kubernetes.io/hostname",
        "labelSelector": {"matchLabels": {"app.kubernetes.io/name": name}},
    }
    return {
        "serviceAccountName": account,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        # external-dns as a provider does not end when it is asked to.
        "terminationGracePeriodSeconds": 5,
        "affinity": {
            "podAntiAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "podAffinityTerm": apart}]
            }
        },
        # A lost node's Pods are replaced soon: until then there is one fewer to take over.
        "tolerations": [
            {"key": f"node.kubernetes.io/{taint}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60}
            for taint in ("not-ready", "unreachable")
        ],
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": USER,
            "runAsGroup": USER,
            "fsGroup": USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        **({"initContainers": first} if first else {}),
        "containers": containers,
        "volumes": [*volumes, {"name": "program", "configMap": {"name": PROGRAM}}, _account_volume()],
    }


def _account_volume() -> Spec:
    """What Kubernetes mounts by itself into every container, for one container."""
    authority = {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}
    namespace = {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
    sources = [
        {"serviceAccountToken": {"path": "token", "expirationSeconds": 3600}},
        {"configMap": authority},
        {"downwardAPI": {"items": [namespace]}},
    ]
    return {"name": "account", "projected": {"defaultMode": 0o440, "sources": sources}}


def _edge_volumes(secret: str) -> list[Spec]:
    return [_secret_volume("edge", secret), {"name": "pipe", "emptyDir": {}}]


def _secret_volume(name: str, secret: str, keys: Sequence[str] = ()) -> Spec:
    source: Spec = {"secretName": secret, "defaultMode": 0o440}
    if keys:
        source["items"] = [{"key": key, "path": key} for key in keys]
    return {"name": name, "secret": source}
