"""DNSEndpoints of records, and their conditions."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar, cast

import pytest

from agents.dns_sidecar.api import ApiError, EndpointsApi, OwnEndpointsApi
from agents.dns_sidecar.conditions import Zones, evaluate, invalid_reason, status_with
from agents.dns_sidecar.lease import Lease
from agents.dns_sidecar.permitted_fields import permitted, removed_fields
from agents.dns_sidecar.records import endpoints_of, object_name, required_writes
from agents.dns_sidecar.resolver import Resolver
from agents.dns_sidecar.status_updater import PUBLISHING_SECONDS, ProviderRefusals, StatusUpdater

ZONES = [Zones("inner", ["north.example.com"], ["own.north.example.com"], types=["A", "AAAA", "CNAME"])]


def record(name: str, *targets: str, kind: str = "A", **fields: Any) -> dict[str, Any]:
    return {"dnsName": name, "recordType": kind, "targets": list(targets), **fields}


def stored(*endpoints: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    name = object_name(endpoints[0]["dnsName"])
    return {
        "metadata": {"name": name, "namespace": "dns", "uid": "1", "resourceVersion": "2", "generation": 3, **metadata},
        "spec": {"endpoints": list(endpoints)},
    }


def applied(objects: list[dict[str, Any]], changes: dict[str, Any]) -> list[dict[str, Any]]:
    """The objects after the changes."""
    found = {item["metadata"]["name"]: item for item in objects}
    for write in required_writes(objects, changes, "dns"):
        if write.verb == "delete":
            del found[write.item["metadata"]["name"]]
        else:
            found[write.item["metadata"]["name"]] = write.item
    return list(found.values())


def test_a_name_is_one_object_and_goes_with_its_last_record() -> None:
    four, six = (
        record("web.north.example.com", "192.0.2.1"),
        record("web.north.example.com", "2001:db8::1", kind="AAAA"),
    )
    (made,) = applied([], {"create": [four, six], "updateNew": None})
    assert endpoints_of([made]) == [four, six]
    assert made["metadata"]["name"] == object_name("web.north.example.com")
    (left,) = applied([made], {"delete": [six]})
    assert endpoints_of([left]) == [four]
    assert applied([left], {"delete": [four]}) == []


def test_annotations_of_the_source_are_labels_of_the_object() -> None:
    """external-dns passes them on as properties of the record, and plans a change when they change."""

    def seen(*properties: tuple[str, str]) -> dict[str, Any]:
        return record(
            "web.north.example.com", "192.0.2.1", providerSpecific=[{"name": n, "value": v} for n, v in properties]
        )

    owner = {"hosted-mesh.io/dns-writer": "edge-writer"}
    inner, outer = seen(("webhook/view", "inner")), seen(("webhook/view", "outer"), ("aws/weight", "1"))
    (made,) = applied([], {"create": [inner]})
    assert made["metadata"]["labels"] == {"view": "inner", **owner}
    (changed,) = applied([made], {"updateOld": [inner], "updateNew": [outer]})
    assert changed["metadata"]["labels"] == {"view": "outer", **owner}
    assert endpoints_of([changed]) == [outer]
    # What is no label would be rejected by the edge, with all records beside it.
    odd = seen(("webhook/a/b", "x"), ("webhook/hosted-mesh.io/dns-writer", "x"), ("webhook/view", "no label"))
    assert applied([], {"create": [odd]})[0]["metadata"]["labels"] == owner
    # It goes no further than the object, and nobody needs to be told.
    assert "webhook/view" not in json.dumps(permitted(outer))
    assert removed_fields(outer) == []
    verdict = evaluate({**made, "metadata": {**made["metadata"], "generation": 1}}, VIEWS, lambda _: {"192.0.2.1"})
    assert verdict.ready[1] == "Programmed"
    plain = {**stored(record("web.north.example.com", "192.0.2.1")), "metadata": {"labels": owner, "generation": 1}}
    message = evaluate(plain, VIEWS, lambda _: set()).accepted[2]
    assert message.endswith("; annotate its source, as external-dns.alpha.kubernetes.io/webhook-KEY: VALUE")


def test_half_of_a_change_is_finished_by_the_next_and_twice_is_once() -> None:
    old, new = record("web.north.example.com", "192.0.2.1"), record("web.north.example.com", "192.0.2.2")
    other = record("two.north.example.com", "192.0.2.3")
    changes = {"create": [other], "updateOld": [old], "updateNew": [new]}
    whole = applied([stored(old)], changes)
    assert endpoints_of(whole) == [new, other]
    half = applied([stored(old)], {"create": [other]})
    assert sorted(map(str, endpoints_of(applied(half, changes)))) == sorted(map(str, endpoints_of(whole)))
    assert required_writes(whole, changes, "dns") == []


def test_two_names_that_look_alike_are_two_objects() -> None:
    names = ["a.b.example.com", "a-b.example.com", "*.b.example.com", "any.b.example.com", "x" * 60 + ".example.com"]
    found = [object_name(name) for name in names]
    assert len(set(found)) == len(names)
    assert all(len(name) <= 63 and name[0].isalnum() for name in found)


@pytest.mark.parametrize(
    ("endpoint", "reason"),
    [
        (record("*.north.example.com", "192.0.2.1"), ""),
        (record("_sip._tcp.north.example.com", "1 1 5060 sip.example.com", kind="SRV"), ""),
        (record("a.*.north.example.com", "192.0.2.1"), "is not a host name"),
        (record("web north.example.com", "192.0.2.1"), "is not a host name"),
        (record("north", "192.0.2.1"), "is not a host name"),
        (record("web.north.example.com", "192.0.2.1", recordTTL=604801), "recordTTL must be 0 to 604800 seconds"),
        (record("web.north.example.com", "192.0.2.1", recordTTL=-1), "recordTTL must be 0 to 604800 seconds"),
        (record("web.north.example.com"), "has no targets"),
        (record("north.example.com", "10 mail.example.com", kind="MX"), ""),
        (record("north.example.com", "mail.example.com", kind="MX"), "a record of type MX requires targets of a num"),
        (record("web.north.example.com", "web.example.com"), "a record of type A requires IPv4 addresses as targets"),
        (record("web.north.example.com", "192.0.2.1", kind="AAAA"), "a record of type AAAA requires IPv6 addresses"),
    ],
)
def test_a_record_that_cannot_be(endpoint: dict[str, Any], reason: str) -> None:
    assert invalid_reason(endpoint).startswith(reason)
    assert bool(invalid_reason(endpoint)) is bool(reason)


@pytest.mark.parametrize(
    ("name", "answered", "accepted", "ready"),
    [
        ("web.north.example.com", {"192.0.2.1", "192.0.2.9"}, ("True", "Accepted"), ("True", "Programmed")),
        ("web.north.example.com", {"192.0.2.9"}, ("True", "Accepted"), ("False", "Pending")),
        ("web.south.example.com", {"192.0.2.1"}, ("False", "Filtered"), ("False", "Filtered")),
        ("a.own.north.example.com", {"192.0.2.1"}, ("False", "Filtered"), ("False", "Filtered")),
        ("*.example.com", {"192.0.2.1"}, ("False", "Filtered"), ("False", "Filtered")),
        ("web..north.example.com", {"192.0.2.1"}, ("False", "Invalid"), ("False", "Invalid")),
    ],
)
def test_the_verdict(name: str, answered: set[str], accepted: tuple[str, str], ready: tuple[str, str]) -> None:
    verdict = evaluate(stored(record(name, "192.0.2.1")), ZONES, lambda _: answered)
    assert (verdict.accepted[:2], verdict.ready[:2]) == (accepted, ready)
    assert verdict.is_final is (ready[1] != "Pending")


def of_alias(answers: dict[str, set[str]], **fields: Any) -> str:
    """The reason of Ready for an alias of lb.example.net."""
    item = stored(record("web.north.example.com", "LB.example.net.", kind="CNAME", **fields))
    return evaluate(item, ZONES, lambda name: answers.get(name, set())).ready[1]


def test_an_alias_is_answered_by_its_target_and_by_no_other_record() -> None:
    web, target = "web.north.example.com", "lb.example.net"
    assert of_alias({web: {target}}) == "Programmed"
    # Resolved by the provider: an alias of Route 53, or a flattened one.
    assert of_alias({web: {"192.0.2.1"}, target: {"192.0.2.1", "192.0.2.2"}}) == "Programmed"
    # Another's old record of this name.
    assert of_alias({web: {"192.0.2.66"}, target: {"192.0.2.1"}}) == "Pending"
    assert of_alias({web: {"old.example.net", "192.0.2.66"}}) == "Pending"
    assert of_alias({}) == "Pending"
    proxied = [{"name": "external-dns.alpha.kubernetes.io/cloudflare-proxied", "value": "true"}]
    assert of_alias({web: {"192.0.2.66"}}, providerSpecific=proxied) == "Programmed"


def test_names_of_a_provider_that_proxies_resolve_to_its_addresses() -> None:
    zones = [Zones("cf", ["north.example.com"], types=["A"], proxied=True)]
    item = stored(record("web.north.example.com", "192.0.2.1"))
    assert evaluate(item, zones, lambda _: {"198.51.100.1"}).ready[1] == "Programmed"
    assert evaluate(item, zones, lambda _: set()).ready[1] == "Pending"


def test_a_name_in_capitals_is_the_same_name() -> None:
    asked = []

    def resolve(name: str) -> set[str]:
        asked.append(name)
        return {"192.0.2.1"}

    item = stored(record("Web.North.Example.COM.", "192.0.2.1"))
    assert evaluate(item, ZONES, resolve).ready[1] == "Programmed"
    assert asked == ["web.north.example.com"]
    assert permitted(record("Web.North.Example.COM", "192.0.2.1"))["dnsName"] == "web.north.example.com"


VIEWS = [
    Zones("inner", ["north.example.com"], types=["A"], labels={"view": "inner"}),
    Zones("outer", ["north.example.com", "example.net"], types=["A", "TXT"], labels={"view": "outer"}),
]


@pytest.mark.parametrize(
    ("kind", "labels", "reason", "message"),
    [
        ("A", {"view": "inner"}, "Accepted", "In zones of inner"),
        ("TXT", {"view": "outer", "app": "web"}, "Accepted", "In zones of outer"),
        ("TXT", {"view": "inner"}, "Filtered", "a record of type TXT; its zone publishes A"),
        ("A", {}, "Filtered", "its zone requires the label view=inner or view=outer on the object"),
    ],
)
def test_what_no_provider_publishes_says_so(kind: str, labels: dict[str, str], reason: str, message: str) -> None:
    """Otherwise its condition would stay pending, or, for types that are not resolved, become ready."""
    item = stored(record("web.north.example.com", "192.0.2.1", kind=kind), labels=labels)
    verdict = evaluate(item, VIEWS, lambda _: {"192.0.2.1"})
    assert verdict.accepted[1] == reason
    assert verdict.accepted[2].removeprefix("web.north.example.com: ") == message
    assert (verdict.ready[0] == "True") is (reason == "Accepted")


def test_records_of_a_type_that_is_left_out_are_not_waited_for() -> None:
    """As the IPv6 address of a load balancer where only IPv4 is published."""
    six = record("web.north.example.com", "2001:db8::1", kind="AAAA")
    item = stored(record("web.north.example.com", "192.0.2.1"), six, labels={"view": "inner"})
    verdict = evaluate(item, VIEWS, lambda _: {"192.0.2.1"})
    said = "In zones of inner; not published there: web.north.example.com (AAAA)"
    assert verdict.accepted[1:] == ("Accepted", said)
    assert verdict.ready[1] == "Programmed"


def test_what_external_dns_is_not_told_of_a_record_is_said() -> None:
    group = {"name": "coredns/group", "value": "g"}
    written = record("web.north.example.com", "192.0.2.1", labels={"192.0.2.1": "istiod"}, providerSpecific=[group])
    found = record("gateway.north.example.com", "192.0.2.1", labels={"resource": "gateway/shop/web", "owner": ""})
    weighted = record("w.north.example.com", "192.0.2.1", providerSpecific=[{"name": "aws/weight", "value": "9"}])
    verdict = evaluate(stored(written, found, weighted), ZONES, lambda _: {"192.0.2.1"})
    said = "In zones of inner; not passed on: web.north.example.com (labels, coredns/group)"
    assert verdict.accepted == ("True", "Accepted", said)


def test_who_does_not_publish_an_object_does_not_fail_it() -> None:
    item = stored(record("web.north.example.com", "192.0.2.1"), labels={"view": "inner"})
    refused = {"outer": "to take changes"}
    assert evaluate(item, VIEWS, lambda _: set(), refused).ready[1] == "Pending"


def test_a_message_names_the_first_of_many() -> None:
    item = stored(*(record(f"n{number}.south.example.com", "192.0.2.1") for number in range(10, 40)))
    message = evaluate(item, ZONES, lambda _: set()).accepted[2]
    assert message.startswith("n10.south.example.com, n11.south.example.com, ")
    assert "n19.south.example.com, and 20 more: not within this cluster's zones (north.example.com)" in message


def test_a_condition_keeps_its_time_until_it_turns() -> None:
    item = stored(record("web.north.example.com", "192.0.2.1"))
    waiting = status_with(item, evaluate(item, ZONES, lambda _: set()), "2026-01-01T00:00:00Z")
    item["status"] = waiting
    assert status_with(item, evaluate(item, ZONES, lambda _: set()), "2026-01-02T00:00:00Z") == waiting
    done = status_with(item, evaluate(item, ZONES, lambda _: {"192.0.2.1"}), "2026-01-03T00:00:00Z")
    assert [one["lastTransitionTime"][:10] for one in done["conditions"]] == ["2026-01-01", "2026-01-03"]
    assert done["observedGeneration"] == 3


class Held:
    """A Lease, as its holder sees it."""

    is_held = True

    def held(self) -> bool:
        return self.is_held

    def wait(self, seconds: float) -> bool:
        return self.is_held


class Refused:
    by: ClassVar[dict[str, str]] = {}

    def by_provider(self) -> dict[str, str]:
        return self.by


class Slow:
    """A resolver. Each response takes a millisecond of the clock's time."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.found: set[str] = set()
        self.now, self._lock = 100.0, threading.Lock()

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def addresses(self, name: str) -> set[str]:
        with self._lock:
            self.now += 0.001
            self.asked.append(name)
        return self.found


