"""Manifests of the collector and of Prometheus. Pure."""

from __future__ import annotations

import hashlib
import json
from typing import Any, Final

from pulumi_hosted_mesh.charts import pods
from pulumi_hosted_mesh.charts.load_balancer import load_balancer_annotations, load_balancer_spec
from pulumi_hosted_mesh.charts.service_wait import service_wait
from pulumi_hosted_mesh.observability import rules
from pulumi_hosted_mesh.spec.exposure import LoadBalancerExposure
from pulumi_hosted_mesh.spec.fields import amount
from pulumi_hosted_mesh.spec.observability import Observability
from pulumi_hosted_mesh.vocabulary import (
    NAMESPACE_NAME_LABEL,
)
from pulumi_hosted_mesh.yaml_text import dump

Spec = Any
COLLECTOR: Final = "metrics-collector"
PROMETHEUS: Final = "prometheus"
METRICS_PORT: Final = 15090
PROMETHEUS_PORT: Final = 9090
SERVER_SECRET: Final = "metrics-collector-server"  # noqa: S105 (a name)
SERVER_FOLDER: Final = "/etc/metrics-collector/server"
CONFIG_FOLDER: Final = "/etc/metrics-collector/config"
CONFIG: Final = "collector.json"
TRACES_AUTHORITIES: Final = "traces-ca.crt"
COMMAND: Final = ("python3", "-m", "metrics_collector")
WORKDIR: Final = "/opt/hosted-mesh"
DIGEST_ANNOTATION: Final = "hosted-mesh.io/config-digest"
_PROMETHEUS_CONFIG: Final = "/etc/prometheus"
_PROMETHEUS_DATA: Final = "/prometheus"


def selector(part: str) -> dict[str, str]:
    """Labels of a part's Pods."""
    return {"app.kubernetes.io/name": part}


def collector_config(document: Observability) -> str:
    """The collector's configuration file, JSON. One endpoint: the mesh's data plane."""
    limits = document.collector.limits
    endpoint = {
        "port": document.collector.port,
        "tenant": document.owner,
        "cluster": document.cluster_name,
        "network": document.network,
        "trust_domain": document.domain,
        "certificate": f"{SERVER_FOLDER}/tls.crt",
        "key": f"{SERVER_FOLDER}/tls.key",
        "authorities": f"{SERVER_FOLDER}/ca.crt",
    }
    found: dict[str, Any] = {
        "endpoints": [endpoint],
        "limits": {**limits.model_dump(), "burst": 4 * limits.bytes_per_second},
        "metrics_port": METRICS_PORT,
    }
    if traces := document.traces:
        found["traces"] = {
            "address": traces.to,
            "plaintext": traces.plaintext,
            "bytes_per_second": traces.bytes_per_second,
            "queue_bytes": traces.queue_bytes,
        }
        if traces.certificate_authority:
            found["traces"]["authorities"] = f"{CONFIG_FOLDER}/{TRACES_AUTHORITIES}"
    return json.dumps(found, indent=1, sort_keys=True)


def collector_files(document: Observability) -> dict[str, str]:
    """The collector's ConfigMap: its configuration, and certificates of the receiver's authorities."""
    found = {CONFIG: collector_config(document)}
    if document.traces and document.traces.certificate_authority:
        found[TRACES_AUTHORITIES] = document.traces.certificate_authority
    return found


def collector_deployment(document: Observability) -> Spec:
    """`spec` of the Deployment. One Pod: two would each have a part of a proxy's series."""
    collector = document.collector
    probe = {"port": METRICS_PORT}
    container = {
        "name": COLLECTOR,
        "image": collector.image,
        "command": list(COMMAND),
        "args": ["--config", f"{CONFIG_FOLDER}/{CONFIG}"],
        "workingDir": WORKDIR,
        "env": [{"name": "PYTHONDONTWRITEBYTECODE", "value": "1"}],
        "ports": [
            {"name": "push", "containerPort": collector.port},
            {"name": "metrics", "containerPort": METRICS_PORT},
        ],
        "readinessProbe": {"httpGet": {"path": "/ready", **probe}, "timeoutSeconds": 10},
        "livenessProbe": {"httpGet": {"path": "/healthy", **probe}, "timeoutSeconds": 30, "failureThreshold": 5},
        "resources": pods.requests_and_limits(collector.resources),
        "volumeMounts": [
            {"name": "config", "mountPath": CONFIG_FOLDER, "readOnly": True},
            {"name": "server", "mountPath": SERVER_FOLDER, "readOnly": True},
        ],
        "securityContext": pods.LOCKED,
    }
    secret = collector.server_secret or SERVER_SECRET
    volumes = [
        {"name": "config", "configMap": {"name": COLLECTOR}},
        pods.secret_volume("server", secret),
    ]
    return _single(COLLECTOR, container, volumes, digest(*collector_files(document).values()))


