"""Series in memory, bounded per tenant and per proxy."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from . import series
from .peer import Peer
from .series import RejectedSeriesError

if TYPE_CHECKING:  # grpcio is not needed by a rejected configuration
    from .forwarding import Traces

Key = tuple[str, tuple[str, ...]]
"""A metric and the values of its labels."""
CACHED_REJECTIONS: Final = 1000
MOST_BUCKETS: Final = 64


@dataclass(frozen=True)
class Limits:
    """Bounds of one tenant.

    series: of all its proxies; a histogram counts as one. proxy_series: of one proxy. streams: open at a time.
    bytes_per_second: of messages that are read; burst: bytes that may arrive at once. idle: seconds without a message
    after which the series of a proxy are removed.
    """

    series: int = 50_000
    proxy_series: int = 5_000
    streams: int = 2_000
    bytes_per_second: int = 8 * 2**20
    burst: int = 32 * 2**20
    idle: float = 300.0


@dataclass
class Distribution:
    """A histogram: its buckets' upper bounds, and counts that are not cumulative."""

    bounds: tuple[float, ...] = ()
    counts: list[int] = field(default_factory=list)
    count: int = 0
    total: float = 0.0

    def add(self, bounds: tuple[float, ...], cumulative: Sequence[int], count: int, total: float) -> None:
        """Adds the interval that Envoy sends: its histograms are those since its last message."""
        if self.bounds != bounds:
            # Another bootstrap, so another Envoy. A reader sees a reset, as after a restart.
            self.bounds, self.counts, self.count, self.total = bounds, [0] * len(bounds), 0, 0.0
        below = 0
        for position, at_most in enumerate(cumulative):
            self.counts[position] += at_most - below
            below = at_most
        self.count += count
        self.total += total


class Proxy:
    """The series of one proxy, which is one Pod of one principal."""

    def __init__(self, tenant: Tenant, peer: Peer, pod: str, cluster: str, network: str) -> None:
        self.tenant, self.peer, self.pod, self.cluster, self.network = tenant, peer, pod, cluster, network
        self.counters: dict[Key, float] = {}
        self.histograms: dict[Key, Distribution] = {}
        self.keys: dict[str, Key | None] = {}
        """Keys by the name that the proxy sends; None for a rejected one. The names repeat in each message."""
        self.totals: dict[str, float] = {}
        """Last total of each counter by name: two names may be one series."""
        self.stream: object = None
        """The stream that may write: a reconnected proxy replaces its old one."""
        self.seen = time.monotonic()

    def key(self, name: str, metric: str, tags: Mapping[str, str]) -> Key | None:
        """The key of a series, None if it is rejected. name: as sent, to find it again."""
        if len(self.keys) >= self.tenant.limits.proxy_series + CACHED_REJECTIONS:
            self.tenant.rejected["proxy-limit"] += 1
            return None
        key = self.slot(metric, tags)
        if key is not None or len(self.keys) < CACHED_REJECTIONS:
            self.keys[name] = key
        return key

    def slot(self, metric: str, tags: Mapping[str, str]) -> Key | None:
        """The key of a series that exists or fits within the limits; None, and counted, if it is rejected."""
        try:
            key = (metric, series.labels(metric, tags, self.peer, self.cluster))
        except RejectedSeriesError as error:
            self.tenant.rejected[error.reason] += 1
            return None
        return key if self._admits(key) else None

    def total(self, name: str, key: Key, value: float) -> None:
        """Adds the change of a proxy's own total since its last message; after its restart the change is negative."""
        self.counters[key] += value - self.totals.get(name, 0.0)
        self.totals[name] = value

    def increment(self, metric: str, tags: Mapping[str, str], by: float = 1.0) -> bool:
        """Adds to a counter: for access logs, which have no totals. Returns false if it is rejected."""
        key = self.slot(metric, tags)
        if key is not None:
            self.counters[key] += by
        return key is not None

    def observe(self, key: Key, bounds: tuple[float, ...], cumulative: Sequence[int], count: int, total: float) -> None:
        """Adds an interval to a histogram."""
        self.histograms[key].add(bounds, cumulative, count, total)

    @property
    def size(self) -> int:
        """Number of series."""
        return len(self.counters) + len(self.histograms)

    def _admits(self, key: Key) -> bool:
        """Makes a series if it is new and within the limits."""
        if key in self.counters or key in self.histograms:
            return True
        if self.size >= self.tenant.limits.proxy_series:
            self.tenant.rejected["proxy-limit"] += 1
            return False
        if self.tenant.size >= self.tenant.limits.series:
            self.tenant.rejected["tenant-limit"] += 1
            return False
        self.tenant.size += 1
        if key[0] in series.HISTOGRAMS:
            self.histograms[key] = Distribution()
        else:
            self.counters[key] = 0.0
        return True


class Budget:
    """A token bucket of bytes."""

    def __init__(self, rate: int, burst: int) -> None:
        self.rate, self.burst, self.left, self.at = rate, burst, float(burst), time.monotonic()

    def take(self, size: int) -> bool:
        """Whether a message of this size may be read now."""
        now = time.monotonic()
        self.left = min(float(self.burst), self.left + (now - self.at) * self.rate)
        self.at = now
        if self.left < size:
            return False
        self.left -= size
        return True


class Tenant:
    """All series of a tenant, and its counters for the collector's own metrics. traces: None if they are off."""

    def __init__(self, name: str, limits: Limits, traces: Traces | None = None) -> None:
        self.name, self.limits, self.traces = name, limits, traces
        self.proxies: dict[tuple[str, str, str], Proxy] = {}
        self.size = 0
        self.streams = 0
        self.budget = Budget(limits.bytes_per_second, limits.burst)
        self.messages = self.bytes = self.discarded = 0
        self.rejected: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()

    def proxy(self, peer: Peer, pod: str, cluster: str, network: str) -> Proxy | None:
        """The proxy of a stream; None if the tenant has as many as series, with which an attacker could fill memory."""
        key = (peer.principal, pod, cluster)
        found = self.proxies.get(key)
        if found is None:
            if len(self.proxies) >= self.limits.series:
                self.rejected["tenant-limit"] += 1
                return None
            found = self.proxies[key] = Proxy(self, peer, pod, cluster, network)
        return found

    def expire(self) -> None:
        """Removes proxies that have been silent."""
        before = time.monotonic() - self.limits.idle
        for key in [key for key, one in self.proxies.items() if one.seen < before]:
            self.size -= self.proxies.pop(key).size

    def __iter__(self) -> Iterator[Proxy]:
        return iter(list(self.proxies.values()))
