"""TrafficIntents: their schema, the one order of a mesh's resources, conflicts, their status. Without an API server."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hosted_mesh_controller.store import orders, parts
from hosted_mesh_controller.store.orders import Key
from hosted_mesh_controller.vocabulary import State
from hosted_mesh_controller.watcher.intents_definition import intents_definition, intents_spec
from hosted_mesh_controller.watcher.intents_reconciling import WAIT_PAUSE, IntentsReconciler
from hosted_mesh_controller.watcher.names import FINALIZER
from hosted_mesh_controller.watcher.reconciling import REFUSAL_PAUSE, RETRY_PAUSE
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pulumi_hosted_mesh import Intents, Inventory

from tests.unit.controller.service import Service, documents
from tests.unit.controller.watched_cluster import Cluster, condition, nodes
from tests.unit.controller.webhooks import TENANTS, WATCHED, Webhooks

Config = dict[str, Any]
KEY = Key("acme", "intents", "shop-shop")
PATH = "/v1/tenants/acme/intents/shop-shop"


def spec(callee: str = "reviews", caller: str = "productpage", **more: Any) -> Config:
    """One intent, `CALLER-CALLEE`, and its services."""
    named: list[Config] = [
        {"name": name, "namespace": "bookinfo", "ports": [{"port": 9080}]} for name in (callee, caller)
    ]
    intent: Config = {"type": "intra-cluster", "name": f"{caller}-{callee}", "clients": [{"service": caller}]}
    intent |= {"service": {"name": callee, "namespace": "bookinfo", "port": 9080}}
    return {"groups": [{"name": "pages", "intents": [intent]}], "services": named, **more}


class IntentsCluster(Cluster):
    """As of HostedMeshes, with a mesh `shop` that is ready."""

    def __init__(self, service: Service, name: str = "north") -> None:
        super().__init__(service, name)
        reconciler: Any = IntentsReconciler(service.settings, service.database, service.queue)
        self.reconciler = reconciler

    def order(self) -> Config:
        """The documents of the object."""
        answer = self.service.call("acme", "GET", PATH)
        assert answer.status_code == 200, answer.text
        found: Config = answer.json()["documents"]
        return found

    def end(self, state: State = State.SUCCEEDED) -> None:
        """Carries the last operation out."""
        self.service.end(self.service.queue.added[-1], state)

    @property
    def number(self) -> int:
        """Of orders, besides that of the mesh."""
        return len(self.service.queue.added) - 1


def mesh() -> Config:
    found = documents("meshes", "acme", "shop")
    found["mesh"]["memberships"][0] |= {"gateways": [{"name": "ingress"}]}
    return found


@pytest.fixture
def cluster(tmp_path: Path) -> IntentsCluster:
    service = Service.make(tmp_path, clusters=WATCHED, tenants=TENANTS)
    ordered = mesh()
    ordered["mesh"]["revisions"][0]["host"] = "istiod.shop.acme.example"
    service.end(service.ordered("acme", "meshes", ordered)["id"])
    return IntentsCluster(service)


def problems(resource: Config) -> list[str]:
    return [one["field"] for one in resource["status"]["problems"]]


def test_life_of_a_resource(cluster: IntentsCluster) -> None:
    made = cluster.apply("pages", spec())
    assert made["metadata"]["finalizers"] == [FINALIZER]
    assert cluster.number == 1
    assert (condition(made, "Accepted"), condition(made, "Ready")) == (("True", "Ordered"), ("False", "Pending"))
    assert condition(made, "Compiled") == ("True", "Compiled")
    assert (made["status"]["state"], made["status"]["clusters"]) == ("pending", [])
    order = cluster.order()
    assert order["intents"]["project"] == "shop"
    assert order["target"] == {"name": "shop", "cluster": {"kubeconfig": "north"}}
    (place,) = order["inventory"]["clusters"]
    assert (place["name"], place["mesh"], place["gateways"]) == (
        "shop",
        "shop",
        [{"name": "ingress", "role": "ingress"}],
    )
    assert [one["clusters"] for one in order["inventory"]["services"]] == [["shop"], ["shop"]]
    assert order["intents"]["groups"][0]["intents"][0]["application"] == "pages"

    cluster.end()
    ready = cluster.settle("pages")
    assert condition(ready, "Ready") == ("True", "Ready")
    assert ready["status"]["clusters"] == [{"name": "shop", "objects": 2}]
    assert (ready["status"]["mesh"], ready["status"]["intents"]) == ("shop", 1)
    assert cluster.reconciler.look("north", list(cluster.resources.values()), cluster.now) == []
    cluster.apply("pages", spec(namespaces=["bookinfo", "data"]))
    assert cluster.number == 2
    cluster.end()
    cluster.settle("pages")
    cluster.delete("pages")
    assert cluster.resources["pages"]["status"]["state"] == "deleting"
    cluster.end()
    assert cluster.settle("pages") == {}
    assert cluster.service.call("acme", "GET", PATH).status_code == 404
    with cluster.service.database.reading() as connection:
        assert parts.of_key(connection, KEY) == []
    reasons = [reason for _kind, reason in cluster.events]
    assert reasons == ["Ordered", "Compiled", "Ready", "Ordered", "Ready", "Deleting"]


def test_resources_of_a_mesh_are_one_document(cluster: IntentsCluster) -> None:
    """Of one look there is one order. A resource's removal leaves the others' intents."""
    for name, callee in (("pages", "reviews"), ("books", "details")):
        metadata = {"name": name, "uid": name, "generation": 1, "resourceVersion": "1", "finalizers": [FINALIZER]}
        cluster.resources[name] = {"metadata": metadata, "spec": spec(callee)}
    cluster.settle()
    assert cluster.number == 1
    names = [one["intents"][0]["name"] for one in cluster.order()["intents"]["groups"]]
    assert names == ["productpage-details", "productpage-reviews"]
    assert [one["name"] for one in cluster.order()["inventory"]["services"]] == ["details", "productpage", "reviews"]
    cluster.end()
    before = copy.deepcopy(cluster.settle("pages"))
    cluster.apply("books", spec("details", "ratings"), uid="books")
    assert cluster.number == 2
    assert cluster.settle("pages") == before
    cluster.end()
    cluster.settle("books")
    cluster.delete("books")
    assert cluster.number == 3
    assert [one["intents"][0]["name"] for one in cluster.order()["intents"]["groups"]] == ["productpage-reviews"]
    assert "books" in cluster.resources
    cluster.end()
    cluster.settle("books")
    assert cluster.resources.keys() == {"pages"}


@pytest.mark.parametrize(
    ("change", "field", "rule"),
    [
        (spec(), "spec.groups[0].intents[0].name", "is productpage-reviews in"),
        (spec("details", defaultDeny="none"), "spec.defaultDeny", "is none in"),
        (spec("details", outboundTraffic="REGISTRY_ONLY"), "spec.outboundTraffic", "is REGISTRY_ONLY in"),
        (spec("details", domain="b.acme.example"), "spec.domain", "is b.acme.example in"),
        (
            spec("details", services=[*spec("details")["services"], {"name": "reviews", "namespace": "bookinfo"}]),
            "spec.services[2]",
            "bookinfo/reviews differs in",
        ),
        (spec("reviews", "ratings"), "spec.groups[0].intents[0] (ratings-reviews)", "claims shop routes of host"),
    ],
)
def test_conflicts_name_both_resources(cluster: IntentsCluster, change: Config, field: str, rule: str) -> None:
    first = spec(domain="a.acme.example")
    if change["groups"][0]["intents"][0]["name"] == "ratings-reviews":
        change = copy.deepcopy(change)
        change["groups"][0]["intents"][0]["timeout"] = "2s"
        first["groups"][0]["intents"][0]["timeout"] = "3s"
    cluster.apply("pages", first)
    order = cluster.order()
    refused = cluster.apply("books", change, uid="uid-2")
    assert condition(refused, "Accepted") == ("False", "Refused")
    found = refused["status"]["problems"]
    assert field in problems(refused), found
    assert all("TrafficIntents books" in one["rule"] and "TrafficIntents pages" in one["rule"] for one in found)
    assert rule in json.dumps(found)
    assert cluster.order() == order
    assert cluster.number == 1
    # It is free when the other one is gone.
    cluster.end()
    cluster.settle()
    cluster.delete("pages")
    cluster.end()
    cluster.settle()
    cluster.now += REFUSAL_PAUSE + 1
    assert cluster.settle("books")["status"]["state"] == "pending"


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"project": "other"}, "spec.project"),
        ({"version": "v2"}, "spec.version"),
        ({"clusters": [{"name": "east", "mesh": "other"}]}, "spec.clusters"),
        ({"federations": []}, "spec.federations"),
        ({"unknown": 1}, "spec.unknown"),
        ({"mesh": 7}, "spec.mesh"),
        ({"groups": [{"name": "a", "project": "other", "intents": []}]}, "spec.groups[0].project"),
        ({"domain": "shop.elsewhere.test"}, "spec.domain"),
        ({"namespaces": ["mesh-other"]}, "spec.namespaces[0]"),
        ({"services": [{"name": "a", "namespace": "b", "clusters": ["theirs"]}]}, "spec.services[0].clusters[0]"),
        ({"services": "x"}, "spec.services"),
        ({"groups": [{"intents": 3}]}, "spec.groups"),
        ({"groups": [{"name": "A", "intents": []}]}, "spec.groups[0].name"),
        ({"services": []}, "spec.groups[0].intents[0].clients[0] (productpage-reviews)"),
    ],
)
def test_refusals(cluster: IntentsCluster, change: Config, field: str) -> None:
    """Also without the API server's rules: the cluster's administrator may remove them."""
    refused = cluster.apply("pages", spec() | change)
    assert cluster.number == 0
    assert refused["status"]["state"] == "refused"
    assert field in problems(refused), refused["status"]["problems"]
    assert all(one["rule"] and one["fix"] for one in refused["status"]["problems"])
    assert cluster.apply("pages", spec())["status"]["state"] == "pending"
    order = cluster.order()
    # A refused edit leaves the intents as they were.
    assert condition(cluster.apply("pages", spec() | change), "Accepted") == ("False", "Refused")
    assert (cluster.order(), cluster.number) == (order, 1)
    cluster.end()
    assert condition(cluster.settle("pages"), "Ready") == ("True", "Ready")


def test_another_meshs_namespace_is_closed(cluster: IntentsCluster) -> None:
    """A policy in a mesh's namespace is for all of that mesh."""
    theirs = spec()
    theirs["groups"][0]["intents"][0]["service"]["namespace"] = "mesh-other"
    theirs["services"][0]["namespace"] = theirs["services"][1]["namespace"] = "mesh-other"
    refused = cluster.apply("pages", theirs)
    assert problems(refused) == ["spec.services[0].namespace", "spec.services[1].namespace"]
    own = json.loads(json.dumps(theirs).replace("mesh-other", "mesh-shop"))
    assert cluster.apply("pages", own)["status"]["state"] == "pending"


