"""The steps of `up` in order, and what it says at its end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console

from sandbox import proof
from sandbox.clusters import Sandbox, Topology, status
from sandbox.clusters import up as start
from sandbox.engine import deployment
from sandbox.engine.events import Changes
from sandbox.plugins.selection import select
from sandbox.program_environment import pulumi_home, state_dir
from sandbox.progress import Progress
from sandbox.proof import Observation
from sandbox.toolchain import Tools, ensure


def run(state: Path, progress: Progress, console: Console, *, clusters: int | None = None) -> bool:
    """Makes everything that is not there yet, and proves it; returns whether every claim was observed.

    clusters: how many; None: those that are there, else two.
    """
    tools, sandbox = started(state, progress, clusters)
    observations = settled(
        lambda *, refresh: deploy(sandbox, tools, progress, refresh=refresh), lambda: prove(sandbox, tools, progress)
    )
    console.print(proof.render(observations))
    print(what_next(state, sandbox.kubeconfig, [*sandbox.clusters], proved=whole(observations)))
    return whole(observations)


def run_clusters(state: Path, progress: Progress, *, clusters: int | None = None) -> None:
    """Makes the clusters and Pulumi's backend, and no mesh; what is there stays. clusters: as of `run`."""
    _, sandbox = started(state, progress, clusters)
    deployment.make_backend(state)
    print(what_next(state, sandbox.kubeconfig, [*sandbox.clusters], proved=True))


def started(state: Path, progress: Progress, clusters: int | None) -> tuple[Tools, Sandbox]:
    """The tools and the running clusters, and what is said of them. clusters: as of `run`."""
    tools = ready_tools(progress)
    sandbox = start(state, tools, progress, topology=Topology.of(clusters) if clusters else None)
    if line := status(state).less_real:
        progress.line(f"     less real here: {line}")
    plugins(tools, progress)
    return tools, sandbox


def settled(deploy: Callable[..., Changes], prove: Callable[[], Sequence[Observation]]) -> Sequence[Observation]:
    """Deploys and proves. What the engine left as it was and yet does not hold was changed behind its back: then once
    more, with the clusters read first.

    deploy: `pulumi up`; its `refresh` says not to go by the engine's state but by what the clusters really have.
    """
    changes = deploy(refresh=False)
    observations = prove()
    if whole(observations) or changes.total:
        return observations
    deploy(refresh=True)
    return prove()


def whole(observations: Sequence[Observation]) -> bool:
    """Whether there are claims and every one was observed."""
    return bool(observations) and all(row.holds for row in observations)


def ready_tools(progress: Progress) -> Tools:
    """The tool chain, as one step."""
    with progress.step("tools") as step:
        before = len(progress.finished)
        tools = ensure(progress=progress)
        found = sorted(name for name, origin in tools.origins.items() if "on PATH" in origin)
        summary = f"{len(tools.programs)} programs" + (f", from PATH: {', '.join(found)}" if found else "")
        if len(progress.finished) == before:
            step.skip(f"already there ({summary})")
        else:
            step.result(summary)
    return tools


def plugins(tools: Tools, progress: Progress) -> None:
    """Says which provider plug-ins the engine will use."""
    with progress.step("provider plug-ins") as step:
        step.result(select(tools, pulumi_home()).summary.removeprefix(f"{step.title}: "))


def deploy(sandbox: Sandbox, tools: Tools, progress: Progress, *, refresh: bool) -> Changes:
    """`pulumi up`, as one step; when nothing had to change it says so."""
    title = "pulumi up --refresh, to put back what somebody changed" if refresh else "pulumi up"
    with progress.step(title) as step:
        step.note("starting the engine")
        changes = deployment.up(sandbox, tools, progress, refresh=refresh)
        if changes.total:
            step.result(str(changes))
        else:
            step.skip(str(changes))
    return changes


def prove(sandbox: Sandbox, tools: Tools, progress: Progress) -> Sequence[Observation]:
    """The proof, as one step."""
    with progress.step("proof") as step:
        observations = proof.run(sandbox, tools, progress)
        step.result(f"{sum(row.holds for row in observations)} of {len(observations)} observed")
    return observations


def what_next(state: Path, kubeconfig: Path, contexts: Sequence[str], *, proved: bool) -> str:
    """What `up` says at its end. proved: whether every claim was observed."""
    chosen = "" if state == state_dir() else f"HOSTED_MESH_STATE={state} "
    repair = (
        ""
        if proved
        else (
            "\nNot every claim was observed; each ✘ says what was seen instead.\n"
            f"  once it is put right         {chosen}make up\n"
            f"  from the beginning           {chosen}make down && {chosen}make up\n"
        )
    )
    return (
        f"{repair}\nWhat to do next\n"
        f"  kubectl with all clusters    export KUBECONFIG={kubeconfig}  (contexts {', '.join(contexts)})\n"
        f"  kubectl, pulumi, istioctl    {chosen}make shell\n"
        f"  what runs                    {chosen}make status\n"
        f"  remove it all                {chosen}make down"
    )
