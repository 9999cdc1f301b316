"""`pulumi up` of the all-in-one stack on the sandbox's clusters: the real engine, with a file backend of its own.

All its files lie in the sandbox's state directory: pulumi/ (backend, passphrase, logs) and a copy of the stack's
configuration, so that the committed file never changes.
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
from sandbox.clusters import Cluster, Sandbox
from sandbox.clusters.network.addresses import ZONE
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
"""An executable: the language host of this build (v3.68) starts a pack in a folder wrongly."""
_SALT = "encryptionsalt"
COLLECTOR = f"collector.observed.{ZONE}"
"""Outside of the mesh's zone: the sandbox's load balancer publishes it, as a cloud's external-dns does."""


def up(sandbox: Sandbox, tools: Tools, progress: Progress, *, refresh: bool = False) -> Changes:
    """Deploys the stack to the clusters. The policies check the preview first, and stop it before any write.

    First makes the DNS server for the names of istiod's hosts; at the end waits until the server answers for them.

    refresh: reads every object from its cluster first, and so restores deleted or changed objects; without it the
    engine relies on its state.
    Returns the changes; none the second time. Raises SandboxError with the engine's first error lines.
    """
    name_server.serve(sandbox)
    if refresh:
        return _published(sandbox, progress, _run("up", sandbox, tools, progress, "--refresh"))
    deployed = backend(sandbox.state) / "deployed"
    # `pulumi up` takes the time of a preview and an update even without changes. The update builds on no separate
    # preview: the policies need both from one process.
    if deployed.exists() and not (unchanged := _run("preview", sandbox, tools, progress)).total:
        return unchanged
    changes = _run("up", sandbox, tools, progress)
    deployed.touch()
    return _published(sandbox, progress, changes)


def _published(sandbox: Sandbox, progress: Progress, changes: Changes) -> Changes:
    """Waits until DNS answers for istiod's hosts: earlier Pods of a data plane get no sidecar. Raises SandboxError."""
    if changes.total:
        began = time.monotonic()
        hosts = [revision["host"] for revision in mesh_document(sandbox.state)["revisions"]]
        name_server.wait(sandbox, hosts, progress.note)
        changes = dataclasses.replace(changes, seconds=changes.seconds + time.monotonic() - began)
    return changes


def destroy(sandbox: Sandbox, tools: Tools, progress: Progress) -> Changes:
    """Deletes the stack's objects from both clusters. Raises SandboxError."""
    (backend(sandbox.state) / "deployed").unlink(missing_ok=True)
    return _run("destroy", sandbox, tools, progress)


def outputs(sandbox: Sandbox, tools: Tools) -> dict[str, Any]:
    """The stack's outputs by name, secrets masked; none before the first `up`. Raises SandboxError."""
    return _read(sandbox, tools, "output", "--json")


def export(sandbox: Sandbox, tools: Tools) -> dict[str, Any]:
    """The engine's whole state with its secrets in plain text: for searches only, never for output.

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
    """Namespace and name of each gateway in the deployed document. namespace: the mesh's, their default."""
    asked_for = [gateway for one in mesh_document(state)["memberships"] for gateway in one.get("gateways") or []]
    return [(gateway.get("namespace") or namespace, gateway["name"]) for gateway in asked_for]


def engine(sandbox: Sandbox, tools: Tools) -> PulumiCli:
    """The CLI with its stack and configuration in place; makes both where missing."""
    ready = PulumiCli.of(tools, pulumi_settings(sandbox.state) | {"KUBECONFIG": str(sandbox.kubeconfig)})
    make_stack(ready, sandbox.state, STACK)
    configuration = stack_config(
        yaml.safe_load(_COMMITTED.read_text()),
        salt(sandbox.state, STACK),
        kubeconfig=sandbox.kubeconfig,
        charts=tools.charts,
        metrics=COLLECTOR if observability_folder(sandbox.state).exists() else "",
    )
    write(config_file(sandbox.state), yaml.safe_dump(configuration, sort_keys=False))
    return ready