def test_a_service_without_a_place_is_pending(cluster: IntentsCluster) -> None:
    unplaced = spec()
    unplaced["services"][0]["clusters"] = []
    made = cluster.apply("pages", unplaced)
    assert condition(made, "Compiled") == ("False", "Pending")
    reason = "bookinfo/reviews is placed in no cluster yet"
    assert made["status"]["pending"] == [{"intent": "productpage-reviews", "reason": reason}]
    assert condition(cluster.apply("pages", spec()), "Compiled") == ("True", "Compiled")


def test_it_waits_for_its_mesh(tmp_path: Path) -> None:
    service = Service.make(tmp_path, clusters=WATCHED)
    cluster = IntentsCluster(service)
    waits = cluster.apply("pages", spec())
    assert condition(waits, "Accepted") == ("Unknown", "Waiting")
    assert "This cluster has no mesh." in json.dumps(waits["status"])
    operation = service.ordered("acme", "meshes", mesh())["id"]
    cluster.now += WAIT_PAUSE + 1
    assert "Mesh shop is not ready." in json.dumps(cluster.settle("pages")["status"])
    service.end(operation)
    cluster.now += WAIT_PAUSE + 1
    assert condition(cluster.settle("pages"), "Accepted") == ("True", "Ordered")
    other = cluster.apply("others", spec("details", mesh="absent"), uid="uid-2")
    assert "There is no mesh absent of this cluster." in json.dumps(other["status"])


