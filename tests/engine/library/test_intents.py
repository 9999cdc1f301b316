"""Intents on the real engine and a real API server: applied, unchanged by a second run, and one changed alone."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from sandbox.bootstrap import CHECKOUT
from sandbox.engine.deployment import POLICY_PACK
from sandbox.toolchain import Tools
from tests.engine.library.engine import Api, Project, Stack

Config = dict[str, Any]
EXAMPLE = CHECKOUT / "examples/intents"
NAMESPACES = ("bookinfo", "mesh-shop")
KINDS = ",".join(
    (
        "gateways.networking.istio.io",
        "virtualservices",
        "serviceentries",
        "destinationrules",
        "sidecars",
        "authorizationpolicies",
        "peerauthentications",
        "requestauthentications",
    )
)


@pytest.fixture
def namespaces(user: Api, tools: Tools) -> Iterator[None]:
    """Istio's definitions, and the namespaces of Bookinfo and of the mesh's gateways."""
    with user.with_istio(tools, *NAMESPACES):
        yield


def stack(project: Project, mesh: Config, intents: Config) -> Stack:
    inventory = yaml.safe_load((EXAMPLE / "inventory.yaml").read_text())
    target = {"name": "east", "cluster": mesh["memberships"][0]["cluster"]}
    return project.stack(
        "intents-east", {"stack": "intents", "intents": intents, "inventory": inventory, "target": target}
    )


def versions(user: Api) -> dict[tuple[str, str, str], str]:
    """The stored version of each object of Istio, by kind, namespace and name."""
    found = [one for name in NAMESPACES for one in user.get(KINDS, "-n", name)["items"]]
    keys = [(one["kind"], one["metadata"]["namespace"], one["metadata"]["name"]) for one in found]
    return dict(zip(keys, (one["metadata"]["resourceVersion"] for one in found), strict=True))


@pytest.mark.usefixtures("clean", "namespaces")
def test_the_example_is_applied_once_and_one_changed_intent_alone(project: Project, mesh: Config, user: Api) -> None:
    document = yaml.safe_load((EXAMPLE / "intents.yaml").read_text())
    first = stack(project, mesh, document)
    first.succeed("up", "--yes", "--policy-pack", str(POLICY_PACK))
    applied = versions(user)
    assert ("AuthorizationPolicy", "bookinfo", "bookinfo-page-reviews") in applied
    assert ("Sidecar", "bookinfo", "bookinfo-outbound") in applied
    assert first.outputs()["imports"][0]["service"] == "ratings"
    assert first.up().summary().keys() == {"unchanged"}
    assert versions(user) == applied

    changed = copy.deepcopy(document)
    (intent,) = (one for group in changed["groups"] for one in group["intents"] if one["name"] == "page-reviews")
    intent["access"][0]["paths"].append("/health")
    second = stack(project, mesh, changed)
    assert second.up().summary()["updated"] == 1
    after = versions(user)
    assert {key for key in after if after[key] != applied[key]} == {
        ("AuthorizationPolicy", "bookinfo", "bookinfo-page-reviews")
    }

    intent["service"]["name"] = "nobody"
    refused = stack(project, mesh, changed).run("preview")
    assert refused.code != 0
    assert "names service bookinfo/nobody, which is nowhere in the inventory" in refused.text
    assert "Traceback" not in refused.text
    assert versions(user) == after

    second.destroy()
    assert versions(user) == {}
