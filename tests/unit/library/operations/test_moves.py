"""A weighted move: the namespaces of a wave, the judgement of proxies, and the command against an API server."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pulumi_hosted_mesh.operations.doctor.proxies import Injected, Proxy
from pulumi_hosted_mesh.operations.moves.health import ErrorRates, Requests, between, requests_in, verdicts
from pulumi_hosted_mesh.operations.moves.waves import MovingNamespace, chosen, wave

NEW, OLD = "1-31", "default"
names = st.sets(st.text(string.ascii_lowercase, min_size=1, max_size=8), min_size=1, max_size=40)


@given(names, st.integers(1, 99))
def test_a_larger_share_contains_a_smaller_one(there: set[str], percent: int) -> None:
    smaller, larger = chosen(there, percent), chosen(there, percent + 1)
    assert larger[: len(smaller)] == smaller
    assert 1 <= len(smaller) <= len(there)
    assert set(chosen(there, 100)) == there


@given(names, st.integers(1, 100))
def test_the_choice_is_by_name_alone(there: set[str], percent: int) -> None:
    assert chosen(sorted(there), percent) == chosen(sorted(there, reverse=True), percent)
    assert set(chosen(there - {"new"}, percent)) <= set(chosen(there | {"new"}, percent)) | set(there)


def test_shares_of_many_namespaces_are_near_to_their_percentage() -> None:
    assert len(chosen([f"team-{number}" for number in range(400)], 5)) == 20


def test_namespaces_with_the_revision_count_and_stay() -> None:
    there = [MovingNamespace(f"n{number}", "istio-injection=enabled", OLD) for number in range(10)]
    first = wave(there, NEW, 20)
    assert len(first) == 2
    moved = [MovingNamespace(one.name, f"istio.io/rev={NEW}", NEW, one.label) if one in first else one for one in there]
    assert wave(moved, NEW, 20) == []
    assert len(wave(moved, NEW, 50)) == 3


def proxy(namespace: str, revision: str = NEW, *, ready: bool | None = True) -> Proxy:
    injected = Injected("demo", frozenset(), "deployment/app")
    return Proxy(namespace, f"{namespace}-0", "app", revision, ready, injected)


FINE = ErrorRates(Requests(1000, 1), Requests(1000, 1))
JUDGED: dict[str, tuple[list[Proxy], ErrorRates | None, set[str | None]]] = {
    "all well": ([proxy("a")], FINE, {None}),
    "one is not ready": ([proxy("a"), proxy("b", ready=False)], FINE, {"not-ready", None}),
    "one has no status yet": ([proxy("a", ready=None)], FINE, {"not-ready", None}),
    "one is not restarted": ([proxy("a", OLD)], FINE, {"not-restarted", None}),
    "more errors": ([proxy("a")], ErrorRates(Requests(1000, 50), Requests(1000, 1)), {None, "more-errors"}),
    "as many errors as everywhere": ([proxy("a")], ErrorRates(Requests(100, 50), Requests(100, 50)), {None}),
    "few errors": ([proxy("a")], ErrorRates(Requests(4, 4), Requests(1000, 0)), {None}),
    "errors without a comparison": ([proxy("a")], ErrorRates(Requests(100, 50), None), {None, "more-errors"}),
    "nothing is counted": ([proxy("a")], ErrorRates(None, Requests(10, 0)), {None, "not-measured"}),
    "nobody calls": ([proxy("a")], ErrorRates(Requests(), Requests()), {None}),
}


@pytest.mark.parametrize(("proxies", "rates", "causes"), JUDGED.values(), ids=JUDGED)
def test_a_move_goes_on_only_with_proxies_that_are_well(
    proxies: list[Proxy], rates: ErrorRates | None, causes: set[str | None]
) -> None:
    found = list(verdicts(NEW, proxies, rates, 1.0))
    assert {one.cause for one in found} == causes
    assert all(one.ok for one in found) == (causes == {None})


def test_proxies_without_counters_may_be_accepted() -> None:
    found = list(verdicts(NEW, [proxy("a")], ErrorRates(None, None), 1.0, unmeasured=True))
    assert all(one.ok for one in found)


ISTIO = """\
istio_requests_total{reporter="source",response_code="503",destination_app="b"} 9
istio_requests_total{reporter="destination",response_code="200",destination_app="a"} 90
istio_requests_total{reporter="destination",response_code="503",destination_app="a"} 10
istio_requests_total{reporter="destination",response_code="404",destination_app="a"} 5
"""
ENVOY = """\
envoy_http_downstream_rq{response_code_class="2xx",http_conn_manager_prefix="inbound_0.0.0.0_8080"} 7
envoy_http_downstream_rq{response_code_class="5xx",http_conn_manager_prefix="inbound_0.0.0.0_8080"} 3
envoy_http_downstream_rq_completed{http_conn_manager_prefix="inbound_0.0.0.0_8080"} 10
envoy_http_downstream_rq_total{http_conn_manager_prefix="inbound_0.0.0.0_8080"} 10
envoy_http_downstream_rq{response_code_class="5xx",http_conn_manager_prefix="outbound_0.0.0.0_80"} 3
"""
"""As a live proxy prints it (`tests/live/revisions/test_moves.py`)."""
OUTBOUND = """\
envoy_http_downstream_rq{response_code_class="2xx",http_conn_manager_prefix="outbound_0.0.0.0_80"} 3
"""


@pytest.mark.parametrize(
    ("statistics", "requests"),
    [
        (ISTIO, Requests(105, 10)),
        (ENVOY, Requests(10, 3)),
        ("envoy_server_live 1\n", None),
        (OUTBOUND, None),
        ('istio_requests_total{reporter="source",response_code="200"} 9\n', Requests(0, 0)),
    ],
)
def test_received_requests_are_read_from_a_proxys_page(statistics: str, requests: Requests | None) -> None:
    assert requests_in(statistics) == requests


def test_a_new_pods_requests_count_from_zero() -> None:
    before = {("a", "old"): Requests(100, 2), ("a", "same"): Requests(50, 1), ("a", "again"): Requests(500, 400)}
    after = {("a", "same"): Requests(70, 2), ("a", "new"): Requests(5, 1), ("a", "again"): Requests(3, 0)}
    assert between(before, after, after) == Requests(28, 2)
    assert between(before, {("a", "mute"): None}, [("a", "mute")]) is None
