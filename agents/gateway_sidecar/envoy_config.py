"""Envoy's listeners and clusters for the rows. Pure.

TLS passes through: Envoy reads the server name of the first message and holds no certificate.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator
from typing import Any, Final

from .rows import TARGETS, Row
from .settings import Settings

TYPES: Final = "type.googleapis.com/envoy"
NOWHERE: Final = "nowhere"
"""The cluster of chains that refuse. It has no endpoint, so Envoy closes the connection and counts it."""
OUTSIDE: Final = "outside"
"""Refused: the client is outside of the row's ranges."""
UNNAMED_PEER: Final = "unnamed-peer"
"""Refused: the peer is no load balancer of the settings, so its PROXY header counts for nothing."""
BUFFER_BYTES: Final = 32768
CONNECT_SECONDS: Final = 5
IDLE_SECONDS: Final = 3600
KEEP_ALIVE: Final = {"keepalive_probes": 3, "keepalive_time": 60, "keepalive_interval": 10}
Message = dict[str, Any]


def listeners(rows: Iterable[Row], settings: Settings) -> list[Message]:
    """One listener per port, with the chains of all rows."""
    found = list(rows)
    return [_listener(port, inner, found, settings) for port, inner in sorted(settings.listeners.items())]


def clusters(rows: Iterable[Row], settings: Settings) -> list[Message]:
    """One cluster per host and target."""
    found = [_cluster(row, target, settings) for row in rows for target in sorted({one for _, one in row.routes})]
    kind = f"{TYPES}.config.cluster.v3.Cluster"
    return [*found, {"@type": kind, "name": NOWHERE, "type": "STATIC", "load_assignment": {"cluster_name": NOWHERE}}]


def _listener(port: int, inner: int, rows: list[Row], settings: Settings) -> Message:
    filters = []
    if settings.proxies:
        filters.append(_extension("filters.listener.proxy_protocol", "ProxyProtocol"))
    filters.append(_extension("filters.listener.tls_inspector", "TlsInspector"))
    return {
        "@type": f"{TYPES}.config.listener.v3.Listener",
        "name": f"port-{port}",
        "stat_prefix": f"port_{port}",
        "address": {"socket_address": {"address": "0.0.0.0", "port_value": inner}},  # noqa: S104 (the Pod's own)
        "listener_filters": filters,
        "listener_filters_timeout": f"{settings.handshake_seconds}s",
        "per_connection_buffer_limit_bytes": BUFFER_BYTES,
        "filter_chains": [
            chain for row in rows for at, target in row.routes if at == port for chain in _chains(row, target, settings)
        ],
        "access_log": [access_log(port)],
    }


def _chains(row: Row, target: str, settings: Settings) -> Iterator[Message]:
    """The chain for admitted clients, and those for all others.

    Envoy chooses the most specific match of each step, first the peer's address, then the client's, and never goes back
    a step. So with load balancers in front there are two chains for others: behind a load balancer and beside it.
    """
    match: Message = {"server_names": [row.host], "transport_protocol": "tls"}
    peers = {"direct_source_prefix_ranges": _prefixes(settings.proxies)} if settings.proxies else {}
    clients = {"source_prefix_ranges": _prefixes(row.ranges)} if row.ranges else {}
    admitted = [*_limits(row), _proxy(row.owner, cluster_name(row, target))]
    yield _chain(row, "", {**match, **peers, **clients}, admitted)
    if clients:
        yield _chain(row, OUTSIDE, {**match, **peers}, [_proxy(f"{row.owner}/{OUTSIDE}", NOWHERE)])
    if peers:
        yield _chain(row, UNNAMED_PEER, match, [_proxy(f"{row.owner}/{UNNAMED_PEER}", NOWHERE)])


