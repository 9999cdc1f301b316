"""`pulumi up` of the all-in-one stack on the sandbox's clusters: the real engine, with a file backend of its own.

All that this makes lies in the sandbox's state directory: pulumi/ (backend, passphrase, logs) and a copy of the stack's
configuration, so that the committed file is never touched.
"""

from __future__ import annotations

import copy
import dataclasses
import json
import secrets
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import yaml

from sandbox.bootstrap import CHECKOUT
from sandbox.clusters import Sandbox
from sandbox.clusters.state import write
from sandbox.engine import name_server
from sandbox.engine.events import Changes, EventLog, Story
from sandbox.engine.pulumi_cli import PulumiCli
from sandbox.errors import SandboxError
from sandbox.jobs import wait_gently
from sandbox.lock import locked
from sandbox.program_environment import STACK, backend, passphrase_file, pulumi_settings
from sandbox.progress import Progress
from sandbox.toolchain import Tools

Operation = Literal["preview", "up", "destroy"]
_PHASES: Mapping[Operation, str] = {"preview": "previewing", "up": "updating", "destroy": "destroying"}
_LOOK = 0.2  # seconds between two looks at the event log
_COMMITTED = CHECKOUT / "stacks" / f"Pulumi.{STACK}.yaml"
POLICY_PACK = CHECKOUT / "policies" / "hosted-mesh"
"""An executable: the language host that can be built here (v3.68) starts a pack given as a folder wrongly."""
_SALT = "encryptionsalt"


def up(sandbox: Sandbox, tools: Tools, progress: Progress, *, refresh: bool = False) -> Changes:
    """Makes the clusters what the stack says. The policies see the preview first, and stop it before any write.

    Makes the DNS server first that the stack publishes istiod's host by, and waits at last until that is answered.

    refresh: reads every object from its cluster first, and so makes what somebody else deleted or changed as it was;
    otherwise the engine takes the clusters to be as it left them.
    Returns what changed; nothing the second time. Raises SandboxError with the engine's own first words.
    """
    name_server.serve(sandbox)
    if refresh:
        return _published(sandbox, progress, _run("up", sandbox, tools, progress, "--refresh"))
    deployed = backend(sandbox.state) / "deployed"
    # `pulumi up` takes the time of a preview and of an update even if nothing changes. The preview is not the one that
    # the update then builds on: the policies want both from one process.
    if deployed.exists() and not (unchanged := _run("preview", sandbox, tools, progress)).total:
        return unchanged
    changes = _run("up", sandbox, tools, progress)
    deployed.touch()
    return _published(sandbox, progress, changes)


def _published(sandbox: Sandbox, progress: Progress, changes: Changes) -> Changes:
    """Waits until istiod's hosts are answered: nothing in a data plane gets a sidecar before. Raises SandboxError."""
    if changes.total:
        began = time.monotonic()
        hosts = [revision["host"] for revision in mesh_document(sandbox.state)["revisions"]]
        name_server.wait(sandbox, hosts, progress.note)
        changes = dataclasses.replace(changes, seconds=changes.seconds + time.monotonic() - began)
    return changes


def destroy(sandbox: Sandbox, tools: Tools, progress: Progress) -> Changes:
    """Deletes what the stack made from both clusters. Raises SandboxError."""
    (backend(sandbox.state) / "deployed").unlink(missing_ok=True)
    return _run("destroy", sandbox, tools, progress)


def outputs(sandbox: Sandbox, tools: Tools) -> dict[str, Any]:
    """The stack's outputs by name, secrets masked; none before the first `up`. Raises SandboxError."""
    return _read(sandbox, tools, "output", "--json")


def export(sandbox: Sandbox, tools: Tools) -> dict[str, Any]:
    """The engine's whole state with its secrets in plain text: for searching for them, never for showing.

    Raises SandboxError.
    """
    return _read(sandbox, tools, "export", "--show-secrets")


def config_file(state: Path) -> Path:
    """The sandbox's own copy of the stack's configuration."""
    return state / f"Pulumi.{STACK}.yaml"


def mesh_document(state: Path) -> dict[str, Any]:
    """The mesh document in it."""
    document: dict[str, Any] = yaml.safe_load(config_file(state).read_text())["config"]["hosted-mesh:mesh"]
    return document


def gateways(state: Path, namespace: str) -> list[tuple[str, str]]:
    """Namespace and name of each gateway that the deployed document asks for. namespace: the mesh's, their default."""
    asked_for = [gateway for one in mesh_document(state)["memberships"] for gateway in one.get("gateways") or []]
    return [(gateway.get("namespace") or namespace, gateway["name"]) for gateway in asked_for]


def engine(sandbox: Sandbox, tools: Tools) -> PulumiCli:
    """The CLI with its stack and configuration in place, both made first where they are missing."""
    ready = PulumiCli.of(tools, pulumi_settings(sandbox.state) | {"KUBECONFIG": str(sandbox.kubeconfig)})
    make_stack(ready, sandbox.state, STACK)
    configuration = stack_config(
        yaml.safe_load(_COMMITTED.read_text()),
        salt(sandbox.state, STACK),
        kubeconfig=sandbox.kubeconfig,
        charts=tools.charts,
    )
    write(config_file(sandbox.state), yaml.safe_dump(configuration, sort_keys=False))
    return ready


