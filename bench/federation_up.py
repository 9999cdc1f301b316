"""The time of `pulumi up` for one mesh's part as others join a federation: part of `make bench ARGS=federation`.

The engine and an API server with Istio's definitions are real. No istiod, node or proxy runs; `bench.proxies` measures
those.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pulumi_hosted_mesh.federation.exports import offer
from pulumi_hosted_mesh.spec.federation import Federation
from pulumi_hosted_mesh.spec.load import read_document
from pulumi_hosted_mesh.vocabulary import namespace_of
from rich.console import Console

from bench.federation import EVERY_OTHER, EXPORTED, SERVICES, SHARED, SIZES, document, services
from bench.grid import Grid
from bench.own_sandbox import beside, kubectl
from bench.samples import seconds
from bench.stack import Stack
from sandbox import clusters, toolchain
from sandbox.clusters import Sandbox
from sandbox.progress import Progress
from sandbox.toolchain import Tools

FIRST: Final = "mesh-00"
WAYS: Final[tuple[tuple[str, int, dict[str, str]], ...]] = (
    ("one other", 1, {}),
    ("all others", EVERY_OTHER, {}),
    ("all others, shared objects", EVERY_OTHER, SHARED),
)


@dataclass(frozen=True)
class Took:
    """Of one mesh among `meshes`. imports: its exporting meshes. Seconds of its first `up`, of a preview without
    changes after it, and of its `destroy`."""

    meshes: int
    imports: str
    objects: int
    up: float
    preview: float
    destroy: float


def run(state: Path, progress: Progress, console: Console) -> None:
    """Measures on a sandbox of its own beside `state`. Some minutes. Raises SandboxError."""
    tools = toolchain.ensure(progress=progress)
    with beside(state) as folder:
        sandbox = clusters.up(folder / "state", tools, progress, nodes=False)
        _prepare(sandbox, tools)
        with progress.step("pulumi up of one mesh's part") as step:
            found = []
            for one in _taken(sandbox, tools, folder):
                step.note(f"{one.meshes} meshes, imports from {one.imports}: {one.up:.1f} s")
                found.append(one)
        console.print(grid(found).for_terminal())


def configuration(
    folder: Path, size: int, neighbours: int, kubeconfig: Path, context: str, **fields: Any
) -> dict[str, Any]:
    """Of the first mesh's stack, with the required offers: its own, and those of the meshes that it imports from.

    Documents are files in `folder`: a program receives the configuration itself in one environment variable, limited by
    Linux to 128 kB. fields: more fields of the federation.
    """
    given = document(size, neighbours or size - 1, **fields)
    federation = read_document(Federation, given, "the federation")
    others = [mesh for wish in federation.peers[0].imports for mesh in wish.meshes]
    offers = {mesh: offer(federation, mesh, services(mesh)) for mesh in (FIRST, *others)}
    return {
        "stack": "federation",
        "federation": _written(folder / "federation.json", given),
        "member": {"mesh": FIRST, "cluster": {"kubeconfig": str(kubeconfig), "context": context}},
        "offers": [
            _written(folder / f"{mesh}.json", one.model_dump(mode="json", by_alias=True, exclude_none=True))
            for mesh, one in offers.items()
        ],
    }


def _written(path: Path, document: Any) -> str:
    path.write_text(json.dumps(document))
    return str(path)


def _prepare(sandbox: Sandbox, tools: Tools) -> None:
    """Istio's definitions, and the mesh's namespace."""
    definitions = str(tools.charts / "base/files/crd-all.gen.yaml")
    for words in (
        ("create", "--filename", definitions),
        ("wait", "--for=condition=Established", "--filename", definitions, "--timeout=60s"),
        ("create", "namespace", namespace_of(FIRST)),
    ):
        kubectl(tools, sandbox.data_plane, *words)


def _taken(sandbox: Sandbox, tools: Tools, folder: Path) -> Iterator[Took]:
    """Runs one `up` in advance: the first one of all also fills caches for the later ones."""
    cluster = sandbox.data_plane
    first = True
    for imports, neighbours, fields in WAYS:
        for size in SIZES:
            config = configuration(folder, size, neighbours, cluster.kubeconfig, cluster.name, **fields)
            stack = Stack(sandbox, tools, "bench-federation", config)
            if first:
                stack.pulumi("up", "--yes", "--skip-preview")
                stack.pulumi("destroy", "--yes", "--skip-preview")
                first = False
            up = seconds(lambda: stack.pulumi("up", "--yes", "--skip-preview"))  # noqa: B023
            preview = stack.preview_without_changes()
            objects = sum(one["type"].startswith("kubernetes:") for one in stack.resources())
            destroy = seconds(lambda: stack.pulumi("destroy", "--yes", "--skip-preview"))  # noqa: B023
            yield Took(size, imports, objects, up, preview, destroy)


def grid(found: Iterable[Took]) -> Grid:
    """One row for each number of meshes and each way to import."""
    given = list(found)
    fewest: dict[str, Took] = {}
    for one in given:
        fewest.setdefault(one.imports, one)
    rows = [
        [
            str(one.meshes),
            one.imports,
            str(one.objects),
            *(f"{value:.1f} s" for value in (one.up, one.preview, one.destroy)),
            f"{one.up / fewest[one.imports].up:.2f}",
        ]
        for one in given
    ]
    title = f"one mesh's stack federation, where each of N meshes exports {EXPORTED} of {SERVICES} services"
    columns = ["meshes", "imports from", "objects", "up", "preview, no change", "destroy", "up, to two meshes"]
    return Grid(title, columns, rows)
