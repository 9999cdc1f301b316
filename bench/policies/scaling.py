"""The pack's cost as a stack grows: with the resources and their bytes, not with resources times secrets."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from bench.grid import Grid
from bench.policies import messages
from bench.policies.cached import built
from bench.policies.synthetic import planned
from bench.samples import Samples, timed
from sandbox.clusters import Sandbox
from sandbox.errors import SandboxError
from sandbox.progress import Progress
from sandbox.toolchain import Tools
from sandbox.toolchain.go_sets import Build, GoSet
from tests.corpus.engine import Engine

T = TypeVar("T")
HERE = Path(__file__).resolve().parent
SILENT, WATCHED = HERE / "packs" / "silent", HERE / "packs" / "watched"
SILENT_IN_GO = GoSet(
    name="silent-pack",
    folder="silent_in_go",
    title="a silent pack in Go",
    provides=("silent_in_go",),
    builds=(Build((".",)),),
    root=HERE / "packs",
)
ON_ENGINE = {(1000, 100): 8, (5000, 500): 8}
"""Sizes measured on the engine too, and the rounds of each: one of 5,000 takes three minutes. A pack adds seconds to
forty, and equal previews differ by as many."""
BY_MESSAGES = ((1000, 100), (5000, 50), (5000, 500), (5000, 2000), (20000, 2000))
GOAL = 1.6
"""The goal for this pack at 5,000 resources with 500 secrets, in times the cost of a silent one in Python."""


@dataclass(frozen=True)
class Judging:
    """One run of the pack: seconds before the writes and at the end, messages, bytes of all of them."""

    each: float
    end: float
    calls: int
    message_bytes: int

    @classmethod
    def read(cls, lines: Iterable[str]) -> Judging:
        """From the record of `packs/watched`."""
        each, end, calls, size = 0.0, 0.0, 0, 0
        for line in lines:
            name, seconds, bytes_ = json.loads(line)
            calls, size = calls + 1, size + bytes_
            if name == "analyze_stack":
                end += seconds
            else:
                each += seconds
        return cls(each, end, calls, size)

    @property
    def seconds(self) -> float:
        return self.each + self.end


@dataclass(frozen=True)
class OnEngine:
    """Seconds of whole previews, round by round, and this pack's work in the last one."""

    without: Samples
    with_silent_in_go: Samples
    with_silent: Samples
    with_pack: Samples
    judging: Judging

    def added_by(self, pack: Samples) -> Samples:
        """Seconds that a pack adds, round by round: the machine's speed drifts between rounds."""
        return pack - self.without

    @property
    def ratio(self) -> float:
        """This pack's cost, in times the cost of the silent one in Python: of the medians."""
        return self.added_by(self.with_pack).median / self.added_by(self.with_silent).median


@dataclass(frozen=True)
class Size:
    """One size of stack. `object_bytes`: names, keys and values of the program's resources."""

    resources: int
    secrets: int
    object_bytes: int
    by_messages: Judging
    on_engine: OnEngine | None = None

    @property
    def pairs(self) -> int:
        """The comparisons of a search for each secret in each resource."""
        return self.resources * self.secrets

    @property
    def nanoseconds_per_byte(self) -> float:
        return self.by_messages.seconds / self.object_bytes * 1e9


def measure(sandbox: Sandbox, tools: Tools, folder: Path, progress: Progress) -> list[Size]:
    """All sizes by messages, some on the engine too. Nothing is written to the clusters."""
    found = []
    silent_in_go = built(SILENT_IN_GO, progress)
    with progress.step("stacks of many resources") as step:
        for resources, secrets in BY_MESSAGES:
            step.note(f"{resources} resources, {secrets} secrets, by messages")
            judging = _judged_by_messages(folder, resources, secrets)
            engine = None
            if rounds := ON_ENGINE.get((resources, secrets)):
                step.note(f"{resources} resources, {secrets} secrets, on the engine")
                engine = _on_engine(resources, secrets, rounds, sandbox, tools, folder, silent_in_go)
            object_bytes = sum(one.size for one in planned(resources, secrets))
            found.append(Size(resources, secrets, object_bytes, judging, engine))
    return found


def _judged_by_messages(folder: Path, resources: int, secrets: int) -> Judging:
    log = folder / "messages.log"
    log.unlink(missing_ok=True)
    if messages.send(WATCHED, log, resources, secrets):
        raise SandboxError("The policies report a finding in the synthetic stack, which has no leak.")
    return Judging.read(log.read_text(encoding="utf-8").splitlines())


