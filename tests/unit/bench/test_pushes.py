"""Changes, arrivals and tables of `make bench ARGS="tenants --proxies 2000"`."""

from __future__ import annotations

import re

import pytest

from bench import pushes
from bench.pushes import (
    ADDED,
    CHANGES,
    ENDPOINTS,
    Churned,
    Joined,
    Pushed,
    address_of,
    grid,
    joined_grid,
    pushed,
    service,
)
from bench.samples import Samples
from sandbox.errors import SandboxError


def test_each_change_of_an_endpoint_has_an_address_of_its_own_that_no_other_service_has() -> None:
    changed = [address_of(number) for number in range(1, 1000)]
    assert len(set(changed)) == 999
    assert all(one.startswith("10.201.") and not one.endswith(".0") for one in changed)
    assert changed[:2] == ["10.201.0.2", "10.201.0.3"]
    assert changed[249] == "10.201.1.1"
    assert not {
        service(f"service-{at}", f"10.200.0.{at + 1}")[1]["endpoints"][0]["addresses"][0] for at in range(3)
    } & {*changed}


def test_the_clients_know_the_numbers_of_both_kinds() -> None:
    source = (pushes.CLIENTS.directory / "main.go").read_text()
    for one in CHANGES:
        assert re.search(rf'arrived\("{one.name}"', source), one.name
    assert '"|churn-"' in source
    assert "10.201." in source


def test_a_push_is_the_time_from_each_write_to_each_proxy() -> None:
    churned = Churned(ENDPOINTS, {3: 100.0, 4: 101.0}, 0.5, 2.0**20)
    # The first proxy also has an arrival of an earlier round; a merged push brings both changes to the second one.
    arrivals = [{"2": 90.0, "3": 100.5, "4": 101.25}, {"3": 101.5, "4": 101.5}]
    found = pushed(churned, arrivals, 2)
    assert sorted(found.seconds.values) == [0.25, 0.5, 0.5, 1.5]
    with pytest.raises(SandboxError, match="1 arrivals of endpoints are missing"):
        pushed(churned, [arrivals[0], {"4": 101.5}], 2)
    with pytest.raises(SandboxError, match="2 arrivals"):
        pushed(churned, arrivals[:1], 2)
    early = pushed(Churned(ENDPOINTS, {3: 100.6}, 0.5, 1), arrivals[:1], 1)
    assert early.seconds.values == [0.0]


def test_the_ratio_is_to_the_fewest_proxies_of_the_same_change() -> None:
    found = [
        Pushed(50, ENDPOINTS, Samples([0.1, 0.2]), 0.01, 100 * 2.0**20),
        Pushed(50, ADDED, Samples([0.4, 0.5]), 0.1, 100 * 2.0**20),
        Pushed(2000, ENDPOINTS, Samples([1.0, 3.0]), 1.0, 900 * 2.0**20),
        Pushed(2000, ADDED, Samples([2.0, 4.0]), 2.5, 900 * 2.0**20),
    ]
    rows = [row[1:] for row in grid(found).rows]
    assert rows[0] == ["50", "0.15 s", "0.20 s", "0.20 s", "1.0", "0.01 s", "100 MB"]
    assert rows[2] == ["2,000", "2.00 s", "3.00 s", "3.00 s", "15.0", "1.00 s", "900 MB"]
    assert [row[4] for row in rows] == ["1.0", "1.0", "15.0", "8.0"]


def test_the_table_of_joins_has_broken_streams() -> None:
    (row,) = joined_grid([Joined(2000, 101.2, 345_678.0, 3)]).rows
    assert row == ["2,000", "101 s", "346 kB", "3"]
