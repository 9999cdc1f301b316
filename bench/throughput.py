"""Orders per minute through the controller against bare `pulumi up` of the same stacks.

Each stack has four ConfigMaps on an API server. All sides change all of them, and their stacks exist before the clock
starts. The executors are processes on one PostgreSQL, and end before `pulumi up` runs.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import yaml
from hosted_mesh_controller.client import Client

from bench.grid import Grid
from bench.own_sandbox import until
from bench.samples import seconds
from sandbox.clusters import Sandbox
from sandbox.engine.pulumi_cli import PulumiCli
from sandbox.errors import SandboxError
from sandbox.progress import Progress
from sandbox.toolchain import Tools
from tests.engine.controller.service import Controller
from tests.support.postgresql import PostgreSql

Config = dict[str, Any]
TENANT: Final = "acme"
PROGRAM: Final = """
import pulumi
import pulumi_kubernetes as kubernetes

mesh = pulumi.Config().require_object("mesh")
cluster = mesh["memberships"][0]["cluster"]
(order,) = mesh["revisions"][0]["exposure"]["sourceRanges"]
provider = kubernetes.Provider("cluster", kubeconfig=cluster["kubeconfig"], context=cluster["context"])
for number in range(4):
    # An annotation changes in place; other data would replace the object.
    metadata = {"name": f"{mesh['name']}-{number}", "namespace": "default", "annotations": {"order": order}}
    options = pulumi.ResourceOptions(provider=provider)
    kubernetes.core.v1.ConfigMap(f"map-{number}", metadata=metadata, data={}, opts=options)
"""
_LIMIT: Final = 1800  # seconds for all orders


@dataclass(frozen=True)
class Throughput:
    """Seconds for the same number of changes: by orders, by `pulumi up` one after the other, and some at a time."""

    stacks: int
    executors: int
    orders: float
    alone: float
    together: float


def measure(sandbox: Sandbox, tools: Tools, progress: Progress, *, stacks: int, executors: int) -> Throughput:
    """Runs all three sides in turn. Raises SandboxError if an operation fails."""
    folder = sandbox.state / "orders"
    folder.mkdir()
    names = [f"small-{number}" for number in range(stacks)]
    with progress.step("orders against pulumi up") as step:
        with _executors(folder, sandbox, tools, executors) as members:
            token = members[0].token("--role", "provider")
            clients = [Client(one.url, token, TENANT) for one in members]
            step.note(f"{stacks} stacks come")
            _ordered(clients, names, _range(0), etag=None)
            step.note(f"{stacks} orders with {executors} executors")
            by_order = seconds(lambda: _ordered(clients, names, _range(1), etag='"1"'))
        peers = [_peer(folder, tools, f"{TENANT}.meshes.{name}") for name in names]
        step.note(f"{stacks} times pulumi up")
        alone = seconds(lambda: [peer(_range(2)) for peer in peers])
        step.note(f"pulumi up, {executors} at a time")
        with ThreadPoolExecutor(executors) as pool:
            together = seconds(lambda: list(pool.map(lambda peer: peer(_range(3)), peers)))
        step.note(f"{by_order / together:.2f} times pulumi up")
    return Throughput(stacks, executors, by_order, alone, together)


def order(name: str, value: str) -> Config:
    """The body of an order. value: the annotation of its stack's objects."""
    revision = {"host": f"istiod.{name}.example.com", "exposure": {"sourceRanges": [value]}}
    member = {"cluster": {"kubeconfig": "edge"}, "access": {"apiServer": "https://api.example.com:6443"}}
    plane = {"cluster": {"kubeconfig": "hub"}}
    return {"mesh": {"name": name, "controlPlane": plane, "revisions": [revision], "memberships": [member]}}


def _range(number: int) -> str:
    return f"203.0.{number}.0/24"


