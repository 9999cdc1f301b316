"""Drift on the real engine and two real API servers: an object is broken by hand, and mended or left by policy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sandbox.clusters import Sandbox
from sandbox.toolchain import Tools
from tests.engine.controller.service import NAMESPACE, Controller
from tests.engine.library.engine import Api
from tests.support.waiting import eventually

Config = dict[str, Any]
SERVICE = ("service", "istiod-exposed-demo", "-n", NAMESPACE)


@pytest.mark.usefixtures("clean")
def test_what_is_broken_by_hand_is_reported_then_mended(
    tmp_path: Path, engine_sandbox: Sandbox, tools: Tools, documents: Config, provider: Api
) -> None:
    """The policy is `report` at first: nothing is touched. Then it is `always`. The other object is deleted."""
    controller = Controller.make(tmp_path / "controller", engine_sandbox, tools, upkeep={"everySeconds": 5})
    controller.start()
    try:
        client = controller.client()
        made = client.wait(client.order("meshes", documents).id)
        assert made.state == "succeeded", made.error
        # Without a change by others there is no drift, though clusters write into their objects.
        eventually(lambda: client.show("meshes", "demo").upkeep.checked, seconds=120)
        assert client.show("meshes", "demo").upkeep.drift == []
        assert len(client.show("meshes", "demo").upkeep.certificates) >= 2

        role = provider.get("roles", "-n", NAMESPACE)["items"][0]
        name = role["metadata"]["name"]
        assert provider.kubectl("delete", "role", name, "-n", NAMESPACE).code == 0
        patch = json.dumps({"spec": {"loadBalancerSourceRanges": ["0.0.0.0/0"]}})
        assert provider.kubectl("patch", *SERVICE, "--type=merge", "-p", patch).code == 0
        eventually(lambda: len(client.show("meshes", "demo").upkeep.drift) == 2, seconds=120)
        found = client.show("meshes", "demo").upkeep.drift
        assert {one.action for one in found} == {"update", "create"}
        assert "demo-istiod-exposed-demo" in {one.resource for one in found}
        assert ranges(provider) == ["0.0.0.0/0"]
        assert client.show("meshes", "demo").upkeep.repairs == 0

        client.keep("meshes", "demo", "always")
        eventually(lambda: client.show("meshes", "demo").upkeep.repairs == 1, seconds=120)
        assert ranges(provider) == ["10.90.0.20/32"]
        assert provider.get("role", name, "-n", NAMESPACE)["rules"] == role["rules"]
        assert client.show("meshes", "demo").upkeep.drift == []
        messages = [json.loads(line)["message"] for line in controller.log.splitlines()]
        assert messages.index("drift found") < messages.index("drift repaired")
        gone = client.wait(client.delete("meshes", "demo", etag='"1"').id)
        assert gone.state == "succeeded", gone.error
    finally:
        controller.stop()


def ranges(provider: Api) -> list[str]:
    found: list[str] = provider.get(*SERVICE)["spec"]["loadBalancerSourceRanges"]
    return found
