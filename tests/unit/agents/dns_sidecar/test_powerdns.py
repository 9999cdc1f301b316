"""PowerDNS' LUA records: from properties of a record, and back."""

from __future__ import annotations

import json
import threading
from typing import Any, cast

import pytest

from agents.dns_sidecar.conditions import Zones, evaluate
from agents.dns_sidecar.leader_gate import LeaderGate
from agents.dns_sidecar.lease import Lease
from agents.dns_sidecar.permitted_fields import for_provider, permitted, removed_fields
from agents.dns_sidecar.powerdns import adjusted, for_writer, problem, read_back

NAME, FIRST, SECOND = "web.north.example.com", "192.0.2.1", "192.0.2.2"
WEIGHTS = f"{FIRST}=3,{SECOND}=1"
PICKED = f"A \"pickwrandom({{{{3,'{FIRST}'}},{{1,'{SECOND}'}}}})\""
ZONE = Zones("office", ["north.example.com"], types=["A", "AAAA", "CNAME"], weighted=True)


def record(*targets: str, kind: str = "A", name: str = NAME, **properties: str) -> dict[str, Any]:
    given = [{"name": f"powerdns/{key.replace('_', '-')}", "value": value} for key, value in properties.items()]
    found = {"dnsName": name, "recordType": kind, "targets": list(targets), "recordTTL": 60}
    return {**found, "providerSpecific": given} if given else found


def wanted(*targets: str, **fields: Any) -> dict[str, Any]:
    return adjusted(record(*targets, **fields), supported=True)


