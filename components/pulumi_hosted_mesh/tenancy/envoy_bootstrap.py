"""Envoy's fixed configuration at the shared gateway. Pure. Listeners and clusters of meshes come from the sidecar."""

from __future__ import annotations

from typing import Any, Final

from pulumi_hosted_mesh.spec.gateway import GatewaySettings

FOLDER: Final = "/etc/gateway"
"""The sidecar writes listeners and clusters here."""
ADMIN_PORT: Final = 15000
METRICS_PORT: Final = 15090
TYPES: Final = "type.googleapis.com/envoy"
_LIMIT: Final = "envoy.resource_monitors.global_downstream_max_connections"
_MANAGER: Final = "extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"
Config = dict[str, Any]


def bootstrap(settings: GatewaySettings) -> Config:
    """The file that Envoy starts with."""
    limit = {
        "@type": f"{TYPES}.extensions.resource_monitors.downstream_connections.v3.DownstreamConnectionsConfig",
        "max_active_downstream_connections": settings.connections,
    }
    return {
        "node": {"id": "shared-gateway", "cluster": "shared-gateway"},
        # The admin page can stop Envoy, so only its own Pod reaches it.
        "admin": {"address": _address("127.0.0.1", ADMIN_PORT)},
        "overload_manager": {"resource_monitors": [{"name": _LIMIT, "typed_config": limit}]},
        "dynamic_resources": {"lds_config": _file("listeners.json"), "cds_config": _file("clusters.json")},
        "static_resources": {"listeners": [_metrics()], "clusters": [_admin()]},
    }


def _file(name: str) -> Config:
    return {"path_config_source": {"path": f"{FOLDER}/{name}", "watched_directory": {"path": FOLDER}}}


def _metrics() -> Config:
    """Two of the admin's pages for other Pods: metrics, and readiness."""
    routes = [{"match": {"path": path}, "route": {"cluster": "admin"}} for path in ("/stats/prometheus", "/ready")]
    manager = {
        "@type": f"{TYPES}.{_MANAGER}",
        "stat_prefix": "metrics",
        "route_config": {"virtual_hosts": [{"name": "metrics", "domains": ["*"], "routes": routes}]},
        "http_filters": [
            {"name": "router", "typed_config": {"@type": f"{TYPES}.extensions.filters.http.router.v3.Router"}}
        ],
    }
    return {
        "name": "metrics",
        "address": _address("0.0.0.0", METRICS_PORT),  # noqa: S104 (the Pod's own)
        # Probes and metrics work also while the limit of connections is reached.
        "ignore_global_conn_limit": True,
        "filter_chains": [{"filters": [{"name": "http", "typed_config": manager}]}],
    }


def _admin() -> Config:
    endpoint = {"endpoint": {"address": _address("127.0.0.1", ADMIN_PORT)}}
    load = {"cluster_name": "admin", "endpoints": [{"lb_endpoints": [endpoint]}]}
    return {"name": "admin", "type": "STATIC", "load_assignment": load}


def _address(address: str, port: int) -> Config:
    return {"socket_address": {"address": address, "port_value": port}}
