"""Stacks of many tenants at once against one after the other: `make bench ARGS="tenants --side-by-side 10"`.

The engine, etcd and an API server are real. The state's backend is a store on this machine that answers each request
after a constant time, so its latency is that of a cloud and its speed is not.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.console import Console

from bench import object_store, tenants
from bench.grid import Grid
from bench.own_sandbox import beside
from bench.samples import seconds
from bench.stack import Stack
from sandbox import clusters, toolchain
from sandbox.clusters import Sandbox
from sandbox.progress import Progress
from sandbox.toolchain import Tools

LATENCY: Final = 0.1
"""Seconds of each answer: Amazon gives 100 to 200 ms for S3's small objects."""
GOAL: Final = 3.0


@dataclass(frozen=True)
class Together:
    """Of all stacks. Seconds one after the other, and at once; cpu: seconds of all processes of these, one after the
    other. requests: to the backend by one stack's `up`."""

    stacks: int
    latency: float
    alone: float
    together: float
    cpu: float
    requests: float


def run(state: Path, progress: Progress, console: Console, number: int) -> None:
    """Measures on a sandbox of its own beside `state`, without and with latency. Raises SandboxError."""
    tools = toolchain.ensure(progress=progress)
    for latency in (LATENCY, 0.0):
        with beside(state) as folder:
            sandbox = clusters.up(folder / "state", tools, progress, nodes=False)
            with progress.step(f"{number} stacks, answers of the backend after {latency * 1000:.0f} ms") as step:
                one = _measured(sandbox, tools, number, latency)
                step.note(f"{one.alone / one.together:.2f} times as fast at once")
        console.print(grid([one]).for_terminal())


def _measured(sandbox: Sandbox, tools: Tools, number: int, latency: float) -> Together:
    with object_store.serving(0.0) as store:
        variables = {**object_store.ENVIRONMENT, "PULUMI_BACKEND_URL": store.url}
        stack = tenants.stacks(sandbox, tools, variables)
        made = [stack(at) for at in range(1, number + 1)]
        _up(made[0])  # fills caches
        _down(made[0])
        store.latency = latency
        before, cpu = store.requests.total(), _cpu()
        alone = seconds(lambda: _one_by_one(made, _up))
        used, requests = _cpu() - cpu, store.requests.total() - before
        store.latency = 0.0
        _at_once(made, _down)
        store.latency = latency
        together = seconds(lambda: _at_once(made, _up))
    return Together(number, latency, alone, together, used, requests / number)


def _at_once(stacks: Sequence[Stack], work: Callable[[Stack], None]) -> None:
    with ThreadPoolExecutor(len(stacks)) as pool:
        list(pool.map(work, stacks))


def _one_by_one(stacks: Sequence[Stack], work: Callable[[Stack], None]) -> None:
    for one in stacks:
        work(one)


def _up(stack: Stack) -> None:
    stack.pulumi("up", "--yes", "--skip-preview")


def _down(stack: Stack) -> None:
    stack.pulumi("destroy", "--yes", "--run-program")


def _cpu() -> float:
    """Seconds of the ended processes that this one has started: engine, language host, program, plug-ins."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def grid(found: Sequence[Together]) -> Grid:
    """One row for each latency."""
    rows = []
    for one in found:
        ratio = one.alone / one.together
        times = [f"{taken:.1f} s" for taken in (one.alone, one.together)]
        cpu = f"{one.cpu / one.stacks:.1f} s"
        goal = "" if not one.latency else "met" if ratio >= GOAL else "missed"
        rows.append([f"{one.latency * 1000:.0f} ms", *times, f"{ratio:.2f}", goal, f"{one.requests:.0f}", cpu])
    columns = ["latency", "one after the other", "at once", "ratio", f"goal: {GOAL:g}", "requests, each", "CPU, each"]
    title = f"`up` of the stack control-plane of {found[0].stacks} tenants, {os.cpu_count()} cores"
    return Grid(title, columns, rows)