def _on_engine(
    resources: int, secrets: int, rounds: int, sandbox: Sandbox, tools: Tools, folder: Path, silent_in_go: Path
) -> OnEngine:
    log = folder / "engine.log"

    def engine_for(resources: int, secrets: int) -> Engine:
        settings = {"BENCH_RESOURCES": str(resources), "BENCH_SECRETS": str(secrets), "BENCH_PACK_LOG": str(log)}
        return Engine.on(sandbox, tools, folder / "scaling", settings)

    _preview(engine_for(10, 1), None)  # makes the stack, or the first round would
    engine = engine_for(resources, secrets)
    seconds: dict[Path | None, list[float]] = {None: [], silent_in_go: [], SILENT: [], WATCHED: []}
    for number in range(rounds):
        log.unlink(missing_ok=True)
        for pack in in_turn(list(seconds), number):
            seconds[pack].append(_preview(engine, pack))
    judging = Judging.read(log.read_text(encoding="utf-8").splitlines())
    without, silent_go, silent, watched = (Samples(taken) for taken in seconds.values())
    return OnEngine(without, silent_go, silent, watched, judging)


def in_turn(these: Sequence[T], number: int) -> list[T]:
    """The order of one round: each round begins with the next pack, so a slower machine slows all of them."""
    first = number % len(these)
    return [*these[first:], *these[:first]]


def _preview(engine: Engine, pack: Path | None) -> float:
    """Seconds of a preview of the synthetic program."""
    options = ["--policy-pack", str(pack)] if pack else []
    if pack in (SILENT, WATCHED):  # the other has no policies, so it has no configuration
        options += ["--policy-pack-config", str(_config(engine))]
    run, taken = timed(
        lambda: engine.run("preview", "", stack="scaling", policies=False, more=options, program=HERE / "program")
    )
    if run.code or run.said:
        raise SandboxError("`pulumi preview` of the synthetic stack failed.", why=run.output[-2000:])
    return taken


def _config(engine: Engine) -> Path:
    """The side of each cluster, by address."""
    path = engine.state / "scaling.json"
    servers = {"controlPlaneServers": [engine.servers["cp"]], "dataPlaneServers": [engine.servers["dp"]]}
    path.write_text(json.dumps({"providers-reach-their-own-cluster": servers}), encoding="utf-8")
    return path


def grids(sizes: Sequence[Size]) -> tuple[Grid, Grid]:
    return messages_grid(sizes), engine_grid(sizes)


def engine_grid(sizes: Iterable[Size]) -> Grid:
    """The whole preview's seconds, and the part of any pack and of this pack."""
    rows = []
    for size in sizes:
        if (seen := size.on_engine) is not None:
            rows.append(
                [
                    f"{size.resources:,} resources, {size.secrets:,} secrets",
                    str(len(seen.without.values)),
                    f"{seen.without.median:.1f} s",
                    *(
                        f"{added.median:+.1f} s ({added.least:+.1f} to {added.most:+.1f})"
                        for added in map(seen.added_by, (seen.with_silent_in_go, seen.with_silent, seen.with_pack))
                    ),
                    f"{seen.judging.seconds:.2f} s",
                    f"{size.by_messages.seconds:.2f} s",
                ]
            )
    columns = [
        "first preview of",
        "rounds",
        "no pack",
        "silent pack in Go",
        "silent pack in Python",
        "this pack",
        "of that judging",
        "judging, by messages",
    ]
    goal = f"at most {GOAL} times the silent pack in Python, at 5,000"
    return Grid(f"a synthetic stack on the engine (goal: {goal})", columns, rows)


def messages_grid(sizes: Iterable[Size]) -> Grid:
    """Judging alone: its time grows with the bytes."""
    rows = [
        [
            f"{size.resources:,}",
            f"{size.secrets:,}",
            f"{size.object_bytes / 1e6:.2f} MB",
            f"{size.by_messages.message_bytes / 1e6:.1f} MB",
            f"{size.by_messages.each:.2f} s",
            f"{size.by_messages.end:.2f} s",
            f"{size.nanoseconds_per_byte:.0f} ns",
        ]
        for size in sizes
    ]
    columns = ["resources", "secrets", "objects", "messages", "before writes", "at the end", "per byte of objects"]
    return Grid("judging a synthetic stack", columns, rows)
