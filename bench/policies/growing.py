"""The time of judging as meshes and clusters are added: a first preview, and the update after it."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass

from bench.grid import Grid
from bench.samples import timed
from sandbox.progress import Progress
from tests.corpus import growing
from tests.corpus.growing import Growth

STACKS: dict[Growth, tuple[int, ...]] = {
    growing.meshes: (50, 100, 200, 400, 800),
    growing.clusters: (2, 50, 100, 200, 400, 800),
}


@dataclass(frozen=True)
class Grown:
    """Seconds of the processor for judging one size of stack: each resource before its write, the whole at the end."""

    count: int
    what: str
    resources: int
    preview: float
    update: float


def measure(progress: Progress) -> list[Grown]:
    """All sizes, in this process and without an engine."""
    with progress.step("stacks of many meshes and clusters") as step:
        found = []
        for growth, counts in STACKS.items():
            for count in counts:
                step.note(f"{count} {growth.__name__}")
                found.append(_grown(growth, count))
        return found


def _grown(growth: Growth, count: int) -> Grown:
    plan = growth(count)
    (_, evidence), preview = timed(lambda: growing.judged(plan, preview=True), time.process_time)
    _, update = timed(lambda: growing.judged(plan, preview=False, evidence=evidence), time.process_time)
    return Grown(count, growth.__name__, len(plan), preview, update)


def grid(sizes: Iterable[Grown]) -> Grid:
    """Its time grows with the resources."""
    rows = [
        [
            f"{size.count} {size.what}",
            f"{size.resources:,}",
            f"{size.preview:.2f} s",
            f"{size.update:.2f} s",
            f"{size.update / size.resources * 1e3:.1f} ms",
        ]
        for size in sizes
    ]
    columns = ["stack of", "resources", "first preview", "update after it", "update, per resource"]
    return Grid("judging many meshes and clusters", columns, rows)
