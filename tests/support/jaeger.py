"""Jaeger as a client of its query API sees it: services, spans, and calls between services."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from sandbox.proof.deployed import NotObserved

KINDS = {"server": 2, "client": 3}
"""Jaeger's words for kinds of spans, and OTLP's numbers."""
LIMIT = 1500
"""Traces in an answer, which has 100 by default."""


@dataclass(frozen=True)
class Span:
    """parent: id of the caller's span; empty for the first span of a trace. tenant: of the resource's attributes."""

    service: str
    kind: int
    status: str
    tenant: str
    trace: str
    id: str
    parent: str

    @classmethod
    def of(cls, span: Mapping[str, Any], process: Mapping[str, Any]) -> Span:
        """As in `/api/traces`."""
        tags = {one["key"]: one["value"] for one in span["tags"]}
        references = [one for one in span["references"] if one["refType"] == "CHILD_OF"]
        assert {one["traceID"] for one in references} <= {span["traceID"]}
        (parent,) = [one["spanID"] for one in references] or [""]
        return cls(
            process["serviceName"],
            KINDS[tags["span.kind"]],
            tags["http.status_code"],
            {one["key"]: one["value"] for one in process["tags"]}["hosted_mesh.tenant"],
            span["traceID"],
            span["spanID"],
            parent,
        )


@dataclass(frozen=True)
class Jaeger:
    """A running Jaeger. get: the answer of a path of its API."""

    get: Callable[[str], Any]

    def services(self) -> set[str]:
        return set(self.get("/api/services")["data"] or [])

    def spans(self) -> list[Span]:
        """Of all services, each once: a trace is in the answer of each of its services."""
        found = set[Span]()
        for service in self.services():
            answer = self.get(f"/api/traces?{urlencode({'service': service, 'limit': LIMIT})}")
            for trace in answer["data"]:
                found.update(Span.of(one, trace["processes"][one["processID"]]) for one in trace["spans"])
        return sorted(found, key=lambda one: (one.trace, one.kind))

    def rows(self) -> list[tuple[str, int, str, str]]:
        """The spans: service, kind, status, trace."""
        return [(one.service, one.kind, one.status, one.trace) for one in self.spans()]

    def paths(self, first: str) -> list[list[Span]]:
        """The traces that begin at this service, each as spans from the first one to the last one, child after parent.

        Fails for a span without a parent in its trace, and for two children of one span.
        """
        traces = defaultdict(list)
        for one in self.spans():
            traces[one.trace].append(one)
        return [
            _path(spans) for spans in traces.values() if (first, "") in {(one.service, one.parent) for one in spans}
        ]

    def calls(self) -> Counter[tuple[str, str]]:
        """Numbers of calls between services within the last hour."""
        window = {"endTs": int(time.time() * 1000), "lookback": 3_600_000}
        found = self.get(f"/api/dependencies?{urlencode(window)}")["data"]
        return Counter({(one["parent"], one["child"]): one["callCount"] for one in found})


def _path(spans: list[Span]) -> list[Span]:
    by_parent = {one.parent: one for one in spans}
    found: list[Span] = []
    while (parent := found[-1].id if found else "") in by_parent:
        found.append(by_parent[parent])
    if len(found) != len(spans):
        raise NotObserved(f"no path from the first to the last of {spans}")
    return found
