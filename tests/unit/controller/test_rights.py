"""Rights of a tenant beside another one in a cluster: REST and the watcher refuse the same, and store nothing of it."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hosted_mesh_controller.store.tables import METADATA
from hosted_mesh_controller.watcher.intents_reconciling import IntentsReconciler
from hosted_mesh_controller.work.rights import Reach, foreign_names
from hypothesis import given, settings
from hypothesis import strategies as st
from pulumi_hosted_mesh import Intents, InvalidInputError, Inventory, compile_intents, read_document
from sqlalchemy import func, select

from tests.unit.controller.service import Service, documents
from tests.unit.controller.watched_cluster import SPEC, Cluster
from tests.unit.controller.webhooks import TENANTS, WATCHED

Config = dict[str, Any]
INTENTS = "/v1/tenants/acme/intents"
KEY = f"{INTENTS}/shop-shop"
FEDERATIONS = "/v1/tenants/acme/federations"
SHARED = {**WATCHED, "north": {**WATCHED["north"], "tenants": ["acme", "other"]}}
"""A cluster of two tenants, each with a mesh in it."""


def mesh(tenant: str, name: str, host: str, cluster: str = "north") -> Config:
    found = documents("meshes", tenant, name)
    found["mesh"]["revisions"][0]["host"] = host
    found["mesh"]["memberships"][0]["cluster"] = {"kubeconfig": cluster}
    found["mesh"]["memberships"][0]["gateways"] = [{"name": "ingress"}]
    return found


@pytest.fixture
def shared(tmp_path: Path) -> Service:
    """Mesh `shop` of acme and mesh `theirs` of other, both ready in `north`."""
    service = Service.make(tmp_path, clusters=SHARED, tenants=TENANTS)
    for tenant, name in (("acme", "shop"), ("other", "theirs")):
        service.end(service.ordered(tenant, "meshes", mesh(tenant, name, f"istiod.{name}.acme.example"))["id"])
    return service


def spec() -> Config:
    """Of a TrafficIntents: one call."""
    services = [{"name": name, "namespace": "books", "ports": [{"port": 9080}]} for name in ("page", "reviews")]
    intent: Config = {"type": "intra-cluster", "name": "page-reviews", "clients": [{"service": "page"}]}
    intent |= {"service": {"name": "reviews", "namespace": "books", "port": 9080}}
    return {"mesh": "shop", "groups": [{"name": "pages", "intents": [intent]}], "services": services}


def by_rest(given: Config) -> Config:
    """The documents of the same intents."""
    intents: Config = {"project": "shop", "application": "pages"} | copy.deepcopy(given)
    services = [{"clusters": ["shop"], **one} for one in intents.pop("services")]
    clusters = [{"name": "shop", "mesh": intents.pop("mesh"), "gateways": [{"name": "ingress", "role": "ingress"}]}]
    target = {"name": "shop", "cluster": {"kubeconfig": "north"}}
    return {"intents": intents, "inventory": {"clusters": clusters, "services": services}, "target": target}


def in_namespace(namespace: str) -> Callable[[Config], None]:
    def change(given: Config) -> None:
        given["groups"][0]["intents"][0]["service"]["namespace"] = namespace
        for one in given["services"]:
            one["namespace"] = namespace

    return change


CASES: dict[str, tuple[Callable[[Config], Any], str, str]] = {
    "a call": (lambda _given: None, "", ""),
    "the mesh's own namespace": (in_namespace("mesh-shop"), "", ""),
    "another mesh's namespace": (
        in_namespace("mesh-theirs"),
        "services[0].namespace",
        "inventory.services[0].namespace",
    ),
    "a longer name": (in_namespace("mesh-shop-2"), "services[0].namespace", "inventory.services[0].namespace"),
    "a name that begins alike": (in_namespace("meshes"), "", ""),
    "namespaces: own": (lambda given: given.update(namespaces=["books", "mesh-shop"]), "", ""),
    "namespaces: another's": (
        lambda given: given.update(namespaces=["books", "mesh-theirs"]),
        "namespaces[1]",
        "intents.namespaces[1]",
    ),
    "denies all of the own mesh": (lambda given: given.update(defaultDeny="mesh"), "", ""),
    "a domain of the tenant's": (lambda given: given.update(domain="acme.example"), "", ""),
    "a domain below it": (lambda given: given.update(domain="pages.acme.example"), "", ""),
    "a domain outside": (lambda given: given.update(domain="shop.elsewhere.test"), "domain", "intents.domain"),
    "a domain that ends alike": (lambda given: given.update(domain="not-acme.example"), "domain", "intents.domain"),
    "a domain above": (lambda given: given.update(domain="example"), "domain", "intents.domain"),
    "another's mesh": (lambda given: given.update(mesh="theirs"), "mesh", "inventory.clusters[0].mesh"),
    "a mesh of nobody": (lambda given: given.update(mesh="absent"), "mesh", "inventory.clusters[0].mesh"),
    "a cluster outside of the mesh": (
        lambda given: given["services"][1].update(clusters=["shop", "theirs"]),
        "services[1].clusters[1]",
        "inventory",  # the model of the inventory, which has the mesh's clusters alone
    ),
}
"""Changes of the intents, and the refused field: of the resource, of the documents."""


@pytest.mark.parametrize(("change", "of_resource", "of_documents"), CASES.values(), ids=CASES)
def test_both_doors_have_one_verdict(
    shared: Service, change: Callable[[Config], Any], of_resource: str, of_documents: str
) -> None:
    given = spec()
    change(given)
    before = len(shared.queue.added)
    answer = shared.call("acme", "POST", f"{INTENTS}?dryRun=true", by_rest(given))
    assert answer.status_code == (422 if of_documents else 202), answer.text
    if of_documents:
        assert of_documents in [one["field"] for one in answer.json()["problems"]]
        assert all(one["rule"] and one["fix"] for one in answer.json()["problems"])
    assert len(shared.queue.added) == before + (not of_documents)
    cluster = Cluster(shared)
    reconciler: Any = IntentsReconciler(shared.settings, shared.database, shared.queue)
    cluster.reconciler = reconciler
    status = cluster.apply("pages", given)["status"]
    # A mesh that is not there may come: the resource waits, and nothing is ordered.
    waits = of_resource == "mesh"
    assert status["state"] == ("refused" if of_resource and not waits else "pending"), status
    assert (shared.call("acme", "GET", KEY).status_code == 200) is (not of_resource)
    if of_resource and not waits:
        assert f"spec.{of_resource}" in [one["field"] for one in status["problems"]]


def domain_elsewhere(body: Config) -> None:
    body["intents"]["domain"] = "shop.elsewhere.test"


def gateway_elsewhere(body: Config) -> None:
    body["inventory"]["clusters"][0]["gateways"][0]["namespace"] = "mesh-theirs"


def anothers_mesh(body: Config) -> None:
    body["inventory"]["clusters"][0]["mesh"] = "theirs"


def another_target(body: Config) -> None:
    """The own mesh for one cluster, and another's for the target."""
    body["inventory"]["clusters"].append({"name": "north", "mesh": "theirs"})
    body["target"]["name"] = "north"


