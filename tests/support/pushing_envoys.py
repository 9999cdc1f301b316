"""Static Envoys with the library's own statistics, which push to a collector as Istio's proxies do.

A caller's Envoy and a called one, on loopback: the caller's sends all requests to the called one over mTLS.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pulumi_hosted_mesh.observability import proxy_objects

from sandbox.toolchain import Tools
from tests.support.authorities import Authority, pem
from tests.support.envoys import TYPES, shown_by
from tests.support.waiting import eventually

HTTP2 = {
    "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
        "@type": f"{TYPES}.upstreams.http.v3.HttpProtocolOptions",
        "explicit_http_config": {"http2_protocol_options": {}},
    }
}


def tls(file: Path, authorities: Path, *, name: str = "", server: bool = False) -> dict[str, Any]:
    """A transport socket with the certificate of the file. name: required in the other's certificate."""
    own = {"certificate_chain": {"filename": str(file)}, "private_key": {"filename": str(file)}}
    validation: dict[str, Any] = {"trusted_ca": {"filename": str(authorities)}}
    if name:
        kind = "URI" if name.startswith("spiffe:") else "DNS"
        validation["match_typed_subject_alt_names"] = [{"san_type": kind, "matcher": {"exact": name}}]
    common = {"tls_certificates": [own], "validation_context": validation}
    context: dict[str, Any] = {
        "@type": f"{TYPES}.transport_sockets.tls.v3.{'Down' if server else 'Up'}streamTlsContext"
    }
    if server:
        context |= {"require_client_certificate": True}
    return {"name": "envoy.transport_sockets.tls", "typed_config": {**context, "common_tls_context": common}}


def cluster(name: str, port: int, socket: Mapping[str, Any] | None = None, *, grpc: bool = False) -> dict[str, Any]:
    endpoint = {"endpoint": {"address": {"socket_address": {"address": "127.0.0.1", "port_value": port}}}}
    found: dict[str, Any] = {
        "name": name,
        "connect_timeout": "5s",
        "type": "STATIC",
        "load_assignment": {"cluster_name": name, "endpoints": [{"lb_endpoints": [endpoint]}]},
    }
    if socket:
        found["transport_socket"] = socket
    if grpc:
        found["typed_extension_protocol_options"] = HTTP2
    return found


def listener(
    port: int,
    to: str | None,
    *,
    socket: Mapping[str, Any] | None = None,
    reports: Mapping[str, str] | None = None,
    logs: Mapping[str, str] | None = None,
    traced_as: str = "",
    is_client: bool = False,
) -> dict[str, Any]:
    """An HTTP listener that sends all to a cluster, or answers with 200. reports: tags of the library's logger.

    logs: attributes of OTLP access logs, as istiod renders `envoyOtelAls`. traced_as: the service's name in spans, as
    Istio sets it; empty without traces.
    """
    action: dict[str, Any] = {"route": {"cluster": to}} if to else {"direct_response": {"status": 200}}
    manager: dict[str, Any] = {
        "@type": f"{TYPES}.filters.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": "it",
        "route_config": {
            "virtual_hosts": [{"name": "all", "domains": ["*"], "routes": [{"match": {"prefix": "/"}, **action}]}]
        },
        "http_filters": [{"name": "router", "typed_config": {"@type": f"{TYPES}.filters.http.router.v3.Router"}}],
    }
    if reports:
        manager["access_log"] = [proxy_objects.access_logger(dict(reports), http=True)]
    if logs:
        manager["access_log"] = [sent_log(logs)]
    if traced_as:
        config = {
            "@type": "type.googleapis.com/envoy.config.trace.v3.OpenTelemetryConfig",
            "service_name": traced_as,
            "grpc_service": {"envoy_grpc": {"cluster_name": "collector"}, "timeout": "5s"},
        }
        manager["tracing"] = {"provider": {"name": "envoy.tracers.opentelemetry", "typed_config": config}}
        manager["generate_request_id"] = True
    return _listener(
        port, [{"name": "envoy.filters.network.http_connection_manager", "typed_config": manager}], socket, is_client
    )


def tcp_listener(
    port: int,
    to: str,
    *,
    logs: Mapping[str, str],
    socket: Mapping[str, Any] | None = None,
    is_client: bool = False,
    rejects: bool = False,
) -> dict[str, Any]:
    """A TCP listener that sends all to a cluster. rejects: each connection, as an AuthorizationPolicy of Istio does."""
    proxy = {
        "@type": f"{TYPES}.filters.network.tcp_proxy.v3.TcpProxy",
        "stat_prefix": "it",
        "cluster": to,
        "access_log": [sent_log(logs)],
    }
    filters: list[dict[str, Any]] = [{"name": "envoy.filters.network.tcp_proxy", "typed_config": proxy}]
    if rejects:
        rules = {"action": "ALLOW", "policies": {}}
        rbac = {"@type": f"{TYPES}.filters.network.rbac.v3.RBAC", "stat_prefix": "it", "rules": rules}
        filters.insert(0, {"name": "envoy.filters.network.rbac", "typed_config": rbac})
    return _listener(port, filters, socket, is_client)


