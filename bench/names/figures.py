"""What was measured of names, and its tables. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bench.grid import Grid
from bench.samples import Samples

BRIDGE: Final = "the bridge"
INSIDE: Final = "an external-dns inside the edge"
NOBODY: Final = "neither"
REQUESTS = re.compile(r"^apiserver_request_total\{[^}]*\} (\S+)$", re.MULTILINE)
GOAL_PER_CHANGE, GOAL_REQUESTS = 1.0, 0.5


@dataclass(frozen=True)
class Changes:
    """Seconds from a Gateway's change to the DNS server's answer, change by change, each way of the same ones."""

    edges: int
    bridge: Samples
    inside: Samples


@dataclass(frozen=True)
class Many:
    """Seconds until all of many names are with the DNS server."""

    way: str
    records: int
    seconds: float


@dataclass(frozen=True)
class Rest:
    """Requests to the edge's API server while nothing changes. way: who reads it then."""

    way: str
    requests: float
    seconds: float

    @property
    def per_minute(self) -> float:
        return self.requests * 60 / self.seconds


def requests_in(metrics: str) -> float:
    """All requests that an API server has answered so far, by its metrics; a watch counts when it ends."""
    return sum(float(value) for value in REQUESTS.findall(metrics))


def changes_grid(found: Sequence[Changes]) -> Grid:
    """The ratio is that of the medians: a change is not soon or late for both ways at once."""
    columns = ["edges", "changes", "bridge p50", "bridge p99", "inside p50", "inside p99", "ratio of p50", "goal"]
    rows = []
    for one in found:
        ratio = one.bridge.median / one.inside.median
        times = [f"{way.quantile(share):.1f} s" for way in (one.bridge, one.inside) for share in (0.5, 0.99)]
        rows.append(
            [str(one.edges), str(len(one.bridge.values)), *times, f"{ratio:.2f}", _goal(ratio, GOAL_PER_CHANGE)]
        )
    title = f"from a Gateway's change to the answer; inside: {INSIDE}; the goal is a ratio of at most 1"
    return Grid(title, columns, rows)


def many_grid(found: Sequence[Many]) -> Grid:
    columns = ["by", "records", "until all are there", "records per second"]
    rows = [[one.way, f"{one.records:,}", f"{one.seconds:.0f} s", f"{one.records / one.seconds:.0f}"] for one in found]
    return Grid("many new names of Gateways at once, each way by itself", columns, rows)


def rest_grid(found: Sequence[Rest]) -> Grid:
    """With what each way adds to what the cluster asks by itself."""
    floor = next(one.per_minute for one in found if one.way == NOBODY)
    added = {one.way: max(one.per_minute - floor, 0.0) for one in found}
    rows = []
    for one in found:
        compared = ["-", "-"]
        if one.way == BRIDGE:
            ratio = added[BRIDGE] / added[INSIDE] if added[INSIDE] else float("inf")
            compared = [f"{ratio:.2f}", _goal(ratio, GOAL_REQUESTS)]
        rows.append([one.way, f"{one.seconds:.0f} s", f"{one.per_minute:.1f}", f"{added[one.way]:.1f}", *compared])
    columns = ["who reads the edge", "for", "requests per minute", "more than neither", "ratio", "goal"]
    return Grid("requests to the edge's API server at rest; the goal is half of those of one inside", columns, rows)


def _goal(ratio: float, most: float) -> str:
    return "met" if ratio <= most else "not met"
