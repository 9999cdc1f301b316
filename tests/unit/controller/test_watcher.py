"""HostedMeshes: their schema, the orders that they require, their status and events. Without an API server."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hosted_mesh_controller.settings import read_settings
from hosted_mesh_controller.store import orders, sources
from hosted_mesh_controller.store.orders import Key, Outcome
from hosted_mesh_controller.vocabulary import State
from hosted_mesh_controller.watcher.definition import definition, spec_schema, users_fields
from hosted_mesh_controller.watcher.names import FINALIZER
from hosted_mesh_controller.watcher.reconciling import REFUSAL_PAUSE, RETRY_PAUSE
from pulumi_hosted_mesh import InvalidInputError, Mesh

from tests.unit.controller.service import CLUSTERS, Service, documents
from tests.unit.controller.watched_cluster import SPEC, Cluster, condition, nodes

Config = dict[str, Any]
KEY = Key("acme", "meshes", "shop")
WATCH = {"kubeconfig": "/mounted/watcher", "tenant": "acme", "controlPlane": "hub"}
WATCHED: Config = copy.deepcopy(CLUSTERS) | {"north": {**CLUSTERS["north"], "watch": WATCH}}


@pytest.fixture
def watched(tmp_path: Path) -> Service:
    return Service.make(tmp_path, clusters=WATCHED)


@pytest.fixture
def cluster(watched: Service) -> Cluster:
    return Cluster(watched)


def test_life_of_a_resource(cluster: Cluster) -> None:
    queue = cluster.service.queue
    made = cluster.apply()
    assert made["metadata"]["finalizers"] == [FINALIZER]
    assert len(queue.added) == 1
    assert made["status"]["state"] == "pending"
    mesh = cluster.service.call("acme", "GET", "/v1/tenants/acme/meshes/shop").json()["documents"]["mesh"]
    assert mesh["controlPlane"] == {"cluster": {"kubeconfig": "hub"}}
    assert mesh["memberships"] == [{"cluster": {"kubeconfig": "north"}}]

    cluster.service.end(queue.added[-1], outputs={"endpoints": {"a/b": {"host": "istiod.shop.example.com"}}})
    ready = cluster.settle()
    assert (condition(ready, "Accepted"), condition(ready, "Ready")) == (("True", "Ordered"), ("True", "Ready"))
    assert ready["status"]["endpoints"] == [{"name": "a/b", "host": "istiod.shop.example.com"}]
    assert cluster.reconciler.look("north", list(cluster.resources.values()), cluster.now) == []
    assert len(queue.added) == 1

    changed = copy.deepcopy(SPEC)
    changed["revisions"][0]["exposure"]["sourceRanges"] = ["203.0.113.7/32"]
    cluster.apply(spec=changed)
    assert len(queue.added) == 2
    cluster.service.end(queue.added[-1])
    cluster.settle()
    cluster.delete()
    assert cluster.resources["shop"]["status"]["state"] == "deleting"
    assert len(queue.added) == 3
    cluster.service.end(queue.added[-1])
    assert cluster.settle() == {}
    assert cluster.service.call("acme", "GET", "/v1/tenants/acme/meshes/shop").status_code == 404
    reasons = [reason for _kind, reason in cluster.events]
    assert reasons == ["Ordered", "Ready", "Ordered", "Ready", "Deleting"]
    with cluster.service.database.reading() as connection:
        assert sources.find(connection, KEY) is None


def test_a_new_controller_orders_nothing_again(cluster: Cluster) -> None:
    cluster.apply()
    again = Cluster(cluster.service)
    again.resources = cluster.resources
    again.settle()
    assert len(cluster.service.queue.added) == 1
    assert again.events == []


def test_the_act_is_in_the_audit_log(cluster: Cluster) -> None:
    cluster.apply()
    (entry,) = cluster.service.call("provider", "GET", "/v1/audit").json()["items"]
    assert (entry["token"], entry["act"], entry["tenant"]) == ("cluster/north", "create", "acme")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"trust": {"root": {"protect": False}}}, "spec.trust"),
        ({"controlPlane": {"cluster": {"kubeconfig": "hub"}}}, "spec.controlPlane"),
        ({"name": "other"}, "metadata.name"),
        ({"memberships": [{"cluster": {"kubeconfig": "south"}}]}, "spec.memberships[0].cluster"),
        ({"memberships": [{"clusterDomain": "a.b"}]}, "spec.memberships[0].clusterDomain"),
        ({"memberships": [{}, {}]}, "spec.memberships"),
        ({"memberships": "x"}, "spec.memberships"),
        ({"revisions": [{**SPEC["revisions"][0], "istiod": {"replicas": 9}}]}, "spec.revisions[0].istiod"),
        ({"revisions": [{**SPEC["revisions"][0], "charts": {"path": "/"}}]}, "spec.revisions[0].charts"),
        ({"revisions": [{**SPEC["revisions"][0], "host": "10.0.0.1"}]}, "spec.revisions[0].host"),
        ({"tags": {"prod": "absent"}}, "spec"),
        ({"unknown": 1}, "spec.unknown"),
    ],
)
def test_refusals(cluster: Cluster, change: Config, field: str) -> None:
    """Also without the API server's rules: the cluster's administrator may remove them."""
    refused = cluster.apply(spec={**SPEC, **change})
    assert cluster.service.queue.added == []
    assert refused["status"]["state"] == "refused"
    assert condition(refused, "Accepted") == ("False", "Refused")
    assert [one["field"] for one in refused["status"]["problems"]] == [field]
    assert ("Warning", "Refused") in cluster.events
    accepted = cluster.apply()["status"]
    assert (accepted["state"], accepted["problems"]) == ("pending", [])
    # A refused edit leaves the mesh as it was.
    assert condition(cluster.apply(spec={**SPEC, **change}), "Accepted") == ("False", "Refused")
    assert len(cluster.service.queue.added) == 1


def test_a_refused_resource_goes_at_once(cluster: Cluster) -> None:
    cluster.apply(spec={**SPEC, "trust": {}})
    cluster.delete()
    assert cluster.resources == {}


def test_the_tenants_domains_apply(tmp_path: Path) -> None:
    service = Service.make(tmp_path, clusters=WATCHED, tenants={"acme": {"domains": ["acme.example"]}, "other": {}})
    refused = Cluster(service).apply()
    assert [one["field"] for one in refused["status"]["problems"]] == ["spec.revisions[0].host"]


def test_a_name_of_a_mesh_by_rest(cluster: Cluster) -> None:
    service = cluster.service
    service.ordered("acme", "meshes", documents("meshes", "acme", "shop"))
    refused = cluster.apply()
    assert [one["field"] for one in refused["status"]["problems"]] == ["metadata.name"]
    cluster.delete()
    assert cluster.resources == {}
    assert len(service.queue.added) == 1
    assert service.call("acme", "GET", "/v1/tenants/acme/meshes/shop").json()["state"] == "pending"


def test_a_refusal_ends_when_the_name_is_free(cluster: Cluster) -> None:
    service = cluster.service
    first = service.ordered("acme", "meshes", documents("meshes", "acme", "shop"))
    cluster.apply()
    service.end(first["id"])
    headers = {"If_Match": '"1"'}
    service.end(service.call("acme", "DELETE", "/v1/tenants/acme/meshes/shop", **headers).json()["id"])
    assert cluster.settle()["status"]["state"] == "refused"
    cluster.now += REFUSAL_PAUSE + 1
    assert cluster.settle()["status"]["state"] == "pending"


def test_rest_does_not_change_a_resources_mesh(cluster: Cluster) -> None:
    """But for the provider, such as to unprotect a root before the removal."""
    service = cluster.service
    cluster.apply()
    body = service.call("acme", "GET", "/v1/tenants/acme/meshes/shop").json()["documents"]
    path = "/v1/tenants/acme/meshes/shop"
    for method, sent in (("PUT", body), ("DELETE", None)):
        answer = service.call("acme", method, path, sent, If_Match='"1"')
        assert answer.status_code == 409, method
        assert "cluster north" in answer.json()["detail"]
    changed = {"mesh": {**body["mesh"], "trust": {"root": {"protect": False}}}}
    assert service.call("provider", "PUT", path, changed, If_Match='"1"').status_code == 202


def test_a_failed_order_is_repeated_later(cluster: Cluster) -> None:
    queue = cluster.service.queue
    cluster.apply()
    cluster.service.end(queue.added[-1], State.FAILED)
    with cluster.service.database.reading() as connection:
        cluster.now = sources.of_cluster(connection, "north")["shop"].ended
    failed = cluster.settle()
    assert condition(failed, "Ready") == ("False", "Failed")
    assert len(queue.added) == 1
    cluster.now += RETRY_PAUSE + 1
    assert cluster.settle()["status"]["state"] == "pending"
    assert len(queue.added) == 2
    cluster.service.end(queue.added[-1])
    cluster.settle()
    cluster.delete()
    cluster.service.end(queue.added[-1], State.FAILED)
    with cluster.service.database.reading() as connection:
        cluster.now = sources.of_cluster(connection, "north")["shop"].ended
    assert cluster.settle()["status"]["state"] == "failed"
    assert len(queue.added) == 3
    cluster.now += 2 * RETRY_PAUSE
    cluster.settle()
    assert len(queue.added) == 4
    cluster.service.end(queue.added[-1])
    assert cluster.settle() == {}


def test_an_engines_error_is_not_in_the_status(cluster: Cluster) -> None:
    cluster.apply()
    row = orders.start(cluster.service.database, cluster.service.queue.added[-1])
    assert row is not None
    orders.finish(cluster.service.database, row.id, Outcome(State.FAILED, {}, "Secret mesh-shop/cacerts: denied"))
    cluster.now = row.created
    status = cluster.settle()["status"]
    assert status["state"] == "failed"
    assert "cacerts" not in json.dumps(status)
    assert row.id in json.dumps(status)


def test_outputs_that_are_not_public_facts_stay_out(cluster: Cluster) -> None:
    cluster.apply()
    outputs = {"endpoints": {"a/b": {"host": "h", "token": "secret-1"}}, "kubeconfig": "secret-2"}
    cluster.service.end(cluster.service.queue.added[-1], outputs=outputs)
    assert "secret" not in json.dumps(cluster.settle()["status"])


def test_drift_and_its_repair_are_events(cluster: Cluster) -> None:
    service = cluster.service
    cluster.apply()
    service.end(service.queue.added[-1])
    step = {"action": "update", "resource": "r", "kind": "k", "fields": []}
    for action, result in (("check", {"drift": []}), ("check", {"drift": [step]}), ("repair", {})):
        with service.database.writing() as connection:
            made = orders.add_operation(connection, KEY, orders.Action(action), 1, {})
        service.end(made, **result)
        cluster.settle()
    assert [one for one in cluster.events if one[1] in ("Drift", "Repaired")] == [
        ("Warning", "Drift"),
        ("Normal", "Repaired"),
    ]
    status = cluster.resources["shop"]["status"]
    assert (status["drift"], status["repairs"]) == (0, 1)
    assert condition(cluster.resources["shop"], "InSync") == ("True", "InSync")


def test_a_resource_that_went_without_its_finalizer_leaves_its_mesh(cluster: Cluster) -> None:
    service = cluster.service
    cluster.apply()
    service.end(service.queue.added[-1])
    cluster.resources.clear()
    cluster.settle()
    assert len(service.queue.added) == 1
    body = service.call("acme", "GET", "/v1/tenants/acme/meshes/shop").json()["documents"]
    answer = service.call("acme", "PUT", "/v1/tenants/acme/meshes/shop", body, If_Match='"1"')
    assert answer.status_code == 202
    service.end(service.queue.added[-1])
    again = cluster.apply(uid="uid-2")
    assert again["status"]["state"] == "pending"
    assert len(service.queue.added) == 3


def test_a_deletion_during_the_first_order(cluster: Cluster) -> None:
    queue = cluster.service.queue
    cluster.apply()
    row = orders.start(cluster.service.database, queue.added[0])
    assert row is not None
    cluster.delete()
    orders.finish(cluster.service.database, row.id, Outcome(State.SUCCEEDED, {}))
    queue.released(row.stack)
    assert len(queue.added) == 2
    assert cluster.settle()["status"]["state"] == "deleting"
    cluster.service.end(queue.added[-1])
    assert cluster.settle() == {}


def test_each_field_of_the_document_is_in_the_schema() -> None:
    """Also one that the library adds later: an API server removes a field that a schema lacks, without the reason."""
    schema, document = spec_schema()["properties"], Mesh.model_json_schema(by_alias=True)
    models = {name: one["properties"].keys() for name, one in document["$defs"].items() if "properties" in one}
    revision = schema["revisions"]["items"]["properties"]
    kinds = ("LoadBalancerExposure", "ExternalExposure", "GatewayExposure")
    assert schema.keys() == document["properties"].keys()
    assert revision.keys() == models["Revision"]
    assert revision["exposure"]["properties"].keys() == {field for kind in kinds for field in models[kind]}
    assert schema["memberships"]["items"]["properties"].keys() == models["Membership"]


def test_fields_are_the_users_or_rejected() -> None:
    rejected = {
        path.lstrip(".").replace("[]", "")
        for path, one in nodes(spec_schema())
        if any(rule["rule"] == "false" for rule in one.get("x-kubernetes-validations", ()))
    }
    providers = {"trust", "controlPlane", "name", "revisions.istiod", "revisions.chartValues", "revisions.charts"}
    assert providers | {"memberships.cluster", "memberships.clusterDomain"} <= rejected
    users = {".".join(str(step) for step in place[1:] if step != "*") for place in users_fields()}
    assert {"trustDomain", "tags", "revisions.host", "memberships.gateways", "memberships.access"} <= users
    assert not users & rejected


def test_the_schema_is_structural() -> None:
    """Kubernetes' rules: no references, no alternatives, a type at each node."""
    unknown = {"$ref", "anyOf", "oneOf", "const", "title", "x-set-by", "patternProperties", "default"}
    version = definition()["spec"]["versions"][0]
    for path, one in nodes(version["schema"]["openAPIV3Schema"]):
        assert not unknown & one.keys(), path
        assert "type" in one or one.get("x-kubernetes-preserve-unknown-fields"), path


@pytest.mark.parametrize(
    ("cluster_name", "change", "field"),
    [
        ("north", {"tenant": "other"}, "clusters.north.watch.tenant"),
        ("north", {"tenant": "absent"}, "clusters.north.watch.tenant"),
        ("north", {"controlPlane": "north"}, "clusters.north.watch.controlPlane"),
        ("north", {"controlPlane": "absent"}, "clusters.north.watch.controlPlane"),
        ("hub", {}, "clusters.hub.watch"),
    ],
)
def test_rejected_watches(tmp_path: Path, cluster_name: str, change: Config, field: str) -> None:
    clusters: Config = copy.deepcopy(CLUSTERS)
    clusters[cluster_name]["watch"] = {**WATCH, **change}
    given = {"data": "d", "program": "p", "passphraseFile": "f", "tenants": {"acme": {}, "other": {}}}
    (tmp_path / "settings.yaml").write_text(json.dumps({**given, "clusters": clusters}))
    with pytest.raises(InvalidInputError) as raised:
        read_settings(tmp_path / "settings.yaml")
    assert field in [one.field for one in raised.value.problems]
