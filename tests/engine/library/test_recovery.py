"""docs/recovery.md on the real engine: states that are lost and restored, keys that are lost, objects that are lost."""

from __future__ import annotations

import base64
import copy
import dataclasses
import json
import os
import random
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
from tests.engine.library.engine import Api, Project, Run, Stack, bash_in, differences, versions
from tests.engine.library.lost_states import lost, taken_in
from tests.support.split import split_configs
from tests.support.waiting import eventually

Config = dict[str, Any]
NAMESPACE = "mesh-demo"
CACERTS = f"control-plane: Secret.core {NAMESPACE}/cacerts"
ISTIOD = f"control-plane: Deployment.apps {NAMESPACE}/istiod"
WEBHOOKS = {
    f"data-plane: MutatingWebhookConfiguration.admissionregistration.k8s.io /istio-sidecar-injector-{NAMESPACE}",
    f"data-plane: ValidatingWebhookConfiguration.admissionregistration.k8s.io /istio-validator-{NAMESPACE}",
}

CANCEL, CLEAR = bash_in("recovery.md", "A run that was killed")


@pytest.fixture
def project(tmp_path: Path, engine_sandbox: Sandbox, tools: Tools) -> Project:
    made = Project.make(tmp_path / "project", engine_sandbox, tools)
    return dataclasses.replace(made, environment={**made.environment, "HOSTED_MESH_ADOPT": "1"})


@pytest.fixture
def stacks(project: Project, mesh: Config, clean: None) -> Iterator[dict[str, Stack]]:
    """Those of one mesh, in their order, all run; destroyed at the end, as `clean` looks after."""
    made = {name: project.stack(name, {"stack": name, **one}) for name, one in split_configs(mesh).items()}
    for stack in made.values():
        stack.up()
    yield made
    for stack in reversed(made.values()):
        stack.destroy()


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
    encrypted = trust.back_up()
    encrypted = encrypted.rename(encrypted.with_suffix(".encrypted"))
    file = trust.back_up("--show-secrets")
    assert "PRIVATE KEY" in file.read_text()
    key = trust.outputs()["private_key"]
    settings = trust.project.directory / f"Pulumi.{trust.name}.yaml"
    old = settings.read_text()
    settings.unlink()
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

    # The control plane's program runs for its removal too, and reads the secret outputs of `trust`.
    lost(another)
    settings.write_text(old)
    trust.restore(encrypted)


@pytest.mark.nightly("lost")
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


@pytest.mark.nightly("lost")
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


@pytest.mark.nightly("lost")
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
    # What the newer update made is this stack's: it is adopted, and is not touched.
    assert "Secret istiod-token-2 exists from an earlier run of this stack, and is adopted" in later.up().text
    assert differences(before, versions(provider, user)) == {}

    for name in ("control-plane", "data-plane"):
        stacks[name].up()
    before = versions(provider, user)
    for name in ("access", "control-plane", "data-plane"):
        lost(stacks[name])
        assert stacks[name].up().summary().keys() == {"created"}, name
    assert differences(before, versions(provider, user)) == {}
    for name, stack in stacks.items():
        assert stack.up().summary().keys() == {"unchanged"}, name


@pytest.mark.nightly("taken in")
def test_what_is_there_is_taken_into_a_new_state(
    stacks: dict[str, Stack], tmp_path: Path, provider: Api, user: Api
) -> None:
    """With no backup, as the page says: no object changes, so istiod's token, authority and load balancer stay."""
    for name in ("access", "control-plane", "data-plane"):
        taken_in(stacks[name], tmp_path, provider, user)
    for name in ("access", "control-plane", "data-plane"):
        assert stacks[name].up().summary().keys() == {"unchanged"}, name


