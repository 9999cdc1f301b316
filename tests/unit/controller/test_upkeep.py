"""Upkeep: the function of facts, the budget of repairs, policies, and results in the object's status."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace as Event
from typing import Any

import pytest
from hosted_mesh_controller.job.certificates import certificates
from hosted_mesh_controller.job.drift import Drift
from hosted_mesh_controller.job.engine_events import Recorder
from hosted_mesh_controller.settings import Upkeep
from hosted_mesh_controller.store import orders
from hosted_mesh_controller.store.upkeep import Certificate, Facts
from hosted_mesh_controller.vocabulary import Action, Repair, State
from hosted_mesh_controller.work.upkeep import Schedule, due

from tests.unit.controller.service import Service, documents

NOW = 1_800_000_000.0
DAY, HOUR = 86400.0, 3600.0
RULES = Upkeep(repair=Repair.ALWAYS, repairs=3, window_seconds=86400, every_seconds=3600)
READY = Facts("acme", "meshes", "shop", 1, changed=NOW - 60)
STEP = {"action": "update", "resource": "istiod", "kind": "kubernetes:core/v1:Service", "fields": ["spec.ports"]}
PATH = "/v1/tenants/acme/meshes/acme-mesh"


def actions(facts: Facts, rules: Upkeep = RULES) -> list[Action]:
    return [one.action for one in due([facts], rules, NOW)]


def test_a_check_is_due_after_its_interval() -> None:
    assert actions(READY) == []
    assert actions(replace(READY, changed=NOW - HOUR)) == [Action.CHECK]
    assert actions(replace(READY, changed=NOW - DAY, checked=NOW - 60)) == []
    assert actions(replace(READY, changed=NOW - DAY, checked=NOW - HOUR)) == [Action.CHECK]
    assert actions(replace(READY, changed=NOW - DAY, is_busy=True)) == []
    assert actions(replace(READY, changed=NOW - DAY), RULES.model_copy(update={"every_seconds": None})) == []


def test_drift_is_mended_by_policy_and_within_the_budget() -> None:
    drifted = replace(READY, checked=NOW - 60, has_drift=True)
    assert actions(drifted) == [Action.REPAIR]
    assert actions(replace(drifted, repair=Repair.REPORT)) == []
    reporting = RULES.model_copy(update={"repair": Repair.REPORT})
    assert actions(drifted, reporting) == []
    assert actions(replace(drifted, repair=Repair.ALWAYS), reporting) == [Action.REPAIR]
    earlier = (NOW - 9 * HOUR, NOW - 8 * HOUR)
    assert actions(replace(drifted, repairs=earlier)) == [Action.REPAIR]
    assert actions(replace(drifted, repairs=(*earlier, NOW - 2 * HOUR))) == []
    # The oldest one leaves the window.
    assert actions(replace(drifted, repairs=(NOW - DAY, *earlier))) == [Action.REPAIR]
    # A failed repair is not tried again at once, and a checked object goes on to be checked.
    assert actions(replace(drifted, repairs=(NOW - 60,))) == []
    held = replace(drifted, repairs=(*earlier, NOW - 2 * HOUR), checked=NOW - HOUR)
    assert actions(held) == [Action.CHECK]


def test_two_writers_do_not_fight() -> None:
    """Another writer undoes each repair at once: within ten days there are three repairs a day, and no more."""
    facts, mended = replace(READY, changed=NOW, checked=NOW), list[float]()
    moment = NOW
    while moment < NOW + 10 * DAY:
        for one in due([facts], RULES, moment):
            if one.action is Action.REPAIR:
                mended.append(moment)
                facts = replace(facts, has_drift=False, checked=moment, repairs=(*facts.repairs, moment))
            else:
                facts = replace(facts, has_drift=True, checked=moment)
        moment += 60
    assert len(mended) == 30
    for first, fourth in zip(mended, mended[3:], strict=False):
        assert fourth - first >= DAY


def test_a_certificate_is_renewed_before_its_end() -> None:
    def with_end(renew_from: float, **more: Any) -> Facts:
        later = Certificate("root", NOW + 900 * DAY, NOW + 500 * DAY)
        return replace(READY, certificates=(later, Certificate("intermediate", NOW + 60 * DAY, renew_from)), **more)

    assert actions(with_end(NOW + 1)) == []
    assert actions(with_end(NOW)) == [Action.RENEW]
    # Before repairs and checks, also without checks, and under any policy of repair.
    assert actions(with_end(NOW - DAY, has_drift=True, checked=NOW - DAY)) == [Action.RENEW]
    assert actions(with_end(NOW - DAY, repair=Repair.REPORT), RULES.model_copy(update={"every_seconds": None})) == [
        Action.RENEW
    ]
    assert actions(with_end(NOW - DAY, is_busy=True)) == []
    # A renewal that failed, or does not help, is tried once in an hour.
    assert actions(with_end(NOW - DAY, renewed=NOW - HOUR + 1)) == []
    assert actions(with_end(NOW - DAY, renewed=NOW - HOUR)) == [Action.RENEW]


def test_the_most_urgent_comes_first() -> None:
    checked = [replace(READY, name=f"n{at}", changed=NOW - DAY - at) for at in range(3)]
    drifted = replace(READY, name="drifted", checked=NOW - 60, has_drift=True)
    ending = replace(READY, name="ending", certificates=(Certificate("a", NOW, NOW - DAY),))
    found = due([*checked, drifted, ending], RULES, NOW)
    assert [one.key.name for one in found] == ["ending", "drifted", "n2", "n1", "n0"]


@pytest.fixture
def mesh(tmp_path: Path) -> Iterator[Service]:
    """A mesh that is ready."""
    made = Service.make(tmp_path, upkeep={"repair": "always", "repairs": 2})
    made.end(made.ordered("acme", "meshes", documents("meshes", "acme"))["id"])
    made.queue.added.clear()
    yield made


def test_a_check_its_repair_and_its_budget(mesh: Service) -> None:
    schedule, now = Schedule(mesh.settings, mesh.database, mesh.queue), time.time()
    assert schedule.look(now) == []
    for round_ in range(1, 4):
        now += 2 * HOUR
        (check,) = schedule.look(now)
        assert schedule.look(now) == []  # one at a time
        assert operation(mesh, check)["action"] == "check"
        mesh.end(check, drift=[STEP])
        found = mesh.call("acme", "GET", PATH).json()
        assert (found["state"], found["upkeep"]["drift"]) == ("ready", [STEP])
        assert 'hosted_mesh_drift{kind="meshes"} 1.0' in mesh.call(None, "GET", "/metrics").text
        made = schedule.look(now + 1.5 * HOUR)
        if round_ == 3:  # the budget is used up: it is only checked
            assert found["upkeep"]["held"]
            assert [operation(mesh, one)["action"] for one in made] == ["check"]
            assert 'hosted_mesh_repairs_held{kind="meshes"} 1.0' in mesh.call(None, "GET", "/metrics").text
            break
        assert [operation(mesh, one)["action"] for one in made] == ["repair"]
        mesh.end(made[0], outputs={"x": 1})
        after = mesh.call("acme", "GET", PATH).json()["upkeep"]
        assert (after["drift"], after["repairs"], after["held"]) == ([], round_, False)
    listed = mesh.call("acme", "GET", "/v1/tenants/acme/operations").json()["items"]
    # Earlier checks are forgotten.
    assert sorted(one["action"] for one in listed) == ["check", "check", "repair", "repair", "up"]


def test_a_repair_that_fails_leaves_the_object_and_its_drift(mesh: Service) -> None:
    schedule, now = Schedule(mesh.settings, mesh.database, mesh.queue), time.time() + 2 * HOUR
    mesh.end(schedule.look(now)[0], drift=[STEP])
    (repair,) = schedule.look(now)
    orders.start(mesh.database, repair)
    orders.finish(mesh.database, repair, orders.Outcome(State.FAILED, {}, "no API server"))
    found = mesh.call("acme", "GET", PATH).json()
    assert (found["state"], found["upkeep"]["drift"], found["upkeep"]["repairs"]) == ("ready", [STEP], 1)
    assert found["upkeep"]["error"] == "no API server"


def test_an_order_comes_before_upkeep(mesh: Service) -> None:
    schedule, now = Schedule(mesh.settings, mesh.database, mesh.queue), time.time() + 2 * HOUR
    (check,) = schedule.look(now)
    order = mesh.call("acme", "PUT", PATH, documents("meshes", "acme"), If_Match='"1"').json()
    assert (operation(mesh, check)["state"], order["state"]) == ("replaced", "queued")
    mesh.end(order["id"])
    (check,) = schedule.look(now)
    orders.start(mesh.database, check)
    order = mesh.call("acme", "PUT", PATH, documents("meshes", "acme"), If_Match='"2"').json()
    assert order["state"] == "waiting"
    assert orders.wants_cancel(mesh.database, check)
    orders.finish(mesh.database, check, orders.Outcome(State.CANCELLED, {}))
    assert schedule.look(now) == []


def test_upkeep_does_not_displace_orders_of_others(mesh: Service) -> None:
    (check,) = Schedule(mesh.settings, mesh.database, mesh.queue).look(time.time() + 2 * HOUR)
    orders.start(mesh.database, check)
    mesh.ordered("other", "meshes", documents("meshes", "other"))
    mesh.ordered("acme", "dns-edges", documents("dns-edges", "acme"))
    tags = dict(orders.unfinished(mesh.database))
    assert tags.pop(check) == orders.LAST
    assert sorted(tags.values()) == [1, 2]


def test_the_policy_is_set_by_its_owner(mesh: Service) -> None:
    assert mesh.call("acme", "GET", PATH).json()["upkeep"]["repair"] == "always"
    assert mesh.call("acme", "PUT", f"{PATH}/upkeep", {"repair": "report"}).json()["repair"] == "report"
    schedule, now = Schedule(mesh.settings, mesh.database, mesh.queue), time.time() + 2 * HOUR
    mesh.end(schedule.look(now)[0], drift=[STEP])
    assert schedule.look() == []
    assert mesh.call("acme", "GET", PATH).json()["upkeep"]["drift"] == [STEP]
    entry = mesh.call("provider", "GET", "/v1/audit").json()["items"][-1]
    assert (entry["act"], entry["object"], entry["changed"]) == ("policy", "meshes/acme-mesh", ["upkeep.repair"])
    assert mesh.call("acme", "PUT", f"{PATH}/upkeep", {"repair": None}).json()["repair"] == "always"
    (repair,) = schedule.look()
    assert operation(mesh, repair)["action"] == "repair"


def test_a_failed_order_stops_upkeep_but_not_its_metrics(mesh: Service) -> None:
    """Its documents may be the reason, so nothing runs them again; an end of a certificate stays visible."""
    end = {"resource": "root", "ends": time.time() + DAY, "renew_from": time.time() - DAY}
    for etag, state in (('"1"', State.SUCCEEDED), ('"2"', State.FAILED)):
        order = mesh.call("acme", "PUT", PATH, documents("meshes", "acme"), If_Match=etag).json()
        mesh.end(order["id"], state, certificates=[end])
    assert Schedule(mesh.settings, mesh.database, mesh.queue).look(time.time() + DAY) == []
    assert 'hosted_mesh_certificate_end_seconds{kind="meshes"}' in mesh.call(None, "GET", "/metrics").text


@pytest.mark.parametrize("body", [{"repair": "sometimes"}, {"every": 1}, [], 3, "always"])
def test_a_policy_that_is_rejected(mesh: Service, body: Any) -> None:
    answer = mesh.call("acme", "PUT", f"{PATH}/upkeep", body)
    assert answer.status_code == 422
    assert answer.json()["problems"][0]["field"] == "repair"
    assert mesh.call("acme", "GET", PATH).json()["upkeep"]["repair"] == "always"


def test_the_provider_s_kinds_keep_the_provider_s_policy(mesh: Service) -> None:
    operation_ = mesh.ordered("acme", "dns", documents("dns", "acme"))
    mesh.end(operation_["id"])
    path = "/v1/tenants/acme/dns/dns/upkeep"
    assert mesh.call("acme", "PUT", path, {"repair": "report"}).status_code == 403
    assert mesh.call("provider", "PUT", path, {"repair": "report"}).status_code == 200


def test_ends_of_certificates_in_a_state() -> None:
    def state(name: str, kind: str = "locallySignedCert:LocallySignedCert", **outputs: Any) -> dict[str, Any]:
        return {"urn": f"urn:pulumi:s::p::t::{name}", "type": f"tls:index/{kind}", "outputs": outputs}

    end = {"validityEndTime": "2027-01-15T08:00:00Z"}
    found = certificates(
        [
            state("leaf", **end, earlyRenewalHours=2),
            state("root", "selfSignedCert:SelfSignedCert", **end),
            state("key", "privateKey:PrivateKey", **end),
            state("half", earlyRenewalHours=2),
            state("bad", validityEndTime="soon"),
        ]
    )
    assert found == [
        {"resource": "leaf", "ends": 1_800_000_000.0, "renew_from": 1_800_000_000.0 - 7200},
        {"resource": "root", "ends": 1_800_000_000.0, "renew_from": 1_800_000_000.0},
    ]


def test_drift_is_where_the_refresh_found_a_change() -> None:
    whole, other = Event(inputs={"x": 1}), Event(inputs={"x": 2})

    def event(phase: str, op: str, name: str, new: Any = whole, diff: Any = None) -> Any:
        step = Event(op=op, urn=f"urn::{name}", type="k", detailed_diff=diff, diffs=None, old=whole, new=new)
        phases = dict.fromkeys(("resource_pre_event", "res_outputs_event", "res_op_failed_event"))
        phases |= {"diagnostic_event": None, "policy_event": None, phase: Event(metadata=step)}
        return Event(**phases)

    events: list[Any] = []
    recorder = Recorder(events.append)
    drift = Drift(recorder)
    found = {"broken": (other, None), "secret": (whole, {"data.key": 1}), "gone": (None, None), "status": (other, None)}
    drift(event("resource_pre_event", "refresh", "as of a plain refresh"))
    drift(event("res_outputs_event", "update", "as of a plain refresh"))
    for name, (new, diff) in {**found, "whole": (whole, None)}.items():
        drift(event("resource_pre_event", "refresh", name))
        drift(event("res_outputs_event", "refresh", name, new, diff))
    steps = {"broken": "update", "secret": "update", "gone": "create", "status": "same", "whole": "update"}
    steps["as of a plain refresh"] = "update"
    for name, op in steps.items():
        drift(event("resource_pre_event", op, name, diff={"spec.x": 1}))
        drift(event("res_outputs_event", op, name))
    fields = {"kind": "k", "fields": ["spec.x"]}
    assert drift.steps == [
        {"action": "update", "resource": "broken", **fields},
        {"action": "update", "resource": "secret", **fields},
        {"action": "create", "resource": "gone", **fields},
        {"action": "update", "resource": "as of a plain refresh", **fields},
    ]
    # The change of the program is a step, but no drift; and a refresh alone is no step.
    assert [one["resource"] for one in recorder.steps] == [*list(found)[:3], "whole", "as of a plain refresh"]
    assert "refresh" not in {one["action"] for one in events}


def operation(service: Service, identifier: str) -> Any:
    return service.call("provider", "GET", f"/v1/tenants/acme/operations/{identifier}").json()