def _chain(row: Row, refused: str, match: Message, filters: list[Message]) -> Message:
    facts = {"mesh": row.owner, "revision": row.revision, **({"refused": refused} if refused else {})}
    return {
        "name": "/".join(filter(None, (row.owner, row.host, refused))),
        "filter_chain_match": match,
        "metadata": {"filter_metadata": {"hosted-mesh": facts}},
        "filters": filters,
    }


def _limits(row: Row) -> list[Message]:
    bucket = {"max_tokens": row.connections_per_second, "tokens_per_fill": row.connections_per_second}
    return [
        _extension(
            "filters.network.local_ratelimit",
            "LocalRateLimit",
            stat_prefix=row.owner,
            token_bucket={**bucket, "fill_interval": "1s"},
        ),
        _extension(
            "filters.network.connection_limit",
            "ConnectionLimit",
            stat_prefix=row.owner,
            max_connections=row.connections,
        ),
    ]


def _proxy(counted: str, cluster: str) -> Message:
    """counted: prefix of its counters, `envoy_tcp_downstream_cx_total{envoy_tcp_prefix="<mesh>"}`."""
    idle = f"{IDLE_SECONDS}s"
    return _extension("filters.network.tcp_proxy", "TcpProxy", stat_prefix=counted, cluster=cluster, idle_timeout=idle)


def cluster_name(row: Row, target: str) -> str:
    return f"{row.owner}/{row.host}/{target}"


def upstream(row: Row, settings: Settings) -> str:
    """DNS name of a row's istiod. The final dot spares the search list of the Pod's resolver."""
    return f"{row.service}.{settings.cluster_domain}."


def _cluster(row: Row, target: str, settings: Settings) -> Message:
    name = cluster_name(row, target)
    address = {"address": upstream(row, settings), "port_value": TARGETS[target]}
    endpoint = {"endpoint": {"address": {"socket_address": address}}}
    return {
        "@type": f"{TYPES}.config.cluster.v3.Cluster",
        "name": name,
        "type": "STRICT_DNS",
        "connect_timeout": f"{CONNECT_SECONDS}s",
        "dns_lookup_family": "V4_PREFERRED",
        "per_connection_buffer_limit_bytes": BUFFER_BYTES,
        "upstream_connection_options": {"tcp_keepalive": KEEP_ALIVE},
        # Envoy's own default is 1024; the row has the tenant's limit.
        "circuit_breakers": {"thresholds": [{"max_connections": row.connections}]},
        "load_assignment": {"cluster_name": name, "endpoints": [{"lb_endpoints": [endpoint]}]},
    }


def access_log(port: int) -> Message:
    """One line of JSON for each connection at its end, refused ones included."""
    fact = "%METADATA(LISTENER_FILTER_CHAIN:hosted-mesh:{})%"
    line = {
        "time": "%START_TIME%",
        "port": port,
        **{name: fact.format(name) for name in ("mesh", "revision", "refused")},
        "host": "%REQUESTED_SERVER_NAME%",
        "client": "%DOWNSTREAM_REMOTE_ADDRESS%",
        "peer": "%DOWNSTREAM_DIRECT_REMOTE_ADDRESS%",
        "milliseconds": "%DURATION%",
        "received": "%BYTES_RECEIVED%",
        "sent": "%BYTES_SENT%",
        "flags": "%RESPONSE_FLAGS%",
        "end": "%CONNECTION_TERMINATION_DETAILS%",
    }
    log = {"@type": f"{TYPES}.extensions.access_loggers.stream.v3.StdoutAccessLog", "log_format": {"json_format": line}}
    return {"name": "access-log", "typed_config": log}


def _extension(folder: str, message: str, **fields: Any) -> Message:
    """An extension with its only message."""
    return {
        "name": folder.rpartition(".")[2],
        "typed_config": {"@type": f"{TYPES}.extensions.{folder}.v3.{message}", **fields},
    }


def _prefixes(ranges: Iterable[str]) -> list[Message]:
    networks = [ipaddress.ip_network(one) for one in ranges]
    return [{"address_prefix": str(one.network_address), "prefix_len": one.prefixlen} for one in networks]