@pytest.mark.usefixtures("clean")
def test_what_is_not_the_stacks_own_is_not_adopted(project: Project, mesh: Config, provider: Api, user: Api) -> None:
    """Somebody else's objects, another stack's mesh of this name, renamed resources, and a state of lost keys."""
    stack = project.stack("own", {"stack": "all-in-one", "mesh": mesh})
    assert provider.kubectl("create", "namespace", NAMESPACE).code == 0
    for verb in (["preview"], ["up", "--yes", "--skip-preview"]):
        assert_rejected(stack.run(*verb), f"Namespace {NAMESPACE} already exists, and its labels are not this mesh's")
    assert provider.kubectl("delete", "namespace", NAMESPACE).code == 0
    stack.up()

    before = versions(provider, user)
    (deployment,) = [one["urn"] for one in stack.resources() if one["type"] == "kubernetes:apps/v1:Deployment"]
    replaced = stack.run("up", "--yes", "--skip-preview", "--replace", deployment)
    assert_rejected(replaced, "Deployment istiod already exists, and is in the stack's state as demo-istiod:")

    another = project.stack("another", {"stack": "all-in-one", "mesh": mesh})
    assert_rejected(
        another.run("up", "--yes", "--skip-preview"), "is of the stack hosted-mesh/own, not hosted-mesh/another"
    )
    another.destroy()
    assert differences(before, versions(provider, user)) == {}

    file = stack.back_up()
    lost(stack)
    assert_rejected(
        stack.run("up", "--yes", "--skip-preview"), "Secret cacerts already exists, with another root certificate"
    )
    assert CACERTS not in differences(before, versions(provider, user))
    lost(stack)
    stack.restore(file)
    stack.up()
    stack.destroy()


def assert_rejected(done: Run, reason: str) -> None:
    assert done.code != 0, done.text
    assert reason in done.text, done.text


def changed(mesh: Config, turn: int) -> Config:
    """The document with another token, memory and number of Pods: an update of several objects on both sides."""
    document = copy.deepcopy(mesh)
    document["memberships"][0]["access"] = {"tokenGeneration": 2 + turn, "keepPreviousToken": True}
    document["revisions"][0]["istiod"] |= {"drainSeconds": 7 + turn}
    return document


@pytest.mark.usefixtures("clean")
@pytest.mark.parametrize(
    "turns", [pytest.param(3, id=part, marks=pytest.mark.nightly(f"killed {part}")) for part in ("one", "two", "three")]
)
def test_a_run_that_is_killed_at_a_random_moment_is_finished_by_the_next(
    project: Project, mesh: Config, provider: Api, user: Api, turns: int
) -> None:
    """A first `up`, an update and a `destroy`, each turn one of each: the whole run dies, or the plug-in alone."""
    seed = random.SystemRandom().randrange(1 << 32)
    print(f"seed of the moments: {seed}")
    chance = random.Random(seed)
    for turn in range(turns):
        stack = project.stack("killed", {"stack": "all-in-one", "mesh": mesh})
        kill_at_random(stack, "up", chance)
        stack.up()
        assert stack.up().summary().keys() == {"unchanged"}

        address = provider.get("service", "istiod-exposed-demo", "-n", NAMESPACE)["metadata"]["uid"]
        stack = project.stack("killed", {"stack": "all-in-one", "mesh": changed(mesh, turn)})
        kill_at_random(stack, "up", chance)
        stack.up()
        assert stack.up().summary().keys() == {"unchanged"}
        assert provider.get("service", "istiod-exposed-demo", "-n", NAMESPACE)["metadata"]["uid"] == address

        kill_at_random(stack, "destroy", chance)
        if turn % 2 and stack.resources():
            eventually(lambda: not terminating(provider) and not terminating(user), "the end of Namespaces")
            stack.succeed("up", "--yes", "--skip-preview", "--refresh")
            assert stack.succeed("up", "--yes", "--skip-preview", "--refresh").summary().keys() == {"unchanged"}
        stack.destroy()