def collector_service(document: Observability) -> Spec:
    """`spec` of the Service for Prometheus, and for an integrator's exposure."""
    push, metrics = document.collector.port, METRICS_PORT
    ports = [
        {"name": "grpc-push", "port": push, "targetPort": push},
        {"name": "http-metrics", "port": metrics, "targetPort": metrics},
    ]
    return {"selector": selector(COLLECTOR), "ports": ports}


def exposed_service(document: Observability) -> tuple[dict[str, str], Spec] | None:
    """Annotations and `spec` of the load balancer; None with `kind: external`, or on the data plane without one."""
    exposure = document.collector.exposure
    if not isinstance(exposure, LoadBalancerExposure):
        return None
    annotations = load_balancer_annotations(
        exposure.annotations,
        host=document.collector.host if exposure.publish_name else None,
        opened_by="collector.exposure.openToAll" if exposure.open_to_all else None,
    )
    port = document.collector.port
    spec = load_balancer_spec(
        selector(COLLECTOR),
        [{"name": "tls-push", "port": port, "targetPort": port, "protocol": "TCP"}],
        exposure.source_ranges,
        allocate_node_ports=exposure.allocate_node_ports,
        load_balancer_class=exposure.load_balancer_class,
    )
    return {**annotations, **service_wait("LoadBalancer", ready=document.wait_until_ready)}, spec


def network_policies(document: Observability) -> dict[str, Spec]:
    """`spec` of NetworkPolicies by name: nothing but these connections is permitted in the namespace."""
    readers = [
        {"namespaceSelector": {"matchLabels": {NAMESPACE_NAME_LABEL: one}}} for one in document.prometheus.readers
    ]
    dns = [{"protocol": kind, "port": 53} for kind in ("UDP", "TCP")]
    to_collector = {
        "to": [{"podSelector": {"matchLabels": selector(COLLECTOR)}}],
        "ports": [pods.tcp(METRICS_PORT)],
    }
    to_traces = traces_egress(document)
    return {
        "deny": {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]},
        COLLECTOR: {
            "podSelector": {"matchLabels": selector(COLLECTOR)},
            "policyTypes": ["Ingress", "Egress"] if to_traces else ["Ingress"],
            **({"egress": [*to_traces, {"ports": dns}]} if to_traces else {}),
            "ingress": [
                # Addresses are limited by the load balancer: behind it a NetworkPolicy sees a node's.
                {"ports": [pods.tcp(document.collector.port)]},
                {"from": [{"podSelector": {"matchLabels": selector(PROMETHEUS)}}], "ports": [pods.tcp(METRICS_PORT)]},
            ],
        },
        PROMETHEUS: {
            "podSelector": {"matchLabels": selector(PROMETHEUS)},
            "policyTypes": ["Ingress", "Egress"],
            "ingress": [{"from": readers, "ports": [pods.tcp(PROMETHEUS_PORT)]}] if readers else [],
            "egress": [to_collector, {"ports": dns}],
        },
    }


def traces_egress(document: Observability) -> list[Spec]:
    """The receiver of spans: its namespace, or its port outside of the cluster."""
    traces = document.traces
    if traces is None:
        return []
    if traces.namespace:
        # Any port: a NetworkPolicy sees the Pod's, and the document has the Service's.
        return [{"to": [{"namespaceSelector": {"matchLabels": {NAMESPACE_NAME_LABEL: traces.namespace}}}]}]
    return [{"ports": [pods.tcp(traces.port)]}]