def test_one_of_several_meshes_is_named(cluster: IntentsCluster) -> None:
    second = documents("meshes", "acme", "books")
    second["mesh"]["revisions"][0]["host"] = "istiod.books.acme.example"
    cluster.service.end(cluster.service.ordered("acme", "meshes", second)["id"])
    refused = cluster.apply("pages", spec())
    assert problems(refused) == ["spec.mesh"]
    assert "books, shop" in refused["status"]["problems"][0]["fix"]
    assert cluster.apply("pages", spec(mesh="shop"))["status"]["mesh"] == "shop"
    assert problems(cluster.apply("pages", spec(mesh="books"))) == ["spec.mesh"]


def test_another_tenants_mesh_in_the_same_cluster(tmp_path: Path) -> None:
    clusters = {**WATCHED, "north": {**WATCHED["north"], "tenants": ["acme", "other"]}}
    service = Service.make(tmp_path, clusters=clusters, tenants=TENANTS)
    theirs = documents("meshes", "other", "theirs")
    theirs["mesh"]["memberships"][0]["cluster"] = {"kubeconfig": "north"}
    service.end(service.ordered("other", "meshes", theirs)["id"])
    cluster = IntentsCluster(service)
    waits = cluster.apply("pages", spec(mesh="theirs"))
    assert "There is no mesh theirs of this cluster." in json.dumps(waits["status"])
    assert service.call("other", "GET", "/v1/tenants/other/intents").json()["items"] == []


