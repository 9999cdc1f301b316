"""docs/policies/bench.md, written from measurements: its text is in page.md, every figure comes from a run."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from collections.abc import Mapping
from pathlib import Path

from bench.policies import growing, ratio, scaling, side_by_side
from bench.policies.corpus import IS_LEAK, LATE
from bench.policies.counting import Score
from bench.policies.growing import Grown
from bench.policies.ratio import Ratio
from bench.policies.scaling import Size
from bench.policies.synthetic import LINES
from sandbox.bootstrap import CHECKOUT

PAGE = CHECKOUT / "docs" / "policies" / "bench.md"
TEMPLATE = Path(__file__).with_name("page.md")


def text(scores: list[Score], grown: list[Grown], sizes: list[Size], found: Ratio, facts: Mapping[str, str]) -> str:
    """The page. `facts` are about this run: see `machine`."""
    return TEMPLATE.read_text(encoding="utf-8").format(
        **facts,
        corpus_size=side_by_side.size(IS_LEAK),
        late=len(LATE),
        side_by_side=side_by_side.grid(scores).for_page(),
        rounds=len(found.first.without.values),
        ratio=ratio.grid(found).for_page(),
        grown=growing.grid(grown).for_page(),
        lines=LINES,
        by_messages=scaling.messages_grid(sizes).for_page(),
        verdict_bytes=bytes_verdict(sizes),
        on_engine=scaling.engine_grid(sizes).for_page(),
        verdict_goal=goal_verdict(sizes),
    )


def bytes_verdict(sizes: list[Size]) -> str:
    """The growth of bytes and seconds from the least to the largest stack."""
    small, large = sizes[0], sizes[-1]
    more_bytes = large.object_bytes / small.object_bytes
    more_seconds = large.by_messages.seconds / small.by_messages.seconds
    return (
        f"From {small.resources:,} to {large.resources:,} resources the bytes grew {more_bytes:.1f} times, the seconds "
        f"{more_seconds:.1f} times, resources times secrets {large.pairs / small.pairs:,.0f} times."
    )


def goal_verdict(sizes: list[Size]) -> str:
    """Whether the goal is met, in words."""
    measured = [(size.resources, size.on_engine) for size in sizes if size.on_engine is not None]
    if not measured:
        return "This run has no measurement on the engine."
    resources, seen = measured[-1]
    in_go, in_python = seen.added_by(seen.with_silent_in_go).median, seen.added_by(seen.with_silent).median
    met = "is met" if seen.ratio <= scaling.GOAL else "**is not met**"
    return (
        f"The goal, at most {scaling.GOAL} times the cost of the silent pack in Python at {resources:,} resources, "
        f"{met}: {seen.ratio:.2f} times. A silent pack takes {in_go:.1f} s of the engine's time in Go, and "
        f"{in_python:.1f} s in Python."
    )


def machine() -> dict[str, str]:
    """Cores, memory and versions; no names."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "machine": f"{os.cpu_count()} cores ({_processor()}), {memory:.0f} GiB of memory",
        "python": platform.python_version(),
        "pulumi": importlib.metadata.version("pulumi"),
        "grpcio": importlib.metadata.version("grpcio"),
    }


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
