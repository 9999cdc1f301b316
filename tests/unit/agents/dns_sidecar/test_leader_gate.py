"""Leader election, and the gate between external-dns and the DNS provider."""

from __future__ import annotations

import copy
import itertools
import json
from collections.abc import Mapping
from typing import Any, cast

import pytest

from agents.dns_sidecar.api import ApiError, LeaseApi
from agents.dns_sidecar.handover import RECORDS_LABEL
from agents.dns_sidecar.leader_gate import CHANGE_LISTS, LeaderGate, split_changes
from agents.dns_sidecar.lease import PUBLISHED_FINALIZER, REFUSAL_ANNOTATION, Lease
from agents.dns_sidecar.permitted_fields import for_provider
from agents.dns_sidecar.refusal_reason import RefusalReason


class Leases:
    """An API server with one Lease. Each write changes its version."""

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
        for act in self.between:  # another client's actions between the read and the write
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
    one, two = (Lease(cast(LeaseApi, api), "one", name, 15, clock) for name in ("first", "second"))
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
) -> tuple[LeaderGate, Leases, Lease, list[tuple[str, str]]]:
    """Unless a clock is given, a minute passes at each look, so that it waits for nothing and forgets."""
    clock = clock or Pauses(look=60)
    api, asked, answers = Leases(), list[tuple[str, str]](), itertools.chain(statuses, itertools.repeat(200))
    lease = Lease(cast(LeaseApi, api), "one", "first", 15, publishes=True)
    if held:
        lease.step()
    one = LeaderGate(lease, 0, 60, clock)

    def ask(method: str, path: str, body: bytes | None = None) -> tuple[int, bytes]:
        asked.append((method, path))
        return next(answers), WANTED if path == "/adjustendpoints" else b"[]"

    one._request = ask  # type: ignore[method-assign]
    return one, api, lease, asked


WANTED = json.dumps([{"dnsName": "n.example.com"}]).encode()


def changes(count: int) -> bytes:
    return json.dumps({"create": [{"dnsName": f"n{number}.example.com"} for number in range(count)]}).encode()


def test_without_the_lease_nothing_is_asked_or_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agents.dns_sidecar.leader_gate.LEASE_WAIT_SECONDS", 0.01)
    closed, _, _, asked = gate(held=False)
    assert closed.records()[0] == 503
    assert closed.apply(changes(1))[0] == 503
    assert asked == []


def test_a_lease_that_is_lost_ends_a_large_change() -> None:
    one, _, lease, asked = gate()
    one.records()
    one._request = lambda *given: (asked.append(given[:2]), setattr(lease, "_until", 0.0), (204, b""))[-1]  # type: ignore[method-assign,func-returns-value]
    assert one.apply(changes(1200))[0] == 503
    assert asked == [("GET", "/records"), ("POST", "/records")]


def test_what_the_provider_refuses_is_in_the_lease_until_it_no_longer_does() -> None:
    one, api, lease, _ = gate(True, 500, 200, 500, 200, 500, 200, 204, 200)

    def note() -> str:
        lease.step()
        return str((api.kept["metadata"].get("annotations") or {}).get(REFUSAL_ANNOTATION, ""))

    one.records()
    assert note() == "its records cannot be read"
    for _ in range(2):  # the report stays during a pass whose changes are refused too
        one.records()
        assert one.apply(changes(1))[0] == 500
        assert note() == "it does not take changes"
    one.records()
    assert note() == "it does not take changes"
    one.apply(changes(1))
    assert note() == ""


def test_the_reason_of_a_refusal_is_in_the_lease() -> None:
    one, api, lease, _ = gate(True, 500)
    one._reason = RefusalReason([], lambda: 'external_dns_http_request_duration_seconds_count{status="403"} 1')
    one.records()
    lease.step()
    assert (
        api.kept["metadata"]["annotations"][REFUSAL_ANNOTATION] == "its records cannot be read: its API responded 403"
    )


