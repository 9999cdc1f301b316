"""Previews without changes of each of a mesh's stacks: one per role, as users run them (stacks/).

The floor is a program without a resource: the time of Pulumi's CLI, its language host and Python. All share one key:
deriving one from a passphrase for each stack would measure the CLI.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bench.grid import Grid
from bench.samples import Samples
from bench.stack import Stack, mesh_without_crds
from sandbox.clusters import Sandbox
from sandbox.progress import Progress
from sandbox.toolchain import Tools

GOAL: Final = 2.2  # times an empty program
# In the order of their creation: each reads outputs of earlier ones. stacks/*.yaml lists the references of a stack.
_READS: Final[Mapping[str, tuple[str, ...]]] = {
    "trust": (),
    "root": ("trust",),
    "access": (),
    "control-plane": ("trust", "root", "access"),
    "data-plane": ("control-plane",),
}
_NOTHING: Final = Path(__file__).with_name("nothing")
FLOOR: Final = "empty program"


@dataclass(frozen=True)
class Preview:
    """Previews without changes of one stack."""

    stack: str
    resources: int
    seconds: Samples


def previews(sandbox: Sandbox, tools: Tools, progress: Progress, *, rounds: int) -> list[Preview]:
    """Measures the stacks in turn, `rounds` times. The all-in-one stack must be destroyed, its CRDs kept."""
    with progress.step("previews without changes") as step, _made(sandbox, tools, step.note) as stacks:
        taken: dict[str, list[float]] = {role: [] for role in stacks}
        for number in range(rounds):
            step.note(f"round {number + 1} of {rounds}")
            for role, stack in stacks.items():
                taken[role].append(stack.preview_without_changes())
        return [Preview(role, len(stack.resources()), Samples(taken[role])) for role, stack in stacks.items()]


@contextmanager
def _made(sandbox: Sandbox, tools: Tools, note: Callable[[str], None]) -> Iterator[dict[str, Stack]]:
    mesh = mesh_without_crds(sandbox, tools)
    stacks: dict[str, Stack] = {}
    try:
        stacks[FLOOR] = Stack(sandbox, tools, _name("nothing"), {}, program=_NOTHING)
        stacks[FLOOR].pulumi("up", "--yes", "--skip-preview")
        for role, others in _READS.items():
            note(f"pulumi up: {role}")
            references = {_key(other): _reference(other) for other in others}
            config = {"stack": role, **_documents(role, mesh), **({"references": references} if references else {})}
            stacks[role] = Stack(sandbox, tools, _name(role), config, key_of=stacks[FLOOR].name)
            stacks[role].pulumi("up", "--yes", "--skip-preview")
        yield stacks
    finally:
        for stack in reversed(stacks.values()):
            note(f"pulumi destroy: {stack.name}")
            stack.pulumi("destroy", "--yes", "--skip-preview", "--run-program")


def _documents(role: str, mesh: dict[str, Any]) -> dict[str, Any]:
    """The configuration of a role's stack: the mesh, or its one data plane's own document, or the root's meshes."""
    if role == "root":
        return {"root": {"name": mesh["name"], "trust": mesh["trust"], "stacks": {mesh["name"]: _reference("trust")}}}
    if role in ("access", "data-plane"):
        charts = {key: value for key, value in mesh["revisions"][0]["charts"].items() if key != "version"}
        membership = {key: value for key, value in mesh["memberships"][0].items() if key != "crds"}
        return {"dataPlane": {**membership, "mesh": mesh["name"], "charts": charts}}
    return {"mesh": mesh}


def _reference(role: str) -> str:
    return f"organization/hosted-mesh/{_name(role)}"


def _key(role: str) -> str:
    return "controlPlane" if role == "control-plane" else role


def _name(role: str) -> str:
    return f"bench-{role}"


def grid(found: list[Preview]) -> Grid:
    """One row per stack: whether it meets the goal, and its ratio to the floor, round by round."""
    floor = next(one.seconds for one in found if one.stack == FLOOR)
    python = f"Python {platform.python_version()} in {sys.base_prefix}"
    return Grid(
        f"pulumi preview without changes, one mesh, CRDs apart; {python}; ratio to an {FLOOR}; "
        f"the goal is a median ratio of at most {GOAL:g}",
        ["stack", "resources", "median", "least", "most", "ratio", "goal"],
        [_row(one, floor) for one in found],
    )


def _row(one: Preview, floor: Samples) -> list[str]:
    ratio = (one.seconds / floor).median
    verdict = "-" if one.stack == FLOOR else "met" if ratio <= GOAL else "not met"
    return [one.stack, str(one.resources), *one.seconds.figures(" s"), f"{ratio:.2f}", verdict]
