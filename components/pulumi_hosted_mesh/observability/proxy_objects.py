"""Objects of the data plane: public facts by which proxies count, push and log. Pure."""

from __future__ import annotations

from typing import Any, Final

from pulumi_hosted_mesh.spec.observability import GatewayLogs, MetricsSource, Observability, Placement
from pulumi_hosted_mesh.vocabulary import COLLECTOR_PROVIDER, TRACES_PROVIDER, namespace_of

Manifest = dict[str, Any]
MANAGER: Final = "envoy.filters.network.http_connection_manager"
TCP_PROXY: Final = "envoy.filters.network.tcp_proxy"
_TYPES: Final = "type.googleapis.com/envoy.extensions"
GATEWAYS_ALONE: Final = "xds.node.id.startsWith('router~')"
STATS_PREFIX: Final = "istiocustom"
"""Istio's bootstrap keeps statistics with this prefix (pkg/bootstrap/config.go)."""

_CONNECTION: Final = {"response_code": "%RESPONSE_CODE%", "response_flags": "%RESPONSE_FLAGS%"}
_REQUEST: Final = {"grpc_response_status": "%GRPC_STATUS_NUMBER%", "request_protocol": "%PROTOCOL%"}
# The workload's name is in the environment of each injected proxy.
_WORKLOAD: Final = "%ENVIRONMENT(ISTIO_META_WORKLOAD_NAME)%"
SENDS: Final = {
    "reporter": "source",
    "source_workload": _WORKLOAD,
    "source_principal": "%UPSTREAM_LOCAL_URI_SAN%",
    "destination_principal": "%UPSTREAM_PEER_URI_SAN%",
    "destination": "%METADATA(UPSTREAM_HOST:istio:workload)%",
    "upstream_cluster": "%UPSTREAM_CLUSTER_RAW%",
    **_CONNECTION,
}
RECEIVES: Final = {
    "reporter": "destination",
    "source_principal": "%DOWNSTREAM_PEER_URI_SAN%",
    "destination_workload": _WORKLOAD,
    "destination_principal": "%DOWNSTREAM_LOCAL_URI_SAN%",
    "server_name": "%REQUESTED_SERVER_NAME%",
    **_CONNECTION,
}
CONTEXTS: Final = {"SIDECAR_OUTBOUND": SENDS, "GATEWAY": SENDS, "SIDECAR_INBOUND": RECEIVES}
"""Each context of a proxy with the tags of its reports; the collector reads them (agents/metrics_collector)."""


def objects(document: Observability) -> list[Manifest]:
    """Istio objects of the data plane, in the mesh's namespace, which is istiod's root namespace."""
    found = list[Manifest]()
    pushes = document.collector.placement is not Placement.NONE
    if pushes and document.collector.source is MetricsSource.ACCESS_LOGGER:
        found.append(statistics_filter(document))
    if pushes and (document.collector.source is MetricsSource.ACCESS_LOG or document.traces):
        found += collector_service(document)
    if spec := telemetry(document):
        found.append(_object(document, "telemetry.istio.io/v1", "Telemetry", "access-logs", spec))
    return found


def access_logger(reports: dict[str, str], *, http: bool) -> Manifest:
    """An access logger that counts. reports: tags and their formats."""
    tags = [{"name": name, "value_format": value} for name, value in {**reports, **(_REQUEST if http else {})}.items()]
    counters: Manifest = {"istio_requests_total": {"value_fixed": 1}}
    if not http:
        # An access log ends a connection, so there is no count of opened ones.
        counters = {
            "istio_tcp_connections_closed_total": {"value_fixed": 1},
            "istio_tcp_sent_bytes_total": {"value_format": "%BYTES_SENT%"},
            "istio_tcp_received_bytes_total": {"value_format": "%BYTES_RECEIVED%"},
        }
    config: Manifest = {
        "@type": f"{_TYPES}.access_loggers.stats.v3.Config",
        "stat_prefix": STATS_PREFIX,
        "counters": [{"stat": {"name": name, "tags": tags}, **value} for name, value in counters.items()],
    }
    if http:
        stat = {"name": "istio_request_duration_milliseconds", "tags": tags}
        config["histograms"] = [{"stat": stat, "unit": "Milliseconds", "value_format": "%DURATION%"}]
    return {"name": "hosted-mesh-statistics", "typed_config": config}


def statistics_filter(document: Observability) -> Manifest:
    """The EnvoyFilter with access loggers in all HTTP and TCP listeners of all proxies."""
    kinds = {
        MANAGER: (True, f"{_TYPES}.filters.network.http_connection_manager.v3.HttpConnectionManager"),
        TCP_PROXY: (False, f"{_TYPES}.filters.network.tcp_proxy.v3.TcpProxy"),
    }
    patches = [
        {
            "applyTo": "NETWORK_FILTER",
            "match": {"context": context, "listener": {"filterChain": {"filter": {"name": name}}}},
            "patch": {
                "operation": "MERGE",
                "value": {"typed_config": {"@type": kind, "access_log": [access_logger(reports, http=http)]}},
            },
        }
        for context, reports in CONTEXTS.items()
        for name, (http, kind) in kinds.items()
    ]
    return _object(document, "networking.istio.io/v1alpha3", "EnvoyFilter", "statistics", {"configPatches": patches})


def collector_service(document: Observability) -> list[Manifest]:
    """The collector as a host of the mesh, with mTLS: proxies send logs and traces to hosts of the mesh only."""
    host, port = document.collector.host, document.collector.port
    entry = {
        "hosts": [host],
        "location": "MESH_EXTERNAL",
        "resolution": "DNS",
        "ports": [{"number": port, "name": "grpc", "protocol": "GRPC"}],
    }
    tls = {"mode": "ISTIO_MUTUAL", "sni": host, "subjectAltNames": [host]}
    return [
        _object(document, "networking.istio.io/v1", "ServiceEntry", "metrics-collector", entry),
        _object(
            document,
            "networking.istio.io/v1",
            "DestinationRule",
            "metrics-collector",
            {"host": host, "trafficPolicy": {"tls": tls}},
        ),
    ]


def telemetry(document: Observability) -> Manifest:
    """`spec` of the only Telemetry: of several without a selector in one namespace, Istio uses the oldest."""
    found: Manifest = {}
    if logs := access_logging(document):
        found["accessLogging"] = logs
    if document.traces:
        sampling = document.traces.sampling_percent
        found["tracing"] = [{"providers": [{"name": TRACES_PROVIDER}], "randomSamplingPercentage": sampling}]
    return found


def access_logging(document: Observability) -> list[Manifest]:
    """`accessLogging` of the Telemetry."""
    found = list[Manifest]()
    pushes = document.collector.placement is not Placement.NONE
    if pushes and document.collector.source is MetricsSource.ACCESS_LOG:
        found.append({"providers": [{"name": COLLECTOR_PROVIDER}]})
    if document.access_logs is GatewayLogs.GATEWAYS:
        # Istio's agent names a gateway's node `router~...`, whatever its namespace and labels.
        found.append({"providers": [{"name": "envoy"}], "filter": {"expression": GATEWAYS_ALONE}})
    return found


def _object(document: Observability, version: str, kind: str, name: str, spec: Manifest) -> Manifest:
    namespace = namespace_of(document.mesh)
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": namespace}, "spec": spec}
