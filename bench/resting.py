"""The cost of meshes at rest: rows of the controller's database, without operations, clusters and engines."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from hosted_mesh_controller.documents import MESHES
from hosted_mesh_controller.store import sources
from hosted_mesh_controller.store.orders import Key
from hosted_mesh_controller.store.tables import objects, operations
from hosted_mesh_controller.vocabulary import ObjectState, State
from hosted_mesh_controller.watcher.reconciling import caller
from hosted_mesh_controller.work.placing import place
from hosted_mesh_controller.work.upkeep import Schedule
from sqlalchemy import update

from bench.grid import Grid
from bench.samples import Samples, seconds
from sandbox.errors import SandboxError
from sandbox.progress import Progress
from tests.unit.controller.service import Service, documents
from tests.unit.controller.watched_cluster import SPEC, Cluster
from tests.unit.controller.webhooks import WATCHED

SIZES: Final = (10, 1000)
ROUNDS: Final = 7
MESHES_PATH: Final = "/v1/tenants/acme/meshes"
_PAGE: Final = 200


@dataclass(frozen=True)
class Resting:
    """Seconds at a number of meshes: a pass of the watcher, one of upkeep, a page of 50, and all pages."""

    meshes: int
    watcher: Samples
    upkeep: Samples
    page: Samples
    all_pages: Samples


def measure(progress: Progress) -> list[Resting]:
    """Measures each of SIZES. Raises SandboxError if a pass at rest changes something."""
    with progress.step("meshes at rest") as step:
        found = []
        for number in SIZES:
            step.note(f"{number} meshes")
            with tempfile.TemporaryDirectory() as folder:
                found.append(_measured(Path(folder), number))
    return found


def _measured(folder: Path, number: int) -> Resting:
    service = Service.make(folder, clusters=WATCHED)
    cluster = filled(service, number)
    queue: Any = service.queue
    schedule = Schedule(service.settings, service.database, queue)

    def look() -> None:
        if cluster.reconciler.look("north", list(cluster.resources.values())) or service.queue.added:
            raise SandboxError("A pass at rest changed something, so its time is meaningless.")

    def keep() -> None:
        if schedule.look():
            raise SandboxError("Upkeep was due at rest, so its time is meaningless.")

    works: list[Callable[[], Any]] = [look, keep, lambda: _page(service, ""), lambda: _all_pages(service, number)]
    taken: list[list[float]] = [[] for _ in works]
    for _ in range(ROUNDS):
        for work, own in zip(works, taken, strict=True):
            own.append(seconds(work))
    service.database.close()
    return Resting(number, *map(Samples, taken))


def filled(service: Service, number: int) -> Cluster:
    """A watched cluster whose meshes are ready, each with a HostedMesh that has its status."""
    cluster, by = Cluster(service), caller("north", "acme")
    with service.database.writing() as connection:
        for at in range(number):
            key = Key("acme", MESHES.name, f"mesh-{at}")
            given = documents("meshes", "acme", key.name)
            place(connection, service.settings, by, MESHES, key, given, {})
            sources.save(connection, key, "north", key.name, 1)
            metadata = {"name": key.name, "uid": key.name, "generation": 1, "resourceVersion": "1", "finalizers": []}
            cluster.resources[key.name] = {"metadata": metadata, "spec": SPEC}
        now = time.time()
        connection.execute(update(objects).values(state=str(ObjectState.READY), ready_generation=1, changed=now))
        connection.execute(update(operations).values(state=str(State.SUCCEEDED), started=now, ended=now))
    cluster.settle()
    return cluster


def _page(service: Service, query: str) -> Any:
    answer = service.call("acme", "GET", f"{MESHES_PATH}{query}")
    if answer.status_code != 200:
        raise SandboxError("A page failed during the measurement.", why=answer.text)
    return answer.json()


def _all_pages(service: Service, number: int) -> None:
    seen = 0
    after: str | None = ""
    while after is not None:
        found = _page(service, f"?limit={_PAGE}" + (f"&after={after}" if after else ""))
        seen, after = seen + len(found["items"]), found["next"]
    if seen != number:
        raise SandboxError(f"The pages have {seen} meshes, and {number} are there.")


def resting_grid(found: list[Resting]) -> Grid:
    """One row for each act: medians, and the ratio of the largest number to the smallest."""
    acts = {
        "the watcher's pass over all `HostedMesh`": [one.watcher for one in found],
        "upkeep's pass": [one.upkeep for one in found],
        "`GET /meshes`, the first 50": [one.page for one in found],
        f"`GET /meshes`, all pages of {_PAGE}": [one.all_pages for one in found],
    }
    rows = [
        [name, *(f"{one.median * 1000:.1f} ms" for one in taken), f"{taken[-1].median / taken[0].median:.1f}"]
        for name, taken in acts.items()
    ]
    sizes = [f"{one.meshes:,} meshes" for one in found]
    return Grid(f"meshes at rest: median of {ROUNDS} rounds", ["act", *sizes, "ratio"], rows)
