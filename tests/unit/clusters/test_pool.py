"""Load-balancer addresses: never given twice, kept, handed out lowest first."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sandbox.clusters.network.pool import Balanced, assign, records

POOL = ["10.0.0.1", "10.0.0.2", "10.0.0.3"]
ADDRESSES = st.one_of(st.none(), st.sampled_from([*POOL, "10.9.9.9"]))


def service(name: str, address: str | None = None, wanted: str | None = None, names: tuple[str, ...] = ()) -> Balanced:
    return Balanced(("default", name), address, wanted, names)


@given(st.lists(st.tuples(ADDRESSES, ADDRESSES), max_size=6))
def test_no_address_is_given_twice_and_none_outside_the_pool(told: list[tuple[str | None, str | None]]) -> None:
    services = [service(str(number), address, wanted) for number, (address, wanted) in enumerate(told)]
    given_ = assign(POOL, services)
    assert len(set(given_.values())) == len(given_)
    assert set(given_.values()) <= set(POOL)
    for one in services:
        assert one.wanted is None or given_.get(one.key) in (None, one.wanted)
    stable = [Balanced(one.key, given_.get(one.key), one.wanted) for one in services]
    assert assign(POOL, stable) == given_


def test_who_has_an_address_keeps_it() -> None:
    given_ = assign(POOL, [service("new"), service("old", address="10.0.0.1")])
    assert given_ == {("default", "new"): "10.0.0.2", ("default", "old"): "10.0.0.1"}


def test_a_wanted_address_is_given_or_nothing() -> None:
    given_ = assign(POOL, [service("a", wanted="10.0.0.3"), service("b", wanted="10.0.0.3"), service("c")])
    assert given_ == {("default", "a"): "10.0.0.3", ("default", "c"): "10.0.0.1"}


def test_an_empty_pool_leaves_a_service_without() -> None:
    assert len(assign(POOL, [service(str(number)) for number in range(5)])) == 3


def test_a_name_stays_with_the_first_that_claims_it() -> None:
    services = [service("a", names=("x.test",)), service("b", names=("x.test", "y.test")), service("c", names=("z.",))]
    found = records(services, {("default", "a"): "10.0.0.1", ("default", "b"): "10.0.0.2"})
    assert found == {"x.test": "10.0.0.1", "y.test": "10.0.0.2"}
