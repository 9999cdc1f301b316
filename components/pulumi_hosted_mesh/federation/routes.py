"""How proxies send requests to an imported service: under which name, and what they ask again of another mesh."""

from __future__ import annotations

from typing import Any, Final

from pulumi_hosted_mesh.federation.imports import Imported
from pulumi_hosted_mesh.spec.federation import Protocol, Retry

Manifest = dict[str, Any]
# Envoy asks another locality from the third try on (previous_priorities with update_frequency 2, in
# pilot/pkg/networking/core/route/retry/retry.go), so six tries reach three: this zone, this region, elsewhere.
ATTEMPTS: Final = 5
# Nothing of such a request reached a service, or the service said by gRPC's status that it did not take it: Istio's
# default. With `reset-before-request` also where the connection closed before the headers were sent.
UNSENT: Final = "connect-failure,refused-stream,reset-before-request,unavailable,cancelled"
# The gateway of a mesh whose Pods are gone says 503, and one that is going resets: the service may have got it.
PERHAPS_SENT: Final = f"{UNSENT},reset,503"
IDEMPOTENT: Final = "GET|HEAD|OPTIONS|TRACE|PUT|DELETE"  # RFC 9110, 9.2.2


def http_routes(one: Imported) -> list[Manifest]:
    """Of a VirtualService. Empty where Istio's own route will do: one mesh serves it, not renamed, or it is TCP."""
    if one.offered.protocol is Protocol.TCP:
        return []
    route: Manifest = {"route": [{"destination": {"host": one.host, "port": {"number": one.offered.port}}}]}
    if one.host != one.offered.host:
        # The gateway over there knows it by the name that it is exported as.
        route = {"rewrite": {"authority": one.offered.host}, **route}
    if len(one.peers) == 1:
        return [route] if "rewrite" in route else []
    always = {**route, "retries": _retries(UNSENT, one.try_timeout)}
    if one.retry is Retry.UNSENT:
        return [always]
    match = [{"method": {"regex": IDEMPOTENT}}]
    return [{"match": match, **route, "retries": _retries(PERHAPS_SENT, one.try_timeout)}, always]


def _retries(on: str, seconds: int | None) -> Manifest:
    # Envoy counts a try that takes longer as one that was reset, until its answer begins.
    limit = {} if seconds is None else {"perTryTimeout": f"{seconds}s"}
    return {"attempts": ATTEMPTS, "retryOn": on, "retryRemoteLocalities": True, **limit}
