"""docs/recovery.md on the real engine: states that are lost and restored, keys that are lost, objects that are lost."""

from __future__ import annotations

import base64
import copy
import dataclasses
import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from sandbox.clusters import Sandbox
from sandbox.engine.pulumi_cli import PulumiCli
from sandbox.toolchain import Tools
from tests.engine.library.engine import Api, Project, Stack, bash_in, differences, versions
from tests.engine.library.lost_states import lost, taken_in
from tests.support.split import split_configs
from tests.support.waiting import eventually

Config = dict[str, Any]
NAMESPACE = "mesh-demo"
KINDS = "namespaces,clusterroles,clusterrolebindings,mutatingadmissionpolicies,mutatingadmissionpolicybindings"
"""What the stack `access` has in the cluster, but for what is in the namespace."""
CACERTS = f"control-plane: Secret.core {NAMESPACE}/cacerts"
ISTIOD = f"control-plane: Deployment.apps {NAMESPACE}/istiod"
WEBHOOKS = {
    f"data-plane: MutatingWebhookConfiguration.admissionregistration.k8s.io /istio-sidecar-injector-{NAMESPACE}",
    f"data-plane: ValidatingWebhookConfiguration.admissionregistration.k8s.io /istio-validator-{NAMESPACE}",
}

(KILLED,) = bash_in("recovery.md", "A run that was killed")


@pytest.fixture
def project(tmp_path: Path, engine_sandbox: Sandbox, tools: Tools) -> Project:
    return Project.make(tmp_path / "project", engine_sandbox, tools)


@pytest.fixture
def stacks(project: Project, mesh: Config, clean: None) -> Iterator[dict[str, Stack]]:
    """Those of one mesh, in their order, all run; destroyed at the end, as `clean` looks after."""
    made = {name: project.stack(name, {"stack": name, **one}) for name, one in split_configs(mesh).items()}
    for stack in made.values():
        stack.up()
    yield made
    for stack in reversed(made.values()):
        stack.run("destroy", "--yes", "--skip-preview")


def with_passphrase(stack: Stack, passphrase: str) -> Stack:
    environment = {**stack.project.environment, "PULUMI_CONFIG_PASSPHRASE": passphrase}
    return dataclasses.replace(stack, project=dataclasses.replace(stack.project, environment=environment))


def files(provider: Api) -> dict[str, bytes]:
    data = provider.get("secret", "cacerts", "-n", NAMESPACE)["data"]
    return {name: base64.b64decode(value) for name, value in data.items()}


def test_states_are_restored(stacks: dict[str, Stack], provider: Api, user: Api) -> None:
    before = versions(provider, user)
    for stack in stacks.values():
        file = stack.back_up()
        assert "PRIVATE KEY" not in file.read_text()
        lost(stack)
        stack.restore(file)
    for name, stack in stacks.items():
        assert stack.up().summary().keys() == {"unchanged"}, name
    assert differences(before, versions(provider, user)) == {}

    # Without the passphrase the file is worth nothing; with its secrets in plain text it needs none, and takes another.
    trust = stacks["trust"]
    another = with_passphrase(trust, "another one")
    assert another.run("preview").code != 0
    file = trust.back_up("--show-secrets")
    assert "PRIVATE KEY" in file.read_text()
    key = trust.outputs()["private_key"]
    (trust.project.directory / f"Pulumi.{trust.name}.yaml").unlink()
    lost(another)
    content = json.loads(file.read_text())
    # Of the new stack, or `import` asks for the old passphrase.
    content["deployment"]["secrets_providers"] = another.export()["deployment"]["secrets_providers"]
    file.write_text(json.dumps(content))
    another.restore(file)
    assert another.outputs()["private_key"] == key
    assert key.splitlines()[1].encode() not in another.state()
    # Public outputs are read without the other stack's passphrase.
    assert {step["op"] for step in stacks["root"].preview() if "StackReference" not in step["urn"]} == {"same"}


def test_a_lost_intermediate_and_a_lost_root(stacks: dict[str, Stack], provider: Api, user: Api) -> None:
    before, old = versions(provider, user), files(provider)
    lost(stacks["trust"])
    for name in ("trust", "root", "control-plane"):
        stacks[name].up()
    # Another key under the same root: istiod's Pods stay, and the data plane's side has nothing to do.
    assert differences(before, versions(provider, user)) == {CACERTS: "changed"}
    assert files(provider)["ca-key.pem"] != old["ca-key.pem"]
    assert files(provider)["root-cert.pem"] == old["root-cert.pem"]
    assert stacks["data-plane"].up().summary().keys() == {"unchanged"}

    before = versions(provider, user)
    lost(stacks["root"])
    for name in ("root", "control-plane"):
        stacks[name].up()
    assert files(provider)["root-cert.pem"] != old["root-cert.pem"]
    assert differences(before, versions(provider, user)).keys() == {CACERTS, ISTIOD}
    stacks["data-plane"].up()
    assert differences(before, versions(provider, user)) == dict.fromkeys({CACERTS, ISTIOD, *WEBHOOKS}, "changed")


def test_a_lost_namespace_of_the_control_plane(stacks: dict[str, Stack], provider: Api, user: Api) -> None:
    before, old = versions(provider, user), files(provider)
    assert provider.kubectl("delete", "namespace", NAMESPACE).code == 0
    control_plane = stacks["control-plane"]
    assert control_plane.up().summary().keys() == {"unchanged"}
    control_plane.succeed("up", "--yes", "--skip-preview", "--refresh")
    after = differences(before, versions(provider, user))
    assert {what for key, what in after.items() if "IPAddress" not in key} == {"replaced"}, after
    assert all(key.startswith("control-plane: ") for key in after)
    assert files(provider) == old
    for name, stack in stacks.items():
        assert stack.up().summary().keys() == {"unchanged"}, name