def no_target(body: Config) -> None:
    body["target"]["name"] = "absent"


REFUSED = [
    (domain_elsewhere, "intents.domain"),
    (gateway_elsewhere, "inventory.clusters[0].gateways[0].namespace"),
    (anothers_mesh, "inventory.clusters[0].mesh"),
]
RENAMED = [(another_target, "inventory.clusters[1].mesh"), (no_target, "target.name")]


@pytest.mark.parametrize(("change", "field"), [*REFUSED, *RENAMED])
def test_a_refused_order_is_one_error_and_stores_nothing(shared: Service, change: Any, field: str) -> None:
    body, before = by_rest(spec()), rows(shared)
    change(body)
    refused(shared.call("acme", "POST", INTENTS, body, Idempotency_Key="one"), field)
    assert rows(shared) == before
    # Neither does it use up the key.
    assert shared.call("acme", "POST", INTENTS, by_rest(spec()), Idempotency_Key="one").status_code == 202


@pytest.mark.parametrize(("change", "field"), REFUSED)
def test_a_refused_change_leaves_the_object(shared: Service, change: Any, field: str) -> None:
    body = by_rest(spec())
    shared.end(shared.call("acme", "POST", INTENTS, body).json()["id"])
    changed, before = copy.deepcopy(body), rows(shared)
    change(changed)
    refused(shared.call("acme", "PUT", KEY, changed, If_Match='"1"'), field)
    assert rows(shared) == before
    found = shared.call("acme", "GET", KEY).json()
    assert (found["documents"], found["generation"], found["state"]) == (body, 1, "ready")


def refused(answer: Any, field: str) -> None:
    assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json"), answer.text
    (problem,) = answer.json()["problems"]
    assert problem["field"] == field
    assert problem["rule"]
    assert problem["fix"]


def rows(service: Service) -> dict[str, int]:
    """Number of rows of each table."""
    with service.database.reading() as connection:
        return {
            name: connection.execute(select(func.count()).select_from(table)).scalar_one()
            for name, table in METADATA.tables.items()
        }


