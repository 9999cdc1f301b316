"""Objects of the bridge on the control plane, as plain data."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, Final

from pulumi_hosted_mesh.charts import pods
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
    READER_PORT,
    owner_id,
    provider_arguments,
    publisher_arguments,
    reader_arguments,
)
from pulumi_hosted_mesh.dns.credentials import environment, file_keys, settings_files
from pulumi_hosted_mesh.dns.plan import Pair
from pulumi_hosted_mesh.dns.servers import addresses, servers
from pulumi_hosted_mesh.spec.dns import Answers, Authentication, DnsBridge, DnsProvider, Edge
from pulumi_hosted_mesh.vocabulary import (
    DNS_EDGE_LABEL,
    DNS_NAMESPACE,
    DNS_PROVIDER_LABEL,
    DNS_RECORDS_LABEL,
    LOCATION_LABEL,
    PROJECT_LABEL,
    dns_publisher,
)

Spec = dict[str, Any]
SIDECAR_SOURCE: Final = Path(__file__).parent / "dns_sidecar"
"""In a checkout a link to agents/dns_sidecar; in the wheel a copy."""
SIDECAR: Final = "dns-sidecar"
"""Name of the ConfigMap with the sidecar's source."""
SIDECAR_COMMAND: Final = ("python3", "-m", "dns_sidecar")
"""The ENTRYPOINT of agents/dns_sidecar/Dockerfile."""
SIDECAR_WORKDIR: Final = "/opt/hosted-mesh"
CONFIG_FOLDER: Final = "/etc/hosted-mesh/sidecar"
CONFIG: Final = "config.json"
ACCOUNT: Final = "dns-bridge"
"""ServiceAccount of Pods without an identity of their own; also the Role for Leases."""
RECORDS_ACCOUNT: Final = "dns-records"
"""ServiceAccount of Pods that publish the program's own records; also the Role for these records and their status, and
the ConfigMap with the configuration of their conditions."""
IN_CLUSTER_FOLDER: Final = "/var/run/secrets/kubernetes.io/serviceaccount"
ACCOUNT_FOLDER: Final = "/var/run/secrets/hosted-mesh/account"
AZURE_IDENTITY_LABEL: Final = "azure.workload.identity/use"
LEASE_VERBS: Final = ("get", "update")
# Measured (docs/bench.md): external-dns uses some 70 MiB, the sidecar 25 MiB.
_SMALL: Final = {"requests": {"cpu": "10m", "memory": "64Mi"}, "limits": {"memory": "256Mi"}}
_SIDECAR: Final = {"requests": {"cpu": "10m", "memory": "32Mi"}, "limits": {"memory": "256Mi"}}


def credentials_secret(provider: str) -> str:
    """Name of the Secret with a provider's credentials."""
    return f"dns-provider-{provider}"


def kubeconfig_secret(edge: str, holder: str) -> str:
    """Name of the Secret with an edge's kubeconfig. holder: `publisher` or `reader`."""
    return f"dns-edge-{edge}-{holder}"


def edge_labels(edge: str) -> dict[str, str]:
    """Labels of one edge's objects. edge: its name."""
    return {DNS_EDGE_LABEL: edge}


def provider_labels(provider: DnsProvider) -> dict[str, str]:
    """Labels of one provider's objects, with its project and location if the document sets them."""
    own = {DNS_PROVIDER_LABEL: provider.id, PROJECT_LABEL: provider.project, LOCATION_LABEL: provider.location}
    return {label: value for label, value in own.items() if value}


def pair_labels(pair: Pair) -> dict[str, str]:
    """Labels of one pair's publisher."""
    return {**provider_labels(pair.provider), **edge_labels(pair.edge.name)}


def provider_account(provider: DnsProvider) -> str:
    """Name of the ServiceAccount of a provider's Pods with `workload-identity`."""
    return f"dns-provider-{provider.id}"


def settings_config_map(provider: DnsProvider) -> str:
    """Name of the ConfigMap with files that external-dns requires beside a workload identity."""
    return f"dns-provider-{provider.id}-settings"


def records_label(bridge: DnsBridge, pair: Pair) -> dict[str, str]:
    """The label of a publisher's Lease that identifies its records: their owner, server and zones.

    It has neither the provider's id nor the namespace, so a renamed or moved publisher has the same.
    """
    text = json.dumps([owner_id(bridge, pair), sorted(servers(pair.provider)), pair.include])
    return {DNS_RECORDS_LABEL: hashlib.sha256(text.encode()).hexdigest()[:40]}


def identity_labels(provider: DnsProvider) -> dict[str, str]:
    """Labels of Pods that a cloud's webhook requires for a workload identity."""
    azure = provider.azure and provider.authentication is Authentication.WORKLOAD_IDENTITY
    return {AZURE_IDENTITY_LABEL: "true"} if azure else {}


def account_of(pair: Pair) -> str:
    """Name of the ServiceAccount of a pair's Pods."""
    if pair.provider.authentication is Authentication.WORKLOAD_IDENTITY:
        return provider_account(pair.provider)
    return RECORDS_ACCOUNT if pair.own else ACCOUNT


