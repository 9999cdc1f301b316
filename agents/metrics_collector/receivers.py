"""Reads streams of one endpoint into its tenant's store."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterable
from typing import Any, Final

import grpc

from . import flat_names, series, spans, telemetry_messages
from .forwarding import TRACE_SERVICE
from .peer import ForeignPeerError, Peer
from .settings import Endpoint
from .store import MOST_BUCKETS, Key, Proxy, Tenant

METRICS_SERVICE: Final = "envoy.service.metrics.v3.MetricsService"
LOGS_SERVICE: Final = "opentelemetry.proto.collector.logs.v1.LogsService"
LARGEST_MESSAGE: Final = 4 * 2**20
LONGEST_WAIT: Final = 1.0
# Istio's own buckets are Envoy's defaults; access logs have durations, so the collector makes the buckets.
BUCKETS: Final = (0.5, 1, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000, 30000, 60000, 300000, 600000, 1800000)
INBOUND: Final = "1"
"""TrafficDirection of envoy/config/core/v3/base.proto, as an access log has it."""
LOG_PRINCIPALS: Final = ("upstream_local", "upstream_peer", "downstream_local", "downstream_peer")
REPLACED: Final = "another stream of this proxy is newer"


class Receiver:
    """The gRPC services of one endpoint."""

    def __init__(self, endpoint: Endpoint, tenant: Tenant) -> None:
        self.endpoint, self.tenant = endpoint, tenant

    def handlers(self) -> list[grpc.GenericRpcHandler]:
        """Handlers that take raw messages: a message beyond the budget is not parsed."""
        metrics: Any = grpc.stream_unary_rpc_method_handler(self.stream_metrics)
        logs: Any = grpc.unary_unary_rpc_method_handler(self.export)
        found = [
            grpc.method_handlers_generic_handler(METRICS_SERVICE, {"StreamMetrics": metrics}),
            grpc.method_handlers_generic_handler(LOGS_SERVICE, {"Export": logs}),
        ]
        if self.tenant.traces is not None:
            traces: Any = grpc.unary_unary_rpc_method_handler(self.export_spans)
            found.append(grpc.method_handlers_generic_handler(TRACE_SERVICE, {"Export": traces}))
        return found

    async def stream_metrics(self, stream: AsyncIterable[bytes], context: Any) -> bytes:
        """A proxy's stream, until it ends."""
        peer = await self._peer(context)
        if self.tenant.streams >= self.tenant.limits.streams:
            await self._refuse(context, "streams", grpc.StatusCode.RESOURCE_EXHAUSTED, "the tenant's streams are used")
        self.tenant.streams += 1
        proxy: Proxy | None = None
        token = object()
        try:
            async for raw in stream:
                if proxy is not None and proxy.stream is not token:
                    await self._refuse(context, "replaced", grpc.StatusCode.ABORTED, REPLACED)
                if proxy is not None and not await self._within_budget(raw):
                    continue
                message = await self._parsed(context, telemetry_messages.StreamMetricsMessage, raw)
                if proxy is None:
                    proxy = await self._proxy(context, peer, message.identifier.node.id)
                    proxy.stream = token
                    if not await self._within_budget(raw):
                        continue
                self._take(proxy, message)
        finally:
            self.tenant.streams -= 1
            if proxy is not None and proxy.stream is token:
                proxy.stream = None
        return b""

    async def export(self, raw: bytes, context: Any) -> bytes:
        """One request with access logs. Attributes are those of the library's Telemetry provider."""
        peer = await self._peer(context)
        if not await self._within_budget(raw):
            await self._refuse(context, "budget", grpc.StatusCode.RESOURCE_EXHAUSTED, "the tenant's budget is used")
        request = await self._parsed(context, telemetry_messages.ExportLogsServiceRequest, raw)
        for scope in (one for resource in request.resource_logs for one in resource.scope_logs):
            for record in scope.log_records:
                log = {one.key: one.value.string_value for one in record.attributes}
                # Not of the resource: istiod disables Envoy's attributes there (pilot/pkg/model/telemetry_logging.go).
                proxy = await self._proxy(context, peer, log.pop("node", ""))
                proxy.seen = time.monotonic()
                _log(proxy, _reported(log))
        return b""

    async def export_spans(self, raw: bytes, context: Any) -> bytes:
        """One request with spans, whose resource is written anew. The answer has the number of rejected spans."""
        peer, traces = await self._peer(context), self.tenant.traces
        assert traces is not None
        if not traces.budget.take(len(raw)):
            await self._refuse(context, "span-budget", grpc.StatusCode.RESOURCE_EXHAUSTED, "the budget is used")
        request = await self._parsed(context, telemetry_messages.ExportTraceServiceRequest, raw)
        made, kept, rejected = spans.attributed(request, peer, self.endpoint)
        traces.received += kept + sum(rejected.values())
        traces.rejected.update(rejected)
        if kept:
            traces.forwarder.add(made, kept)
        answer = telemetry_messages.ExportTraceServiceResponse()
        if refused := sum(rejected.values()):
            answer.partial_success.rejected_spans = refused
            answer.partial_success.error_message = "the spans contradict the certificate, or are invalid"
        return bytes(answer.SerializeToString())

    async def _peer(self, context: Any) -> Peer:
        try:
            return Peer.of(context.auth_context(), self.endpoint.trust_domain)
        except ForeignPeerError as error:
            await self._refuse(context, "identity", grpc.StatusCode.PERMISSION_DENIED, str(error))
            raise

    async def _proxy(self, context: Any, peer: Peer, node: str) -> Proxy:
        try:
            pod = peer.pod(node)
        except ForeignPeerError as error:
            await self._refuse(context, "node", grpc.StatusCode.PERMISSION_DENIED, str(error))
            raise
        found = self.tenant.proxy(peer, pod, self.endpoint.cluster, self.endpoint.network)
        if found is None:
            await self._refuse(context, "proxies", grpc.StatusCode.RESOURCE_EXHAUSTED, "the tenant's series are used")
            raise AssertionError
        return found

    async def _refuse(self, context: Any, reason: str, code: grpc.StatusCode, text: str) -> None:
        self.tenant.refused[reason] += 1
        await context.abort(code, text)

    async def _within_budget(self, raw: bytes) -> bool:
        """Counts a message. Beyond the budget the stream waits, which slows its sender by HTTP/2's flow control."""
        self.tenant.messages += 1
        self.tenant.bytes += len(raw)
        if self.tenant.budget.take(len(raw)):
            return True
        self.tenant.discarded += 1
        await asyncio.sleep(min(LONGEST_WAIT, len(raw) / self.tenant.limits.bytes_per_second))
        return False

    async def _parsed(self, context: Any, kind: Any, raw: bytes) -> Any:
        try:
            return kind.FromString(raw)
        except Exception as error:  # protobuf's DecodeError, whose module depends on its implementation
            await self._refuse(context, "message", grpc.StatusCode.INVALID_ARGUMENT, "the message cannot be parsed")
            raise AssertionError from error

    def _take(self, proxy: Proxy, message: Any) -> None:
        proxy.seen = time.monotonic()
        for family in message.envoy_metrics:
            kind = family.type
            if kind not in (telemetry_messages.COUNTER, telemetry_messages.HISTOGRAM):
                continue
            for metric in family.metric:
                # With `emit_tags_as_labels`, which Istio's bootstrap lacks, names are short and tags are labels.
                name = family.name
                if metric.label:
                    name += "".join(f".{one.name}.{one.value}" for one in metric.label)
                key = proxy.keys[name] if name in proxy.keys else _new_key(proxy, name, kind)
                if key is None:
                    continue
                if kind == telemetry_messages.COUNTER:
                    proxy.total(name, key, metric.counter.value)
                else:
                    _observe(proxy, key, metric.histogram)


