"""Prometheus' text format (version 0.0.4) of a collector's tenants, and the collector's own metrics."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from . import forwarding, spans
from .forwarding import Traces
from .series import LABELS, OWN
from .store import Distribution, Proxy, Tenant

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_ESCAPED = re.compile(r'[\\"\n]')
_ESCAPES: Final = {"\\": r"\\", '"': r"\"", "\n": r"\n"}
_NAMES: Final = (*OWN, *LABELS)
_PREFIX: Final = "hosted_mesh_collector"
# Shown from the start, with zero: Prometheus sees no increase in a counter that appears with its first event.
REJECTED: Final = ("buckets", "forged", "name", "principal", "proxy-limit", "reporter", "tenant-limit", "value")
REFUSED: Final = ("budget", "identity", "message", "node", "proxies", "replaced", "span-budget", "streams")
REJECTED_SPANS: Final = (spans.FORGED, spans.INVALID)
LOST_SPANS: Final = (forwarding.REFUSED, forwarding.QUEUE, forwarding.STOPPED)


def exposed(tenants: Iterable[Tenant]) -> Iterator[str]:
    """Lines of all tenants' series, each family once."""
    chosen = list(tenants)
    yield from _own(chosen)
    counters: dict[str, list[str]] = {}
    histograms: dict[str, list[str]] = {}
    for tenant in chosen:
        for proxy in tenant:
            for (metric, values), value in proxy.counters.items():
                counters.setdefault(metric, []).append(f"{metric}{{{_labels(proxy, values)}}} {value:.17g}\n")
            for (metric, values), found in proxy.histograms.items():
                histograms.setdefault(metric, []).extend(_histogram(metric, _labels(proxy, values), found))
    for kind, families in (("counter", counters), ("histogram", histograms)):
        for metric in sorted(families):
            yield f"# TYPE {metric} {kind}\n"
            yield from families[metric]


def _labels(proxy: Proxy, values: tuple[str, ...]) -> str:
    own = (proxy.tenant.name, proxy.cluster, proxy.network, proxy.pod)
    return ",".join(f'{name}="{escaped(value)}"' for name, value in zip(_NAMES, (*own, *values), strict=True))


def escaped(value: str) -> str:
    """A label's value between quotes."""
    return _ESCAPED.sub(lambda match: _ESCAPES[match[0]], value)


def _histogram(metric: str, labels: str, found: Distribution) -> Iterator[str]:
    running = 0
    for bound, count in zip(found.bounds, found.counts, strict=True):
        running += count
        yield f'{metric}_bucket{{{labels},le="{bound:g}"}} {running}\n'
    yield f'{metric}_bucket{{{labels},le="+Inf"}} {found.count}\n'
    yield f"{metric}_sum{{{labels}}} {found.total:.17g}\n"
    yield f"{metric}_count{{{labels}}} {found.count}\n"


def _own(tenants: list[Tenant]) -> Iterator[str]:
    plain: dict[tuple[str, str], Callable[[Tenant], int]] = {
        ("messages_total", "counter"): lambda one: one.messages,
        ("received_bytes_total", "counter"): lambda one: one.bytes,
        ("discarded_messages_total", "counter"): lambda one: one.discarded,
        ("series", "gauge"): lambda one: one.size,
        ("proxies", "gauge"): lambda one: len(one.proxies),
        ("streams", "gauge"): lambda one: one.streams,
    }
    for (name, kind), value in plain.items():
        yield f"# TYPE {_PREFIX}_{name} {kind}\n"
        for one in tenants:
            yield f'{_PREFIX}_{name}{{tenant="{escaped(one.name)}"}} {value(one)}\n'
    for name, reasons in (("rejected_series_total", REJECTED), ("refused_streams_total", REFUSED)):
        yield f"# TYPE {_PREFIX}_{name} counter\n"
        for one in tenants:
            found = one.rejected if reasons is REJECTED else one.refused
            for reason in reasons:
                yield f'{_PREFIX}_{name}{{tenant="{escaped(one.name)}",reason="{reason}"}} {found[reason]}\n'
    yield from _of_traces([(escaped(one.name), one.traces) for one in tenants if one.traces])


def _of_traces(tenants: list[tuple[str, Traces]]) -> Iterator[str]:
    plain: dict[tuple[str, str], Callable[[Traces], int]] = {
        ("received_spans_total", "counter"): lambda one: one.received,
        ("sent_spans_total", "counter"): lambda one: one.forwarder.sent,
        ("queued_span_bytes", "gauge"): lambda one: one.forwarder.bytes,
    }
    for (name, kind), value in plain.items() if tenants else ():
        yield f"# TYPE {_PREFIX}_{name} {kind}\n"
        for tenant, traces in tenants:
            yield f'{_PREFIX}_{name}{{tenant="{tenant}"}} {value(traces)}\n'
    reasons: dict[str, Callable[[Traces], dict[str, int]]] = {
        "rejected_spans_total": lambda one: {reason: one.rejected[reason] for reason in REJECTED_SPANS},
        "lost_spans_total": lambda one: {reason: one.forwarder.lost[reason] for reason in LOST_SPANS},
    }
    for name, values in reasons.items() if tenants else ():
        yield f"# TYPE {_PREFIX}_{name} counter\n"
        for tenant, traces in tenants:
            for reason, number in values(traces).items():
                yield f'{_PREFIX}_{name}{{tenant="{tenant}",reason="{reason}"}} {number}\n'