class Watched:
    """An API server with DNSEndpoints. Each watch returns the events since the last one."""

    def __init__(self, *items: dict[str, Any]) -> None:
        self.items = {item["metadata"]["uid"]: item for item in items}
        self.events = [{"type": "ADDED", "object": item} for item in items]
        self.written, self.asked, self.version = list[str](), list[int](), 10
        self.refuses, self._lock = 0, threading.Lock()
        self.refused = set[str]()

    def watch(self, version: str, seconds: int) -> Iterator[dict[str, Any]]:
        self.asked.append(seconds)
        while self.events:
            yield self.events.pop(0)
        yield {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": str(self.version)}}}

    def replace_status(self, item: dict[str, Any]) -> dict[str, Any]:
        if self.refuses:
            raise ApiError(self.refuses, "PUT", "/status")
        if item["metadata"]["uid"] in self.refused:
            raise ApiError(403, "PUT", "/status")
        with self._lock:
            self.written.append(item["metadata"]["uid"])
            return self.put(item)

    def put(self, item: dict[str, Any]) -> dict[str, Any]:
        self.version += 1
        made = {**item, "metadata": {**item["metadata"], "resourceVersion": str(self.version)}}
        self.items[item["metadata"]["uid"]] = made
        self.events.append({"type": "MODIFIED", "object": made})
        return made

    def reasons(self, uid: str = "1") -> list[str]:
        return [one["reason"] for one in self.items[uid]["status"]["conditions"]]


class Keeping:
    """The keeper of conditions, without its threads."""

    def __init__(self, *items: dict[str, Any], yields: Callable[[], bool] = lambda: False) -> None:
        self.api, self.known, self.lease, self.refusals = Watched(*items), Slow(), Held(), Refused()
        self.keeper = StatusUpdater(
            cast(EndpointsApi, self.api),
            ZONES,
            cast(Lease, self.lease),
            cast(ProviderRefusals, self.refusals),
            cast(Resolver, self.known),
            self.known,
            yields,
        )

    def step(self) -> int:
        """Runs one watch, and one round when its objects are due. Returns the number of resolved names."""
        before = len(self.known.asked)
        self.keeper._follow("1")
        self.known.now += PUBLISHING_SECONDS
        self.keeper._round()
        return len(self.known.asked) - before


def test_what_is_waited_for_is_looked_at_again_soon() -> None:
    one = Keeping(stored(record("web.north.example.com", "192.0.2.1")))
    assert (one.step(), one.api.written) == (1, [])
    one.known.now += 5
    assert one.step() == 1
    assert one.api.reasons() == ["Accepted", "Pending"]
    one.refusals.by = {"inner": "it does not take changes"}
    assert one.step() == 0  # the watch returns the own write as an event
    one.known.now += 5
    assert one.step() == 1
    assert one.api.reasons() == ["Accepted", "Failed"]
    message = one.api.items["1"]["status"]["conditions"][1]["message"]
    assert "provider inner refuses: it does not take changes" in message
    one.known.now += 5
    assert (one.step(), len(one.api.written)) == (1, 2)  # nothing new, so nothing is written
    one.known.found = {"192.0.2.1"}
    one.known.now += 5
    one.step()
    assert one.api.reasons() == ["Accepted", "Programmed"]
    one.known.now += 5
    assert one.step() == 0
    assert set(one.api.asked) == {3600}  # resolving does not shorten the watch
    one.lease.is_held = False
    assert one.keeper._follow("1") == ""


def test_what_changed_or_went_while_it_was_looked_at_is_looked_at_as_it_is_now() -> None:
    one = Keeping(stored(record("web.north.example.com", "192.0.2.1")))
    one.keeper._follow("1")
    moved = stored(record("web.north.example.com", "192.0.2.2"), resourceVersion="5", generation=4)
    one.known.found = {"192.0.2.1"}
    one.api.refuses = 409  # somebody else's came first
    one.known.now += PUBLISHING_SECONDS
    one.keeper._round()
    one.api.refuses, one.known.found = 0, {"192.0.2.2"}
    one.api.put(moved)
    one.step()
    assert one.api.reasons() == ["Accepted", "Programmed"]
    for there in (True, False):
        one = Keeping(stored(record("web.north.example.com", "192.0.2.1")))
        one.keeper._follow("1")
        took = one.keeper._take
        one.known.addresses = lambda name: took(moved, there=there) or set()  # type: ignore # noqa: B023
        one.known.now += PUBLISHING_SECONDS
        one.keeper._round()
        assert (list(one.keeper._fresh.values()), one.keeper._pending) == ([moved] if there else [], {})


def test_what_is_not_written_without_the_lease_is_not_forgotten() -> None:
    one = Keeping(stored(record("web.north.example.com", "192.0.2.1")))
    one.known.found = {"192.0.2.1"}
    one.keeper._follow("1")
    one.lease.is_held = False
    one.known.now += PUBLISHING_SECONDS
    one.keeper._round()
    assert (one.known.asked, one.api.written) == (["web.north.example.com"], [])
    one.lease.is_held = True
    one.known.now += 5
    one.keeper._round()
    assert one.api.reasons() == ["Accepted", "Programmed"]


def test_an_object_whose_conditions_the_edge_refuses_holds_up_no_other() -> None:
    names = ["bad.north.example.com", "good.north.example.com"]
    both = Keeping(*(stored(record(name, "192.0.2.1"), uid=name) for name in names))
    both.known.found, both.api.refused = {"192.0.2.1"}, {names[0]}
    both.step()
    assert both.api.written == [names[1]]
    assert both.api.reasons(names[1]) == ["Accepted", "Programmed"]
    both.api.refused = set()
    both.known.now += 5
    both.step()
    assert both.api.reasons(names[0]) == ["Accepted", "Programmed"]


def test_many_names_are_looked_at_in_turn_for_a_second_at_a_time() -> None:
    """An own write that comes back as an event causes no second check."""
    count = 5000
    names = [f"n{number}.north.example.com" for number in range(count)]
    many = Keeping(*(stored(record(name, "192.0.2.1"), uid=name) for name in names))
    looks = [many.step() for _ in range(count // 1000)]
    assert all(1000 <= one <= 1000 + 2 * 8 for one in looks)
    assert len(set(many.known.asked)) == len(many.known.asked) >= count
    assert many.keeper._fresh == {}
    many.known.found = {"192.0.2.1"}
    while many.keeper._pending:
        many.step()
    assert len(many.known.asked) <= 2 * count + 2 * 8
    assert sorted(many.api.written) == sorted(names)
    assert many.step() == 0


def test_an_answered_name_has_one_write_and_no_query_before_it_can_be_published() -> None:
    one = Keeping(stored(record("web.north.example.com", "192.0.2.1")))
    one.known.found = {"192.0.2.1"}
    one.keeper._follow("1")
    one.known.now += PUBLISHING_SECONDS - 0.1
    one.keeper._round()
    assert one.known.asked == []
    for _ in range(3):
        one.known.now += 5
        one.step()
    assert (one.api.reasons(), one.api.written) == (["Accepted", "Programmed"], ["1"])


@pytest.mark.parametrize(
    ("refused", "name", "reason", "after"),
    [
        ({}, "web.north.example.com", "Pending", 7.0),
        ({"inner": "it does not take changes"}, "web.north.example.com", "Failed", 2.0),
        ({}, "web.south.example.com", "Filtered", 2.0),
    ],
)
def test_a_name_without_an_answer_gets_its_reason_in_time(
    refused: dict[str, str], name: str, reason: str, after: float
) -> None:
    one = Keeping(stored(record(name, "192.0.2.1")))
    one.refusals.by = refused
    began = one.known.now
    one.keeper._follow("1")
    while not one.api.written:
        one.known.now = max(one.known.now, one.keeper._next_due())
        one.keeper._round()
    assert one.api.reasons()[1] == reason
    assert one.known.now - began == pytest.approx(after, abs=0.1)


def test_an_object_that_changes_each_second_is_checked_too() -> None:
    item = stored(record("web.north.example.com", "192.0.2.1"))
    one = Keeping(item)
    one.known.found = {"192.0.2.1"}
    for _ in range(4):
        one.api.put(item)
        one.keeper._follow("1")
        one.known.now += 1
        one.keeper._round()
    assert one.api.written == ["1"] * 2


@pytest.mark.parametrize(("seconds", "waited"), [(0.0, 0.0), (3.0, 3.0), (600.0, 10.0)])
def test_checks_wait_for_a_change_for_ten_seconds_at_most(seconds: float, waited: float) -> None:
    one = Keeping(yields=lambda: one.known.now < 100.0 + seconds)
    one.keeper._yield_to_writes()
    assert one.known.now == pytest.approx(100.0 + waited, abs=0.2)


def test_each_round_lets_other_writes_come_first() -> None:
    def yields() -> bool:
        raise InterruptedError

    one = Keeping(stored(record("web.north.example.com", "192.0.2.1")), yields=yields)
    one.keeper._follow("1")
    one.known.now += PUBLISHING_SECONDS
    with pytest.raises(InterruptedError):
        one.keeper.run()
    assert one.known.asked == []


def test_own_records_are_those_of_the_pods_namespace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An account with rights in one namespace may list nothing else."""
    (tmp_path / "namespace").write_text("hosted-mesh-dns")
    asked = []

    def call(_: Any, method: str, path: str, body: Any = None) -> Any:
        asked.append((method, path, body))
        return {"items": [], "metadata": {"resourceVersion": "7"}}

    monkeypatch.setattr(OwnEndpointsApi, "call", call)
    api = OwnEndpointsApi(tmp_path)
    assert api.list() == ([], "7")
    item = stored(record("a.mesh.example.com", "192.0.2.1"))
    api.replace_status(item)
    within = "/apis/externaldns.k8s.io/v1alpha1/namespaces"
    assert [path for _, path, _ in asked] == [
        f"{within}/hosted-mesh-dns/dnsendpoints?limit=500",
        f"{within}/dns/dnsendpoints/{item['metadata']['name']}/status",
    ]
