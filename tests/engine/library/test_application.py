"""One document on two data planes, on the real engine: each part in its clusters, and nothing of it elsewhere."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from sandbox.clusters import Sandbox
from sandbox.engine.deployment import POLICY_PACK
from sandbox.toolchain import Tools
from tests.engine.library.engine import EXAMPLE, Api, Project
from tests.support.waiting import eventually

PROGRAM = EXAMPLE.with_name("application")
NAMESPACE = "application-bookinfo"


@pytest.fixture
def namespaces(provider: Api, user: Api) -> Iterator[None]:
    """Any two API servers: a data plane's, and the other one of this sandbox in the role of another."""
    for api in (provider, user):
        assert api.kubectl("create", "namespace", NAMESPACE).code == 0
    yield
    for api in (provider, user):
        api.kubectl("delete", "namespace", NAMESPACE)


def existing(api: Api) -> list[str]:
    found = api.get("deployments,services", "-n", NAMESPACE)["items"]
    return sorted(f"{one['kind']} {one['metadata']['name']}" for one in found)


@pytest.mark.usefixtures("clean", "namespaces")
def test_parts_go_to_their_clusters_and_follow_the_labels(
    tmp_path: Path, engine_sandbox: Sandbox, provider: Api, user: Api, tools: Tools
) -> None:
    program = tmp_path / "example"
    shutil.copytree(PROGRAM, program)
    given: dict[str, Any] = yaml.safe_load((PROGRAM / "application.yaml").read_text())
    contexts = {"east": engine_sandbox.data_plane.name, "west": engine_sandbox.control_plane.name}
    given["clusters"] = [one for one in given["clusters"] if one["name"] in contexts]
    for one in given["clusters"]:
        one["cluster"]["context"] = contexts[one["name"]]
    given |= {"namespace": NAMESPACE, "waitUntilReady": False}

    def write() -> None:
        (program / "application.yaml").write_text(yaml.safe_dump(given))

    write()
    stack = Project.make(tmp_path / "project", engine_sandbox, tools, program).stack("application", {})
    stack.succeed("up", "--yes", "--skip-preview", "--policy-pack", str(POLICY_PACK))
    page, reviews = ([f"Deployment {one}-v1", f"Service {one}"] for one in ("productpage", "reviews"))
    assert (existing(user), existing(provider)) == (page, reviews)
    assert stack.outputs()["placed"]["west"] == [
        f"{kind} {NAMESPACE}/{name}"
        for kind, name in (("ServiceAccount", "reviews"), ("Service", "reviews"), ("Deployment", "reviews-v1"))
    ]
    assert stack.up().summary().keys() == {"unchanged"}

    # Reviews also runs in east: nothing changes in west.
    given["clusters"][0]["labels"] = {"reviews": "yes"}
    write()
    steps = {step["urn"].rpartition("::")[2]: step["op"] for step in stack.preview() if step["op"] != "same"}
    assert set(steps.values()) == {"create"}
    assert {name.partition("-")[2].partition("-")[0] for name in steps} == {"east"}
    stack.up()
    assert (existing(user), existing(provider)) == (sorted([*page, *reviews]), reviews)

    # And leaves west.
    given["clusters"][1]["labels"] = {}
    write()
    assert stack.up().summary().keys() == {"deleted", "unchanged"}
    assert (existing(user), existing(provider)) == (sorted([*page, *reviews]), [])

    given["parts"][1]["place"] = {"labels": {"reviews": "ys"}}
    write()
    refused = stack.run("preview")
    assert refused.code != 0
    assert "parts.reviews.place.labels: matches none of the clusters (reviews: ys)" in refused.text
    assert "Traceback" not in refused.text
    stack.destroy()
    # Without waitUntilReady the engine does not wait for the end of a removal either.
    eventually(lambda: existing(user) == [], "its objects are gone")