def sidecar_source(folder: Path = SIDECAR_SOURCE) -> dict[str, str]:
    """`data` of the ConfigMap with the sidecar's source. Raises FileNotFoundError without it."""
    return pods.agent_source(folder, "DNS sidecar")


def publisher_name(pair: Pair) -> str:
    """Name of a pair's Deployment and Lease."""
    return dns_publisher(pair.edge.name, pair.provider.id)


def reader_name(edge: str) -> str:
    """Name of the Deployment and Lease of an edge's reader."""
    return f"dns-reader-{edge}"


def reader_config_map(edge: str) -> str:
    """Name of the ConfigMap with the configuration of an edge's reader."""
    return f"dns-edge-{edge}-sidecar"


def reader_config(bridge: DnsBridge, pairs: Sequence[Pair]) -> dict[str, str]:
    """`data` of the ConfigMap with the configuration of one edge's reader. pairs: the edge's."""
    config = {
        "lease": {
            "name": reader_name(pairs[0].edge.name),
            "seconds": bridge.lease_seconds,
            "account": ACCOUNT_FOLDER,
        },
        "kubeconfig": f"{EDGE_FOLDER}/{KUBECONFIG}",
        "proxy": {"port": EDGE_PORT, "pipe": f"{PIPE_FOLDER}/{KUBECONFIG}"},
        "namespace": DNS_NAMESPACE,
        "port": READER_PORT,
        **_conditions(bridge, pairs),
    }
    return {CONFIG: json.dumps(config, sort_keys=True)}


def conditions_config(bridge: DnsBridge, pairs: Sequence[Pair]) -> dict[str, str]:
    """`data` of the ConfigMap for the conditions of the program's own records. pairs: the control plane's own."""
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
            "proxied": p.provider.cloudflare is not None and p.provider.cloudflare.proxied,
            "weighted": p.provider.powerdns is not None and p.provider.answers is Answers.WEIGHTED,
        }
        for p in pairs
    ]
    return {"zones": zones, "nameservers": list(bridge.nameservers)}


def publisher_pod(bridge: DnsBridge, pair: Pair, keys: Collection[str], *, keeps_conditions: bool = False) -> Spec:
    """`spec` of the Pod that publishes by one pair. keys: of the provider's credentials.

    keeps_conditions: its sidecar also updates the conditions of the program's own records.
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
        volumes.append(pods.secret_volume("credentials", secret, files))
    elif settings_files(pair.provider):
        writes["volumeMounts"] = [{"name": "settings", "mountPath": CREDENTIALS_FOLDER, "readOnly": True}]
        volumes.append({"name": "settings", "configMap": {"name": settings_config_map(pair.provider)}})
    arguments = [
        *("publisher", f"--lease={publisher_name(pair)}", f"--seconds={bridge.lease_seconds}"),
        *(f"--account={ACCOUNT_FOLDER}", f"--port={GATE_PORT}", f"--upstream={PROVIDER_PORT}"),
        *(f"--interval={bridge.interval_seconds}", f"--metrics-port={PROVIDER_METRICS_PORT}"),
        *(f"--server={one}" for one in addresses(pair.provider)),
    ]
    arguments += [f"--powerdns={pair.provider.answers}"] if pair.provider.powerdns else []
    arguments += [f"--conditions={CONFIG_FOLDER}/{CONFIG}"] if keeps_conditions else []
    if not pair.own:
        arguments += [f"--edge={EDGE_FOLDER}/{KUBECONFIG}", f"--edge-port={EDGE_PORT}"]
        arguments.append(f"--edge-pipe={PIPE_FOLDER}/{KUBECONFIG}")
    sidecar = _sidecar(bridge, arguments)
    sidecar["volumeMounts"] += [] if pair.own else _reads_edge()
    if keeps_conditions:
        sidecar["volumeMounts"].append({"name": "config", "mountPath": CONFIG_FOLDER, "readOnly": True})
        volumes.append({"name": "config", "configMap": {"name": RECORDS_ACCOUNT}})
    volumes += _source_volumes(bridge)
    first = [] if pair.own else [_pipe(bridge)]
    return _pod(bridge, publisher_name(pair), [plans, writes, sidecar], volumes, account_of(pair), first)


def reader_pod(bridge: DnsBridge, edge: Edge) -> Spec:
    """`spec` of the Pod that stores an edge's names as DNSEndpoints."""
    finds = _external_dns(bridge, "external-dns", reader_arguments(edge), METRICS_PORT)
    finds["volumeMounts"] = [{"name": "pipe", "mountPath": PIPE_FOLDER, "readOnly": True}]
    sidecar = _sidecar(bridge, ["reader", f"{CONFIG_FOLDER}/{CONFIG}"])
    sidecar["volumeMounts"] += [
        *_reads_edge(),
        {"name": "config", "mountPath": CONFIG_FOLDER, "readOnly": True},
    ]
    volumes = [
        *_edge_volumes(kubeconfig_secret(edge.name, "reader")),
        {"name": "config", "configMap": {"name": reader_config_map(edge.name)}},
        *_source_volumes(bridge),
    ]
    return _pod(bridge, reader_name(edge.name), [finds, sidecar], volumes, ACCOUNT, [_pipe(bridge)])