def test_a_providers_properties_lose_the_prefix_that_external_dns_requires() -> None:
    names = ("alias", "webhook/aws/weight", "webhook/external-dns.alpha.kubernetes.io/cloudflare-proxied", "webhook/x")
    record = {"dnsName": "a.example.com", "providerSpecific": [{"name": name, "value": "1"} for name in names]}
    given = [one["name"] for one in for_provider(record)["providerSpecific"]]
    assert given == ["alias", "aws/weight", "external-dns.alpha.kubernetes.io/cloudflare-proxied", "webhook/x"]


def test_at_rest_the_provider_is_asked_once_in_an_interval() -> None:
    clock = Pauses()
    one, _, _, asked = gate(clock=clock)
    for _ in range(120):
        assert one.records() == (200, b"[]")
        clock.now += 1
    assert asked == [("GET", "/records")] * 2


def test_after_a_change_it_is_asked_again_but_not_all_the_time() -> None:
    """While something changes each second: as often as external-dns would by itself."""
    clock = Pauses()
    one, _, _, asked = gate(True, *[200] * 100, clock=clock)
    times = []
    for number in range(10):
        one.records()
        times += [clock.now - 1000] if asked[-1][0] == "GET" else []
        one.apply(changes(number + 1))
        clock.now += 1
    assert times == [5.0 * number for number in range(10)]


def test_a_change_that_does_not_stick_is_tried_less_and_less_often() -> None:
    clock = Pauses()
    one, _, _, asked = gate(True, *[200] * 200, clock=clock)
    while clock.now < 1000 + 3600:
        one.records()
        one.apply(changes(2))
        clock.now += 1
    assert 60 < len(asked) / 2 < 75


def test_a_change_is_published_from_what_is_known() -> None:
    clock = Pauses()
    one, _, _, asked = gate(clock=clock)
    one.records()
    clock.now += 30
    one.records()
    assert one.apply(changes(1))[0] == 204
    assert asked == [("GET", "/records"), ("POST", "/records")]
    one.records()
    assert asked[2:] == [("GET", "/records")]
    assert clock.waited == []


def test_what_was_read_in_an_earlier_term_is_neither_answered_nor_written() -> None:
    """Another replica may have written in between: of one that was frozen, for instance."""
    clock = Pauses()
    one, api, lease, asked = gate(clock=clock)
    one.records()

    def taken_again() -> None:
        lease._until = 0.0
        api.kept["spec"]["holderIdentity"] = ""
        lease.step()
        assert lease.held()

    taken_again()
    one.records()
    assert asked == [("GET", "/records")] * 2
    taken_again()
    assert one.apply(changes(1))[0] == 503
    one.records()
    assert asked == [("GET", "/records")] * 3
    assert one.apply(changes(1))[0] == 204


def test_a_provider_that_refuses_is_asked_less_and_less_often() -> None:
    clock = Pauses()
    one, *_ = gate(True, *[500] * 7, *[200] * 8, 500, clock=clock)
    for _ in range(8):
        one.records()
        clock.now += 5
    assert clock.waited == [3, 11, 27, 55]
    for _ in range(8):
        one.records()
        clock.now += 60
    one.records()
    assert clock.waited == [3, 11, 27, 55]
    one.records()
    assert clock.waited == [3, 11, 27, 55, 1, 4]  # refused anew: as long as between any two questions


def test_many_records_take_a_tenth_of_the_time_and_few_wait_for_nothing() -> None:
    clock = Pauses()
    one, *_ = gate(clock=clock)
    for took, wait in ((0.01, 0.0), (0.3, 2.0), (2.0, 4.0 - 1.0)):
        before = sum(clock.waited)
        one.records()
        clock.now += took
        one.adjust(b"[]")
        clock.now += max(1.0 - took, 0)
        one.records()
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
    found = list(split_changes(given, max_records=4))
    assert len(found) > 3
    for part in CHANGE_LISTS:
        together = [one for piece in found for one in piece[part]]
        assert sorted(map(str, together)) == sorted(map(str, given.get(part) or []))
    for name in [f"n{number}.example.com" for number in range(7)] + ["any.example.com"]:
        created = [[one["dnsName"].replace("*", "any") for one in piece["create"]] for piece in found]
        (holding,) = (names for names in created if f"a-owner.{name}" in names)
        assert name in holding
    assert all(piece["updateOld"] == piece["updateNew"] for piece in found)
    assert list(split_changes({"create": None})) == []