def test_the_provider_is_not_limited(shared: Service) -> None:
    body = by_rest(spec() | {"domain": "shop.elsewhere.test", "namespaces": ["mesh-theirs"]})
    assert shared.call("provider", "POST", INTENTS, body).status_code == 202


def test_a_mesh_that_goes_takes_no_intents(shared: Service) -> None:
    path = "/v1/tenants/acme/meshes/shop"
    assert shared.call("acme", "DELETE", path, If_Match='"1"').status_code == 202
    answer = shared.call("acme", "POST", INTENTS, by_rest(spec()))
    assert [one["field"] for one in answer.json()["problems"]] == ["inventory.clusters[0].mesh"]


def test_a_federated_mesh_is_called_by_rest(shared: Service) -> None:
    """Its cluster is in the inventory: no object of this order goes there."""
    body = by_rest(spec())
    gateways = [{"name": "eastwest", "role": "east-west", "namespace": "mesh-theirs"}]
    body["inventory"]["clusters"].append({"name": "south", "mesh": "theirs", "gateways": gateways})
    body["inventory"]["services"].append({"name": "ratings", "namespace": "books", "clusters": ["south"]})
    federation = {"name": "both", "domain": "both.example.com", "meshes": ["shop", "theirs"]}
    body["inventory"]["federations"] = [federation]
    assert shared.call("acme", "POST", INTENTS, body).status_code == 202


THEIRS = [{"name": "gateway", "namespace": "mesh-theirs"}]
GATEWAY = "memberships[0].gateways[0].namespace"


def test_a_gateway_in_another_meshs_namespace_is_refused(shared: Service) -> None:
    """It would read the keys of that mesh's gateways. By a new mesh, a change, a membership, and a HostedMesh."""
    path, before = "/v1/tenants/acme/meshes", rows(shared)
    body = mesh("acme", "books", "istiod.books.acme.example")
    body["mesh"]["memberships"][0]["gateways"] = THEIRS
    refused(shared.call("acme", "POST", path, body), f"mesh.{GATEWAY}")
    body = mesh("acme", "shop", "istiod.shop.acme.example")
    body["mesh"]["memberships"][0]["gateways"] = THEIRS
    refused(shared.call("acme", "PUT", f"{path}/shop", body, If_Match='"1"'), f"mesh.{GATEWAY}")
    membership = body["mesh"]["memberships"][0]
    refused(
        shared.call("acme", "PUT", f"{path}/shop/memberships/default", membership, If_Match='"1"'), f"mesh.{GATEWAY}"
    )
    assert rows(shared) == before
    cluster = Cluster(shared)
    given = copy.deepcopy(SPEC)
    given["revisions"][0]["host"] = "istiod.books.acme.example"
    given["memberships"] = [{**{key: one for key, one in membership.items() if key != "cluster"}, "gateways": THEIRS}]
    status = cluster.apply("books", given)["status"]
    assert (status["state"], [one["field"] for one in status["problems"]]) == ("refused", [f"spec.{GATEWAY}"])
    given["memberships"][0]["gateways"] = [{"name": "gateway", "namespace": "mesh-books"}]
    assert cluster.apply("books", given)["status"]["state"] == "pending"
    assert shared.call("provider", "PUT", f"{path}/shop", body, If_Match='"1"').status_code == 202


def federation(of_mesh: str = "shop") -> Config:
    """A part of a federation of two meshes: of `shop`, unless another is named."""
    body = documents("federations", "acme")
    for peer, name in zip(body["federation"]["peers"], ("shop", "theirs"), strict=True):
        peer["mesh"] = name
    body["federation"]["peers"][0]["imports"][0]["meshes"] = ["theirs"]
    body["federation"]["peers"][1]["exports"][0]["to"][0]["mesh"] = "shop"
    return body | {"member": {"mesh": of_mesh, "cluster": {"kubeconfig": "north"}}}


EXPORT = {"service": "page", "port": 80, "to": [{"mesh": "theirs", "identities": ["books/*"]}]}
PARTS: list[tuple[Callable[[Config], Any], str]] = [
    (lambda peer: peer["gateway"].update(namespace="mesh-theirs"), "gateway.namespace"),
    (lambda peer: peer.update(egress={"gateway": "egress", "namespace": "mesh-theirs"}), "egress.namespace"),
    (lambda peer: peer["imports"][0].update(namespaces=["books", "mesh-theirs"]), "imports[0].namespaces[1]"),
    (
        lambda peer: peer.update(exports=[{**EXPORT, "namespace": "mesh-theirs"}]),
        "exports[0].namespace",
    ),
]