def stack_config(committed: Mapping[str, Any], salt: str, *, kubeconfig: Path, charts: Path) -> dict[str, Any]:
    """The stack's configuration for this sandbox: as committed, but for kubeconfig paths and the charts' local path."""
    document = copy.deepcopy(dict(committed))
    mesh = document["config"]["hosted-mesh:mesh"]
    for part in (mesh["controlPlane"], *mesh["memberships"]):
        part["cluster"]["kubeconfig"] = str(kubeconfig)
    for revision in mesh["revisions"]:
        revision["charts"] = revision.get("charts", {}) | {"path": str(charts)}
    return document | {_SALT: salt}


def _read(sandbox: Sandbox, tools: Tools, *command: str) -> dict[str, Any]:
    answer = engine(sandbox, tools).run("stack", *command, "--stack", STACK)
    if answer.returncode != 0:
        raise SandboxError(f"`pulumi stack {command[0]}` failed.", why=answer.stderr, fix="`make up` first.")
    found: dict[str, Any] = json.loads(answer.stdout)
    return found


def _run(operation: Operation, sandbox: Sandbox, tools: Tools, progress: Progress, *options: str) -> Changes:
    began = time.monotonic()
    with locked(backend(sandbox.state) / "lock", progress.note):
        ready = engine(sandbox, tools)
        _forget_interrupted_run(ready, sandbox.state)
        story = _follow(operation, ready, sandbox.state, progress, *options)
    return dataclasses.replace(story.changes, seconds=time.monotonic() - began)


def _follow(operation: Operation, ready: PulumiCli, state: Path, progress: Progress, *options: str) -> Story:
    """Runs the engine and tells its story as it goes."""
    logs = backend(state) / "logs"
    logs.mkdir(exist_ok=True)
    events, output = logs / f"{operation}.events", logs / f"{operation}.log"
    events.unlink(missing_ok=True)
    given = ["--stack", STACK, "--config-file", str(config_file(state)), "--event-log", str(events)]
    story, log = Story(_PHASES[operation]), EventLog(events)
    with (
        output.open("wb") as printed,
        subprocess.Popen(
            ready.command(operation, *given, *_options(operation), *options),
            cwd=CHECKOUT,
            env=dict(ready.environment),
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=subprocess.STDOUT,
        ) as process,
    ):
        try:
            while process.poll() is None:
                _tell(log, story, progress)
                time.sleep(_LOOK)
        finally:
            code = wait_gently(process)
    _tell(log, story, progress)
    if code != 0:
        why = story.reason() or "\n".join(output.read_text(errors="replace").strip().splitlines()[-6:])
        raise SandboxError(f"`pulumi {operation}` failed.", why=why, fix=f"the whole story is in {output}.")
    return story


def _tell(log: EventLog, story: Story, progress: Progress) -> None:
    for event in log.new():
        if note := story.take(event):
            progress.note(note)


def _options(operation: Operation) -> list[str | Path]:
    """Not --skip-preview: a mandatory policy that sees the whole stack stops `up` at its preview, before any write."""
    policies: list[str | Path] = ["--policy-pack", POLICY_PACK] if operation != "destroy" else []
    return [*policies, *(["--yes"] if operation != "preview" else [])]


def make_backend(state: Path) -> None:
    """Makes the backend's folder and the passphrase, once."""
    secret = passphrase_file(state)
    if not secret.exists():
        secret.parent.mkdir(parents=True, exist_ok=True)
        write(secret, secrets.token_urlsafe(32))


def make_stack(ready: PulumiCli, state: Path, stack: str) -> None:
    """Makes the backend and the stack, once. Not in the checkout: `stack init` writes to the configuration there."""
    make_backend(state)
    folder = backend(state) / "stack"
    if (folder / f"Pulumi.{stack}.yaml").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    project = yaml.safe_load((CHECKOUT / "Pulumi.yaml").read_text())
    (folder / "Pulumi.yaml").write_text(yaml.safe_dump({"name": project["name"], "runtime": "python"}))
    made = ready.run("stack", "init", stack, "--no-select", cwd=folder)
    if made.returncode != 0:
        raise SandboxError("The Pulumi stack cannot be made.", why=made.stderr, fix="`make down`, then `make up`.")


def salt(state: Path, stack: str) -> str:
    """What the passphrase is mixed with; it belongs to the stack and has to stay the same for all its life."""
    made: Mapping[str, str] = yaml.safe_load((backend(state) / "stack" / f"Pulumi.{stack}.yaml").read_text())
    return made[_SALT]


def _forget_interrupted_run(ready: PulumiCli, state: Path) -> None:
    """Removes the backend's lock that a killed run left: our own lock, which we hold, says that nobody else runs."""
    if any((backend(state) / ".pulumi" / "locks").rglob("*.json")):
        ready.run("cancel", "--yes", "--stack", STACK)


def files(state: Path) -> Sequence[Path]:
    """Everything that a deployment leaves in the state directory."""
    return (backend(state), config_file(state))
