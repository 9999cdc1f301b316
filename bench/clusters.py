"""The cost of each further data plane: `make bench ARGS=clusters` starts two and four, in turn, with built tools."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from bench.grid import Grid
from bench.own_sandbox import beside
from bench.samples import Samples, timed
from sandbox import clusters, toolchain
from sandbox.progress import Progress
from sandbox.toolchain import Tools
from tests.live.sandbox.machine.inside import family

ROUNDS = 3
FEW, MANY = 2, 4


@dataclass(frozen=True)
class Cost:
    """Of one start. seconds: until all is ready. cpu: seconds of computing in it. memory: MB; shared pages are divided
    among their processes."""

    seconds: float
    cpu: float
    memory: float


def run(state: Path, progress: Progress, console: Console) -> None:
    """Measures on sandboxes of its own beside `state`, and prints the table. Some two minutes."""
    tools = toolchain.ensure(progress=progress)
    found: dict[int, list[Cost]] = {FEW: [], MANY: []}
    for _ in range(ROUNDS):
        for number, costs in found.items():
            with beside(state) as folder:
                costs.append(_cost(folder / "state", tools, progress, number))
    console.print(table(found[FEW], found[MANY]).for_terminal())


def _cost(state: Path, tools: Tools, progress: Progress, number: int) -> Cost:
    sandbox, seconds = timed(lambda: clusters.up(state, tools, progress, topology=clusters.Topology.of(number)))
    pids = family(sandbox.supervisor.identity.pid)
    return Cost(seconds, of_living(_cpu, pids), of_living(_memory, pids))


def table(few: list[Cost], many: list[Cost]) -> Grid:
    """Medians of each, and of one cluster's share, round by round."""
    rows = []
    for what, unit in (("seconds", " s"), ("cpu", " s"), ("memory", " MB")):
        low, high = (Samples([getattr(cost, what) for cost in costs]) for costs in (few, many))
        each = Samples([one / (MANY - FEW) for one in (high - low).values])
        rows.append([what, *(f"{one.median:.1f}{unit}" for one in (low, high, each))])
    return Grid("clusters: until ready, medians", ["", f"{FEW} clusters", f"{MANY} clusters", "each one more"], rows)


def of_living(measure: Callable[[int], float], pids: Iterable[int]) -> float:
    """The sum over all processes that have not ended."""
    total = 0.0
    for pid in pids:
        with suppress(OSError):
            total += measure(pid)
    return total


def _cpu(pid: int) -> float:
    """Of the process and its children that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def _memory(pid: int) -> float:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024