def test_a_change_of_the_mesh_is_applied(cluster: IntentsCluster) -> None:
    """Only if the intents depend on it."""
    cluster.apply("pages", spec())
    cluster.end()
    cluster.settle("pages")
    service, path = cluster.service, "/v1/tenants/acme/meshes/shop"
    body = service.call("acme", "GET", path).json()["documents"]
    body["mesh"]["memberships"][0]["gateways"].append({"name": "egress"})
    service.end(service.call("acme", "PUT", path, body, If_Match='"1"').json()["id"])
    before = len(service.queue.added)
    cluster.settle("pages")
    assert len(service.queue.added) == before + 1
    assert [one["role"] for one in cluster.order()["inventory"]["clusters"][0]["gateways"]] == ["ingress", "egress"]
    cluster.end()
    body["mesh"]["memberships"][0]["gateways"][1]["replicas"] = 3
    service.end(service.call("acme", "PUT", path, body, If_Match='"2"').json()["id"])
    before = len(service.queue.added)
    cluster.settle("pages")
    assert len(service.queue.added) == before


def test_removal_after_the_mesh(cluster: IntentsCluster) -> None:
    """The facts of the last order suffice, for one of two and for the last."""
    service = cluster.service
    for name, callee in (("pages", "reviews"), ("books", "details")):
        cluster.apply(name, spec(callee), uid=name)
        cluster.end()
        cluster.settle(name)
    with service.database.writing() as connection:
        connection.exec_driver_sql("DELETE FROM objects WHERE kind = 'meshes'")
    for name in ("pages", "books"):
        cluster.delete(name)
        assert name in cluster.resources
        cluster.end()
        cluster.settle(name)
        assert name not in cluster.resources
    assert service.call("acme", "GET", PATH).status_code == 404


