"""The cache of owned DNSEndpoints, and the webhook provider that reads and writes them."""

from __future__ import annotations

import copy
import json
import threading
from collections.abc import Iterable, Iterator
from typing import Any, cast

import pytest

from agents.dns_sidecar import owned_endpoints
from agents.dns_sidecar.api import ApiError, EdgeApi
from agents.dns_sidecar.lease import Lease
from agents.dns_sidecar.owned_endpoints import OwnedEndpoints
from agents.dns_sidecar.records import endpoints_of, object_name
from agents.dns_sidecar.throttle import SyncThrottle
from agents.dns_sidecar.webhook import DnsEndpointProvider

Object = dict[str, Any]


def record(name: str, target: str = "192.0.2.1") -> Object:
    return {"dnsName": f"{name}.example.com", "recordType": "A", "targets": [target]}


class Held:
    """A Lease, as its holder sees it."""

    is_held, term = True, 1

    def held(self) -> bool:
        return self.is_held

    def wait(self, seconds: float) -> bool:
        return self.is_held


class Clock:
    """Time passes when somebody waits."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class Server:
    """An API server with DNSEndpoints that records requests, and sends events to watches."""

    def __init__(self, clock: Clock, *names: str) -> None:
        self.clock, self.version, self.asked = clock, 100, list[str]()
        self.items, self.events = dict[str, Object](), list[Object]()
        self.away, self.refusals = False, dict[str, int]()
        for name in names:
            self.put({"metadata": {"name": object_name(f"{name}.example.com")}, "spec": {"endpoints": [record(name)]}})

    def put(self, item: Object) -> Object:
        """As somebody else, or on behalf of the writer."""
        self.version += 1
        name = item["metadata"]["name"]
        event = "MODIFIED" if name in self.items else "ADDED"
        metadata = {"uid": name, **item["metadata"], "resourceVersion": str(self.version), "managedFields": [{}]}
        self.items[name] = {**item, "metadata": metadata}
        self.events.append({"type": event, "object": copy.deepcopy(self.items[name])})
        return copy.deepcopy(self.items[name])

    def drop(self, name: str) -> None:
        self.version += 1
        item = self.items.pop(name)
        item["metadata"]["resourceVersion"] = str(self.version)
        self.events.append({"type": "DELETED", "object": item})

    def list(self, namespace: str, **selectors: str) -> tuple[list[Object], str]:
        wanted = selectors.get("fieldSelector", "").partition("=")[2]
        self._ask("read" if wanted else "list")
        found = [one for name, one in self.items.items() if not wanted or name == wanted]
        return copy.deepcopy(found), str(self.version)

    def watch(self, version: str, seconds: int, namespace: str, **selectors: str) -> Iterator[Object]:
        self._ask("watch")
        yield from [one for one in self.events if int(one["object"]["metadata"]["resourceVersion"]) > int(version)]
        yield {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": str(self.version)}}}
        self.clock.now += seconds

    def create(self, item: Object) -> Object:
        self._ask("create")
        if item["metadata"]["name"] in self.items:
            raise ApiError(409, "POST", "/dnsendpoints")
        return self.put(item)

    def replace(self, item: Object) -> Object:
        self._ask("replace", item)
        return self.put(item)

    def delete(self, item: Object) -> None:
        if item["metadata"]["name"] in self.items:
            self._ask("delete", item)
            self.drop(item["metadata"]["name"])
        else:
            self._ask("delete")

    def _ask(self, what: str, item: Object | None = None) -> None:
        self.asked.append(what)
        if self.away:
            raise OSError("unreachable")
        if item is None:
            return
        name = item["metadata"]["name"]
        if self.refusals.get(name):
            self.refusals[name] -= 1
            self.put(self.items[name])  # somebody writes its conditions in the very moment
        if name not in self.items:
            raise ApiError(404, "PUT", "/dnsendpoints")
        if self.items[name]["metadata"]["resourceVersion"] != item["metadata"]["resourceVersion"]:
            raise ApiError(409, "PUT", "/dnsendpoints")


class Writer:
    """The webhook provider without threads: a test itself runs each watch."""

    def __init__(self, *names: str, at_once: int = 1) -> None:
        self.clock, self.lease = Clock(), Held()
        self.server = Server(self.clock, *names)
        self.endpoints = OwnedEndpoints(cast(EdgeApi, self.server), "dns", cast(Lease, self.lease), self.clock)
        self.webhook = DnsEndpointProvider(
            self.endpoints, "dns", cast(Lease, self.lease), SyncThrottle(15, self.clock), at_once
        )

    def names(self) -> list[str]:
        status, body = self.webhook.records()
        assert status == 200
        return sorted(one["dnsName"].removesuffix(".example.com") for one in json.loads(body))

    def apply(self, **changes: Any) -> int:
        return self.webhook.apply(json.dumps(changes).encode())[0]

    def follow(self) -> None:
        """Runs one watch."""
        self.endpoints._version = self.endpoints._watch(self.endpoints._version)


@pytest.mark.parametrize("there", [1, 1000])
def test_at_rest_a_pass_asks_the_edge_for_nothing(there: int) -> None:
    writer = Writer(*(f"n{number}" for number in range(there)))
    for _ in range(600):
        assert len(json.loads(writer.webhook.records()[1])) == there
        assert writer.webhook.adjust(b'[{"dnsName":"a"}]') == (200, b'[{"dnsName":"a"}]')
    assert writer.server.asked == ["list"]
    assert writer.webhook.adjust(b"null\n") == (200, b"[]")


@pytest.mark.parametrize("there", [0, 1000])
def test_a_change_costs_the_same_however_many_there_are(there: int) -> None:
    writer = Writer("a", "b", *(f"n{number}" for number in range(there)))
    writer.names()
    changed = {"updateOld": [record("a")], "updateNew": [record("a", "192.0.2.9")], "delete": [record("b")]}
    assert writer.apply(create=[record("c"), record("d")], **changed) == 204
    assert sorted(writer.server.asked[1:]) == ["create", "create", "delete", "replace"]
    found = {one["dnsName"]: one["targets"][0] for one in json.loads(writer.webhook.records()[1])}
    assert len(found) == there + 3
    assert found["a.example.com"] == "192.0.2.9"
    assert writer.apply(create=[record("c"), record("d")], **changed) == 204
    assert len(writer.server.asked) == 5  # the second time needs no request


def test_what_others_do_is_seen() -> None:
    writer = Writer("a", "b", "c")
    writer.names()
    a, b, new = (object_name(f"{name}.example.com") for name in ("a", "b", "new"))
    writer.server.drop(a)
    edited = writer.server.items[b]
    writer.server.put({**edited, "spec": {"endpoints": [record("b", "192.0.2.66")]}})
    writer.server.put({"metadata": {"name": new}, "spec": {"endpoints": [record("new")]}})
    assert writer.names() == ["a", "b", "c"]
    writer.follow()
    assert writer.names() == ["b", "c", "new"]
    assert "192.0.2.66" in writer.webhook.records()[1].decode()
    # external-dns corrects both. Its writes are cached before their events arrive.
    wrong, right = record("b", "192.0.2.66"), record("b")
    assert writer.apply(create=[record("a")], updateOld=[wrong], updateNew=[right], delete=[record("new")]) == 204
    assert writer.names() == ["a", "b", "c"]
    assert "192.0.2.66" not in writer.webhook.records()[1].decode()


def test_conditions_of_many_objects_do_not_make_the_answer_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    writer = Writer(*(f"n{number}" for number in range(1000)))
    assert len(writer.names()) == 1000
    dumped = list[int]()

    def counted(items: Iterable[Object]) -> list[Object]:
        dumped.append(1)
        return endpoints_of(items)

    monkeypatch.setattr(owned_endpoints, "endpoints_of", counted)
    for item in list(writer.server.items.values()):
        writer.server.put({**item, "status": {"conditions": []}})
    writer.follow()
    assert len(writer.names()) == 1000
    assert not dumped
    name = object_name("n1.example.com")
    writer.server.put({**writer.server.items[name], "spec": {"endpoints": []}})
    writer.follow()
    assert len(writer.names()) == 999
    assert dumped


def test_what_a_watch_tells_late_undoes_nothing() -> None:
    writer = Writer("a")
    writer.names()
    version = writer.endpoints._version
    writer.apply(delete=[record("a")])
    writer.apply(create=[record("a", "192.0.2.2")])
    writer.apply(updateOld=[record("a", "192.0.2.2")], updateNew=[record("a", "192.0.2.3")])
    told = [one["type"] for one in writer.server.events]
    assert told == ["ADDED", "DELETED", "ADDED", "MODIFIED"]
    for event in copy.deepcopy(writer.server.events):
        writer.server.events = [event]
        writer.endpoints._watch(version)
        assert "192.0.2.3" in writer.webhook.records()[1].decode()
    # Nor does an event of a watch that began before a list.
    writer.server.put(writer.server.items[object_name("a.example.com")])
    late = [copy.deepcopy(writer.server.events[-1])]
    writer.server.drop(object_name("a.example.com"))
    writer.lease.term += 1
    assert writer.names() == []
    writer.server.events = late
    writer.endpoints._watch(version)
    assert writer.names() == []


def test_an_object_that_is_not_as_it_was_known_is_read_and_written_again() -> None:
    writer = Writer("a", "b", "c")
    writer.names()
    names = [object_name(f"{name}.example.com") for name in ("a", "b", "c")]
    writer.server.refusals = {names[0]: 2}
    assert writer.apply(delete=[record(name) for name in ("a", "b", "c")]) == 204
    assert writer.server.items == {}
    # Each conflict is one object read, and none holds up another.
    assert writer.server.asked[1:] == ["delete", "read", "delete", "delete", "delete", "read", "delete"]

    # Gone, and made by somebody else, without an event yet.
    writer = Writer("a")
    writer.names()
    writer.server.drop(object_name("a.example.com"))
    new = object_name("new.example.com")
    writer.server.put({"metadata": {"name": new}, "spec": {"endpoints": [record("new", "192.0.2.66")]}})
    changed = {"updateOld": [record("a")], "updateNew": [record("a", "192.0.2.9")]}
    assert writer.apply(create=[record("new")], **changed) == 204
    targets = {name: one["spec"]["endpoints"][0]["targets"] for name, one in writer.server.items.items()}
    assert targets == {object_name("a.example.com"): ["192.0.2.9"], new: ["192.0.2.1"]}


def test_many_are_written_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    writer, together = Writer(at_once=4), threading.Barrier(4, timeout=60)
    writer.names()

    def created(item: Object) -> Object:
        together.wait()
        return writer.server.put(item)

    monkeypatch.setattr(writer.server, "create", created)
    assert writer.apply(create=[record(f"n{number}") for number in range(12)]) == 204
    assert len(writer.names()) == len(writer.server.items) == 12


def test_an_edge_that_goes_away_ends_a_large_change() -> None:
    writer = Writer(at_once=2)
    writer.names()
    writer.server.away = True
    assert writer.apply(create=[record(f"n{number}") for number in range(2000)]) == 503
    assert len(writer.server.asked) - 1 <= 2


def test_what_is_refused_for_ever_or_for_another_reason_is_left_to_a_later_pass() -> None:
    writer = Writer("a", "b")
    writer.names()
    first = object_name("a.example.com")
    writer.server.refusals = {first: 1000}
    assert writer.apply(delete=[record("a"), record("b")]) == 503
    assert [*writer.server.items] == [first]
    before = writer.clock.now
    writer.names()
    assert writer.clock.now - before == 1  # a pass that failed is not repeated at once
    writer.server.away = True
    assert writer.apply(delete=[record("a")]) == 503
    writer.server.away = False


def test_without_the_lease_nothing_is_asked_or_written() -> None:
    writer = Writer("a")
    writer.lease.is_held = False
    assert writer.webhook.records()[0] == 503
    assert writer.server.asked == []
    writer.lease.is_held = True
    writer.names()
    writer.lease.is_held = False
    assert writer.apply(delete=[record("a")]) == 503
    writer.lease.is_held, writer.lease.term = True, 2  # held again, but another may have written meanwhile
    assert writer.apply(delete=[record("a")]) == 503
    assert set(writer.server.asked) == {"list"}
    assert [*writer.server.items] == [object_name("a.example.com")]


def test_who_takes_the_lease_again_lists_anew() -> None:
    writer = Writer("a", "b")
    assert writer.names() == ["a", "b"]
    writer.server.drop(object_name("a.example.com"))
    writer.server.events.clear()
    writer.lease.term += 1
    assert writer.names() == ["b"]
    assert writer.names() == ["b"]
    assert writer.server.asked == ["list", "list"]


def test_when_the_watch_is_lost_nothing_is_answered_until_a_list_was_read() -> None:
    """Otherwise external-dns would plan with old records."""
    writer = Writer("a", "b")
    writer.names()
    writer.clock.now += 600
    writer.server.away = True
    writer.endpoints.follow(writer.endpoints._version)
    assert writer.webhook.records()[0] == 503
    writer.server.away = False
    writer.server.drop(object_name("a.example.com"))
    waited = []
    while (answer := writer.webhook.records())[0] == 503:
        waited.append(writer.clock.now)
    assert [one["dnsName"] for one in json.loads(answer[1])] == ["b.example.com"]
    assert len(waited) < 4
    assert writer.server.asked == ["list", "watch", "list"]


@pytest.mark.parametrize("refused", [True, False], ids=["refused", "ended at once"])
def test_a_server_without_watches_is_not_asked_for_lists_all_the_time(
    refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = Writer("a")

    def watch(*_: Any, **__: Any) -> Iterator[Object]:
        if refused:
            raise ApiError(403, "GET", "/dnsendpoints")
        return iter(())

    monkeypatch.setattr(writer.server, "watch", watch)
    until = writer.clock.now + 3600
    while writer.clock.now < until:
        if writer.webhook.records()[0] == 200:
            writer.endpoints.follow(writer.endpoints._version)
        writer.clock.now += 1
    assert 50 < len(writer.server.asked) < 100


def test_a_version_that_is_too_old_is_a_watch_that_is_lost() -> None:
    writer = Writer("a")
    writer.names()
    gone = {"type": "ERROR", "object": {"kind": "Status", "code": 410, "reason": "Expired"}}
    writer.server.watch = lambda *_, **__: iter([gone])  # type: ignore[method-assign]
    with pytest.raises(OSError, match="Expired"):
        writer.follow()


def test_what_is_written_back_leaves_the_managers_of_fields_alone() -> None:
    writer = Writer("a")
    writer.names()
    assert ["managedFields" in one["metadata"] for one in writer.endpoints.named([object_name("a.example.com")])] == [
        False
    ]
