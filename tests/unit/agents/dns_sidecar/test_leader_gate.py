"""One of several replicas acts: who holds the Lease, and what passes the gate."""

from __future__ import annotations

import copy
import itertools
import json
from collections.abc import Mapping
from typing import Any, cast

import pytest
from pulumi_hosted_mesh.dns.edge_writer.api import ApiError, OwnApi
from pulumi_hosted_mesh.dns.edge_writer.gate import PARTS, Gate, pieces
from pulumi_hosted_mesh.dns.edge_writer.lease import NOTE_ANNOTATION, PUBLISHED_FINALIZER, Lease


class Leases:
    """An API server with one Lease, whose version every write changes."""

    def __init__(self) -> None:
        self.kept: dict[str, Any] = {"metadata": {"name": "one", "resourceVersion": "0"}}
        self.reachable, self.between = True, list[Any]()

    def delete(self) -> None:
        """As Kubernetes does: it stays as long as there are finalizers."""
        self.kept["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"

    def is_gone(self) -> bool:
        metadata = self.kept["metadata"]
        return "deletionTimestamp" in metadata and not metadata.get("finalizers")

    def lease(self, name: str) -> dict[str, Any]:
        if not self.reachable:
            raise OSError("unreachable")
        if self.is_gone():
            raise ApiError(404, "GET", "/leases/one")
        found = copy.deepcopy(self.kept)
        for act in self.between:  # what somebody else does between the reading and the writing
            act()
        return found

    def replace_lease(self, lease: Mapping[str, Any]) -> None:
        if not self.reachable:
            raise OSError("unreachable")
        if lease["metadata"]["resourceVersion"] != self.kept["metadata"]["resourceVersion"]:
            raise ApiError(409, "PUT", "/leases/one")
        before, after = (set(one["metadata"].get("finalizers", ())) for one in (self.kept, lease))
        assert "deletionTimestamp" not in self.kept["metadata"] or after <= before, "it is being deleted"
        self.kept = copy.deepcopy(dict(lease))
        self.kept["metadata"]["resourceVersion"] = str(int(lease["metadata"]["resourceVersion"]) + 1)


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def replicas(api: Leases, clock: Clock) -> tuple[Lease, Lease]:
    one, two = (Lease(cast(OwnApi, api), "one", name, 15, clock) for name in ("first", "second"))
    return one, two


def test_one_holds_it_and_the_other_takes_it_when_the_first_is_silent() -> None:
    api, clock = Leases(), Clock()
    first, second = replicas(api, clock)
    first.step()
    second.step()
    assert (first.held(), second.held()) == (True, False)
    clock.now += 8
    first.step()
    second.step()
    clock.now += 14  # the first is gone: nobody renews
    second.step()
    assert (first.held(), second.held()) == (False, False)
    clock.now += 2
    second.step()
    assert (first.held(), second.held()) == (False, True)
    assert api.kept["spec"]["leaseTransitions"] == 2
    first.step()
    assert (first.held(), second.held()) == (False, True)


@pytest.mark.parametrize("delay", [0, 1, 3, 5])
def test_never_do_two_hold_it(delay: int) -> None:
    """The first is cut off from the API server at some moment, and the second looks at any."""
    api, clock = Leases(), Clock()
    first, second = replicas(api, clock)
    for second_of_time in range(60):
        clock.now += 1
        api.reachable = second_of_time < 20
        if second_of_time % 2 == 0:
            try:
                first.step()
            except OSError:
                assert second_of_time >= 20
        api.reachable = True
        if second_of_time % 3 == 0 and second_of_time >= delay:
            second.step()
        assert not (first.held() and second.held())
    assert second.held()


def test_two_that_take_it_at_once_are_one() -> None:
    api, clock = Leases(), Clock()
    first, second = replicas(api, clock)
    api.between = [lambda: setattr(api, "between", []) or first.step()]  # type: ignore[func-returns-value]
    with pytest.raises(ApiError, match="409"):
        second.step()
    assert (first.held(), second.held()) == (True, False)


def test_given_back_it_is_taken_at_once() -> None:
    api, clock = Leases(), Clock()
    first, second = replicas(api, clock)
    first.step()
    second.step()
    first.release()
    second.step()
    assert (first.held(), second.held()) == (False, True)
    first._until = clock.now + 5  # even one that is wrong about it takes nothing away
    first.release()
    assert second.held()
    assert api.kept["spec"]["holderIdentity"] == "second"


class Pauses:
    """A clock that goes on when somebody waits, or looks at it: each look takes so many seconds."""

    def __init__(self, look: float = 0.0) -> None:
        self.now, self.look, self.waited = 1000.0, look, list[float]()

    def monotonic(self) -> float:
        self.now += self.look
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.waited += [seconds] if seconds else []


def gate(
    held: bool = True, *statuses: int, clock: Pauses | None = None
) -> tuple[Gate, Leases, Lease, list[tuple[str, str]]]:
    """Unless a clock is given, a minute passes at each look, so that it waits for nothing and forgets."""
    clock = clock or Pauses(look=60)
    api, asked, answers = Leases(), list[tuple[str, str]](), itertools.chain(statuses, itertools.repeat(200))
    lease = Lease(cast(OwnApi, api), "one", "first", 15, leaves_records=True)
    if held:
        lease.step()
    made = Gate(lease, 0, 60, clock)

    def ask(method: str, path: str, body: bytes | None = None) -> tuple[int, bytes]:
        asked.append((method, path))
        return next(answers), WANTED if path == "/adjustendpoints" else b"[]"

    made._ask = ask  # type: ignore[method-assign]
    return made, api, lease, asked


WANTED = json.dumps([{"dnsName": "n.example.com"}]).encode()


def changes(count: int) -> bytes:
    return json.dumps({"create": [{"dnsName": f"n{number}.example.com"} for number in range(count)]}).encode()


def test_without_the_lease_nothing_is_asked_or_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pulumi_hosted_mesh.dns.edge_writer.gate.HOLD_SECONDS", 0.01)
    closed, _, _, asked = gate(held=False)
    assert closed.records()[0] == 503
    assert closed.apply(changes(1))[0] == 503
    assert asked == []


def test_a_lease_that_is_lost_ends_a_large_change() -> None:
    made, _, lease, asked = gate()
    made.records()
    made._ask = lambda *given: (asked.append(given[:2]), setattr(lease, "_until", 0.0), (204, b""))[-1]  # type: ignore[method-assign,func-returns-value]
    assert made.apply(changes(1200))[0] == 503
    assert asked == [("GET", "/records"), ("POST", "/records")]


def test_what_the_provider_refuses_is_in_the_lease_until_it_no_longer_does() -> None:
    made, api, lease, _ = gate(True, 500, 200, 500, 200, 500, 200, 204, 200)

    def note() -> str:
        lease.step()
        return str((api.kept["metadata"].get("annotations") or {}).get(NOTE_ANNOTATION, ""))

    made.records()
    assert note() == "its records cannot be read"
    for _ in range(2):  # a round after which it still refuses says so all the time
        made.records()
        assert made.apply(changes(1))[0] == 500
        assert note() == "it does not take changes"
    made.records()
    assert note() == "it does not take changes"
    made.apply(changes(1))
    assert note() == ""


def test_at_rest_the_provider_is_asked_once_in_an_interval() -> None:
    clock = Pauses()
    made, _, _, asked = gate(clock=clock)
    for _ in range(120):
        assert made.records() == (200, b"[]")
        clock.now += 1
    assert asked == [("GET", "/records")] * 2


def test_after_a_change_it_is_asked_again_but_not_all_the_time() -> None:
    """While something changes each second: as often as external-dns would by itself."""
    clock = Pauses()
    made, _, _, asked = gate(True, *[200] * 100, clock=clock)
    times = []
    for number in range(10):
        made.records()
        times += [clock.now - 1000] if asked[-1][0] == "GET" else []
        made.apply(changes(number + 1))
        clock.now += 1
    assert times == [5.0 * number for number in range(10)]


def test_a_change_that_does_not_stick_is_tried_less_and_less_often() -> None:
    clock = Pauses()
    made, _, _, asked = gate(True, *[200] * 200, clock=clock)
    while clock.now < 1000 + 3600:
        made.records()
        made.apply(changes(2))
        clock.now += 1
    assert 60 < len(asked) / 2 < 75


def test_a_change_is_published_from_what_is_known() -> None:
    clock = Pauses()
    made, _, _, asked = gate(clock=clock)
    made.records()
    clock.now += 30
    made.records()
    assert made.apply(changes(1))[0] == 204
    assert asked == [("GET", "/records"), ("POST", "/records")]
    made.records()
    assert asked[2:] == [("GET", "/records")]
    assert clock.waited == []


def test_what_was_read_in_an_earlier_term_is_neither_answered_nor_written() -> None:
    """Another replica may have written in between: of one that was frozen, for instance."""
    clock = Pauses()
    made, api, lease, asked = gate(clock=clock)
    made.records()

    def taken_again() -> None:
        lease._until = 0.0
        api.kept["spec"]["holderIdentity"] = ""
        lease.step()
        assert lease.held()

    taken_again()
    made.records()
    assert asked == [("GET", "/records")] * 2
    taken_again()
    assert made.apply(changes(1))[0] == 503
    made.records()
    assert asked == [("GET", "/records")] * 3
    assert made.apply(changes(1))[0] == 204


def test_a_provider_that_refuses_is_asked_less_and_less_often() -> None:
    clock = Pauses()
    made, *_ = gate(True, *[500] * 7, *[200] * 8, 500, clock=clock)
    for _ in range(8):
        made.records()
        clock.now += 5
    assert clock.waited == [3, 11, 27, 55]
    for _ in range(8):
        made.records()
        clock.now += 60
    made.records()
    assert clock.waited == [3, 11, 27, 55]
    made.records()
    assert clock.waited == [3, 11, 27, 55, 1, 4]  # refused anew: as long as between any two questions


def test_many_records_take_a_tenth_of_the_time_and_few_wait_for_nothing() -> None:
    clock = Pauses()
    made, *_ = gate(clock=clock)
    for took, wait in ((0.01, 0.0), (0.3, 2.0), (2.0, 4.0 - 1.0)):
        before = sum(clock.waited)
        made.records()
        clock.now += took
        made.adjust(b"[]")
        clock.now += max(1.0 - took, 0)
        made.records()
        assert sum(clock.waited) - before == pytest.approx(wait)
        clock.now += 10


def test_a_change_is_cut_between_names() -> None:
    def named(name: str, **more: Any) -> dict[str, Any]:
        return {"dnsName": name, **more}

    records = [named(f"n{number}.example.com") for number in range(7)]
    owners = [named(f"a-owner.n{number}.example.com") for number in range(7)]
    olds = [named("u.example.com", recordType=kind) for kind in ("A", "AAAA")]
    wild = [named("*.example.com"), named("a-owner.any.example.com")]
    given = {"create": [*records, *owners, *wild], "updateOld": olds, "updateNew": olds, "delete": None}
    found = list(pieces(given, at_once=4))
    assert len(found) > 3
    for part in PARTS:
        together = [one for piece in found for one in piece[part]]
        assert sorted(map(str, together)) == sorted(map(str, given.get(part) or []))
    for name in [f"n{number}.example.com" for number in range(7)] + ["any.example.com"]:
        created = [[one["dnsName"].replace("*", "any") for one in piece["create"]] for piece in found]
        (holding,) = (names for names in created if f"a-owner.{name}" in names)
        assert name in holding
    assert all(piece["updateOld"] == piece["updateNew"] for piece in found)
    assert list(pieces({"create": None})) == []


def test_a_publisher_whose_lease_is_deleted_takes_its_records_away_first() -> None:
    made, api, lease, asked = gate()
    assert api.kept["metadata"]["finalizers"] == [PUBLISHED_FINALIZER]
    made.records()
    assert made.adjust(WANTED) == (200, WANTED)
    api.delete()
    lease.step()
    for status in (500, 204):  # what the provider refuses is tried again
        made._ask = lambda *given: (asked.append(given[:2]), (status if given[0] == "POST" else 200, b"[]"))[-1]  # type: ignore[method-assign,func-returns-value]  # noqa: B023
        made.records()
        assert made.adjust(WANTED) == (200, b"[]")
        assert made.apply(changes(1))[0] == status
        lease.step()
        assert not api.is_gone()
    made.records()
    assert made.adjust(WANTED) == (200, b"[]")
    lease.step()
    assert not api.is_gone()
    made.records()  # the next round begins, and the one before had nothing to write
    lease.step()
    assert api.is_gone()
    assert asked.count(("POST", "/adjustendpoints")) == 1


def test_a_round_that_another_finished_tells_nothing() -> None:
    """Neither one of an external-dns that ended before it wrote, nor one of an earlier term."""
    made, api, lease, _ = gate()
    api.delete()
    lease.step()
    made.records()
    made.adjust(WANTED)
    made.negotiate()  # another begins
    made.records()
    lease.step()
    assert not api.is_gone()
    made.adjust(WANTED)
    lease._until = 0.0
    api.kept["spec"]["holderIdentity"] = "second"
    lease.step()
    api.kept["spec"]["holderIdentity"] = ""
    lease.step()
    made.records()
    lease.step()
    assert not api.is_gone()
    made.adjust(WANTED)
    made.records()
    lease.step()
    assert api.is_gone()


def test_a_lease_that_nobody_published_under_is_deleted_at_once() -> None:
    api, clock = Leases(), Clock()
    first, second = replicas(api, clock)  # of a reader, whose names go with its edge
    first.step()
    second.step()
    assert api.kept["metadata"].get("finalizers", []) == []
    api.kept["metadata"]["finalizers"] = ["foregroundDeletion"]
    api.delete()
    publisher = Lease(cast(OwnApi, api), "one", "first", 15, clock, leaves_records=True)
    publisher.step()
    assert api.kept["metadata"]["finalizers"] == ["foregroundDeletion"]
    assert not publisher.is_ending


def test_a_lease_that_is_made_anew_is_kept_anew() -> None:
    made, api, lease, _ = gate()
    api.delete()
    lease.step()
    made.records()
    made.adjust(WANTED)
    made.records()
    lease.step()
    with pytest.raises(ApiError):
        lease.step()
    assert made.adjust(WANTED) == (200, b"[]")  # as long as it is not known to be there again
    api.kept = {"metadata": {"name": "one", "resourceVersion": "9"}}
    lease.step()
    assert api.kept["metadata"]["finalizers"] == [PUBLISHED_FINALIZER]
    assert made.adjust(WANTED) == (200, WANTED)
