"""The steps of `up` in order, and its closing text."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from rich.console import Console

from sandbox import proof
from sandbox.clusters import Sandbox, Topology, status
from sandbox.clusters import up as start
from sandbox.engine import controller, deployment, observability, operators
from sandbox.engine.events import Changes
from sandbox.errors import SandboxError
from sandbox.plugins.selection import select
from sandbox.program_environment import pulumi_home, state_dir
from sandbox.progress import Progress
from sandbox.proof import Observation, shown_traffic, workloads
from sandbox.proof.deployed import Deployed, NotObserved
from sandbox.toolchain import Tools, ensure
from sandbox.toolchain.catalogue import FOR_OBSERVABILITY, FOR_OPERATORS


def run(state: Path, progress: Progress, console: Console, *, clusters: int | None = None) -> bool:
    """Makes missing parts, and proves the result; returns whether every claim was observed.

    clusters: their number; None: the present ones, else two.
    """
    controller.require_none(state)
    tools, sandbox = started(state, progress, clusters)
    observations = proved(sandbox, tools, progress, console)
    print(next_steps(state, sandbox.kubeconfig, [*sandbox.clusters], proved=whole(observations)))
    return whole(observations)


def run_observability(
    state: Path, progress: Progress, console: Console, *, clusters: int | None = None, users: bool = False
) -> bool:
    """As `run`, then collector, Prometheus and Kiali, and requests that they show.

    users: Kiali's view is the user's, else the provider's.
    """
    controller.require_none(state)
    tools, sandbox = started(state, progress, clusters, FOR_OBSERVABILITY)
    observability.request(state)
    observations = proved(sandbox, tools, progress, console)
    holds = whole(observations)
    if holds:
        token = observability.up(sandbox, tools, progress, users=users)
        show_requests(sandbox, tools, progress)
        print(observability.instructions(observability.Shown(workloads.NAMESPACE, token), sandbox))
    print(next_steps(state, sandbox.kubeconfig, [*sandbox.clusters], proved=holds))
    return holds


def run_clusters(state: Path, progress: Progress, *, clusters: int | None = None) -> None:
    """Makes the clusters and Pulumi's backend without a mesh; present parts stay. clusters: as of `run`."""
    _, sandbox = started(state, progress, clusters)
    deployment.make_backend(state)
    print(next_steps(state, sandbox.kubeconfig, [*sandbox.clusters], proved=True))


def run_controller(state: Path, progress: Progress, *, clusters: int | None = None) -> None:
    """Makes the clusters without a mesh, and starts the master controller beside them. clusters: as of `run`."""
    tools, sandbox = started(state, progress, clusters)
    deployment.make_backend(state)
    found = controller.start(sandbox, tools, progress)
    print(controller.instructions(found, state, sandbox.kubeconfig))
    print(next_steps(state, sandbox.kubeconfig, [*sandbox.clusters], proved=True))


def run_operators(state: Path, progress: Progress, *, clusters: int | None = None) -> None:
    """Makes the clusters without a mesh, and hosts the operator lifecycle manager. clusters: as of `run`."""
    tools, sandbox = started(state, progress, clusters, FOR_OPERATORS)
    deployment.make_backend(state)
    operators.up(sandbox, tools, progress)
    print(operators.instructions(sandbox))
    print(next_steps(state, sandbox.kubeconfig, [*sandbox.clusters], proved=True))


def started(state: Path, progress: Progress, clusters: int | None, also: Collection[str] = ()) -> tuple[Tools, Sandbox]:
    """The tools and the running clusters, with their report. clusters: as of `run`. also: as of `ensure`."""
    also = {*also, *observability.programs(state)}
    tools = ready_tools(progress, also)
    sandbox = start(state, tools, progress, topology=Topology.of(clusters) if clusters else None, programs=also)
    if line := status(state).less_real:
        progress.line(f"     less real here: {line}")
    plugins(tools, progress)
    return tools, sandbox


def proved(sandbox: Sandbox, tools: Tools, progress: Progress, console: Console) -> Sequence[Observation]:
    """Deploys the mesh, proves it, and prints the table."""
    observations = settled(
        lambda *, refresh: deploy(sandbox, tools, progress, refresh=refresh), lambda: prove(sandbox, tools, progress)
    )
    console.print(proof.render(observations))
    return observations


def settled(deploy: Callable[..., Changes], prove: Callable[[], Sequence[Observation]]) -> Sequence[Observation]:
    """Deploys and proves. If the engine found no changes and a claim still fails, somebody changed objects behind its
    back: it deploys once more, with a refresh first.

    deploy: `pulumi up`; its `refresh` makes the engine read the real objects instead of its state.
    """
    changes = deploy(refresh=False)
    observations = prove()
    if whole(observations) or changes.total:
        return observations
    deploy(refresh=True)
    return prove()


def show_requests(sandbox: Sandbox, tools: Tools, progress: Progress) -> None:
    """Requests of the sample workloads, until Prometheus counts them, as one step. Raises SandboxError."""
    with progress.step("requests that Kiali shows") as step:
        try:
            shown_traffic.show(Deployed.of(sandbox, tools), observability.NAMESPACE)
        except NotObserved as reason:
            raise SandboxError(
                "Prometheus does not count the requests.", why=str(reason), fix="`make up ARGS=--observability` again."
            ) from None
        plan = ", ".join(f"{number} with {status}" for status, number in shown_traffic.PLAN.items())
        step.result(f"twice {plan}, from {workloads.CALLER} to {workloads.CALLED}")


def whole(observations: Sequence[Observation]) -> bool:
    """Whether there are claims and every one was observed."""
    return bool(observations) and all(row.holds for row in observations)


def ready_tools(progress: Progress, also: Collection[str] = ()) -> Tools:
    """The tool chain, as one step. also: as of `ensure`."""
    with progress.step("tools") as step:
        before = len(progress.finished)
        tools = ensure(also=also, progress=progress)
        found = sorted(name for name, origin in tools.origins.items() if "on PATH" in origin)
        summary = f"{len(tools.programs)} programs" + (f", from PATH: {', '.join(found)}" if found else "")
        if len(progress.finished) == before:
            step.skip(f"already there ({summary})")
        else:
            step.result(summary)
    return tools


def plugins(tools: Tools, progress: Progress) -> None:
    """Reports the engine's provider plug-ins."""
    with progress.step("provider plug-ins") as step:
        step.result(select(tools, pulumi_home()).summary.removeprefix(f"{step.title}: "))


def deploy(sandbox: Sandbox, tools: Tools, progress: Progress, *, refresh: bool) -> Changes:
    """`pulumi up`, as one step; reports a run without changes as skipped."""
    title = "pulumi up --refresh, to restore changed objects" if refresh else "pulumi up"
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


def next_steps(state: Path, kubeconfig: Path, contexts: Sequence[str], *, proved: bool) -> str:
    """The closing text of `up`. proved: whether every claim was observed."""
    chosen = "" if state == state_dir() else f"HOSTED_MESH_STATE={state} "
    repair = (
        ""
        if proved
        else (
            "\nNot every claim was observed; each ✘ names the observation instead.\n"
            f"  after the repair             {chosen}make up\n"
            f"  from the beginning           {chosen}make down && {chosen}make up\n"
        )
    )
    return (
        f"{repair}\nNext steps\n"
        f"  kubectl with all clusters    export KUBECONFIG={kubeconfig}  (contexts {', '.join(contexts)})\n"
        f"  kubectl, pulumi, istioctl    {chosen}make shell\n"
        f"  state of the sandbox         {chosen}make status\n"
        f"  remove it all                {chosen}make down"
    )
