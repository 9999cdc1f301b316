"""The cost of one mesh's part as others join a federation: `make bench ARGS=federation`. Pure functions.

Each mesh has the same number of Services. Labels select a tenth for its neighbour, so each exports and imports the same
number for any number of meshes. In a second table each imports from all others.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from pulumi_hosted_mesh.federation.exports import offer
from pulumi_hosted_mesh.federation.manifests import objects
from pulumi_hosted_mesh.spec.federation import Federation, Offer
from pulumi_hosted_mesh.spec.load import read_document
from rich.console import Console

from bench.grid import Grid
from bench.samples import Samples, timed

SIZES: Final = (2, 5, 10, 20)
SERVICES, EXPORTED, ROUNDS = 200, 20, 15
NAMESPACE: Final = "shop"
EVERY_OTHER: Final = 0
SHARED: Final = {"objects": "shared"}

T = TypeVar("T")


@dataclass(frozen=True)
class Cost:
    """Of one mesh among `meshes`. imported: services. Milliseconds of computing: to read the whole document, to select
    its exports among its Services, to compute its objects. Bytes are of JSON without spaces."""

    meshes: int
    imported: int
    read: Samples
    offer: Samples
    compute: Samples
    objects: int
    entries: int
    all: int


def run(console: Console) -> None:
    """Measures and prints the tables. Some seconds."""
    each = f"each of N meshes of {SERVICES} services exports {EXPORTED} to"
    ways: tuple[tuple[str, int, dict[str, Any]], ...] = (
        ("one other", 1, {}),
        ("all others", EVERY_OTHER, {}),
        ("all others, with shared objects", EVERY_OTHER, SHARED),
    )
    for title, from_each, fields in ways:
        console.print(grid(f"{each} {title}", [cost(size, from_each, **fields) for size in SIZES]).for_terminal())


def cost(size: int, neighbours: int, **fields: Any) -> Cost:
    """Of the first mesh; all are alike. neighbours: the number of meshes that each imports from. fields: more fields of
    the document."""
    given = document(size, neighbours or size - 1, **fields)
    federation, reading = _timed(lambda: read_document(Federation, given, "the federation"))
    mesh = federation.peers[0]
    own, selecting = _timed(lambda: offer(federation, mesh.mesh, services(mesh.mesh)))
    sources = [name for one in mesh.imports for name in one.meshes]
    offers: Sequence[Offer] = [own, *(offer(federation, one, services(one)) for one in sources)]
    made, computing = _timed(lambda: objects(federation, mesh.mesh, offers))
    entries = [one for one in made if one["kind"] == "ServiceEntry"]
    imported = sum(len(one["spec"]["hosts"]) for one in entries)
    return Cost(size, imported, reading, selecting, computing, len(made), _size(entries), _size(made))


def document(size: int, neighbours: int, **fields: Any) -> dict[str, Any]:
    """Meshes in a ring; each imports from the next ones. fields: more of them."""
    names = [f"mesh-{number:02}" for number in range(size)]
    peers = []
    for at, mesh in enumerate(names):
        after, before = ([names[(at + way * step) % size] for step in range(1, neighbours + 1)] for way in (1, -1))
        to = [{"mesh": one, "identities": [f"{NAMESPACE}/*"]} for one in before]
        peers.append(
            {
                "mesh": mesh,
                "gateway": {"address": f"eastwest.{mesh}.example.com"},
                "exports": [{"namespace": NAMESPACE, "labels": {"export": "yes"}, "to": to}],
                "imports": [{"meshes": [one]} for one in after],
            }
        )
    return {"name": "shops", "domain": "shops.example.com", "peers": peers, **fields}


def services(mesh: str) -> list[Mapping[str, Any]]:
    """A mesh's Services, as its API server would list them."""
    return [
        {
            "metadata": {
                "name": f"{mesh}-s{number}",
                "namespace": NAMESPACE,
                "labels": {"export": "yes"} if number < EXPORTED else {},
            },
            "spec": {"ports": [{"name": "http", "port": 80}]},
        }
        for number in range(SERVICES)
    ]


def grid(title: str, found: Sequence[Cost]) -> Grid:
    """One row for each number of meshes."""
    columns = ["meshes", "imported", "read", "select", "compute", "objects", "entries' bytes", "all bytes"]
    return Grid(f"one mesh's part, where {title}; the least of {ROUNDS}", columns, [_row(one) for one in found])


def _row(one: Cost) -> list[str]:
    times = [f"{samples.least:.1f} ms" for samples in (one.read, one.offer, one.compute)]
    return [str(one.meshes), str(one.imported), *times, str(one.objects), f"{one.entries:,}", f"{one.all:,}"]


def _timed(work: Callable[[], T]) -> tuple[T, Samples]:
    rounds = [timed(work, time.process_time) for _ in range(ROUNDS)]
    return rounds[-1][0], Samples([taken * 1000 for _, taken in rounds])


def _size(manifests: object) -> int:
    return len(json.dumps(manifests, separators=(",", ":")).encode())
