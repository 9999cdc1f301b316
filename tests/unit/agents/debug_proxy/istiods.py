"""Istiods with debug pages by HTTP, as istiod serves them, and istioctl's side of the stream."""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import grpc

from agents.debug_proxy import xds_messages
from agents.debug_proxy.server import SERVICE

MESH = "mesh-demo"
KEY = "-----BEGIN PRIVATE KEY-----"
CLUSTERS = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
NEVER = "0001-01-01T00:00:00Z"


def token(**changes: Any) -> str:
    """A token with a ServiceAccount's claims. A value None removes the claim."""
    claims = {
        "sub": f"system:serviceaccount:{MESH}:default",
        "aud": ["istio-ca"],
        "exp": time.time() + 86_400,
        **changes,
    }
    own = {name: value for name, value in claims.items() if value is not None}
    parts = [{"alg": "none"}, own, {"signature": "x"}]
    return ".".join(base64.urlsafe_b64encode(json.dumps(one).encode()).decode().rstrip("=") for one in parts)


def proxy(name: str, cluster: str, **resource: str) -> dict[str, Any]:
    """An entry of `syncz`."""
    sent = {"sent": "nonce-2", "acked": "nonce-2", "sentTime": "2026-11-28T20:00:00.123456789Z", **resource}
    return {"cluster_id": cluster, "proxy": name, "istio_version": "1.31.1", "resources": {CLUSTERS: sent}}


class Istiod:
    """One istiod. reviewed: accepted tokens, by cluster."""

    def __init__(self, address: str, port: int, proxies: list[dict[str, Any]], reviewed: Mapping[str, set[str]]):
        self.proxies, self.reviewed, self.asked = proxies, reviewed, list[str]()
        self.off = False
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.answer(self)

            def log_message(self, *_: Any) -> None: ...

        self.server = ThreadingHTTPServer((address, port), Handler)

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        url = urlsplit(request.path)
        self.asked.append(request.path)
        own = self.reviewed.get(request.headers["clusterid"] or "", set())
        if self.off:
            status, body = 404, b"404 page not found"
        elif url.path == "/version":
            status, body = 200, b"1.31.1-dev-abc-Clean"
        elif request.headers["Authorization"] not in {f"Bearer {one}" for one in own}:
            status, body = 401, b""
        elif url.path == "/debug/syncz":
            status, body = 200, json.dumps(self.proxies).encode()
        else:
            status, body = self.dump(parse_qs(url.query)["proxyID"][0])
        request.send_response(status)
        request.end_headers()
        request.wfile.write(body)

    def dump(self, name: str) -> tuple[int, bytes]:
        """As getProxyConnection: any connection with the name in its id."""
        found = [one["proxy"] for one in self.proxies if name in one["proxy"]]
        if not found:
            return 404, b"Proxy not connected to this Pilot instance."
        kind = "type.googleapis.com/envoy.admin.v3.SecretsConfigDump"
        secret = {"name": "default", "secret": {"tls_certificate": {"private_key": {"inline_string": KEY}}}}
        clusters = {"@type": "type.googleapis.com/envoy.admin.v3.ClustersConfigDump", "of": found[0]}
        return 200, json.dumps({"configs": [clusters, {"@type": kind, "dynamic_active_secrets": [secret]}]}).encode()


@contextmanager
def running(*istiods: Istiod) -> Iterator[None]:
    with ExitStack() as stack:
        for one in istiods:
            stack.enter_context(one.server)
            threading.Thread(target=one.server.serve_forever, daemon=True).start()
            stack.callback(one.server.shutdown)
        yield


class Istioctl:
    """Sends one request, and reads one answer. root: PEM."""

    def __init__(self, address: str, root: bytes, host: str) -> None:
        options = [("grpc.ssl_target_name_override", host)]
        self.channel = grpc.secure_channel(address, grpc.ssl_channel_credentials(root), options)

    def answer(self, type_url: str, *names: str, bearer: str | None) -> Any:
        """Raises: grpc.RpcError."""
        call: Any = self.channel.stream_stream(
            f"/{SERVICE}/StreamAggregatedResources",
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=xds_messages.DiscoveryResponse.FromString,
        )
        metadata = [("authorization", f"Bearer {bearer}")] if bearer is not None else []
        requests = iter([xds_messages.DiscoveryRequest(type_url=type_url, resource_names=names)])
        return next(call(requests, metadata=metadata, timeout=30))

    def refusal(self, type_url: str, *names: str, bearer: str | None) -> tuple[str, str]:
        """The status code and its text."""
        try:
            self.answer(type_url, *names, bearer=bearer)
        except grpc.RpcError as error:
            found: Any = error
            return found.code().name, found.details()
        raise AssertionError(f"{type_url} {names} was answered")
