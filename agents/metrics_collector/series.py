"""Istio's standard metrics and labels, from tags of a proxy and the identity of its certificate."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from .peer import Peer

UNKNOWN: Final = "unknown"
SOURCE, DESTINATION = "source", "destination"
COUNTERS: Final = frozenset(
    {
        "istio_requests_total",
        "istio_request_messages_total",
        "istio_response_messages_total",
        "istio_tcp_connections_opened_total",
        "istio_tcp_connections_closed_total",
        "istio_tcp_sent_bytes_total",
        "istio_tcp_received_bytes_total",
    }
)
HISTOGRAMS: Final = frozenset(
    {
        "istio_request_duration_milliseconds",
        "istio_request_bytes",
        "istio_response_bytes",
    }
)
_SIDE: Final = (
    *("workload", "workload_namespace", "principal", "app", "version", "cluster"),
    *("canonical_service", "canonical_revision"),
)
LABELS: Final = (
    "reporter",
    *(f"{SOURCE}_{name}" for name in _SIDE),
    *(f"{DESTINATION}_{name}" for name in _SIDE),
    *("destination_service", "destination_service_name", "destination_service_namespace"),
    *("request_protocol", "response_code", "grpc_response_status", "response_flags", "connection_security_policy"),
)
"""Labels of istio.io/docs/reference/config/metrics, in the order of a series' values."""
OWN: Final = ("tenant", "cluster", "network", "pod")
"""Labels of the collector, by endpoint and certificate; `pod` keeps proxies of one principal apart."""

_PRINCIPAL = re.compile(r"spiffe://[^/]{1,253}/ns/([a-z0-9][-a-z0-9]*)/sa/[a-z0-9][-.a-z0-9]*")
# outbound|PORT|SUBSET|HOST, and as a TLS server name outbound_.PORT_.SUBSET_.HOST (pilot/pkg/model/push_context.go).
_CLUSTER = re.compile(r"(?:outbound|inbound)\|\d*\|[^|]*\|(.*)")
_SERVER_NAME = re.compile(r"outbound_\.\d+_\._?[^_]*_\.([-a-z0-9.]+)")
_SERVICE = re.compile(r"([a-z0-9][-a-z0-9]*)\.([a-z0-9][-a-z0-9]*)\.svc(?:\..+)?")
_VALUE = re.compile(r"[^\x00-\x1f\x7f]{0,512}")
_ABSENT: Final = frozenset({"", "-"})


class RejectedSeriesError(Exception):
    """A series that the collector does not keep. reason: for the collector's own metrics."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def labels(metric: str, tags: Mapping[str, str], peer: Peer, cluster: str) -> tuple[str, ...]:
    """Values of LABELS. cluster: the endpoint's. Raises: RejectedSeriesError.

    On the sender's own side principal and namespace are those of its certificate. A tag that contradicts them rejects
    the series: it speaks for another workload.
    """
    side = tags.get("reporter", "")
    if side not in (SOURCE, DESTINATION):
        raise RejectedSeriesError("reporter")
    found = dict.fromkeys(LABELS, UNKNOWN)
    for name, value in tags.items():
        if not _VALUE.fullmatch(value):
            raise RejectedSeriesError("value")
        if name in found and value not in _ABSENT:
            found[name] = value
    own, other = (SOURCE, DESTINATION) if side == SOURCE else (DESTINATION, SOURCE)
    _require(found, f"{own}_principal", peer.principal)
    _require(found, f"{own}_workload_namespace", peer.namespace)
    _require(found, f"{own}_cluster", cluster)
    if principal := _PRINCIPAL.fullmatch(found[f"{other}_principal"]):
        _default(found, f"{other}_workload_namespace", principal[1])
    elif found[f"{other}_principal"] != UNKNOWN:
        raise RejectedSeriesError("principal")
    if side == SOURCE:
        _upstream(found, tags)
    else:
        _own_service(found, tags, peer)
    _protocol(metric, found, tags, other)
    for name in (SOURCE, DESTINATION):
        _default(found, f"{name}_canonical_service", found[f"{name}_workload"])
        _default(found, f"{name}_app", found[f"{name}_canonical_service"])
        _default(found, f"{name}_canonical_revision", found[f"{name}_version"])
        _default(found, f"{name}_version", found[f"{name}_canonical_revision"])
    return tuple(found[name] for name in LABELS)


def _require(found: dict[str, str], name: str, proved: str) -> None:
    if found[name] not in (UNKNOWN, proved):
        raise RejectedSeriesError("forged")
    found[name] = proved


def _default(found: dict[str, str], name: str, value: str) -> None:
    if found[name] == UNKNOWN and value:
        found[name] = value


def _upstream(found: dict[str, str], tags: Mapping[str, str]) -> None:
    """The destination of a request as its sender knows it: istiod's metadata of the endpoint, and Envoy's cluster."""
    metadata = tags.get("destination", "")
    if metadata not in _ABSENT:
        # workload;namespace;canonical service;canonical revision;cluster (pilot/pkg/networking/util/util.go)
        names = ("workload", "workload_namespace", "canonical_service", "canonical_revision", "cluster")
        for name, value in zip(names, metadata.split(";"), strict=False):
            _default(found, f"{DESTINATION}_{name}", value)
    if cluster := _CLUSTER.fullmatch(tags.get("upstream_cluster", "")):
        _service(found, cluster[1])
    else:
        _service(found, tags.get("upstream_cluster", ""))


def _own_service(found: dict[str, str], tags: Mapping[str, str], peer: Peer) -> None:
    """The service of a request that a destination reports: the caller's TLS server name, if it is of its namespace.

    Callers choose the server name. Without the check they could fill the receiver's part of the store.
    """
    name = _SERVER_NAME.fullmatch(tags.get("server_name", ""))
    service = _SERVICE.fullmatch(name[1]) if name else None
    if name and service and service[2] == peer.namespace:
        _service(found, name[1])


def _service(found: dict[str, str], host: str) -> None:
    if host in _ABSENT:
        return
    service = _SERVICE.fullmatch(host)
    _default(found, "destination_service", host)
    _default(found, "destination_service_name", service[1] if service else host)
    _default(found, "destination_service_namespace", service[2] if service else "")


def _protocol(metric: str, found: dict[str, str], tags: Mapping[str, str], other: str) -> None:
    written = tags.get("request_protocol", "").lower()
    if metric.startswith("istio_tcp"):
        found["request_protocol"] = "tcp"
        found["response_code"] = "0" if found["response_code"] == UNKNOWN else found["response_code"]
    elif written.startswith("http"):
        grpc = found["grpc_response_status"] != UNKNOWN
        found["request_protocol"] = "grpc" if grpc else "http"
    if found["grpc_response_status"] == UNKNOWN:
        found["grpc_response_status"] = ""
    if found["response_flags"] == UNKNOWN:
        found["response_flags"] = "-"
    # As Istio's filter: only the receiver judges the connection.
    if found["connection_security_policy"] == UNKNOWN and other == SOURCE:
        has_peer = found["source_principal"] != UNKNOWN
        found["connection_security_policy"] = "mutual_tls" if has_peer else "none"
