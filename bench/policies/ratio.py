"""The all-in-one stack's preview with the pack and without, in turn: before the stack exists, and without changes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bench.grid import Grid
from bench.samples import Samples, timed
from sandbox.clusters import Sandbox
from sandbox.engine import deployment
from sandbox.engine.pulumi_cli import PulumiCli
from sandbox.errors import SandboxError
from sandbox.program_environment import STACK
from sandbox.progress import Progress
from sandbox.toolchain import Tools

GOAL = 1.2


@dataclass(frozen=True)
class Pair:
    """Seconds of a preview without the pack and with it, round by round."""

    without: Samples
    with_pack: Samples


@dataclass(frozen=True)
class Ratio:
    """first: the stack does not exist yet. unchanged: the preview has no changes."""

    first: Pair
    unchanged: Pair


def measure(sandbox: Sandbox, tools: Tools, progress: Progress, *, rounds: int) -> Ratio:
    """Previews, makes the stack, previews again. The stack must not exist before; it exists afterwards."""
    with progress.step("the all-in-one stack with the policies and without") as step:
        engine = deployment.engine(sandbox, tools)
        step.note("first previews")
        first = _in_turn(engine, sandbox.state, rounds)
        deployment.up(sandbox, tools, progress)
        step.note("previews without changes")
        return Ratio(first, _in_turn(engine, sandbox.state, rounds))


def _in_turn(engine: PulumiCli, state: Path, rounds: int) -> Pair:
    """A first one of each, which does not count: it fills caches for both."""
    _preview(engine, state, with_pack=True)
    without, with_pack = [], []
    for _ in range(rounds):
        without.append(_preview(engine, state, with_pack=False))
        with_pack.append(_preview(engine, state, with_pack=True))
    return Pair(Samples(without), Samples(with_pack))


def _preview(engine: PulumiCli, state: Path, *, with_pack: bool) -> float:
    pack = ["--policy-pack", str(deployment.POLICY_PACK)] if with_pack else []
    command = ("preview", "--stack", STACK, "--config-file", str(deployment.config_file(state)), *pack)
    answer, taken = timed(lambda: engine.run(*command))
    if answer.returncode != 0:
        raise SandboxError("`pulumi preview` failed during the measurement.", why=answer.stdout + answer.stderr)
    return taken


def grid(found: Ratio) -> Grid:
    """Medians and spread, and the ratio round by round."""
    rows = []
    for name, pair in (("first preview", found.first), ("nothing changed", found.unchanged)):
        rows += [
            [f"{name}, without the pack", *pair.without.figures(" s")],
            [f"{name}, with the pack", *pair.with_pack.figures(" s")],
            [f"{name}, ratio (goal: at most {GOAL})", *(pair.with_pack / pair.without).figures("")],
        ]
    return Grid("`pulumi preview` of the all-in-one stack", ["preview", "median", "least", "most"], rows)
