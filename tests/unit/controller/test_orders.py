"""Orders: their life, preconditions, repetition, places in the queue."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hosted_mesh_controller.documents import KINDS, configuration
from hosted_mesh_controller.store import orders
from hosted_mesh_controller.vocabulary import Role, State

from tests.unit.controller.service import Service, documents

MESHES = "/v1/tenants/acme/meshes"
MESH = f"{MESHES}/acme-mesh"


def changed(host: str) -> Any:
    found = documents("meshes", "acme")
    found["mesh"]["revisions"][0]["host"] = host
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_life_of_an_object(service: Service, kind: str) -> None:
    operation = service.ordered("acme", kind, documents(kind, "acme"))
    assert (operation["state"], operation["action"], operation["generation"]) == ("queued", "up", 1)
    assert service.queue.added == [operation["id"]]
    path = f"/v1/tenants/acme/{kind}/{operation['name']}"
    pending = service.call("acme", "GET", path)
    assert (pending.json()["state"], pending.json()["readyGeneration"]) == ("pending", 0)
    assert pending.headers["ETag"] == '"1"'

    service.end(operation["id"], outputs={"namespace": "mesh-demo"})
    ready = service.call("acme-reader", "GET", path).json()
    assert (ready["state"], ready["readyGeneration"], ready["outputs"]) == ("ready", 1, {"namespace": "mesh-demo"})
    assert ready["documents"] == documents(kind, "acme")
    assert service.call("acme", "GET", path, If_None_Match='"1"').status_code == 304

    by = "acme" if Role.TENANT in KINDS[kind].ordered_by else "provider"
    again = service.call(by, "PUT", path, documents(kind, "acme"), If_Match='"1"')
    assert again.status_code == 202, again.text
    assert again.headers["ETag"] == '"2"'
    service.end(again.json()["id"], State.FAILED)
    failed = service.call("acme", "GET", path).json()
    assert (failed["state"], failed["generation"], failed["readyGeneration"]) == ("failed", 2, 1)

    gone = service.call(by, "DELETE", path, If_Match='"2"')
    assert gone.json()["action"] == "destroy"
    assert service.call("acme", "GET", path).json()["state"] == "deleting"
    service.end(gone.json()["id"])
    assert service.call("acme", "GET", path).status_code == 404
    service.ordered("acme", kind, documents(kind, "acme"))


def test_a_dry_run_changes_no_object(service: Service) -> None:
    made = service.call("acme", "POST", f"{MESHES}?dryRun=true", documents("meshes", "acme")).json()
    assert made["action"] == "preview-up"
    service.end(made["id"], steps=[])
    assert service.call("acme", "GET", MESHES).json()["items"] == []
    service.end(service.ordered("acme", "meshes", documents("meshes", "acme"))["id"])
    before = service.call("acme", "GET", MESH).json()
    for method, body in (("PUT", changed("istiod.other.example.com")), ("DELETE", None)):
        seen = service.call("acme", method, f"{MESH}?dryRun=true", body)
        assert seen.status_code == 202, seen.text
        service.end(seen.json()["id"], State.FAILED)
        assert service.call("acme", "GET", MESH).json() == before


def test_a_repeated_key_orders_nothing_again(service: Service) -> None:
    first = service.call("acme", "POST", MESHES, documents("meshes", "acme"), Idempotency_Key="k")
    second = service.call("acme", "POST", MESHES, documents("meshes", "acme"), Idempotency_Key="k")
    assert (second.status_code, second.json()) == (202, first.json())
    assert second.headers["Location"] == first.headers["Location"]
    assert (second.headers["Idempotency-Replayed"], second.headers["ETag"]) == ("true", '"1"')
    assert len(service.queue.added) == 1
    another = service.call("acme", "POST", MESHES, documents("meshes", "acme", "second"), Idempotency_Key="k")
    assert another.status_code == 422
    assert another.json()["problems"][0]["field"] == "Idempotency-Key"
    # Keys belong to a token.
    theirs = service.call(
        "other", "POST", "/v1/tenants/other/meshes", documents("meshes", "other"), Idempotency_Key="k"
    )
    assert theirs.json()["id"] != first.json()["id"]


def test_one_operation_of_an_object_at_a_time_and_the_newest_wins(service: Service) -> None:
    first = service.ordered("acme", "meshes", documents("meshes", "acme"))
    later = [
        service.call("acme", "PUT", MESH, changed(f"istiod.{number}.example.com"), If_Match=f'"{number}"').json()
        for number in (1, 2, 3)
    ]
    preview = service.call("acme", "DELETE", f"{MESH}?dryRun=true").json()
    states = [state(service, one["id"]) for one in (first, *later, preview)]
    assert states == ["queued", "replaced", "replaced", "waiting", "waiting"]
    assert service.queue.added == [first["id"]]
    service.end(first["id"])
    # The end of an older order does not make the newer one's object ready.
    shown = service.call("acme", "GET", MESH).json()
    assert (shown["state"], shown["generation"], shown["readyGeneration"]) == ("pending", 4, 1)
    assert service.queue.added == [first["id"], later[2]["id"]]
    service.end(later[2]["id"])
    assert service.call("acme", "GET", MESH).json()["readyGeneration"] == 4
    assert state(service, preview["id"]) == "queued"


def test_an_end_counts_once(service: Service) -> None:
    made = service.ordered("acme", "meshes", documents("meshes", "acme"))
    service.end(made["id"])
    assert orders.start(service.database, made["id"]) is None
    assert not orders.finish(service.database, made["id"], orders.Outcome(State.FAILED, {}))
    assert state(service, made["id"]) == "succeeded"


def test_tenants_take_turns(service: Service) -> None:
    """The first order of a tenant comes before the second one of another, whichever arrives first."""
    made: dict[str, list[str]] = {"acme": [], "other": []}
    for tenant, number in (*(("acme", number) for number in range(4)), ("other", 0), ("other", 1)):
        made[tenant].append(service.ordered(tenant, "meshes", documents("meshes", tenant, f"{tenant}-{number}"))["id"])
    tags = dict(orders.unfinished(service.database))
    assert [tags[one] for one in made["acme"]] == [1, 2, 3, 4]
    assert [tags[one] for one in made["other"]] == [1, 2]
    # A tenant that comes later does not get the turns of the past.
    for one in made["acme"]:
        service.end(one)
    late = service.ordered("other", "meshes", documents("meshes", "other", "late"))["id"]
    early = service.ordered("acme", "meshes", documents("meshes", "acme", "early"))["id"]
    tags = dict(orders.unfinished(service.database))
    assert (tags[late], tags[early]) == (4, 5)


def test_cancelling(service: Service) -> None:
    first = service.ordered("acme", "meshes", documents("meshes", "acme"))
    second = service.call("acme", "PUT", MESH, changed("istiod.b.example.com"), If_Match='"1"').json()
    assert cancelled(service, second["id"])["state"] == "cancelled"
    orders.start(service.database, first["id"])
    assert cancelled(service, first["id"])["state"] == "running"
    assert orders.wants_cancel(service.database, first["id"])
    third = service.call("acme", "PUT", MESH, changed("istiod.c.example.com"), If_Match='"2"').json()
    orders.finish(service.database, first["id"], orders.Outcome(State.CANCELLED, {}))
    service.queue.released("acme.meshes.acme-mesh")
    # A queued one that is cancelled makes room for the next.
    fourth = service.call("acme", "PUT", MESH, changed("istiod.d.example.com"), If_Match='"3"').json()
    assert cancelled(service, third["id"])["state"] == "cancelled"
    assert state(service, fourth["id"]) == "queued"
    service.end(fourth["id"])
    assert cancelled(service, fourth["id"])["state"] == "succeeded"


def test_a_mesh_s_namespace_has_one_owner_in_a_cluster(service: Service) -> None:
    first = service.ordered("acme", "meshes", documents("meshes", "acme", "shop"))
    taken = service.call("other", "POST", "/v1/tenants/other/meshes", documents("meshes", "other", "shop"))
    assert taken.status_code == 422
    assert taken.json()["problems"] == [
        {
            "field": "mesh.name",
            "rule": "is taken by another mesh",
            "fix": "Choose another name, or another cluster",
        }
    ]
    assert service.call("other", "GET", "/v1/tenants/other/meshes").json()["items"] == []
    service.end(first["id"])
    gone = service.call("acme", "DELETE", f"{MESHES}/shop", If_Match='"1"').json()
    service.end(gone["id"])
    service.ordered("other", "meshes", documents("meshes", "other", "shop"))


def test_memberships_are_parts_of_the_mesh(service: Service) -> None:
    service.end(service.ordered("acme", "meshes", documents("meshes", "acme"))["id"])
    own = documents("meshes", "acme")["mesh"]["memberships"][0]
    more = {**own, "name": "second"}
    path = f"{MESH}/memberships"
    added = service.call("acme", "PUT", f"{path}/second", more, If_Match='"1"')
    assert (added.status_code, added.json()["kind"], added.headers["ETag"]) == (202, "meshes", '"2"'), added.text
    assert service.call("acme", "GET", path).json()["items"] == [own, more]
    assert service.call("acme", "GET", f"{path}/second").json() == more
    changed_one = {**more, "network": "n2"}
    assert service.call("acme", "PUT", f"{path}/second", changed_one, If_Match='"2"').status_code == 202
    assert service.call("acme", "GET", f"{path}/second").headers["ETag"] == '"3"'
    assert service.call("acme", "PUT", f"{path}/second", own, If_Match='"3"').status_code == 422
    assert service.call("acme", "DELETE", f"{path}/second", If_Match='"1"').status_code == 412
    assert service.call("acme", "DELETE", f"{path}/second", If_Match='"3"').status_code == 202
    assert service.call("acme", "GET", path).json()["items"] == [own]
    assert service.call("acme", "DELETE", f"{path}/second", If_Match='"4"').status_code == 404
    last = service.call("acme", "DELETE", f"{path}/default", If_Match='"4"')
    assert (last.status_code, last.json()["problems"][0]["field"]) == (422, "mesh.memberships")


@pytest.mark.parametrize("what", ["meshes", "operations"])
def test_pages(service: Service, what: str) -> None:
    for number in range(5):
        service.ordered("acme", "meshes", documents("meshes", "acme", f"mesh-{number}"))
    path = f"/v1/tenants/acme/{what}"
    everything = service.call("acme", "GET", path).json()
    assert everything["next"] is None
    found: list[Any] = []
    after = ""
    while after is not None:
        page = service.call("acme", "GET", f"{path}?limit=2&after={after}").json()
        assert len(page["items"]) <= 2
        found += page["items"]
        after = page["next"]
    assert found == everything["items"]
    assert len(found) == 5
    if what == "operations":
        assert service.call("acme", "GET", f"{path}?state=running").json()["items"] == []


def test_the_audit_log_has_acts_and_fields_but_no_values(service: Service) -> None:
    service.end(service.ordered("acme", "meshes", documents("meshes", "acme"))["id"])
    made = service.call("acme", "PUT", MESH, changed("istiod.new.example.com"), If_Match='"1"').json()
    cancelled(service, made["id"])
    entries = service.call("provider", "GET", "/v1/audit").json()["items"]
    assert [(one["act"], one["object"], one["tenant"]) for one in entries] == [
        ("create", "meshes/acme-mesh", "acme"),
        ("change", "meshes/acme-mesh", "acme"),
        ("cancel", f"operations/{made['id']}", "acme"),
    ]
    assert entries[1]["changed"] == ["mesh.revisions[0].host"]
    assert entries[1]["operation"] == made["id"]
    assert entries[1]["token"] == service.tokens["acme"].split("_")[1]
    assert "istiod.new.example.com" not in str(entries)
    first = service.call("provider", "GET", "/v1/audit?limit=1").json()
    rest = service.call("provider", "GET", f"/v1/audit?after={first['next']}").json()
    assert [*first["items"], *rest["items"]] == entries


def test_events_are_a_stream_that_continues(service: Service) -> None:
    made = service.ordered("acme", "meshes", documents("meshes", "acme"))["id"]
    orders.start(service.database, made)
    for number in (1, 2, 3):
        orders.add_event(service.database, made, {"type": "message", "severity": "warning", "text": f"no. {number}"})
    path = f"/v1/tenants/acme/operations/{made}/events"
    now = service.call("acme", "GET", f"{path}?wait=false", Last_Event_ID="2").text
    assert [line for line in now.splitlines() if line.startswith(("id", "event"))] == [
        "id: 3",
        "event: message",
        "id: 3",
        "event: state",
    ]
    orders.finish(service.database, made, orders.Outcome(State.SUCCEEDED, {"changes": {"create": 1}}))
    whole = service.call("acme", "GET", path)
    assert whole.headers["content-type"].startswith("text/event-stream")
    assert [line for line in whole.text.splitlines() if line.startswith("event")] == [
        *["event: message"] * 3,
        "event: end",
    ]


def test_a_provider_s_decisions_are_below_the_tenant_s(tmp_path: Path) -> None:
    decided = {"mesh": {"revisions": [{"istiod": {"replicas": 2}}], "trust": {"root": {"protect": False}}}}
    service = Service.make(tmp_path, tenants={"acme": decided, "other": {}})
    made = service.ordered("acme", "meshes", documents("meshes", "acme"))
    stored = service.call("acme", "GET", MESH).json()["documents"]
    assert stored == documents("meshes", "acme")

    config = configuration(KINDS["meshes"], stored, service.settings, "acme")
    assert config["mesh"]["revisions"][0]["istiod"] == {"replicas": 2}
    assert config["mesh"]["revisions"][0]["host"] == stored["mesh"]["revisions"][0]["host"]
    assert config["mesh"]["trust"] == {"root": {"protect": False}}
    assert made["state"] == "queued"


def test_an_order_of_the_providers_is_not_the_tenants_to_cancel(service: Service) -> None:
    made = service.ordered("acme", "dns", documents("dns", "acme"))
    path = f"/v1/tenants/acme/operations/{made['id']}/cancel"
    assert service.call("acme", "POST", path).status_code == 403
    assert not orders.wants_cancel(service.database, made["id"])
    assert service.call("provider", "POST", path).json()["state"] == "cancelled"


def cancelled(service: Service, identifier: str) -> Any:
    answer = service.call("acme", "POST", f"/v1/tenants/acme/operations/{identifier}/cancel")
    assert answer.status_code == 202
    return answer.json()


def state(service: Service, identifier: str) -> str:
    found: str = service.call("acme", "GET", f"/v1/tenants/acme/operations/{identifier}").json()["state"]
    return found


def test_the_first_start_since_the_last_success(service: Service) -> None:
    """Objects that are younger belong to the stack, whichever of its operations made them."""

    def since(identifier: str) -> float | None:
        row = orders.start(service.database, identifier)
        assert row is not None
        return orders.unfinished_since(service.database, row)

    first = service.ordered("acme", "meshes", documents("meshes", "acme"))["id"]
    assert since(first) is None
    began = since(first)
    assert began is not None
    orders.finish(service.database, first, orders.Outcome(State.FAILED, {}))
    preview = service.call("acme", "DELETE", f"{MESH}?dryRun=true").json()["id"]
    assert since(preview) == began
    orders.finish(service.database, preview, orders.Outcome(State.SUCCEEDED, {}))
    second = service.call("acme", "PUT", MESH, documents("meshes", "acme"), If_Match='"1"').json()["id"]
    assert since(second) == began
    orders.finish(service.database, second, orders.Outcome(State.SUCCEEDED, {}))
    preview = service.call("acme", "DELETE", f"{MESH}?dryRun=true").json()["id"]
    assert since(preview) is None
    orders.finish(service.database, preview, orders.Outcome(State.SUCCEEDED, {}))
    assert since(service.call("acme", "DELETE", MESH, If_Match='"2"').json()["id"]) is None


def test_a_host_has_one_mesh(service: Service) -> None:
    """Else a tenant's order would publish another tenant's name with its own address."""
    service.ordered("acme", "meshes", documents("meshes", "acme"))
    body = documents("meshes", "other")
    body["mesh"]["revisions"][0]["host"] = documents("meshes", "acme")["mesh"]["revisions"][0]["host"]
    answer = service.call("other", "POST", "/v1/tenants/other/meshes", body)
    assert [one["field"] for one in answer.json()["problems"]] == ["mesh.revisions[0].host"]


def test_the_provider_s_part_of_a_mesh_counts_for_its_names(tmp_path: Path) -> None:
    own = documents("meshes", "acme", "shop")["mesh"]
    decided = {"mesh": {"controlPlane": own.pop("controlPlane"), "memberships": own.pop("memberships")}}
    service = Service.make(tmp_path, tenants={"acme": decided, "other": {}})
    service.end(service.ordered("acme", "meshes", {"mesh": own})["id"])
    path = f"{MESHES}/shop/memberships"
    assert service.call("acme", "GET", path).json()["items"] == []
    assert service.call("acme", "DELETE", f"{path}/default", If_Match='"1"').status_code == 404
    theirs = service.call("other", "POST", "/v1/tenants/other/meshes", documents("meshes", "other", "shop"))
    assert [one["field"] for one in theirs.json()["problems"]] == ["mesh.name"]
