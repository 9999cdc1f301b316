"""Measurements of names, and their tables. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from agents.dns_sidecar.api import WATCH_SECONDS
from bench.grid import Grid
from bench.samples import Samples

BRIDGE: Final = "the bridge"
INSIDE: Final = "an external-dns inside the edge"
BEGUN = re.compile(r"^apiserver_flowcontrol_dispatched_requests_total\{([^}]*)\} (\S+)$", re.MULTILINE)
WATCHES = re.compile(r"^apiserver_longrunning_requests\{([^}]*)\} (\S+)$", re.MULTILINE)
KINDS: Final = ("dnsendpoints", "gateways", "ingresses", "services")
"""Kinds that either way reads or writes."""
GOAL_PER_CHANGE, GOAL_REQUESTS = 1.0, 0.5


@dataclass(frozen=True)
class Changes:
    """Seconds from a Gateway's change to the DNS server's answer, change by change, of both ways for the same ones."""

    edges: int
    bridge: Samples
    inside: Samples


@dataclass(frozen=True)
class Many:
    """Seconds until the DNS server has all of many names."""

    way: str
    records: int
    seconds: float


@dataclass(frozen=True)
class Rest:
    """Requests to the edge's API server while nothing changes. way: the sender. watches: of `KINDS`, open."""

    way: str
    seconds: float
    requests: float
    watches: float

    @property
    def per_minute(self) -> float:
        return self.requests * 60 / self.seconds


def requests_in(metrics: str, schema: str) -> float:
    """Requests that a FlowSchema admitted to an API server, by its metrics; a watch counts at its start."""
    return sum(float(value) for labels, value in BEGUN.findall(metrics) if f'flow_schema="{schema}"' in labels)


def watches_in(metrics: str) -> float:
    """The number of open `KINDS`."""
    found = [(labels, value) for labels, value in WATCHES.findall(metrics) if 'verb="WATCH"' in labels]
    return sum(float(value) for labels, value in found if any(f'resource="{kind}"' in labels for kind in KINDS))


def changes_grid(found: Sequence[Changes]) -> Grid:
    """The ratio is that of the medians: a slow change need not be slow for both ways."""
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


def rest_grid(bridge: Rest, inside: Rest) -> Grid:
    """Each open watch of the bridge counts too, as one in an hour: its next start is after the bench's end."""
    per_minute = {bridge: bridge.per_minute + bridge.watches * 60 / WATCH_SECONDS, inside: inside.per_minute}
    ratio = per_minute[bridge] / inside.per_minute if inside.requests else float("inf")
    compared = {bridge: [f"{ratio:.2f}", _goal(ratio, GOAL_REQUESTS)], inside: ["-", "-"]}
    rows = [
        [
            one.way,
            f"{one.seconds:.0f} s",
            f"{one.requests:g}",
            f"{one.watches:g}",
            f"{per_minute[one]:.2f}",
            *compared[one],
        ]
        for one in (bridge, inside)
    ]
    columns = ["reader of the edge", "for", "requests", "open watches", "requests per minute", "ratio", "goal"]
    title = "requests to the edge's API server at rest; the goal is half of those of one inside"
    return Grid(f"{title}; a watch of the bridge counts as one in an hour", columns, rows)


def _goal(ratio: float, most: float) -> str:
    return "met" if ratio <= most else "not met"
