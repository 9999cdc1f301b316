"""A mesh by `kubectl apply` in the user's cluster, on the real engine and two real API servers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from sandbox.clusters import Sandbox
from sandbox.toolchain import Tools
from tests.engine.controller.service import NAMESPACE, Controller, events, namespaces, secrets
from tests.engine.library.engine import Api
from tests.support.waiting import eventually

Config = dict[str, Any]
RESOURCE = ("hostedmesh", "demo")


@pytest.fixture
def controller(
    tmp_path: Path, engine_sandbox: Sandbox, tools: Tools, documents: Config, installed: Path
) -> Iterator[Controller]:
    """The provider's half of the document is in its settings."""
    (revision,) = documents["mesh"]["revisions"]
    below = {key: one for key, one in revision.items() if key not in ("host", "exposure")}
    below["exposure"] = {"publishName": revision["exposure"]["publishName"]}
    template = {"trust": documents["mesh"]["trust"], "revisions": [below]}
    clusters: Config = {
        name: {"kubeconfig": str(engine_sandbox.kubeconfig), "context": name, "side": name, "tenants": ["acme"]}
        for name in ("control-plane", "data-plane")
    }
    watch = {"kubeconfig": str(installed), "tenant": "acme", "controlPlane": "control-plane"}
    clusters["data-plane"]["watch"] = watch
    settings = {"clusters": clusters, "tenants": {"acme": {"mesh": template}}}
    made = Controller.make(tmp_path / "controller", engine_sandbox, tools, **settings)
    made.start()
    yield made
    made.stop()


@pytest.fixture
def resource(documents: Config) -> Config:
    """The user's half, as a resource."""
    (revision,), (membership,) = documents["mesh"]["revisions"], documents["mesh"]["memberships"]
    exposure = {"sourceRanges": revision["exposure"]["sourceRanges"]}
    spec = {
        "revisions": [{"host": revision["host"], "exposure": exposure}],
        "memberships": [{key: one for key, one in membership.items() if key != "cluster"}],
    }
    return {"apiVersion": "hosted-mesh.io/v1alpha1", "kind": "HostedMesh", "metadata": {"name": "demo"}, "spec": spec}


def apply(user: Api, folder: Path, resource: Config) -> str:
    """Returns an error's text, or nothing."""
    (folder / "resource.json").write_text(json.dumps(resource))
    done = user.kubectl("apply", "-f", str(folder / "resource.json"))
    return done.text if done.code else ""