def prometheus_files(document: Observability) -> dict[str, str]:
    """Prometheus' configuration and rules, YAML by file name."""
    mesh, every = document.owner, document.prometheus.scrape_interval
    target = f"{COLLECTOR}.{document.own_namespace}.svc:{METRICS_PORT}"
    config = {
        "global": {"scrape_interval": every, "evaluation_interval": every, "external_labels": {"mesh": mesh}},
        "rule_files": [f"{_PROMETHEUS_CONFIG}/rules.yaml"],
        "scrape_configs": [
            {
                "job_name": rules.JOB,
                "honor_labels": True,
                "static_configs": [{"targets": [target]}],
                # The same name for each Pod of the collector, so that its restart continues the series.
                "relabel_configs": [{"target_label": "instance", "replacement": f"{COLLECTOR}-{mesh}"}],
                "metric_relabel_configs": [{"source_labels": ["tenant"], "regex": mesh, "action": "keep"}],
                "sample_limit": 40 * document.collector.limits.series,
            }
        ],
    }
    return {"prometheus.yaml": dump(config), "rules.yaml": dump(rules.groups(mesh))}


def prometheus_set(document: Observability) -> Spec:
    """`spec` of the StatefulSet."""
    part = document.prometheus
    arguments = [
        f"--config.file={_PROMETHEUS_CONFIG}/prometheus.yaml",
        f"--storage.tsdb.path={_PROMETHEUS_DATA}",
        f"--storage.tsdb.retention.time={part.retention_days}d",
        f"--web.listen-address=:{PROMETHEUS_PORT}",
    ]
    if part.storage:
        # A volume that is full stops Prometheus: the oldest blocks go before.
        arguments.append(f"--storage.tsdb.retention.size={_whole_megabytes(part.storage)}MB")
    probe = {"port": PROMETHEUS_PORT}
    container = {
        "name": PROMETHEUS,
        "image": part.image,
        "args": arguments,
        "ports": [{"name": "http", "containerPort": PROMETHEUS_PORT}],
        "readinessProbe": {"httpGet": {"path": "/-/ready", **probe}, "timeoutSeconds": 10},
        "livenessProbe": {"httpGet": {"path": "/-/healthy", **probe}, "timeoutSeconds": 30, "failureThreshold": 5},
        "resources": pods.requests_and_limits(part.resources),
        "volumeMounts": [
            {"name": "config", "mountPath": _PROMETHEUS_CONFIG, "readOnly": True},
            {"name": "data", "mountPath": _PROMETHEUS_DATA},
        ],
        "securityContext": pods.LOCKED,
    }
    volumes: list[Spec] = [{"name": "config", "configMap": {"name": PROMETHEUS}}]
    if not part.storage:
        volumes.append({"name": "data", "emptyDir": {}})
    spec = _single(PROMETHEUS, container, volumes, digest(*prometheus_files(document).values()))
    spec.pop("strategy")
    spec["serviceName"] = PROMETHEUS
    if part.storage:
        claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": part.storage}}}
        spec["volumeClaimTemplates"] = [{"metadata": {"name": "data"}, "spec": claim}]
    return spec


def prometheus_service() -> Spec:
    """`spec` of the Service, without an address outside of the cluster."""
    ports = [{"name": "http", "port": PROMETHEUS_PORT, "targetPort": PROMETHEUS_PORT}]
    return {"selector": selector(PROMETHEUS), "ports": ports}


def digest(*texts: str) -> str:
    """A digest of files that Pods read at their start."""
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def _single(name: str, container: Spec, volumes: list[Spec], digest_of_files: str) -> Spec:
    """`spec` of a Deployment with one Pod, without a ServiceAccount's token."""
    pod = {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": 30,
        "securityContext": pods.UNPRIVILEGED,
        "containers": [container],
        "volumes": volumes,
    }
    labels = {**selector(name), "sidecar.istio.io/inject": "false"}
    return {
        "replicas": 1,
        "strategy": {"type": "Recreate"},
        "selector": {"matchLabels": selector(name)},
        "template": {"metadata": {"labels": labels, "annotations": {DIGEST_ANNOTATION: digest_of_files}}, "spec": pod},
    }


def _whole_megabytes(quantity: str) -> int:
    """Nine tenths of a quantity: Prometheus counts blocks only, not its log."""
    return max(1, int(amount(quantity) * 9 / 10 / 1_000_000))