def changes(**given: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    return {kind: given.get(kind, []) for kind in ("create", "updateOld", "updateNew", "delete")}


def applied(existing: list[dict[str, Any]], given: dict[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """The server's records after the changes, in the order of external-dns' provider."""
    found = {(one["dnsName"], one["recordType"]): one for one in existing}
    for part in for_writer(given, existing):
        for one in (*part["create"], *part["updateNew"]):
            names = [kind for name, kind in found if name == one["dnsName"] and kind != one["recordType"]]
            assert not names or "CNAME" not in (*names, one["recordType"]), "PowerDNS rejects an alias beside others"
            found[one["dnsName"], one["recordType"]] = one
        for one in part["delete"]:
            found.pop((one["dnsName"], one["recordType"]), None)
    return list(found.values())


CASES = {
    "weights": wanted(FIRST, SECOND, weights=f" {SECOND}=1, {FIRST}=3"),
    "health": wanted(FIRST, SECOND, health_port="443"),
    "both": wanted(FIRST, SECOND, weights=WEIGHTS, health_port="443"),
    "IPv6": wanted("2001:db8::1", kind="AAAA", weights="2001:db8::1=5", health_port="1"),
    "many": wanted(
        *(f"192.0.2.{number}" for number in range(1, 100)),
        weights=",".join(f"192.0.2.{number}={number}" for number in range(1, 100)),
        health_port="65535",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_record_is_read_back_as_it_was_wanted(name: str) -> None:
    """Else external-dns would write it anew each time."""
    given = CASES[name]
    (made,) = applied([], changes(create=[given]))
    assert made["recordType"] == "LUA"
    (found,) = read_back([made])
    assert {**found, "providerSpecific": given["providerSpecific"]} == given
    assert {json.dumps(one) for one in found["providerSpecific"]} == {
        json.dumps(one) for one in given["providerSpecific"]
    }


def test_the_text_of_a_record_is_the_servers_function() -> None:
    (made,) = applied([], changes(create=[CASES["weights"]]))
    assert made == {"dnsName": NAME, "recordType": "LUA", "recordTTL": 60, "targets": [PICKED]}


def test_no_string_of_a_record_is_too_long_or_ends_within_an_address() -> None:
    """PowerDNS joins the strings with a space: `'192.0.2. 1'` is no address."""
    (made,) = applied([], changes(create=[CASES["many"]]))
    strings = made["targets"][0].split('"')[1::2]
    assert len(strings) > 10
    assert max(map(len, strings)) <= 255
    assert all(one.endswith((" ", ",")) for one in strings[:-1])


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        (record(FIRST, SECOND, weights=f"{FIRST}=3"), f"powerdns/weights must have each target once, {SECOND} is in"),
        (record(FIRST, weights=WEIGHTS), f"powerdns/weights must have each target once, {SECOND} is in one"),
        (record(FIRST, weights=f"{FIRST}=0"), "powerdns/weights must be ADDRESS=WEIGHT,..., with weights of 1 to 1000"),
        (record(FIRST, weights=f"{FIRST}=1001"), "powerdns/weights must be ADDRESS=WEIGHT"),
        (record(FIRST, weights=f"{FIRST}=²"), "powerdns/weights must be ADDRESS=WEIGHT"),
        (record(FIRST, weights="x=1"), "a record of type A requires IPv4 addresses"),
        (record(FIRST, weights=""), "powerdns/weights must be ADDRESS=WEIGHT"),
        (record(FIRST, health_port="0"), "powerdns/health-port must be a port, 1 to 65535"),
        (record(FIRST, health_port="443,{})"), "powerdns/health-port must be a port"),
        (record("a.example.com", kind="CNAME", weights="a=1"), "powerdns/weights requires a record of type A or AAAA"),
        (record("fe80::1%'})os", kind="AAAA", health_port="1"), "a record of type AAAA requires IPv6 addresses"),
        (record(*(f"10.0.0.{n}" for n in range(101)), health_port="1"), "powerdns/health-port allows at most 100 targ"),
    ],
)
def test_a_wrong_property_has_no_effect_and_is_reported(given: dict[str, Any], rule: str) -> None:
    assert problem(given).startswith(rule)
    assert adjusted(given, supported=True) == {**given, "providerSpecific": []}
    if given["recordType"] == "A" and "x" not in rule:
        found = evaluate({"metadata": {}, "spec": {"endpoints": [given]}}, [ZONE], lambda _: set(given["targets"]))
        assert f"not passed on: {NAME} ({rule}" in found.accepted[2]
        assert found.ready[1] == "Programmed"


def test_properties_pass_from_an_edge_and_from_annotations() -> None:
    given = record(FIRST, SECOND, weights=WEIGHTS)
    given["providerSpecific"] += [
        {"name": "webhook/powerdns-health-port", "value": "443"},
        {"name": "powerdns/code", "value": "os.exit()"},
    ]
    assert for_provider(permitted(given))["providerSpecific"] == [
        {"name": "powerdns/weights", "value": WEIGHTS},
        {"name": "powerdns/health-port", "value": "443"},
    ]
    assert removed_fields(given) == ["powerdns/code"]


def test_another_provider_does_not_receive_them_and_the_condition_names_it() -> None:
    given = record(FIRST, SECOND, weights=WEIGHTS)
    assert adjusted(given, supported=False) == {**given, "providerSpecific": []}
    plain = Zones("office", ["north.example.com"], types=["A"])
    item = {"metadata": {}, "spec": {"endpoints": [given]}}
    found = evaluate(item, [plain], lambda _: {FIRST})
    assert "(powerdns/weights: its provider has no weighted answers of PowerDNS)" in found.accepted[2]
    assert found.ready[1] == "Pending"  # a plain answer has all targets


def test_a_weighted_name_is_programmed_by_an_answer_of_some_of_its_targets() -> None:
    item = {"metadata": {}, "spec": {"endpoints": [record(FIRST, SECOND, weights=WEIGHTS)]}}
    for answer, reason in (({FIRST}, "Programmed"), (set(), "Pending"), ({"192.0.2.9"}, "Pending")):
        assert evaluate(item, [ZONE], lambda _, found=answer: set(found)).ready[1] == reason


def test_both_families_of_a_name_are_one_set() -> None:
    six = wanted("2001:db8::1", kind="AAAA", weights="2001:db8::1=1")
    both = applied([], changes(create=[CASES["weights"], six]))
    assert [len(one["targets"]) for one in both] == [2]
    # A change of one leaves the other, and so does its end.
    changed = wanted(FIRST, SECOND, weights=f"{FIRST}=1,{SECOND}=1")
    both = applied(both, changes(updateOld=[CASES["weights"]], updateNew=[changed]))
    assert [one["providerSpecific"] for one in read_back(both)] == [
        changed["providerSpecific"],
        six["providerSpecific"],
    ]
    (left,) = applied(both, changes(delete=[changed]))
    assert [one["recordType"] for one in read_back([left])] == ["AAAA"]
    assert applied([left], changes(delete=[six])) == []


def test_a_record_becomes_weighted_and_plain_again() -> None:
    plain, weighted = record(FIRST, SECOND), CASES["weights"]
    (made,) = applied([plain], changes(updateOld=[plain], updateNew=[weighted]))
    assert made["recordType"] == "LUA"
    assert applied([made], changes(updateOld=[weighted], updateNew=[plain])) == [plain]


def test_an_interrupted_change_is_finished() -> None:
    plain, weighted = record(FIRST, SECOND), CASES["weights"]
    both = [plain, *applied([], changes(create=[weighted]))]
    assert read_back(both) == [plain]  # so external-dns plans the change once more
    (made,) = applied(both, changes(updateOld=[plain], updateNew=[weighted]))
    assert made["recordType"] == "LUA"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (record("a.example.com", kind="CNAME"), record(FIRST)),
        (record(FIRST), record("a.example.com", kind="CNAME")),
        (record("a.example.com", kind="CNAME"), CASES["weights"]),
    ],
)
def test_an_alias_goes_before_another_record_comes(before: dict[str, Any], after: dict[str, Any]) -> None:
    assert applied([before], changes(create=[after], delete=[before]))[0]["recordType"] in ("LUA", after["recordType"])


def test_a_weighted_record_gives_way_to_an_alias() -> None:
    alias = record("a.example.com", kind="CNAME")
    made = applied([], changes(create=[CASES["weights"]]))
    assert applied(made, changes(create=[alias], delete=[CASES["weights"]])) == [alias]


def test_a_foreign_lua_record_is_seen_and_stays() -> None:
    """Without its owner, external-dns writes no record of this name and type."""
    foreign = {"dnsName": NAME, "recordType": "LUA", "targets": ["A \"country('NL')\""], "recordTTL": 1}
    (seen,) = read_back([foreign])
    assert (seen["recordType"], seen["targets"]) == ("A", ["A \"country('NL')\""])
    six = wanted("2001:db8::1", kind="AAAA", weights="2001:db8::1=1")
    (both,) = applied([foreign], changes(create=[six]))
    assert both["targets"][0] == "A \"country('NL')\""
    assert applied([both], changes(delete=[six]))[0]["targets"] == ["A \"country('NL')\""]


def test_the_registrys_record_has_the_properties_too_and_stays_as_it_is() -> None:
    text = record('"heritage=external-dns"', kind="TXT", name=f"a-owner.{NAME}", weights=WEIGHTS)
    assert for_writer(changes(create=[text]), []) == [changes(create=[text])]


class Held:
    """A Lease that is held."""

    is_terminating, term = False, 1

    def __init__(self) -> None:
        self.writing = threading.Lock()

    def held(self) -> bool:
        return True

    def wait(self, _seconds: float) -> bool:
        return True

    def report_refusal(self, _text: str) -> None:
        """Nobody reads it."""


def test_the_gate_converts_in_both_directions(monkeypatch: pytest.MonkeyPatch) -> None:
    gate, sent, kept = LeaderGate(cast(Lease, Held()), 1, 60, answers="weighted"), list[Any](), list[Any]()

    def request(method: str, path: str, body: bytes | None = None) -> tuple[int, bytes]:
        if method == "GET":
            return 200, json.dumps(kept).encode()
        sent.append((path, json.loads(body or b"")))
        return (204, b"") if path == "/records" else (200, body or b"")

    monkeypatch.setattr(gate, "_request", request)
    kept += applied([], changes(create=[CASES["weights"]]))
    assert [one["recordType"] for one in json.loads(gate.records()[1])] == ["A"]
    _, adjusted_body = gate.adjust(json.dumps([record(FIRST, SECOND, weights=f"{SECOND}=1,{FIRST}=3")]).encode())
    assert json.loads(adjusted_body) == [CASES["weights"]]
    gate.apply(json.dumps(changes(delete=[CASES["weights"]])).encode())
    assert sent[-1][1]["delete"][0]["recordType"] == "LUA"
    # With plain answers the properties go, and the records become plain ones.
    plain = LeaderGate(cast(Lease, Held()), 1, 60, answers="plain")
    monkeypatch.setattr(plain, "_request", request)
    _, adjusted_body = plain.adjust(json.dumps([record(FIRST, weights=f"{FIRST}=1")]).encode())
    assert json.loads(adjusted_body)[0]["providerSpecific"] == []