@pytest.mark.usefixtures("clean")
def test_life_of_a_mesh_by_a_custom_resource(
    controller: Controller, resource: Config, provider: Api, user: Api, tmp_path: Path, installed: Path
) -> None:
    """The controller is killed in the middle of the first order, and while the user deletes the resource."""
    refused = {**resource, "spec": {**resource["spec"], "trust": {"root": {"protect": True}}}}
    assert "spec.trust: Forbidden: is set by the provider" in apply(user, tmp_path, refused)

    assert apply(user, tmp_path, resource) == ""
    client = controller.client()

    def operation() -> str | None:
        found: str | None = user.get(*RESOURCE).get("status", {}).get("operation")
        return found

    first = eventually(operation)
    eventually(lambda: sum(one["type"] == "step" for one in events(controller, first)) >= 12, seconds=120)
    controller.kill()
    controller.start()
    ready = user.kubectl("wait", "--for=condition=Ready", "/".join(RESOURCE), "--timeout=180s")
    assert ready.code == 0, ready.text + controller.log[-3000:]
    ended = client.operation(first)
    assert (ended.state, ended.attempts) == ("succeeded", 2)
    assert NAMESPACE in namespaces(provider) & namespaces(user)
    status = user.get(*RESOURCE)["status"]
    assert status["endpoints"] == [{"name": "default/default", "host": "istiod.demo.sandbox.test"}]
    assert len([one for one in client.operations() if one.action == "up"]) == 1

    resource["spec"]["revisions"][0]["exposure"]["sourceRanges"] = ["10.90.0.21/32"]
    assert apply(user, tmp_path, resource) == ""
    eventually(lambda: ranges(provider) == ["10.90.0.21/32"], seconds=120)
    eventually(lambda: user.get(*RESOURCE)["status"]["state"] == "ready")

    # An administrator of the user's cluster can remove the API server's rules. The controller refuses by itself.
    rules = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/trust/x-kubernetes-validations"
    loosened = json.dumps([{"op": "remove", "path": rules}])
    definition = ("crd", "hostedmeshes.hosted-mesh.io")
    assert user.kubectl("patch", *definition, "--type=json", "-p", loosened).code == 0
    eventually(lambda: not apply(user, tmp_path, refused))
    eventually(lambda: user.get(*RESOURCE)["status"]["state"] == "refused")
    (problem,) = user.get(*RESOURCE)["status"]["problems"]
    assert problem["field"] == "spec.trust"
    assert len([one for one in client.operations() if one.action == "up"]) == 2

    assert_least_rights(user, installed)
    assert_no_secrets_in(user, controller, provider)

    def reasons() -> set[str]:
        return {one["reason"] for one in user.get("events", "-n", "default")["items"] if "involvedObject" in one}

    eventually(lambda: {"Ordered", "Ready", "Refused"} <= reasons(), "events of each step")

    assert user.kubectl("delete", *RESOURCE, "--wait=false").code == 0
    eventually(lambda: "deleting" in user.kubectl("get", *RESOURCE).output)
    controller.kill()
    controller.start()
    gone = user.kubectl("wait", "--for=delete", "/".join(RESOURCE), "--timeout=180s")
    assert gone.code == 0, gone.text + controller.log[-3000:]
    assert NAMESPACE not in namespaces(provider) | namespaces(user)
    assert list(client.objects("meshes")) == []


def assert_least_rights(user: Api, watcher: Path) -> None:
    """The watcher's token reads and writes HostedMeshes, writes events, and nothing else."""
    for verb, kind, place in (
        ("get", "secrets", "-A"),
        ("list", "pods", "-A"),
        ("create", "hostedmeshes", "-A"),
        ("delete", "hostedmeshes", "-A"),
        ("create", "events", "-nkube-system"),
        ("list", "events", "-A"),
        ("create", "serviceaccounts/token", "-A"),
        ("patch", "customresourcedefinitions", "-A"),
    ):
        answer = user.kubectl("auth", "can-i", verb, kind, place, kubeconfig=watcher)
        assert answer.output.strip().endswith("no"), f"{verb} {kind}"
    assert user.kubectl("auth", "can-i", "patch", "hostedmeshes", kubeconfig=watcher).output.strip() == "yes"


def assert_no_secrets_in(user: Api, controller: Controller, provider: Api) -> None:
    """The user's etcd has no secret of the control plane, and no file of the controller the watcher's token."""
    of_provider = secrets(controller, provider)
    del of_provider["istiod's token"]  # the user's own, for istiod
    values = [value for _key, value in user.cluster.etcd_items()]
    assert any(b"10.90.0.21/32" in value for value in values)
    for name, secret in of_provider.items():
        assert not [value for value in values if secret.encode() in value], name
    settings = yaml.safe_load((controller.folder / "settings.yaml").read_text())
    watcher = yaml.safe_load(Path(settings["clusters"]["data-plane"]["watch"]["kubeconfig"]).read_text())
    token = watcher["users"][0]["user"]["token"].encode()
    files = [file for file in controller.folder.rglob("*") if file.is_file()]
    assert [str(file) for file in files if token in file.read_bytes()] == []


def ranges(provider: Api) -> list[str]:
    service = provider.get("service", "istiod-exposed-demo", "-n", NAMESPACE)
    found: list[str] = service["spec"]["loadBalancerSourceRanges"]
    return found
