"""Random intents over a random inventory: an oracle that reads the intents, against the evaluator of the objects."""

from __future__ import annotations

import json
import random
from dataclasses import asdict
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from pulumi_hosted_mesh.intents.calls import Call
from pulumi_hosted_mesh.intents.compiler import compile_intents
from pulumi_hosted_mesh.intents.evaluator import Evaluator
from pulumi_hosted_mesh.intents.matrix import diff, explain, matrix
from pulumi_hosted_mesh.spec.intents import Action, Intent, Intents
from pulumi_hosted_mesh.spec.inventory import Inventory
from pulumi_hosted_mesh.spec.load import read_document

CLUSTERS = {"east": "shop", "north": "shop", "west": "data"}
NAMES = ("page", "reviews", "ratings", "details")
METHODS, PATHS = ("GET", "POST"), ("/", "/reviews/1", "/admin/keys")
HOSTS = ("api.example.org", "db.example.org")
RULES = st.fixed_dictionaries(
    {},
    optional={
        "methods": st.lists(st.sampled_from(METHODS), min_size=1, max_size=2, unique=True),
        "paths": st.lists(st.sampled_from(("/*", "/reviews/*", "/admin/keys")), min_size=1, max_size=2, unique=True),
        "namespaces": st.lists(st.sampled_from(("one", "two")), min_size=1, max_size=1),
    },
)


@st.composite
def inventories(draw: st.DrawFn) -> dict[str, Any]:
    services = []
    for namespace in ("one", "two"):
        for name in NAMES:
            clusters = draw(st.lists(st.sampled_from(sorted(CLUSTERS)), max_size=2, unique=True))
            services.append({"name": name, "namespace": namespace, "clusters": clusters, "serviceAccount": name})
    gateways = [{"name": "egress", "role": "egress"}, {"name": "eastwest", "role": "east-west"}]
    clusters = [{"name": one, "mesh": mesh, "gateways": gateways} for one, mesh in CLUSTERS.items()]
    return {
        "clusters": clusters,
        "services": services,
        "federations": [{"name": "all", "domain": "all.example.com", "meshes": ["shop", "data"]}],
    }


@st.composite
def documents(draw: st.DrawFn, places: dict[str, Any]) -> dict[str, Any]:
    """Intents without contradictions: each names callers that are possible for its type."""
    placed = {(one["namespace"], one["name"]): {*one["clusters"]} for one in places["services"]}
    made: list[dict[str, Any]] = []
    for number in range(draw(st.integers(0, 6))):
        key = draw(st.sampled_from(sorted(placed)))
        callers = [one for one in sorted(placed) if one != key]
        kind = draw(st.sampled_from(("intra-cluster", "inter-cluster", "outbound")))
        if kind == "intra-cluster":
            callers = [one for one in callers if placed[one] & placed[key]]
        chosen = draw(st.lists(st.sampled_from(callers), min_size=1, max_size=2, unique=True)) if callers else []
        if not chosen:
            continue
        clients = [{"service": name, "namespace": namespace} for namespace, name in chosen]
        intent: dict[str, Any] = {"type": kind, "name": f"intent-{number}", "clients": clients}
        if kind == "outbound":
            host = HOSTS[number % 2]
            if any(host == one.get("external", {}).get("host") for one in made):
                continue
            intent |= {"external": {"host": host, "protocol": "HTTP", "port": 80}, "egressGateway": {"name": "egress"}}
        else:
            intent["service"] = {"name": key[1], "namespace": key[0]}
            meshes = {CLUSTERS[one] for caller in chosen for one in placed[caller]}
            within = meshes <= {CLUSTERS[one] for one in placed[key]}
            if kind == "intra-cluster" or within:
                intent["access"] = draw(st.lists(RULES, max_size=2))
        made.append(intent)
    groups = [{"name": "some", "intents": made[::2]}, {"name": "others", "intents": made[1::2]}]
    return {"project": "p", "application": "a", "outboundTraffic": "REGISTRY_ONLY", "groups": groups}


@st.composite
def cases(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any]]:
    places = draw(inventories())
    return places, draw(documents(places))


def read(places: dict[str, Any], document: dict[str, Any]) -> tuple[Intents, Inventory]:
    return read_document(Intents, document), read_document(Inventory, places)