def test_rest_does_not_change_a_resources_intents(cluster: IntentsCluster) -> None:
    cluster.apply("pages", spec())
    cluster.end()
    service, body = cluster.service, cluster.order()
    answer = service.call("acme", "PUT", PATH, body, If_Match='"1"')
    assert answer.status_code == 409
    assert "TrafficIntents pages in cluster north" in answer.json()["detail"]
    assert service.call("acme", "DELETE", PATH, If_Match='"1"').status_code == 409
    # A resource that went without the finalizer leaves its intents, and REST may remove them.
    cluster.resources.clear()
    cluster.settle()
    assert cluster.order() == body
    assert service.call("acme", "DELETE", PATH, If_Match='"1"').status_code == 202


def test_intents_by_rest_stay(cluster: IntentsCluster) -> None:
    cluster.apply("pages", spec())
    body = cluster.order()
    cluster.end()
    cluster.settle("pages")
    cluster.delete("pages")
    cluster.end()
    cluster.settle()
    cluster.service.ordered("acme", "intents", body)
    assert problems(cluster.apply("pages", spec(), uid="uid-2")) == ["spec.mesh"]
    assert cluster.order() == body


def test_failures_and_a_cluster_that_returns(cluster: IntentsCluster) -> None:
    cluster.apply("pages", spec())
    cluster.end(State.FAILED)
    with cluster.service.database.reading() as connection:
        row = parts.of_cluster(connection, "north")["pages"]
    cluster.now = row.ended
    failed = cluster.settle("pages")
    assert condition(failed, "Ready") == ("False", "Failed")
    assert cluster.number == 1
    cluster.now += RETRY_PAUSE + 1
    cluster.settle("pages")
    assert cluster.number == 2
    cluster.end(State.FAILED)
    with cluster.service.database.reading() as connection:
        row = parts.of_cluster(connection, "north")["pages"]
    cluster.now = row.ended + 1
    cluster.settle("pages")
    assert cluster.number == 2
    cluster.reconciler.returned("south", row.ended)
    cluster.settle("pages")
    assert cluster.number == 2
    # The order began while the cluster was away: it is due at once.
    cluster.reconciler.returned("north", row.ended)
    cluster.settle("pages")
    assert cluster.number == 3
    cluster.end()
    assert condition(cluster.settle("pages"), "Ready") == ("True", "Ready")
    cluster.delete("pages")
    cluster.end(State.FAILED)
    with cluster.service.database.reading() as connection:
        cluster.now = parts.of_cluster(connection, "north")["pages"].ended
    assert cluster.settle("pages")["status"]["state"] == "failed"
    cluster.now += RETRY_PAUSE + 1
    cluster.settle("pages")
    assert cluster.number == 5
    cluster.end()
    assert cluster.settle("pages") == {}


def test_of_edits_that_wait_the_newest_wins(cluster: IntentsCluster) -> None:
    cluster.apply("pages", spec())
    running = orders.start(cluster.service.database, cluster.service.queue.added[-1])
    assert running is not None
    for callee in ("details", "ratings", "books"):
        cluster.apply("pages", spec(callee))
    orders.finish(cluster.service.database, running.id, orders.Outcome(State.FAILED, {}))
    cluster.service.queue.released(running.stack)
    assert cluster.number == 2
    cluster.end()
    assert condition(cluster.settle("pages"), "Ready") == ("True", "Ready")
    assert cluster.order()["intents"]["groups"][0]["intents"][0]["name"] == "productpage-books"
    states = [
        one["state"] for one in cluster.service.call("acme", "GET", "/v1/tenants/acme/operations").json()["items"]
    ]
    assert sorted(states) == ["failed", "replaced", "replaced", "succeeded", "succeeded"]