def test_a_publisher_whose_lease_is_deleted_takes_its_records_away_first() -> None:
    one, api, lease, asked = gate()
    assert api.kept["metadata"]["finalizers"] == [PUBLISHED_FINALIZER]
    one.records()
    assert one.adjust(WANTED) == (200, WANTED)
    api.delete()
    lease.step()
    for status in (500, 204):  # refused changes are retried
        one._request = lambda *given: (asked.append(given[:2]), (status if given[0] == "POST" else 200, b"[]"))[-1]  # type: ignore[method-assign,func-returns-value]  # noqa: B023
        one.records()
        assert one.adjust(WANTED) == (200, b"[]")
        assert one.apply(changes(1))[0] == status
        lease.step()
        assert not api.is_gone()
    one.records()
    assert one.adjust(WANTED) == (200, b"[]")
    lease.step()
    assert not api.is_gone()
    one.records()  # the next round begins, and the one before had nothing to write
    lease.step()
    assert api.is_gone()
    assert asked.count(("POST", "/adjustendpoints")) == 1


def test_a_round_that_another_finished_tells_nothing() -> None:
    """Neither one of an external-dns that ended before it wrote, nor one of an earlier term."""
    one, api, lease, _ = gate()
    api.delete()
    lease.step()
    one.records()
    one.adjust(WANTED)
    one.negotiate()  # another begins
    one.records()
    lease.step()
    assert not api.is_gone()
    one.adjust(WANTED)
    lease._until = 0.0
    api.kept["spec"]["holderIdentity"] = "second"
    lease.step()
    api.kept["spec"]["holderIdentity"] = ""
    lease.step()
    one.records()
    lease.step()
    assert not api.is_gone()
    one.adjust(WANTED)
    one.records()
    lease.step()
    assert api.is_gone()


def test_a_lease_that_nobody_published_under_is_deleted_at_once() -> None:
    api, clock = Leases(), Clock()
    first, second = replicas(api, clock)  # readers: their DNSEndpoints go with the edge
    first.step()
    second.step()
    assert api.kept["metadata"].get("finalizers", []) == []
    api.kept["metadata"]["finalizers"] = ["foregroundDeletion"]
    api.delete()
    publisher = Lease(cast(LeaseApi, api), "one", "first", 15, clock, publishes=True)
    publisher.step()
    assert api.kept["metadata"]["finalizers"] == ["foregroundDeletion"]
    assert not publisher.is_terminating


def test_a_lease_that_is_made_anew_is_kept_anew() -> None:
    one, api, lease, _ = gate()
    api.delete()
    lease.step()
    one.records()
    one.adjust(WANTED)
    one.records()
    lease.step()
    with pytest.raises(ApiError):
        lease.step()
    assert one.adjust(WANTED) == (200, b"[]")  # until the next read of the Lease
    api.kept = {"metadata": {"name": "one", "resourceVersion": "9"}}
    lease.step()
    assert api.kept["metadata"]["finalizers"] == [PUBLISHED_FINALIZER]
    assert one.adjust(WANTED) == (200, WANTED)


