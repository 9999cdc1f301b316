"""The controller on the real engine and two real API servers: orders, changes, removals, and kills in between."""

from __future__ import annotations

import copy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.engine.controller.service import NAMESPACE, STACK, Controller, assert_no_secrets, events, namespaces
from tests.engine.library.engine import Api
from tests.support.waiting import eventually

Config = dict[str, Any]
CLI = Path(sys.executable).with_name("hosted-mesh")


@pytest.mark.usefixtures("clean")
def test_life_of_an_ordered_mesh(controller: Controller, documents: Config, provider: Api, user: Api) -> None:
    client = controller.client()

    preview = client.wait(client.order("meshes", documents, dry_run=True).id)
    assert preview.state == "succeeded", preview.error
    assert preview.result
    assert {step["action"] for step in preview.result["steps"]} == {"create"}
    assert NAMESPACE not in namespaces(provider) | namespaces(user)
    assert list(client.objects("meshes")) == []

    made = client.order("meshes", documents, key="first-order")
    assert client.order("meshes", documents, key="first-order").id == made.id
    ended = client.wait(made.id)
    assert (ended.state, ended.attempts) == ("succeeded", 1), ended.error
    assert NAMESPACE in namespaces(provider) & namespaces(user)
    ready = client.show("meshes", "demo")
    assert (ready.state, ready.generation, ready.ready_generation) == ("ready", 1, 1)
    assert ready.outputs["endpoints"]["default/default"]["host"] == "istiod.demo.sandbox.test"
    steps = [one for one in client.events(made.id) if one.kind == "step"]
    assert "demo-cacerts" in {one.data["resource"] for one in steps}

    changed = copy.deepcopy(documents)
    changed["mesh"]["revisions"][0]["exposure"]["sourceRanges"] = ["10.90.0.21/32"]
    seen = client.wait(client.order("meshes", changed, name="demo", dry_run=True).id)
    assert seen.result
    assert {one["resource"] for one in seen.result["steps"]} == {"demo-istiod-exposed-demo"}
    assert ranges(provider) == ["10.90.0.20/32"]
    after = client.wait(client.order("meshes", changed, name="demo", etag='"1"').id)
    assert after.state == "succeeded", after.error
    assert ranges(provider) == ["10.90.0.21/32"]

    assert_no_secrets(controller, provider)
    gone = client.wait(client.delete("meshes", "demo", etag='"2"').id)
    assert gone.state == "succeeded", gone.error
    assert list(client.objects("meshes")) == []
    assert not (controller.folder / "data/stacks" / STACK).exists()
    assert [one.action for one in client.operations()] == ["destroy", "up", "preview-up", "up", "preview-up"]


@pytest.mark.usefixtures("clean")
def test_a_cancelled_order_by_the_command_line(
    controller: Controller, documents: Config, provider: Api, tmp_path: Path
) -> None:
    controller.client("tenant")
    (tmp_path / "token").write_text(controller.client() and controller.tokens["provider"])
    (tmp_path / "mesh.yaml").write_text(yaml.safe_dump(documents))
    # No node is here: this operation waits for istiod's Pods until it is cancelled.
    waiting = copy.deepcopy(documents)
    waiting["mesh"]["revisions"][0]["istiod"]["waitUntilReady"] = True
    (tmp_path / "waiting.yaml").write_text(yaml.safe_dump(waiting))

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        own = {"HOSTED_MESH_CONTROLLER": controller.url, "HOSTED_MESH_TENANT": "acme"}
        own["HOSTED_MESH_TOKEN_FILE"] = str(tmp_path / "token")
        return subprocess.run(
            [CLI, *arguments], env={**controller.environment, **own}, capture_output=True, text=True, timeout=300
        )

    identifier = run("order", "meshes", str(tmp_path / "waiting.yaml"), "--no-wait").stdout.strip()
    client = controller.client()
    eventually(lambda: any(one["type"] == "step" for one in events(controller, identifier)))
    assert run("cancel", identifier).returncode == 0
    followed = run("logs", identifier)
    assert followed.returncode == 3
    assert "meshes/demo: cancelled" in followed.stdout
    assert client.show("meshes", "demo").state == "failed"

    done = run("order", "meshes", str(tmp_path / "mesh.yaml"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "meshes/demo: succeeded" in done.stdout
    assert "demo" in run("list", "meshes").stdout
    assert yaml.safe_load(run("show", "meshes", "demo").stdout)["state"] == "ready"
    removed = run("order", "meshes", "--remove", "demo")
    assert removed.returncode == 0, removed.stdout + removed.stderr


def ranges(provider: Api) -> list[str]:
    service = provider.get("service", "istiod-exposed-demo", "-n", NAMESPACE)
    found: list[str] = service["spec"]["loadBalancerSourceRanges"]
    return found