def permits(intent: Intent, call: Call, inventory: Inventory) -> bool:
    """Whether an intent is about a call, by its words alone."""
    placed = {f"{one.namespace}/{one.name}": one for one in inventory.services}
    namespace = intent.service.namespace if intent.service else None
    callers = {f"{one.namespace or namespace}/{one.service}" for one in intent.clients}
    called = f"{namespace}/{intent.service.name}" if intent.service else intent.external and intent.external.host
    names = [*callers, *([called] if intent.service else [])]
    if call.caller not in callers or call.callee != called or any(not placed[str(one)].clusters for one in names):
        return False
    allows = [rule for rule in intent.access if rule.action is Action.ALLOW]
    return not allows or any(
        (not rule.methods or call.method in rule.methods)
        and (not rule.namespaces or call.caller.partition("/")[0] in rule.namespaces)
        and (not rule.paths or any(call.path.startswith(one.rstrip("*")) for one in rule.paths))
        for rule in allows
    )


@settings(max_examples=40)
@given(cases())
def test_the_evaluator_allows_what_an_intent_allows_and_nothing_else(
    case: tuple[dict[str, Any], dict[str, Any]],
) -> None:
    document, inventory = read(*case)
    result = compile_intents(document, inventory)
    evaluator = Evaluator(result, inventory)
    given_intents = [intent for _, intent in document.all()]
    pending = {one.intent for one in result.pending}
    placed = {one.key: one for one in inventory.services}
    denied = {
        (CLUSTERS[cluster], intent.service.namespace)
        for intent in given_intents
        if intent.service and intent.name not in pending
        for cluster in placed[intent.service.namespace, intent.service.name].clusters
    }
    for caller in (one for one in inventory.services if one.clusters):
        for callee in (one for one in inventory.services if one.clusters and one != caller):
            is_denied = {(CLUSTERS[one], callee.namespace) for one in callee.clusters} <= denied
            for method in METHODS:
                for path in PATHS:
                    call = Call(f"{caller.namespace}/{caller.name}", f"{callee.namespace}/{callee.name}", method, path)
                    by = [one.name for one in given_intents if permits(one, call, inventory)]
                    verdict = evaluator.judge(call)
                    where = (str(call), by, verdict)
                    if by:
                        assert verdict.allowed, where
                        assert {*by} & {*verdict.intents}, where
                        assert explain(result, inventory, call) == verdict
                    elif is_denied:
                        assert not verdict.allowed, where


@settings(max_examples=20)
@given(cases(), st.randoms(use_true_random=False))
def test_the_order_of_a_document_has_no_effect(
    case: tuple[dict[str, Any], dict[str, Any]], shuffle: random.Random
) -> None:
    places, document = case
    first = compile_intents(*read(places, document))
    groups = [{**one, "intents": shuffle.sample(one["intents"], len(one["intents"]))} for one in document["groups"]]
    again = compile_intents(*read(places, {**document, "groups": groups[::-1]}))
    assert json.dumps(asdict(first), sort_keys=False) == json.dumps(asdict(again), sort_keys=False)


@settings(max_examples=15)
@given(cases())
def test_a_document_differs_from_itself_by_no_call(case: tuple[dict[str, Any], dict[str, Any]]) -> None:
    document, inventory = read(*case)
    found = matrix(compile_intents(document, inventory), inventory)
    assert diff(found, matrix(compile_intents(document, inventory), inventory)) == []


@settings(max_examples=15)
@given(cases(), st.data())
def test_a_changed_intent_changes_its_own_objects_only(
    case: tuple[dict[str, Any], dict[str, Any]], data: st.DataObject
) -> None:
    places, document = case
    named = [one["name"] for group in document["groups"] for one in group["intents"] if "service" in one]
    if not named:
        return
    name = data.draw(st.sampled_from(named))
    before = compile_intents(*read(places, document))
    changed = json.loads(json.dumps(document))
    for group in changed["groups"]:
        for one in group["intents"]:
            if one["name"] == name:
                one["description"] = "changed"
                one["loadBalancing"] = {"simple": "RANDOM"}
    try:
        after = compile_intents(*read(places, changed))
    except ValueError:
        return
    except Exception as error:  # callers of another mesh have no settings of their own
        assert "loadBalancing" in str(error)
        return
    for cluster, objects in after.objects.items():
        old = {json.dumps(one, sort_keys=True) for one in before.objects.get(cluster, [])}
        for one in objects:
            if json.dumps(one, sort_keys=True) not in old:
                assert (
                    name in one["metadata"]["annotations"]["hosted-mesh.io/intent"] or "near" in one["metadata"]["name"]
                )
