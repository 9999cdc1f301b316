"""Connections, routes and retries of calls to an imported service. Pure."""

from __future__ import annotations

from typing import Any, Final

from pulumi_hosted_mesh.federation.imports import Imported
from pulumi_hosted_mesh.spec.federation import Protocol, Retry, TcpKeepalive

Manifest = dict[str, Any]
# Envoy tries another locality from the third try on (previous_priorities with update_frequency 2, in
# pilot/pkg/networking/core/route/retry/retry.go), so six tries reach three: this zone, this region, elsewhere.
ATTEMPTS: Final = 5
# Istio's default: the request did not reach a service, or the service rejected it by a gRPC status.
# `reset-before-request` adds connections that closed before the headers were sent.
UNSENT: Final = "connect-failure,refused-stream,reset-before-request,unavailable,cancelled"
# A gateway without Pods behind it returns 503, and one that stops resets: the service may have received the request.
PERHAPS_SENT: Final = f"{UNSENT},reset,503"
IDEMPOTENT: Final = "GET|HEAD|OPTIONS|TRACE|PUT|DELETE"  # RFC 9110, 9.2.2


# Until TLS is established. Istio's default is 10 s, for each try at an unreachable gateway. TCP sends a lost first
# packet again after 1 s (RFC 6298), which leaves a second for the rest.
CONNECT_TIMEOUT: Final = "2s"


def tcp_settings(keepalive: TcpKeepalive) -> Manifest:
    """`connectionPool.tcp` of a DestinationRule for connections to a peer's gateway."""
    times = {"time": f"{keepalive.time_seconds}s", "interval": f"{keepalive.interval_seconds}s"}
    return {"connectTimeout": CONNECT_TIMEOUT, "tcpKeepalive": {"probes": keepalive.probes, **times}}


def http_routes(one: Imported) -> list[Manifest]:
    """`http` of a VirtualService. Empty for TCP, and for hosts that one mesh serves under the same name."""
    if one.offered.protocol is Protocol.TCP:
        return []
    route: Manifest = {"route": [{"destination": {"host": one.host, "port": {"number": one.offered.port}}}]}
    if one.host != one.offered.host:
        # The peer's gateway routes by the exported name.
        route = {"rewrite": {"authority": one.offered.host}, **route}
    if len(one.peers) == 1:
        return [route] if "rewrite" in route else []
    always = {**route, "retries": _retries(UNSENT, one.try_timeout)}
    if one.retry is Retry.UNSENT:
        return [always]
    match = [{"method": {"regex": IDEMPOTENT}}]
    return [{"match": match, **route, "retries": _retries(PERHAPS_SENT, one.try_timeout)}, always]


def _retries(on: str, seconds: int | None) -> Manifest:
    # Until the response begins, Envoy treats a longer try as reset.
    limit = {} if seconds is None else {"perTryTimeout": f"{seconds}s"}
    return {"attempts": ATTEMPTS, "retryOn": on, "retryRemoteLocalities": True, **limit}