@pytest.mark.parametrize(("change", "field"), PARTS, ids=[one[1] for one in PARTS])
def test_a_federation_writes_in_no_other_mesh(shared: Service, change: Any, field: str) -> None:
    body = federation()
    change(body["federation"]["peers"][0])
    before = rows(shared)
    refused(shared.call("acme", "POST", FEDERATIONS, body), f"federation.peers[0].{field}")
    assert rows(shared) == before
    # The other mesh's own namespace is a fact of that peer.
    body = federation()
    body["federation"]["peers"][1]["gateway"]["namespace"] = "mesh-theirs"
    assert shared.call("acme", "POST", FEDERATIONS, body).status_code == 202


def test_a_federation_is_for_a_mesh_of_the_tenant(shared: Service) -> None:
    """Its hosts in another's mesh would lead all of that mesh's calls to the tenant's gateway."""
    before = rows(shared)
    refused(shared.call("acme", "POST", FEDERATIONS, federation("theirs")), "member.mesh")
    assert rows(shared) == before
    assert shared.call("other", "POST", "/v1/tenants/other/federations", federation("theirs")).status_code == 202
    assert shared.call("provider", "POST", FEDERATIONS, federation("theirs")).status_code == 202


NAMESPACES = st.sampled_from(["books", "mesh-shop", "mesh-theirs"])
ROLES = {"ingress": "ingress", "egress": "egress", "eastwest": "east-west"}


@st.composite
def inventories(draw: st.DrawFn) -> Config:
    clusters: list[Config] = []
    for name, of_mesh in (("own", "shop"), ("beside", "shop"), ("far", "theirs")):
        gateways = [
            {"name": gateway, "role": role} | ({"namespace": draw(NAMESPACES)} if draw(st.booleans()) else {})
            for gateway, role in ROLES.items()
            if draw(st.booleans())
        ]
        clusters.append({"name": name, "mesh": of_mesh, "gateways": gateways, "config": name == "own"})
    placed = st.lists(st.sampled_from(["own", "beside", "far"]), max_size=2, unique=True)
    services = [
        {"name": name, "namespace": draw(NAMESPACES), "clusters": draw(placed), "ports": [{"port": 80}]}
        for name in ("page", "reviews", "ratings")
    ]
    federation = {"name": "both", "domain": "both.example.com", "meshes": ["shop", "theirs"]}
    return {"clusters": clusters, "services": services, "federations": [federation]}


@st.composite
def orders(draw: st.DrawFn) -> tuple[Config, Config]:
    inventory = draw(inventories())
    intents: list[Config] = []
    for number, (callee, caller) in enumerate(itertools.permutations(inventory["services"], 2)):
        if not draw(st.booleans()):
            continue
        intent: Config = {"name": f"intent-{number}", "type": draw(st.sampled_from(TYPES))}
        client = {"service": caller["name"], "namespace": caller["namespace"]}
        intent |= {"clients": [client]} if intent["type"] != "inbound" else {}
        if intent["type"] == "outbound":
            intent |= {"external": {"host": f"api{number}.example.org"}}
            intent |= {"egressGateway": {"name": "egress"}} if draw(st.booleans()) else {}
        else:
            intent["service"] = {"name": callee["name"], "namespace": callee["namespace"], "port": 80}
        intents.append(intent)
    document: Config = {"project": "p", "application": "a", "domain": "acme.example"}
    document |= {"namespaces": draw(st.lists(NAMESPACES, max_size=2, unique=True))}
    document |= {"defaultDeny": draw(st.sampled_from(["namespace", "mesh", "none"]))}
    document |= {"outboundTraffic": "REGISTRY_ONLY"} if draw(st.booleans()) else {}
    return {**document, "groups": [{"name": "all", "intents": intents}]}, inventory


TYPES = ("intra-cluster", "inter-cluster", "inbound", "outbound")


@settings(max_examples=300, deadline=None)
@given(order=orders())
def test_without_foreign_names_no_object_is_in_another_mesh(order: tuple[Config, Config]) -> None:
    """The check reads names and compiles nothing; the compiler is its proof."""
    intents, inventory = order
    reach = Reach("shop", {"own", "beside", "far"}, ("acme.example",))
    try:
        made = compile_intents(read_document(Intents, intents), read_document(Inventory, inventory))
    except InvalidInputError:
        return
    places = {one["metadata"]["namespace"] for one in made.objects.get("own", ())}
    if "mesh-theirs" in places:
        assert list(foreign_names(intents, inventory, reach))