class SharedLeases:
    """Leases of several publishers with the same records, one of each namespace."""

    def __init__(self) -> None:
        self.by_namespace: dict[str, dict[str, Any]] = {}

    def add(self, namespace: str, created: str) -> None:
        labels = {RECORDS_LABEL: "abc"}
        metadata = {"name": f"of-{namespace}", "namespace": namespace, "labels": labels, "creationTimestamp": created}
        self.by_namespace[namespace] = {"metadata": metadata}

    def of(self, namespace: str) -> LeaseApi:
        shared = self

        class One:
            forbidden = False

            def lease(self, _: str) -> dict[str, Any]:
                if namespace not in shared.by_namespace:
                    raise ApiError(404, "GET", "/leases")
                return copy.deepcopy(shared.by_namespace[namespace])

            def replace_lease(self, lease: Mapping[str, Any]) -> None:
                shared.by_namespace[namespace] = copy.deepcopy(dict(lease))
                metadata = lease["metadata"]
                if "deletionTimestamp" in metadata and not metadata["finalizers"]:
                    del shared.by_namespace[namespace]

            def labelled(self, label: str, value: str) -> list[dict[str, Any]]:
                if self.forbidden:
                    raise ApiError(403, "GET", "/leases")
                assert (label, value) == (RECORDS_LABEL, "abc")
                return copy.deepcopy([*shared.by_namespace.values()])

        return cast(LeaseApi, One())


def moved() -> tuple[SharedLeases, Clock, Lease, Lease]:
    """The Lease of a publisher, and of another one that has its place after a renaming."""
    shared, clock = SharedLeases(), Clock()
    shared.add("old", "2026-01-01T00:00:00Z")
    shared.add("new", "2026-01-02T00:00:00Z")
    old, new = (Lease(shared.of(one), f"of-{one}", one, 15, clock, publishes=True) for one in ("old", "new"))
    old.step()
    assert old.held()
    return shared, clock, old, new


def test_a_renamed_publisher_waits_for_the_old_one_which_leaves_it_the_records() -> None:
    shared, _, old, new = moved()
    new.step()
    assert (old.held(), new.held()) == (True, False)
    shared.by_namespace["old"]["metadata"]["deletionTimestamp"] = "2026-01-03T00:00:00Z"
    new.step()
    assert not new.held()
    old.step()
    # It never was to withdraw anything, and it holds nothing when its Lease is gone.
    assert (old.held(), old.is_terminating) == (False, False)
    assert list(shared.by_namespace) == ["new"]
    new.step()
    assert new.held()
    # The last one takes its records along.
    shared.by_namespace["new"]["metadata"]["deletionTimestamp"] = "2026-01-04T00:00:00Z"
    new.step()
    assert (new.held(), new.is_terminating) == (True, True)
    new.records_withdrawn()
    new.step()
    assert shared.by_namespace == {}


def test_of_two_that_are_new_the_older_acts_and_an_abandoned_one_is_not_waited_for() -> None:
    _, clock, old, new = moved()
    # Nobody renews the older one: after its duration the younger acts.
    new.step()
    clock.now += 14
    new.step()
    assert not new.held()
    clock.now += 2
    new.step()
    assert new.held()
    # The older one is back, and waits for the one that acts.
    old.step()
    assert (old.held(), new.held()) == (False, True)


def test_records_of_two_that_are_both_deleted_are_withdrawn() -> None:
    shared, _, old, _ = moved()
    for one in shared.by_namespace.values():
        one["metadata"]["deletionTimestamp"] = "2026-01-03T00:00:00Z"
    old.step()
    assert (old.held(), old.is_terminating) == (True, True)


def test_an_answer_that_is_missing_withdraws_nothing() -> None:
    shared, _, old, _ = moved()
    shared.by_namespace["old"]["metadata"]["deletionTimestamp"] = "2026-01-03T00:00:00Z"

    def fail(label: str, value: str) -> list[dict[str, Any]]:
        raise OSError("unreachable")

    cast(Any, old._peers._api).labelled = fail
    with pytest.raises(OSError, match="unreachable"):
        old.step()
    assert not old.is_terminating


def test_without_the_right_to_look_a_publisher_is_alone() -> None:
    _, _, _, new = moved()
    cast(Any, new._peers._api).forbidden = True
    new.step()
    assert new.held()