@contextmanager
def _executors(folder: Path, sandbox: Sandbox, tools: Tools, number: int) -> Iterator[list[Controller]]:
    """Executors with one operation at a time each."""
    server = PostgreSql(folder / "postgresql", tools)
    server.create()
    members: list[Controller] = []
    try:
        (folder / "url").write_text(server.url(server.new_database()))
        (folder / "program").mkdir()
        (folder / "program/Pulumi.yaml").write_text("name: hosted-mesh\nruntime: python\n")
        (folder / "program/__main__.py").write_text(PROGRAM)
        cluster = {"kubeconfig": str(sandbox.kubeconfig), "context": sandbox.data_plane.name, "tenants": ["*"]}
        more = {
            "databaseFile": str(folder / "url"),
            "backend": f"file://{folder / 'states'}",
            "program": str(folder / "program"),
            "clusters": {"hub": {**cluster, "side": "control-plane"}, "edge": {**cluster, "side": "data-plane"}},
            "operations": number,
            "operationsPerExecutor": 1,
            "upkeep": {"everySeconds": None},
        }
        environment = PulumiCli.of(tools, {}).environment
        for at in range(number):
            made = Controller.make(folder / f"executor-{at}", sandbox, tools, **more)
            members.append(replace(made, environment=environment))
            members[-1].start()
        yield members
    finally:
        for one in members:
            one.stop()
        server.stop()


def _ordered(clients: list[Client], names: list[str], value: str, etag: str | None) -> None:
    """Places the orders, one for each name, and waits for all ends."""
    left: set[str] = set()
    for number, name in enumerate(names):
        client, given = clients[number % len(clients)], order(name, value)
        left.add(client.order("meshes", given, name=name if etag else None, etag=etag).id)

    def all_ended() -> bool:
        for identifier in sorted(left):
            found = clients[0].operation(identifier)
            if found.ended is None:
                return False
            if found.state != "succeeded":
                raise SandboxError("An order failed during the measurement.", why=found.error or "")
            left.remove(identifier)
        return True

    until(all_ended, f"the ends of {len(names)} orders", seconds=_LIMIT, every=0.2)


def _peer(folder: Path, tools: Tools, stack: str) -> Callable[[str], None]:
    """`pulumi up` of a stack, with the folder that the last order left."""
    left = sorted(folder.glob(f"executor-*/data/stacks/{stack}"))
    found = next(one for one in left if "encryptionsalt" in _file(one).read_text())
    own = folder / "peer" / stack
    shutil.copytree(found, own)
    more = {
        "PULUMI_BACKEND_URL": f"file://{folder / 'states'}",
        "PULUMI_CONFIG_PASSPHRASE_FILE": str(found.parents[2] / "passphrase"),
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        "KUBECONFIG": os.devnull,
    }
    cli = PulumiCli.of(tools, {})
    environment: Mapping[str, str] = {**cli.environment, **more}

    def run(value: str) -> None:
        document = yaml.safe_load(_file(own).read_text())
        document["config"]["hosted-mesh:mesh"]["revisions"][0]["exposure"]["sourceRanges"] = [value]
        _file(own).write_text(yaml.safe_dump(document))
        command = cli.command("up", "--yes", "--skip-preview", "--stack", stack)
        done = subprocess.run(command, cwd=own, env=environment, capture_output=True, text=True, timeout=_LIMIT)
        if done.returncode or "4 updated" not in done.stdout:
            raise SandboxError("`pulumi up` failed during the measurement.", why=done.stdout + done.stderr)

    return run


def _file(folder: Path) -> Path:
    return folder / f"Pulumi.{folder.name}.yaml"


def throughput_grid(found: Throughput) -> Grid:
    """One row for each side, with its ratio to the peers."""
    sides = {
        f"orders by REST, {found.executors} executors": found.orders,
        "`pulumi up`, one after the other": found.alone,
        f"`pulumi up`, {found.executors} at a time": found.together,
    }
    rows = [
        [name, f"{taken:.1f} s", f"{found.stacks * 60 / taken:.1f}"]
        + [f"{peer / taken:.2f}" for peer in (found.alone, found.together)]
        for name, taken in sides.items()
    ]
    columns = ["changes of a stack with 4 objects", "all", "per minute", "to one after the other", "to some at a time"]
    return Grid(f"{found.stacks} changes, each of its own stack", columns, rows)
