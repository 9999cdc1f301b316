"""The controller: seconds from an edit of a custom resource to its operation, orders per minute, meshes at rest.

Of the first, the stack is one of intents, on one API server without nodes. The mesh behind it is a row of the
controller's database.
"""

from __future__ import annotations

import random
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from hosted_mesh_controller.store import orders, tables
from hosted_mesh_controller.store.database import Database
from hosted_mesh_controller.store.orders import Key
from lightkube.generic_resource import create_global_resource
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.types import PatchType
from rich.console import Console
from sqlalchemy import update

from bench import resting, throughput
from bench.grid import Grid
from bench.own_sandbox import beside, kubectl, until
from bench.samples import Samples
from sandbox import clusters, toolchain
from sandbox.clusters import Sandbox
from sandbox.engine import controller
from sandbox.progress import Progress
from sandbox.proof.deployed import client_of
from sandbox.toolchain import Tools
from sandbox.toolchain.catalogue import FOR_DATABASES

Config = dict[str, Any]
EDITS: Final = 20
NAMESPACE: Final = "bench"
_RESOURCE: Final = create_global_resource("hosted-mesh.io", "v1alpha1", "TrafficIntents", "trafficintents")


@dataclass(frozen=True)
class Reaction:
    """Seconds from an edit: to the order, to the operation's start, and to the first event of its process."""

    ordered: Samples
    started: Samples
    engine: Samples


def run(state: Path, progress: Progress, console: Console, *, stacks: int, executors: int) -> None:
    """Measures on a sandbox of its own beside `state`. Some ten minutes. Raises SandboxError.

    stacks: their number for orders per minute.
    """
    console.print(resting.resting_grid(resting.measure(progress)).for_terminal())
    tools = toolchain.ensure(also=FOR_DATABASES, progress=progress)
    with beside(state) as folder:
        sandbox = clusters.up(folder / "state", tools, progress, nodes=False)
        with _running(sandbox, tools, progress):
            with progress.step("edits of a custom resource") as step:
                reaction = _reaction(sandbox)
                step.note(f"median {reaction.started.median:.2f} s")
            console.print(reaction_grid(reaction).for_terminal())
        found = throughput.measure(sandbox, tools, progress, stacks=stacks, executors=executors)
        console.print(throughput.throughput_grid(found).for_terminal())


@contextmanager
def _running(sandbox: Sandbox, tools: Tools, progress: Progress) -> Iterator[None]:
    """A controller with a mesh `shop`, and Istio's definitions in the data plane."""
    definitions = str(tools.charts / "base/files/crd-all.gen.yaml")
    kubectl(tools, sandbox.data_plane, "create", f"--filename={definitions}")
    kubectl(tools, sandbox.data_plane, "wait", "--for=condition=Established", f"--filename={definitions}")
    kubectl(tools, sandbox.data_plane, "create", "namespace", NAMESPACE)
    controller.start(sandbox, tools, progress)
    try:
        _add_mesh(_database(sandbox))
        yield
    finally:
        controller.stop(sandbox.state)


def _database(sandbox: Sandbox) -> Path:
    return sandbox.state / "controller" / "data" / "controller.sqlite"


def _add_mesh(file: Path) -> None:
    """A mesh as after its order."""
    database, key = Database(f"sqlite:///{file}"), Key(controller.TENANT, "meshes", "shop")
    with database.writing() as connection:
        orders.save(connection, key, controller.order("shop"), [])
        ready = {"state": "ready", "ready_generation": 1, "changed": time.time() + 86400}  # no check for drift
        connection.execute(update(tables.objects).where(*tables.of_object(tables.objects, *key.parts)).values(ready))
    database.close()


def spec(path: str) -> Config:
    """The spec of a resource with one intent."""
    intent = {
        "type": "intra-cluster",
        "name": "caller-callee",
        "service": {"name": "callee", "namespace": NAMESPACE, "port": 80},
        "clients": [{"service": "caller"}],
        "access": [{"methods": ["GET"], "paths": [path]}],
    }
    services = [{"name": name, "namespace": NAMESPACE, "ports": [{"port": 80}]} for name in ("callee", "caller")]
    return {"mesh": "shop", "groups": [{"name": "calls", "intents": [intent]}], "services": services}


def _reaction(sandbox: Sandbox) -> Reaction:
    """Edits of one resource, each after the end of the order before it, at random moments."""
    client = client_of(sandbox.data_plane)
    client.create(_RESOURCE(metadata=ObjectMeta(name="calls"), spec=spec("/0")))
    _rows_after(sandbox, 0)
    found = []
    for number in range(1, EDITS + 1):
        time.sleep(random.uniform(0.5, 1.5))  # noqa: S311 (the controller's looks are periodic)
        changed = {"spec": spec(f"/{number}")}
        began = time.time()
        client.patch(_RESOURCE, "calls", changed, patch_type=PatchType.MERGE)
        found.append([moment - began for moment in _rows_after(sandbox, number)])
    return Reaction(*(Samples(column) for column in zip(*found, strict=True)))


def _rows_after(sandbox: Sandbox, number: int) -> tuple[float, float, float]:
    """Times of the order with this number, once it has succeeded: its creation, its start, its first event."""

    def look() -> tuple[float, float, float] | None:
        query = """SELECT id, created, started, state FROM operations
                   WHERE kind = 'intents' AND action = 'up' AND name = 'shop-shop' ORDER BY created"""
        with closing(sqlite3.connect(f"file:{_database(sandbox)}?mode=ro", uri=True)) as database:
            rows = database.execute(query).fetchall()
            if len(rows) <= number or rows[number][3] != "succeeded":
                return None
            first = database.execute("SELECT min(time) FROM events WHERE operation = ?", [rows[number][0]]).fetchone()
        return float(rows[number][1]), float(rows[number][2]), float(first[0])

    found = until(look, f"order {number} of the edited resource", seconds=120, every=0.1)
    assert found
    return found


def reaction_grid(found: Reaction) -> Grid:
    """One row for each moment after an edit."""
    moments = {
        "the order is in the queue": found.ordered,
        "the operation starts": found.started,
        "first event of the operation's process": found.engine,
    }
    rows = [
        [name, *(f"{value:.2f} s" for value in (one.median, one.quantile(0.9), one.most))]
        for name, one in moments.items()
    ]
    return Grid(f"{EDITS} edits of a TrafficIntents: seconds until", ["moment", "p50", "p90", "most"], rows)