def _reported(log: dict[str, str]) -> dict[str, str]:
    """Attributes of an access log as tags of a report: one format of logs serves both directions.

    The listener has the direction. The cluster is missing from a request that the proxy rejects by itself, and is
    Istio's `InboundPassthroughCluster` for ports without a Service. Mesh config of 0.2.0 sends no direction.
    """
    found = dict(log)
    sans = {name: found.pop(name, "") for name in LOG_PRINCIPALS}
    workload = found.pop("workload", "")
    direction = found.pop("direction", "")
    if direction == INBOUND or (not direction and found.get("upstream_cluster", "").startswith("inbound|")):
        found["reporter"], found["destination_workload"] = series.DESTINATION, workload
        found["source_principal"], found["destination_principal"] = sans["downstream_peer"], sans["downstream_local"]
    else:
        found["reporter"], found["source_workload"] = series.SOURCE, workload
        found["source_principal"], found["destination_principal"] = sans["upstream_local"], sans["upstream_peer"]
    return found


def _log(proxy: Proxy, attributes: dict[str, str]) -> None:
    """One request of an access log: a counter and a duration."""
    duration, sent, received = (_number(attributes.pop(name, "")) for name in ("duration", "sent", "received"))
    if attributes.get("request_protocol", "-") in ("", "-"):
        proxy.increment("istio_tcp_connections_closed_total", attributes)
        proxy.increment("istio_tcp_sent_bytes_total", attributes, sent)
        proxy.increment("istio_tcp_received_bytes_total", attributes, received)
    elif proxy.increment("istio_requests_total", attributes):
        key = proxy.slot("istio_request_duration_milliseconds", attributes)
        if key is not None:
            within = [int(duration <= bound) for bound in BUCKETS]
            proxy.observe(key, BUCKETS, within, 1, duration)


def _new_key(proxy: Proxy, name: str, kind: int) -> Key | None:
    found = flat_names.parsed(name)
    known = series.COUNTERS if kind == telemetry_messages.COUNTER else series.HISTOGRAMS
    if found is None or found[0] not in known:
        # Envoy's other metrics, which the bootstrap also sends, are no rejected series.
        if name.startswith(flat_names.PREFIX):
            proxy.tenant.rejected["name"] += 1
        return None
    return proxy.key(name, *found)


def _observe(proxy: Proxy, key: Key, histogram: Any) -> None:
    if histogram.sample_count == 0 and proxy.histograms[key].bounds:
        return
    bounds = tuple(one.upper_bound for one in histogram.bucket)
    cumulative = [one.cumulative_count for one in histogram.bucket]
    if len(bounds) > MOST_BUCKETS or list(bounds) != sorted(set(bounds)) or cumulative != sorted(cumulative):
        proxy.tenant.rejected["buckets"] += 1
        return
    proxy.observe(key, bounds, cumulative, histogram.sample_count, histogram.sample_sum)


def _number(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        return 0.0
    return found if 0 <= found < float("inf") else 0.0
