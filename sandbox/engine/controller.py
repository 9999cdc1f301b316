"""The master controller on this machine, beside the sandbox's clusters: a process, a tenant with tokens, and a watch.

All its files lie in the sandbox's state directory, in controller/: settings, data, tokens, log.
"""

from __future__ import annotations

import copy
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import yaml

from sandbox.bootstrap import CHECKOUT
from sandbox.clusters import Sandbox
from sandbox.clusters.network import host_ports
from sandbox.clusters.state import read, write
from sandbox.clusters.supervisor.identity import Identity
from sandbox.engine.pulumi_cli import PulumiCli
from sandbox.errors import SandboxError
from sandbox.lock import locked
from sandbox.program_environment import backend
from sandbox.progress import Progress
from sandbox.toolchain import Tools

TENANT = "acme"
WATCHER = "hosted-mesh-watcher"
_LIFETIME = "168h"  # of the watcher's token; `make up` renews it
_START, _END, _LOOK = 120.0, 90.0, 0.2  # seconds
Config = dict[str, Any]


@dataclass(frozen=True)
class Controller:
    """A running controller. token: file of the tenant's token. provider_token: of the provider's."""

    address: str
    token: Path
    provider_token: Path


def start(sandbox: Sandbox, tools: Tools, progress: Progress) -> Controller:
    """Starts the controller if it does not run. Raises SandboxError."""
    if (backend(sandbox.state) / "deployed").exists():
        raise SandboxError(
            "This sandbox has the mesh of `make up`, and a mesh by the controller would select the same namespaces.",
            fix="`make down`, then `make up ARGS=--controller`.",
        )
    folder = sandbox.state / "controller"
    folder.mkdir(mode=0o700, exist_ok=True)
    with progress.step("controller") as step, locked(folder / "lock", step.note):
        found = Controller(f"http://127.0.0.1:{_port(folder)}", folder / "token", folder / "provider-token")
        _prepare(folder, sandbox, tools, found)
        identity = read(folder / "process.json", Identity)
        if identity and identity.alive() and _answers(found):
            step.skip(f"already there at {found.address}")
            return found
        step.note("starting it")
        _launch(folder, tools)
        _wait(folder, found)
        step.result(found.address)
    return found


def require_none(state: Path) -> None:
    """Raises SandboxError if the state directory has a controller: its meshes select the same namespaces."""
    if (state / "controller").exists():
        raise SandboxError(
            "This sandbox has the controller, and the mesh of `make up` would select the namespaces of its meshes.",
            fix="`make up ARGS=--controller` to continue with it, or `make down` first.",
        )


def stop(state: Path) -> None:
    """Ends the controller of a state directory, and waits for its operations to save their states."""
    identity = read(state / "controller" / "process.json", Identity)
    if identity is None or not identity.alive():
        return
    with suppress(ProcessLookupError):
        os.kill(identity.pid, signal.SIGTERM)
    deadline = time.monotonic() + _END
    while identity.alive():
        if time.monotonic() > deadline:
            os.kill(identity.pid, signal.SIGKILL)
        time.sleep(_LOOK)


def remove(state: Path) -> None:
    """Ends the controller and removes its files."""
    stop(state)
    shutil.rmtree(state / "controller", ignore_errors=True)


def hosted_mesh(name: str) -> Config:
    """A resource that orders a mesh in the sandbox's data plane."""
    return {
        "apiVersion": "hosted-mesh.io/v1alpha1",
        "kind": "HostedMesh",
        "metadata": {"name": name},
        "spec": {"revisions": [_revision(name)], "memberships": [_membership()]},
    }


def order(name: str) -> Config:
    """The same as the body of a request."""
    membership = {**_membership(), "cluster": {"kubeconfig": "data-plane"}}
    mesh = {"name": name, "controlPlane": {"cluster": {"kubeconfig": "control-plane"}}}
    return {"mesh": {**mesh, "revisions": [_revision(name)], "memberships": [membership]}}


def _revision(name: str) -> Config:
    committed = _committed()["revisions"][0]
    ranges = committed["exposure"]["sourceRanges"]
    return {"host": f"istiod.{name}.sandbox.test", "exposure": {"sourceRanges": ranges}}


def _membership() -> Config:
    return {"access": _committed()["memberships"][0]["access"]}


def _committed() -> Config:
    document: Config = yaml.safe_load((CHECKOUT / "stacks" / "Pulumi.all-in-one.yaml").read_text())
    mesh: Config = document["config"]["hosted-mesh:mesh"]
    return mesh


def settings(sandbox: Sandbox, tools: Tools, folder: Path, port: int) -> Config:
    """The settings: the provider's half of each mesh is that of the committed stack."""
    revision = copy.deepcopy(_committed()["revisions"][0])
    del revision["host"]
    # The sandbox's load balancers publish the annotated name.
    revision["exposure"] = {"publishName": True}
    revision["charts"] = {**revision.get("charts", {}), "path": "istio"}
    clusters: dict[str, Config] = {}
    for name in sandbox.clusters:
        side = "control-plane" if name == sandbox.control_plane.name else "data-plane"
        clusters[name] = {"kubeconfig": str(sandbox.kubeconfig), "context": name, "side": side, "tenants": [TENANT]}
        if side == "data-plane":
            watch = {"kubeconfig": str(folder / f"watcher-{name}"), "tenant": TENANT}
            clusters[name]["watch"] = {**watch, "controlPlane": sandbox.control_plane.name}
    return {
        "data": str(folder / "data"),
        "program": str(CHECKOUT),
        "passphraseFile": str(folder / "passphrase"),
        "clusters": clusters,
        "charts": {"istio": str(tools.charts)},
        "tenants": {TENANT: {"mesh": {"trust": _committed()["trust"], "revisions": [revision]}}},
        "port": port,
        "upkeep": {"everySeconds": 300},
    }


