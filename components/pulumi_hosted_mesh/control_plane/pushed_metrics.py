"""Mesh config by which proxies push their metrics and traces to a collector. Pure."""

from __future__ import annotations

from typing import Any, Final

from pulumi_hosted_mesh.spec.observability import MetricsSource
from pulumi_hosted_mesh.spec.proxies import PushedMetrics
from pulumi_hosted_mesh.vocabulary import COLLECTOR_PROVIDER, TRACES_PROVIDER

LOG_BODY: Final = "-"
"""Without it istiod's default sends the path and headers of each request, which the collector does not read."""
LOG_ATTRIBUTES: Final = {
    # One format for both directions.
    "direction": "%CEL(xds.listener_direction)%",
    "upstream_local": "%UPSTREAM_LOCAL_URI_SAN%",
    "upstream_peer": "%UPSTREAM_PEER_URI_SAN%",
    "downstream_local": "%DOWNSTREAM_LOCAL_URI_SAN%",
    "downstream_peer": "%DOWNSTREAM_PEER_URI_SAN%",
    # istiod disables Envoy's own attributes, with the node's id; the proxy's environment has the Pod.
    "node": "%ENVIRONMENT(POD_NAME)%.%ENVIRONMENT(POD_NAMESPACE)%",
    "workload": "%ENVIRONMENT(ISTIO_META_WORKLOAD_NAME)%",
    "destination": "%METADATA(UPSTREAM_HOST:istio:workload)%",
    "upstream_cluster": "%UPSTREAM_CLUSTER_RAW%",
    "server_name": "%REQUESTED_SERVER_NAME%",
    "response_code": "%RESPONSE_CODE%",
    "response_flags": "%RESPONSE_FLAGS%",
    "grpc_response_status": "%GRPC_STATUS_NUMBER%",
    "request_protocol": "%PROTOCOL%",
    "duration": "%DURATION%",
    "sent": "%BYTES_SENT%",
    "received": "%BYTES_RECEIVED%",
}


def pushed_metrics(metrics: PushedMetrics) -> dict[str, Any]:
    """Mesh config: Envoy's metrics service in the bootstrap, or a provider of access logs; and a provider of traces.

    The proxy shows its workload's certificate, and requires the host's name in the collector's. A provider has no
    effect until a Telemetry object names it.
    """
    receiver = {"service": metrics.host, "port": metrics.port}
    traces = {"name": TRACES_PROVIDER, "opentelemetry": receiver}
    if metrics.source is MetricsSource.ACCESS_LOG:
        logs = {**receiver, "logFormat": {"text": LOG_BODY, "labels": dict(LOG_ATTRIBUTES)}}
        return {"extensionProviders": [{"name": COLLECTOR_PROVIDER, "envoyOtelAls": logs}, traces]}
    tls = {"mode": "ISTIO_MUTUAL", "sni": metrics.host, "subjectAltNames": [metrics.host]}
    service = {"address": f"{metrics.host}:{metrics.port}", "tlsSettings": tls}
    return {"defaultConfig": {"envoyMetricsService": service}, "extensionProviders": [traces]}