def test_a_new_controller_orders_nothing_again(cluster: IntentsCluster) -> None:
    cluster.apply("pages", spec())
    again = IntentsCluster(cluster.service)
    again.resources = cluster.resources
    again.settle("pages")
    assert (cluster.number, again.events) == (1, [])


def test_a_resource_whose_object_goes_is_ordered_after_it(cluster: IntentsCluster) -> None:
    cluster.apply("pages", spec())
    cluster.end()
    cluster.settle("pages")
    cluster.delete("pages")
    cluster.apply("books", spec("details"), uid="uid-2")
    assert cluster.number == 2
    cluster.end()
    cluster.settle("books")
    assert cluster.number == 3
    assert [one["intents"][0]["name"] for one in cluster.order()["intents"]["groups"]] == ["productpage-details"]


def test_webhook(cluster: IntentsCluster) -> None:
    hooks = Webhooks(cluster.service)

    def answer(given: Config, name: str = "pages") -> Config:
        return hooks.answer(
            "validate", {}, object={"kind": "TrafficIntents", "metadata": {"name": name}, "spec": given}
        )

    assert answer(spec())["allowed"] is True
    refused = answer(spec(services=[]))
    assert refused["allowed"] is False
    assert "spec.groups[0].intents[0].clients[0]" in refused["status"]["message"]
    assert answer(spec(mesh="absent"))["allowed"] is True
    cluster.apply("pages", spec())
    assert "TrafficIntents pages" in answer(spec(), "books")["status"]["message"]
    assert cluster.number == 1


LEAVES = st.sampled_from(["x", "reviews", "mesh-other", "intra-cluster"])
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*spec(), *spec()["groups"][0], *spec()["groups"][0]["intents"][0]]), inner)
    ),
    max_leaves=8,
)


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(changed=ANY_JSON | st.dictionaries(st.sampled_from([*spec(), "namespaces", "domain", "mesh"]), ANY_JSON))
def test_any_spec_gets_an_answer(cluster: IntentsCluster, changed: Any) -> None:
    hooks = Webhooks(cluster.service)
    for sent in (changed, spec() | changed if isinstance(changed, dict) else changed):
        given = {"kind": "TrafficIntents", "metadata": {"name": "pages"}, "spec": sent}
        assert "allowed" in hooks.answer("validate", {}, object=given)


def test_the_schema_has_each_field_of_both_documents() -> None:
    """Also one that the library adds later: an API server removes a field that a schema lacks, without the reason."""
    fields = intents_spec()["properties"]
    given = [model.model_json_schema(by_alias=True) for model in (Intents, Inventory)]
    assert fields.keys() == {"mesh", *given[0]["properties"], *given[1]["properties"]}
    intent = fields["groups"]["items"]["properties"]["intents"]["items"]
    assert intent["properties"].keys() == given[0]["$defs"]["Intent"]["properties"].keys()
    assert fields["groups"]["items"]["properties"].keys() == given[0]["$defs"]["IntentGroup"]["properties"].keys()
    rejected = {
        path.lstrip(".").replace("[]", "")
        for path, one in nodes(intents_spec())
        if any(rule["rule"] == "false" for rule in one.get("x-kubernetes-validations", ()))
    }
    assert rejected == {"project", "version", "clusters", "federations", "source", "groups.project"}


def test_the_schema_is_structural() -> None:
    unknown = {"$ref", "anyOf", "oneOf", "const", "title", "x-set-by", "patternProperties", "default"}
    version = intents_definition()["spec"]["versions"][0]
    for path, one in nodes(version["schema"]["openAPIV3Schema"]):
        assert not unknown & one.keys(), path
        assert "type" in one or one.get("x-kubernetes-preserve-unknown-fields"), path