def stack_config(
    committed: Mapping[str, Any], salt: str, *, kubeconfig: Path, charts: Path, metrics: str = ""
) -> dict[str, Any]:
    """The stack's configuration for this sandbox: the committed one with its kubeconfigs and local charts.

    metrics: the collector's host, to which proxies push; empty: none.
    """
    document = copy.deepcopy(dict(committed))
    mesh = document["config"]["hosted-mesh:mesh"]
    for part in (mesh["controlPlane"], *mesh["memberships"]):
        part["cluster"]["kubeconfig"] = str(kubeconfig)
    for revision in mesh["revisions"]:
        revision["charts"] = revision.get("charts", {}) | {"path": str(charts)}
        if metrics:
            revision["proxies"] = revision.get("proxies", {}) | {"metrics": {"host": metrics}}
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
        story = follow(operation, ready, sandbox.state, STACK, config_file(sandbox.state), progress, *options)
    return dataclasses.replace(story.changes, seconds=time.monotonic() - began)


def follow(
    operation: Operation, ready: PulumiCli, state: Path, stack: str, file: Path, progress: Progress, *options: str
) -> Story:
    """Runs the engine on a stack of the backend, whose lock the caller holds, and reports its progress.

    file: the stack's configuration. Raises SandboxError with the engine's first error lines.
    """
    _forget_interrupted_run(ready, state, stack)
    logs = backend(state) / "logs"
    logs.mkdir(exist_ok=True)
    events, output = logs / f"{operation}.events", logs / f"{operation}.log"
    events.unlink(missing_ok=True)
    given = ["--stack", stack, "--config-file", str(file), "--event-log", str(events)]
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
        raise SandboxError(f"`pulumi {operation}` failed.", why=why, fix=f"read the whole log in {output}.")
    return story


def _tell(log: EventLog, story: Story, progress: Progress) -> None:
    for event in log.new():
        if note := story.take(event):
            progress.note(note)


def _options(operation: Operation) -> list[str | Path]:
    """Not --skip-preview: at the preview of `up` a mandatory policy for the whole stack stops it before any write."""
    policies: list[str | Path] = ["--policy-pack", POLICY_PACK] if operation != "destroy" else []
    # Hooks that guard against a removal run in the program.
    program: list[str | Path] = ["--run-program"] if operation == "destroy" else []
    return [*policies, *program, *(["--yes"] if operation != "preview" else [])]


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
        raise SandboxError("The Pulumi stack cannot be created.", why=made.stderr, fix="`make down`, then `make up`.")


def configured(ready: PulumiCli, state: Path, stack: str, config: Mapping[str, Any]) -> Path:
    """The configuration file of a stack beside the mesh's, which this creates once. config: without the project."""
    make_stack(ready, state, stack)
    file = backend(state) / f"Pulumi.{stack}.yaml"
    given = {f"hosted-mesh:{key}": value for key, value in config.items()}
    write(file, yaml.safe_dump({"config": given, "encryptionsalt": salt(state, stack)}))
    return file


def both_clusters(sandbox: Sandbox, data_plane: Cluster) -> dict[str, dict[str, str]]:
    """The fields `controlPlane` and `dataPlane` of such a stack."""
    clusters = {"controlPlane": sandbox.control_plane, "dataPlane": data_plane}
    return {name: {"kubeconfig": str(sandbox.kubeconfig), "context": one.name} for name, one in clusters.items()}


def salt(state: Path, stack: str) -> str:
    """The passphrase's salt; it belongs to the stack and must stay the same for the stack's whole life."""
    made: Mapping[str, str] = yaml.safe_load((backend(state) / "stack" / f"Pulumi.{stack}.yaml").read_text())
    return made[_SALT]


def _forget_interrupted_run(ready: PulumiCli, state: Path, stack: str) -> None:
    """Removes the backend's lock of a killed run: this process holds the sandbox's own lock, so no other run exists."""
    if any((backend(state) / ".pulumi" / "locks").rglob("*.json")):
        ready.run("cancel", "--yes", "--stack", stack)


def files(state: Path) -> Sequence[Path]:
    """All files of a deployment in the state directory."""
    return (backend(state), config_file(state), observability_folder(state))


def observability_folder(state: Path) -> Path:
    """Of `make up ARGS=--observability`: exists from then on, and has the token of a user."""
    return state / "observability"