def _port(folder: Path) -> int:
    """The port of an earlier start, else a free one."""
    file = folder / "settings.yaml"
    if file.exists():
        return int(yaml.safe_load(file.read_text())["port"])
    for port in host_ports.RANGE:
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise SandboxError("No port is free on 127.0.0.1.", fix="end programs that listen there.")


def _prepare(folder: Path, sandbox: Sandbox, tools: Tools, found: Controller) -> None:
    """Passphrase, settings, tokens; in each data plane the definition, the watcher's rights and a fresh token."""
    if not (folder / "passphrase").exists():
        write(folder / "passphrase", os.urandom(32).hex())
    chosen = settings(sandbox, tools, folder, int(found.address.rpartition(":")[2]))
    write(folder / "settings.yaml", yaml.safe_dump(chosen, sort_keys=False))
    for file, options in ((found.token, ("--tenant", TENANT)), (found.provider_token, ("--role", "provider"))):
        if not file.exists():
            write(file, _run(tools, "token", str(folder / "settings.yaml"), *options))
    definitions = _run(tools, "definitions")
    for name, cluster in sandbox.clusters.items():
        if name == sandbox.control_plane.name:
            continue
        kubectl = [tools["kubectl"], "--kubeconfig", sandbox.kubeconfig, "--context", name]
        _checked([*kubectl, "apply", "-f", "-"], definitions)
        token = _checked([*kubectl, "create", "token", WATCHER, "-n", WATCHER, f"--duration={_LIFETIME}"])
        content = yaml.safe_load(cluster.kubeconfig.read_text())
        for user in content["users"]:
            user["user"] = {"token": token.strip()}
        write(folder / f"watcher-{name}", yaml.safe_dump(content))


def _launch(folder: Path, tools: Tools) -> None:
    command = [_program(), "serve", str(folder / "settings.yaml")]
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(
            command,
            env=_environment(tools),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=folder,
            start_new_session=True,
        )
    write(folder / "process.json", Identity.of(process.pid))


def _wait(folder: Path, found: Controller) -> None:
    deadline = time.monotonic() + _START
    while not _answers(found):
        identity = read(folder / "process.json", Identity)
        if time.monotonic() > deadline or identity is None or not identity.alive():
            last = "\n".join((folder / "log").read_text(errors="replace").splitlines()[-6:])
            raise SandboxError("The controller does not answer.", why=last, fix=f"read {folder / 'log'}.")
        time.sleep(_LOOK)


def _answers(found: Controller) -> bool:
    with suppress(httpx2.HTTPError):
        return bool(httpx2.get(f"{found.address}/healthz", timeout=5, trust_env=False).status_code == 200)
    return False


def _program() -> str:
    return str(Path(sys.executable).with_name("hosted-mesh-controller"))


def _environment(tools: Tools) -> Mapping[str, str]:
    return PulumiCli.of(tools, {}).environment


def _run(tools: Tools, *arguments: str) -> str:
    """The output of one of the controller's commands."""
    return _checked([_program(), *arguments], environment=_environment(tools))


def _checked(command: list[Any], given: str = "", environment: Mapping[str, str] | None = None) -> str:
    done = subprocess.run(
        [str(part) for part in command], input=given, env=environment, capture_output=True, text=True, timeout=120
    )
    if done.returncode != 0:
        raise SandboxError("The controller cannot be set up.", why=done.stderr.strip()[-1000:], fix="`make up` again.")
    return done.stdout


def instructions(found: Controller, state: Path, kubeconfig: Path) -> str:
    """The closing text: the address, the tokens' files, and a mesh by curl and by kubectl."""
    folder = state / "controller"
    write(folder / "order.json", json.dumps(order("books"), indent=1) + "\n")
    write(folder / "hostedmesh.yaml", yaml.safe_dump(hosted_mesh("shop"), sort_keys=False))
    meshes = f"{found.address}/v1/tenants/{TENANT}/meshes"
    return (
        "\nThe controller\n"
        f"  address                      {found.address}  (/page in a browser: the password is the token)\n"
        f"  token of tenant {TENANT}         {found.token}\n"
        f"  token of the provider        {found.provider_token}\n"
        f"  its log                      {folder / 'log'}\n"
        "\nOrder a mesh\n"
        f'  curl -H "Authorization: Bearer $(cat {found.token})" -H "Content-Type: application/json" '
        f"--data @{folder / 'order.json'} {meshes}\n"
        "or, in its place,\n"
        f"  kubectl --kubeconfig {kubeconfig} --context data-plane apply -f {folder / 'hostedmesh.yaml'}\n"
        f"  kubectl --kubeconfig {kubeconfig} --context data-plane wait hostedmesh/shop --for condition=Ready "
        "--timeout 5m"
    )
