"""`make bench ARGS=policies`: one sandbox, three measurements, their tables, and a page of them."""

from __future__ import annotations

import os
import time
from pathlib import Path

from rich.console import Console

from bench.own_sandbox import beside
from bench.policies import growing, page, ratio, scaling, side_by_side
from sandbox import clusters, toolchain
from sandbox.bootstrap import CHECKOUT
from sandbox.clusters import Sandbox
from sandbox.plugins.selection import select
from sandbox.program_environment import pulumi_home
from sandbox.progress import Progress
from sandbox.toolchain import Tools

ROUNDS = 7


def run(state: Path, progress: Progress, console: Console, *, write: bool, growth: bool = False) -> None:
    """Measures on a sandbox of its own, prints the tables and, with `write`, writes docs/policies/bench.md.

    growth: only the pack's cost on synthetic stacks of growing size.

    state: the directory of the user's sandbox; only its parent's place on disk matters here.
    Raises SandboxError.
    """
    tools = toolchain.ensure(progress=progress)
    with beside(state) as folder:
        sandbox = clusters.up(folder / "state", tools, progress)
        if growth:
            for table in scaling.grids(scaling.measure(sandbox, tools, folder, progress)):
                console.print(table.for_terminal())
        else:
            _measure(sandbox, tools, folder, progress, console, write=write)


def _measure(
    sandbox: Sandbox, tools: Tools, folder: Path, progress: Progress, console: Console, *, write: bool
) -> None:
    began, load = time.monotonic(), os.getloadavg()[0]
    grown = growing.measure(progress)
    sizes = scaling.measure(sandbox, tools, folder, progress)
    scores = side_by_side.measure(sandbox, tools, folder, progress)
    found = ratio.measure(sandbox, tools, progress, rounds=ROUNDS)
    for table in (
        side_by_side.grid(scores),
        ratio.grid(found),
        growing.grid(grown),
        *scaling.grids(sizes),
    ):
        console.print(table.for_terminal())
    if write:
        facts = page.machine() | {
            "minutes": f"{(time.monotonic() - began) / 60:.0f}",
            "load_before": f"{load:.1f}",
            "load_after": f"{os.getloadavg()[0]:.1f}",
            "plugins": select(tools, pulumi_home()).kind,
        }
        page.PAGE.write_text(page.text(scores, grown, sizes, found, facts), encoding="utf-8")
        console.print(f"Written: {page.PAGE.relative_to(CHECKOUT)}")