def sent_log(attributes: Mapping[str, str]) -> dict[str, Any]:
    """OTLP access logs to the collector, as istiod renders `envoyOtelAls`."""
    log = {
        "@type": f"{TYPES}.access_loggers.open_telemetry.v3.OpenTelemetryAccessLogConfig",
        "common_config": {
            "log_name": "otel_envoy_accesslog",
            "grpc_service": {"envoy_grpc": {"cluster_name": "collector"}},
            "transport_api_version": "V3",
        },
        "disable_builtin_labels": True,
        "attributes": {"values": [{"key": name, "value": {"string_value": text}} for name, text in attributes.items()]},
    }
    return {"name": "envoy.access_loggers.open_telemetry", "typed_config": log}


def _listener(
    port: int, filters: list[dict[str, Any]], socket: Mapping[str, Any] | None, is_client: bool
) -> dict[str, Any]:
    chain: dict[str, Any] = {"filters": filters}
    if socket:
        chain["transport_socket"] = socket
    address = {"socket_address": {"address": "127.0.0.1", "port_value": port}}
    direction = {"traffic_direction": "OUTBOUND" if is_client else "INBOUND"}
    return {"name": f"at-{port}", "address": address, "filter_chains": [chain], **direction}


class Workload:
    """A workload's files and identity. shows: another authority signs its certificate."""

    def __init__(
        self, folder: Path, name: str, domain: str, authority: Authority, shows: Authority | None = None
    ) -> None:
        self.name, self.principal = name, f"spiffe://{domain}/ns/bookshop/sa/{name}"
        self.folder = folder / name
        self.folder.mkdir(parents=True)
        self.certificate, self.authorities = self.folder / "own.pem", self.folder / "ca.pem"
        self.certificate.write_bytes(shown_by(shows or authority, self.principal))
        self.authorities.write_bytes(pem(authority.certificate))

    def socket(self, *, name: str = "", server: bool = False) -> dict[str, Any]:
        return tls(self.certificate, self.authorities, name=name, server=server)


@contextmanager
def envoy(
    tools: Tools, workload: Workload, resources: Mapping[str, Any], admin: int, *, pushes: bool = True, workers: int = 1
) -> Iterator[subprocess.Popen[bytes]]:
    """The process, once it is ready. pushes: as Istio's bootstrap, to the cluster `collector`, with its matcher."""
    config: dict[str, Any] = {
        "node": {"id": f"sidecar~10.0.0.1~{workload.name}-1.bookshop~bookshop.svc.cluster.local", "cluster": "it"},
        "admin": {"address": {"socket_address": {"address": "127.0.0.1", "port_value": admin}}},
        "static_resources": resources,
    }
    if pushes:
        service = {"envoy_grpc": {"cluster_name": "collector"}}
        sink = {
            "@type": "type.googleapis.com/envoy.config.metrics.v3.MetricsServiceConfig",
            "transport_api_version": "V3",
            "grpc_service": service,
        }
        config["stats_sinks"] = [{"name": "envoy.stat_sinks.metrics_service", "typed_config": sink}]
        config["stats_flush_interval"] = "10s"
    # Of pkg/bootstrap/config.go in Istio: by default proxies keep these alone.
    kept = [{"prefix": one} for one in ("istiocustom", "cluster_manager", "listener_manager", "server")]
    config["stats_config"] = {"stats_matcher": {"inclusion_list": {"patterns": kept}}}
    file = workload.folder / "envoy.json"
    file.write_text(json.dumps(config))
    environment = {
        "ISTIO_META_WORKLOAD_NAME": workload.name,
        "POD_NAME": f"{workload.name}-1",
        "POD_NAMESPACE": "bookshop",
        "PATH": "/usr/bin",
    }
    command = [str(tools["envoy"]), "--config-path", str(file), "--disable-hot-restart", "--concurrency", str(workers)]
    with (workload.folder / "log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
        try:
            eventually(lambda: process.poll() is not None or "starting main dispatch" in text(workload), "Envoy")
            assert process.poll() is None, text(workload)[-3000:]
            yield process
        finally:
            process.terminate()
            process.wait(30)


def text(workload: Workload) -> str:
    """Envoy's log."""
    return (workload.folder / "log").read_text()
