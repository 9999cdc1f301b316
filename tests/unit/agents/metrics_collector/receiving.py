"""A receiver of spans (OTLP, gRPC) in the test's process, and spans as Envoy sends them."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc

from agents.metrics_collector import telemetry_messages
from agents.metrics_collector.forwarding import TRACE_SERVICE
from tests.support.authorities import Authority, pem
from tests.support.envoys import shown_by
from tests.support.ports import free_port
from tests.unit.agents.metrics_collector.collecting import Mesh, channel

EXPORT = f"/{TRACE_SERVICE}/Export"


class Receiver:
    """Keeps the spans, each with the attributes of its resource.

    poison: a span of this name rejects its request. rejects: the number of rejected spans in each answer.
    delay: of each answer, in seconds.
    """

    def __init__(
        self,
        port: int = 0,
        *,
        poison: str = "",
        rejects: int = 0,
        delay: float = 0.0,
        authority: Authority | None = None,
    ) -> None:
        self.port, self.poison, self.delay = port or free_port(), poison, delay
        self.answer = telemetry_messages.ExportTraceServiceResponse()
        self.answer.partial_success.rejected_spans = rejects
        self.spans: list[tuple[dict[str, str], Any]] = []
        self.requests: list[bytes] = []
        self.server = grpc.server(ThreadPoolExecutor(4))
        handler: Any = grpc.unary_unary_rpc_method_handler(self._export)
        self.server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler(TRACE_SERVICE, {"Export": handler}),)
        )
        address = f"127.0.0.1:{self.port}"
        if authority is None:
            self.server.add_insecure_port(address)
        else:
            chain, mark, key = shown_by(authority, "localhost").partition(b"-----BEGIN PRIVATE KEY-----")
            self.server.add_secure_port(address, grpc.ssl_server_credentials([(mark + key, chain)]))
        self.server.start()

    def _export(self, raw: bytes, context: Any) -> bytes:
        request = telemetry_messages.ExportTraceServiceRequest.FromString(raw)
        found = [
            ({one.key: one.value.string_value for one in resource.resource.attributes}, span)
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]
        if self.poison and any(span.name == self.poison for _, span in found):
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "poison")
        time.sleep(self.delay)
        self.requests.append(raw)
        self.spans += found
        return bytes(self.answer.SerializeToString())

    def of(self, tenant: str) -> list[Any]:
        return [span for resource, span in self.spans if resource["hosted_mesh.tenant"] == tenant]

    def stop(self) -> None:
        self.server.stop(None).wait()


@contextmanager
def receiving(port: int = 0, **fields: Any) -> Iterator[Receiver]:
    """fields: of the receiver."""
    found = Receiver(port, **fields)
    try:
        yield found
    finally:
        found.stop()


def backend(port: int, **fields: Any) -> dict[str, Any]:
    """`traces` of the collector's configuration."""
    return {"address": f"localhost:{port}", "plaintext": True, **fields}


def trusting(port: int, authority: Authority, folder: Path) -> dict[str, Any]:
    """The same by TLS. authority: that the collector trusts."""
    file = folder / "traces-ca.pem"
    file.write_bytes(pem(authority.certificate))
    return {"address": f"localhost:{port}", "authorities": str(file)}


def span(name: str = "get", **attributes: str) -> Any:
    """A span of a sidecar of the namespace `bookshop`. attributes: `__` stands for a dot; an empty one is left out."""
    now = time.time_ns()
    given = {
        "node_id": "sidecar~10.0.0.1~frontend-1.bookshop~bookshop.svc.cluster.local",
        "istio__namespace": "bookshop",
        "http__status_code": "200",
        **attributes,
    }
    made = (
        telemetry_messages.ExportTraceServiceRequest()
        .resource_spans.add()
        .scope_spans.add()
        .spans.add(
            trace_id=secrets.token_bytes(16),
            span_id=secrets.token_bytes(8),
            name=name,
            kind=3,
            start_time_unix_nano=now,
            end_time_unix_nano=now + 1_000_000,
        )
    )
    for key, value in given.items():
        if value:
            made.attributes.add(key=key.replace("__", ".")).value.string_value = value
    return made


def request(*spans: Any, **resource: str) -> Any:
    """One request. resource: attributes beside `service.name`."""
    made = telemetry_messages.ExportTraceServiceRequest()
    found = made.resource_spans.add()
    given: Mapping[str, str] = {"service__name": "frontend.bookshop", **resource}
    for key, value in given.items():
        found.resource.attributes.add(key=key.replace("__", ".")).value.string_value = value
    found.scope_spans.add().spans.extend(spans)
    return made


def export(mesh: Mesh, *requests: Any, principal: str = "", authority: Authority | None = None) -> list[int]:
    """Numbers of spans that the collector rejected. Raises: grpc.RpcError."""
    with channel(mesh, principal or mesh.principal("frontend"), authority=authority) as one:
        call: Any = one.unary_unary(EXPORT)
        raw = [each if isinstance(each, bytes) else each.SerializeToString() for each in requests]
        answers = [telemetry_messages.ExportTraceServiceResponse.FromString(call(each, timeout=60)) for each in raw]
    return [each.partial_success.rejected_spans for each in answers]