def terminating(api: Api) -> list[str]:
    return [
        one["metadata"]["name"] for one in api.get("namespaces")["items"] if one["status"]["phase"] == "Terminating"
    ]


def kill_at_random(stack: Stack, verb: str, chance: random.Random) -> None:
    """Ends a run of the engine at a moment between its first seconds and its end; it leaves its lock."""
    moment, is_plugin = chance.uniform(1, 7), chance.random() < 1 / 4
    run = begin(stack, verb)
    try:
        with suppress(subprocess.TimeoutExpired):
            run.wait(moment)
        print(
            f"{verb}: {'plug-ins' if is_plugin else 'all'} killed after {moment:.2f} s, ended={run.poll() is not None}"
        )
        if is_plugin:
            for one in plugins_of(run):
                os.kill(one, signal.SIGKILL)
            run.wait(120)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(run.pid, signal.SIGKILL)
        run.wait()
    stack.manage("cancel", "--yes")


def plugins_of(run: subprocess.Popen[bytes]) -> list[int]:
    """The Kubernetes plug-ins of a run, by their session."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            session = int((folder / "stat").read_text().rpartition(")")[2].split()[3])
            if session == run.pid and b"pulumi-resource-kubernetes" in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
    return found


@pytest.mark.usefixtures("clean")
def test_a_run_that_was_killed(project: Project, mesh: Config, provider: Api) -> None:
    """In the middle of `up`, and of `destroy`; as the page says, all is made, and nothing is left."""
    never_ready = copy.deepcopy(mesh)
    never_ready["revisions"][0]["istiod"]["waitUntilReady"] = True
    waiting = project.stack("control-plane", {"stack": "all-in-one", "mesh": never_ready})
    kill(waiting, "up", when=lambda: waits_for_istiod(waiting))
    stack = project.stack("control-plane", {"stack": "all-in-one", "mesh": mesh})
    assert "currently locked" in stack.run("up", "--yes", "--skip-preview").text
    uid = provider.get("deployment", "istiod", "-n", NAMESPACE)["metadata"]["uid"]
    project.as_written(CANCEL)
    assert "Deployment istiod exists from an earlier run of this stack, and is adopted" in stack.up().text
    assert stack.up().summary().keys() == {"unchanged"}
    assert provider.get("deployment", "istiod", "-n", NAMESPACE)["metadata"]["uid"] == uid
    project.as_written(CLEAR)
    assert "pending operations" not in stack.up().text

    hold = {"op": "add", "path": "/metadata/finalizers", "value": ["example.com/held"]}
    patch = ["patch", "secret", "cacerts", "-n", NAMESPACE, "--type=json", "-p"]
    assert provider.kubectl(*patch, json.dumps([hold])).code == 0
    kill(
        stack,
        "destroy",
        when=lambda: "deletionTimestamp" in provider.get("secret", "cacerts", "-n", NAMESPACE)["metadata"],
    )
    assert provider.kubectl(*patch, json.dumps([{"op": "remove", "path": "/metadata/finalizers"}])).code == 0
    project.as_written(CANCEL)
    stack.succeed("up", "--yes", "--skip-preview", "--refresh")
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
    run = begin(stack, verb)
    try:
        eventually(when, f"`{verb}` in the middle of its work")
        assert run.poll() is None, "ended before it was killed"
    finally:
        with suppress(ProcessLookupError):
            os.killpg(run.pid, signal.SIGKILL)
        run.wait()


def begin(stack: Stack, verb: str) -> subprocess.Popen[bytes]:
    """A run of the engine in a session of its own."""
    project = stack.project
    command = PulumiCli(project.tools["pulumi"], project.environment).command(verb, "--yes", "--skip-preview")
    config = ["--stack", stack.name, "--config-file", str(stack.file)]
    program = stack.program_options() if verb == "destroy" else []
    return subprocess.Popen(
        [*command, *config, *program],
        cwd=project.program,
        env=project.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