def deployment(bridge: DnsBridge, name: str, pod: Spec, labels: dict[str, str], annotations: dict[str, Any]) -> Spec:
    """`spec` of a Deployment. Of several Pods the holder of the Lease acts."""
    selector = {"app.kubernetes.io/name": name}
    return {
        "replicas": bridge.replicas,
        "selector": {"matchLabels": selector},
        "template": {"metadata": {"labels": {**labels, **selector}, "annotations": annotations}, "spec": pod},
    }


def disruption_budget(name: str) -> Spec:
    """`spec` of a PodDisruptionBudget: drained nodes evict one Pod at a time."""
    return {"maxUnavailable": 1, "selector": {"matchLabels": {"app.kubernetes.io/name": name}}}


def lease_rules() -> list[Spec]:
    """`rules` of the Role for the Leases. The program creates these, and the bridge's Pods renew them."""
    return [{"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": list(LEASE_VERBS)}]


def handover_rules() -> list[Spec]:
    """`rules` of the ClusterRole for finding the Lease of a moved publisher, also in another namespace."""
    return [{"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["list"]}]


def handover_role(namespace: str) -> str:
    """Name of that ClusterRole and its binding. Another namespace's stays until its Pods are deleted."""
    return f"{namespace}-handover"


def network_policy() -> Spec:
    """`spec` of a NetworkPolicy that denies connections to the bridge."""
    return {"podSelector": {}, "policyTypes": ["Ingress"]}


def _external_dns(bridge: DnsBridge, name: str, arguments: list[str], metrics_port: int) -> Spec:
    # The default of one second is too short on a node that starts many Pods at once: the probe would kill them.
    probe = {"httpGet": {"path": "/healthz", "port": metrics_port}, "timeoutSeconds": 10}
    return {
        "name": name,
        "image": bridge.images.external_dns,
        "args": arguments,
        "livenessProbe": {**probe, "periodSeconds": 30, "failureThreshold": 4},
        "readinessProbe": {**probe, "periodSeconds": 5},
        "resources": _SMALL,
        "securityContext": pods.LOCKED,
    }


def _reads_edge() -> list[Spec]:
    """`volumeMounts` of the only container with the edge's kubeconfig."""
    return [
        {"name": "edge", "mountPath": EDGE_FOLDER, "readOnly": True},
        {"name": "pipe", "mountPath": PIPE_FOLDER},
    ]


def _pipe(bridge: DnsBridge) -> Spec:
    """An init container that creates the named pipe of external-dns' kubeconfig."""
    mount = {"name": "pipe", "mountPath": PIPE_FOLDER}
    return _sidecar_container(bridge, "pipe", ["pipe", f"{PIPE_FOLDER}/{KUBECONFIG}"], mount)


def _sidecar(bridge: DnsBridge, arguments: list[str]) -> Spec:
    """The only container of the Pod with the account's token."""
    mount = {"name": "account", "mountPath": ACCOUNT_FOLDER, "readOnly": True}
    return _sidecar_container(bridge, "sidecar", arguments, mount)


def _sidecar_container(bridge: DnsBridge, name: str, arguments: list[str], mount: Spec) -> Spec:
    source = {"name": "source", "mountPath": f"{SIDECAR_WORKDIR}/{SIDECAR_COMMAND[-1]}", "readOnly": True}
    sources = [] if bridge.images.sidecar else [source]
    return {
        "name": name,
        "image": bridge.images.sidecar or bridge.images.python,
        "command": list(SIDECAR_COMMAND),
        "args": arguments,
        "workingDir": SIDECAR_WORKDIR,
        "env": [{"name": "PYTHONDONTWRITEBYTECODE", "value": "1"}],
        "volumeMounts": [*sources, mount],
        "resources": _SIDECAR,
        "securityContext": pods.LOCKED,
    }


def _pod(
    bridge: DnsBridge, name: str, containers: list[Spec], volumes: list[Spec], account: str, first: list[Spec]
) -> Spec:
    """first: init containers."""
    return {
        "serviceAccountName": account,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        # external-dns as a webhook provider ignores SIGTERM.
        "terminationGracePeriodSeconds": 5,
        "affinity": pods.preferably_apart({"app.kubernetes.io/name": name}),
        # Replaces a lost node's Pods soon: until then one replica fewer can take over.
        "tolerations": [
            {"key": f"node.kubernetes.io/{taint}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60}
            for taint in ("not-ready", "unreachable")
        ],
        "securityContext": pods.unprivileged(fixed_user=bridge.fixed_user),
        **({"initContainers": first} if first else {}),
        "containers": containers,
        "volumes": [*volumes, pods.account_volume()],
    }


def _source_volumes(bridge: DnsBridge) -> list[Spec]:
    """The sidecar's source, which an image of its own already contains."""
    return [] if bridge.images.sidecar else [{"name": "source", "configMap": {"name": SIDECAR}}]


def _edge_volumes(secret: str) -> list[Spec]:
    return [pods.secret_volume("edge", secret), {"name": "pipe", "emptyDir": {}}]
