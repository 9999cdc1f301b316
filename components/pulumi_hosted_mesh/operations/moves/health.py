"""Whether a move may go on: readiness of the new revision's proxies, and their share of failed requests. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from pulumi_hosted_mesh.operations.doctor.proxies import Proxy
from pulumi_hosted_mesh.operations.verdict import Verdict, few

ISTIOS: Final = re.compile(r"^istio_requests_total\{([^}]*)\} (\d+)(?:\.\d+)?$", re.MULTILINE)
"""Istio's own counter, once at each side of a request."""
ENVOYS: Final = re.compile(r"^envoy_http_downstream_rq\{([^}]*response_code_class=[^}]*)\} (\d+)$", re.MULTILINE)
"""Envoy's counter as Istio names it, of a proxy whose `proxyStatsMatcher` includes `http.inbound`."""
INBOUND: Final = 'http_conn_manager_prefix="inbound'
FAILED: Final = re.compile(r'response_code(?:_class)?="5')
FEWEST: Final = 5
"""Failed requests from which a share counts. Fewer may be chance."""


@dataclass(frozen=True)
class Requests:
    """Requests that a proxy, or several, received, and those of them with a status of 500 or more."""

    received: int = 0
    failed: int = 0

    def __add__(self, other: Requests) -> Requests:
        return Requests(self.received + other.received, self.failed + other.failed)

    def __sub__(self, other: Requests) -> Requests:
        return Requests(self.received - other.received, self.failed - other.failed)

    @property
    def percent(self) -> float:
        """The share of failed ones."""
        return 100 * self.failed / self.received if self.received else 0.0

    def __str__(self) -> str:
        return f"{self.failed} of {self.received} ({self.percent:.1f} %)"


def requests_in(statistics: str) -> Requests | None:
    """The requests that a proxy has received, by its Prometheus page; None if the page has no counter of them."""
    found = _rows(ISTIOS, 'reporter="destination"', statistics) or _rows(ENVOYS, INBOUND, statistics)
    if not found and "istio_requests_total" not in statistics:
        return None
    return Requests(
        sum(number for _, number in found), sum(number for labels, number in found if FAILED.search(labels))
    )


def _rows(counter: re.Pattern[str], receiver: str, statistics: str) -> list[tuple[str, int]]:
    return [(labels, int(number)) for labels, number in counter.findall(statistics) if receiver in labels]


Sample = Mapping[tuple[str, str], Requests | None]
"""Requests by namespace and Pod; None for a proxy without counters."""


def between(before: Sample, after: Sample, pods: Collection[tuple[str, str]]) -> Requests | None:
    """The requests that Pods received between two samples; None if none of them counts."""
    counted = [(after[pod], before.get(pod)) for pod in pods if after.get(pod) is not None]
    if not counted:
        return None
    total = Requests()
    for later, earlier in counted:
        assert later is not None
        # A new Pod's counters, and a restarted proxy's, begin at zero.
        begun = earlier if earlier is not None and earlier.received <= later.received else Requests()
        total += later - begun
    return total


@dataclass(frozen=True)
class ErrorRates:
    """Requests of a time: of the proxies with the new revision, and of the others. None: not counted."""

    moved: Requests | None
    others: Requests | None


def verdicts(
    revision: str, proxies: Collection[Proxy], rates: ErrorRates | None, rise: float, *, unmeasured: bool = False
) -> Iterator[Verdict]:
    """Whether the next wave may begin. proxies: of the moved namespaces. rates: None before the first wave.

    rise: percentage points by which the new revision's share of failed requests may exceed the others'. unmeasured:
    True accepts proxies without counters.
    """
    yield from _readiness(revision, proxies)
    if rates is None:
        return
    check = f"requests to proxies of revision {revision}"
    if rates.moved is None:
        seen = "no proxy counts requests, so the share of failed ones is unknown"
        fix = "Enable Istio's metrics (telemetry.enabled), or add --unmeasured to go by readiness alone"
        yield Verdict(check, "not-measured", seen, fix, notice=unmeasured)
        return
    usual = rates.others.percent if rates.others else 0.0
    seen = f"failed: {rates.moved}; of other revisions: {rates.others or 'not counted'}"
    if rates.moved.failed >= FEWEST and rates.moved.percent > usual + rise:
        fix = "See the logs of the moved workloads; `hosted-mesh move --restore` leads back"
        yield Verdict(check, "more-errors", seen, fix)
    else:
        yield Verdict(check, None, seen)


def _readiness(revision: str, proxies: Collection[Proxy]) -> Iterator[Verdict]:
    check = f"proxies of the moved namespaces, revision {revision}"
    unready = sorted(f"{one.namespace}/{one.pod}" for one in proxies if one.revision == revision and not one.ready)
    old = sorted(f"{one.namespace}/{one.pod}" for one in proxies if one.revision != revision)
    if unready:
        fix = "See their logs, and istiod's of that revision; `hosted-mesh move --restore` leads back"
        yield Verdict(check, "not-ready", f"{len(unready)} are not ready: {few(unready)}", fix)
    if old:
        seen = f"{len(old)} still have another revision: {few(old)}"
        yield Verdict(check, "not-restarted", seen, "Restart their workloads, or add --restart")
    if not unready and not old:
        yield Verdict(check, None, f"{len(proxies)} are ready")