def test_a_state_that_is_behind_the_clusters(
    stacks: dict[str, Stack], project: Project, mesh: Config, provider: Api, user: Api
) -> None:
    """A backup of before the last `up`, and a state that was lost with no backup at all."""
    access = stacks["access"]
    file = access.back_up()
    config = split_configs(mesh)["access"]
    config["dataPlane"]["access"] |= {"tokenGeneration": 2, "keepPreviousToken": True}
    later = project.stack("access", {"stack": "access", **config})
    later.up()
    before = versions(provider, user)
    lost(later)
    later.restore(file)
    # What the newer update made is named, and is not touched.
    refused = later.run("up", "--yes", "--skip-preview")
    assert refused.code != 0
    assert 'istiod-token-2" already exists' in refused.text
    assert differences(before, versions(provider, user)) == {}
    assert user.kubectl("delete", "secret", "istiod-token-2", "-n", NAMESPACE).code == 0
    later.up()

    lost(stacks["access"])
    refused = stacks["access"].run("up", "--yes", "--skip-preview")
    assert refused.code != 0
    assert f'{NAMESPACE}" already exists' in refused.text
    assert user.kubectl("delete", KINDS, "--selector=hosted-mesh.io/mesh=demo").code == 0
    lost(stacks["access"])
    stacks["access"].up()
    stacks["control-plane"].up()
    stacks["data-plane"].succeed("up", "--yes", "--skip-preview", "--refresh")
    after = differences(before, versions(provider, user))
    assert "deleted" not in after.values(), after
    for name, stack in stacks.items():
        assert stack.up().summary().keys() == {"unchanged"}, name


def test_what_is_there_is_taken_into_a_new_state(
    stacks: dict[str, Stack], tmp_path: Path, provider: Api, user: Api
) -> None:
    """With no backup, as the page says: no object changes, so istiod's token, authority and load balancer stay."""
    for name in ("access", "control-plane", "data-plane"):
        taken_in(stacks[name], tmp_path, provider, user)
    for name in ("access", "control-plane", "data-plane"):
        assert stacks[name].up().summary().keys() == {"unchanged"}, name


@pytest.mark.usefixtures("clean")
def test_a_run_that_was_killed(project: Project, mesh: Config, provider: Api) -> None:
    """In the middle of `up`, and of `destroy`; as the page says, all is made, and nothing is left."""
    never_ready = copy.deepcopy(mesh)
    never_ready["revisions"][0]["istiod"]["waitUntilReady"] = True
    waiting = project.stack("control-plane", {"stack": "all-in-one", "mesh": never_ready})
    kill(waiting, "up", when=lambda: waits_for_istiod(waiting))
    stack = project.stack("control-plane", {"stack": "all-in-one", "mesh": mesh})
    assert "currently locked" in stack.run("up", "--yes", "--skip-preview").text

    made = forgotten(stack)
    assert ("kubernetes:apps/v1:Deployment", NAMESPACE, "istiod") in made
    refused = stack.run("up", "--yes", "--skip-preview")
    assert refused.code != 0
    assert "already exists" in refused.text
    for kind, namespace, name in made:
        delete = ["delete", kind.rpartition(":")[2], name, "-n", namespace, "--ignore-not-found"]
        assert provider.kubectl(*delete).code == 0, delete
    stack.up()
    assert stack.up().summary().keys() == {"unchanged"}

    hold = {"op": "add", "path": "/metadata/finalizers", "value": ["example.com/held"]}
    patch = ["patch", "secret", "cacerts", "-n", NAMESPACE, "--type=json", "-p"]
    assert provider.kubectl(*patch, json.dumps([hold])).code == 0
    kill(
        stack,
        "destroy",
        when=lambda: "deletionTimestamp" in provider.get("secret", "cacerts", "-n", NAMESPACE)["metadata"],
    )
    assert provider.kubectl(*patch, json.dumps([{"op": "remove", "path": "/metadata/finalizers"}])).code == 0
    assert forgotten(stack) == []
    stack.up()
    assert stack.up().summary().keys() == {"unchanged"}
    stack.destroy()


def waits_for_istiod(stack: Stack) -> bool:
    """Whether the engine waits for istiod, and for nothing on the data plane."""
    try:
        deployment = stack.export()["deployment"]
    except AssertionError:  # the file is being written
        return False
    pending = [one["resource"]["urn"] for one in deployment.get("pending_operations", ())]
    of_istiod = any(":Deployment::" in urn for urn in pending)
    return of_istiod and all("hosted-mesh:index:ExternalControlPlane$" in urn for urn in pending)


def kill(stack: Stack, verb: str, when: Callable[[], bool]) -> None:
    """Begins a run of the engine and ends it, and what it has started, like a machine that fails."""
    project = stack.project
    command = PulumiCli(project.tools["pulumi"], project.environment).command(verb, "--yes", "--skip-preview")
    config = ["--stack", stack.name, "--config-file", str(stack.file)]
    run = subprocess.Popen(
        [*command, *config],
        cwd=project.program,
        env=project.environment,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        eventually(when, f"`{verb}` in the middle of its work")
        assert run.poll() is None, "ended before it was killed"
    finally:
        with suppress(ProcessLookupError):
            os.killpg(run.pid, signal.SIGKILL)
        run.wait()


def forgotten(stack: Stack) -> list[tuple[str, ...]]:
    """Runs the page's commands; type, namespace and name of what they list."""
    listed = stack.project.as_written(KILLED).splitlines()
    return [tuple(line.split()) for line in listed if line.startswith("kubernetes:")]
