"""Many proxies at once: counts stay exact, and memory stays within a bound."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.support.waiting import eventually
from tests.unit.agents.metrics_collector.collecting import (
    Mesh,
    Proxy,
    collecting,
    durations,
    requests,
    resident,
    sent_by,
)

PROXIES, SERIES, ROUNDS = 100, 100, 8
MEGABYTES = 400
FLOOD_SECONDS = 60


@pytest.mark.nightly
def test_a_hundred_proxies_with_ten_thousand_series(tmp_path: Path) -> None:
    mesh = Mesh("a", tmp_path / "a")
    with collecting(tmp_path, mesh, limits={"bytes_per_second": 2**30, "burst": 2**30}) as collector:
        proxies = [Proxy(mesh, f"w{number}") for number in range(PROXIES)]
        tags = {one: [sent_by(one, to=f"backend-{number}") for number in range(SERIES)] for one in proxies}
        for each in range(1, ROUNDS + 1):
            for one in proxies:
                counters = [requests(found, each) for found in tags[one]]
                one.send(*counters, *(durations(found, 5) for found in tags[one][:10]))
        eventually(lambda: collector.own("messages_total") == PROXIES * ROUNDS, "all messages")
        assert collector.sum("istio_requests_total") == PROXIES * SERIES * ROUNDS
        assert collector.sum("istio_request_duration_milliseconds_count") == PROXIES * 10 * ROUNDS
        assert collector.own("discarded_messages_total") == 0
        first = resident(collector.process.pid)
        # Every name is new: nothing of it may stay.
        for each in range(ROUNDS):
            for one in proxies:
                one.send(*(requests(sent_by(one, code=f"{each}-{number}"), 1) for number in range(SERIES)))
        eventually(lambda: collector.own("messages_total") == 2 * PROXIES * ROUNDS, "the flood")
        assert collector.own("series") <= 50_000
        assert resident(collector.process.pid) < MEGABYTES, first


@pytest.mark.nightly
def test_a_thousand_new_series_per_second_and_tenant_for_a_minute(tmp_path: Path) -> None:
    """Of two tenants. A third one's numbers stay right, and memory has a bound."""
    floods, quiet = [Mesh(name, tmp_path / name) for name in ("a", "b")], Mesh("c", tmp_path / "c")
    limits = {"series": 10_000, "proxy_series": 5_000}
    with collecting(tmp_path, *floods, quiet, limits=limits) as collector:
        proxies = [[Proxy(mesh, f"w{number}") for number in range(10)] for mesh in floods]
        watched = Proxy(quiet, "frontend")
        memory, began = [resident(collector.process.pid)], time.monotonic()
        for second in range(FLOOD_SECONDS):
            for those in proxies:
                # Each name is new, so a hundred series of each of ten proxies.
                for one in those:
                    one.send(*(requests(sent_by(one, code=f"{second}-{number}"), 1) for number in range(100)))
            watched.send(requests(sent_by(watched), second + 1))
            memory.append(resident(collector.process.pid))
            time.sleep(max(0.0, began + second + 1 - time.monotonic()))
        took = time.monotonic() - began
        eventually(lambda: collector.sum("istio_requests_total", tenant="c") == FLOOD_SECONDS, "the quiet tenant")
        for mesh in floods:
            eventually(lambda: collector.own("messages_total", tenant=mesh.name) == 10 * FLOOD_SECONDS, "the flood")  # noqa: B023
            assert collector.own("series", tenant=mesh.name) == limits["series"]
            rejected = collector.own("rejected_series_total", tenant=mesh.name)
            discarded = collector.own("discarded_messages_total", tenant=mesh.name)
            assert rejected + limits["series"] + 100 * discarded == 1000 * FLOOD_SECONDS
        assert collector.own("rejected_series_total", tenant="c") == 0
        memory.append(resident(collector.process.pid))
        print(f"{took:.0f} s; MB: {[round(one) for one in memory[::10]]}")
        assert max(memory) < MEGABYTES
        # Full after ten seconds: from the fortieth on it does not grow.
        assert memory[-1] - memory[2 * FLOOD_SECONDS // 3] < 25
