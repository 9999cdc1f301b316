"""`make bench`: starts a warm sandbox, measures, prints the tables, and removes the sandbox."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from lightkube.models.core_v1 import Pod as PodModel
from lightkube.resources.core_v1 import Pod
from rich.console import Console

from bench import roles
from bench.grid import Grid
from bench.mesh import Comparison, compare
from bench.own_sandbox import beside
from bench.samples import timed
from sandbox import clusters, toolchain
from sandbox.clusters import Sandbox
from sandbox.commands import up
from sandbox.engine import deployment
from sandbox.errors import SandboxError
from sandbox.progress import Progress, StepResult
from sandbox.proof import workloads
from sandbox.proof.deployed import client_of

ROUNDS = 5


def run(state: Path, progress: Progress, console: Console) -> None:
    """Measures on a sandbox of its own, so that a running one is not disturbed; takes six to twelve minutes.

    state: the directory of the user's sandbox; only its parent's place on disk matters here.
    Raises SandboxError when the measured mesh does not work.
    """
    toolchain.ensure(progress=progress)  # built before the clock starts: the goal is for a warm `make up`
    with beside(state) as folder:
        _measure(folder / "state", progress, console)


def _measure(state: Path, progress: Progress, console: Console) -> None:
    began = datetime.now(UTC)
    first = _timed_up(state, progress, console)
    sandbox = clusters.load(state)
    if sandbox is None:
        raise SandboxError("The sandbox ended during the measurement.", fix="run `make status`, then run again.")
    ready = first_proxy_ready(sandbox)
    second = _timed_up(state, progress, console)
    console.print(steps_table(first, second).for_terminal())
    console.print(
        f"First proxy configured {(ready - began).total_seconds():.1f} s after the start of a warm `make up`.\n"
    )
    tools = toolchain.ensure(progress=progress)
    deployment.destroy(sandbox, tools, progress)
    console.print(comparison_table(compare(sandbox, tools, progress, rounds=ROUNDS)).for_terminal())
    console.print(roles.grid(roles.previews(sandbox, tools, progress, rounds=ROUNDS)).for_terminal())


def _timed_up(state: Path, progress: Progress, console: Console) -> list[StepResult]:
    before = len(progress.finished)
    proved, taken = timed(lambda: up.run(state, progress, console))
    if not proved:
        raise SandboxError(
            "`make up` did not prove its mesh, so its times are meaningless.", fix="see the table above."
        )
    whole = StepResult("all of `make up`", "done", taken, "", 0)
    return [step for step in progress.finished[before:] if step.depth == 0] + [whole]


def first_proxy_ready(sandbox: Sandbox) -> datetime:
    """When the first sample Pod with a sidecar became ready, by its own status (to the second)."""
    pods = client_of(sandbox.data_plane).list(Pod, namespace=workloads.NAMESPACE)
    return min(_ready_since(pod) for pod in pods if workloads.has_proxy(pod))


def _ready_since(pod: PodModel) -> datetime:
    conditions = (pod.status.conditions or []) if pod.status else []
    since = next(one.lastTransitionTime for one in conditions if one.type == "Ready" and one.status == "True")
    assert since is not None
    return since


def steps_table(first: list[StepResult], second: list[StepResult]) -> Grid:
    """Seconds of each step, of a first `make up` with built tools and of a second one without changes."""
    again = {step.title: f"{step.seconds:.1f}" for step in second}
    return Grid(
        "make up, tools built before: seconds",
        ["step", "first", "second"],
        [[step.title, f"{step.seconds:.1f}", again.get(step.title, "-")] for step in first],
    )


def comparison_table(found: Comparison) -> Grid:
    """Medians and the spread of the rounds, and the ratio of `pulumi up` to the floor, round by round."""
    return Grid(
        f"one mesh, {found.resources} resources, {found.objects} Kubernetes objects, plug-ins: {found.plugins}",
        ["step", "median", "least", "most"],
        [
            ["floor: helm template, kubectl apply --server-side, rollout status", *found.floor.figures(" s")],
            ["pulumi up --skip-preview", *found.up.figures(" s")],
            ["pulumi up, with its preview", *found.up_with_preview.figures(" s")],
            ["pulumi preview, nothing changed", *found.preview.figures(" s")],
            ["ratio: up --skip-preview to floor", *(found.up / found.floor).figures("")],
            ["ratio: up with its preview to floor", *(found.up_with_preview / found.floor).figures("")],
            ["ratio: preview to floor", *(found.preview / found.floor).figures("")],
        ],
    )
