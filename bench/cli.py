"""`python3 -m bench`: the choice of the measurement. It imports from all other packages, and no other imports it."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import Annotated

import typer
from rich.console import Console

from sandbox.commands.cli import State, main
from sandbox.program_environment import state_dir
from sandbox.progress import Progress

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class Bench(StrEnum):
    """The measurements of `bench`."""

    ALL = "all"
    MESH = "mesh"
    POLICIES = "policies"
    CLUSTERS = "clusters"
    FEDERATION = "federation"
    DNS = "dns"
    INTENTS = "intents"
    DIFF = "diff"
    TENANTS = "tenants"
    OBSERVABILITY = "observability"
    CONTROLLER = "controller"


@app.command()
def bench(
    what: Annotated[Bench, typer.Argument(help="The measurement.")] = Bench.ALL,
    write: Annotated[
        bool, typer.Option("--write", help="Write the results of `policies` to docs/policies/bench.md.")
    ] = False,
    growth: Annotated[
        bool, typer.Option("--growth", help="Of `policies`: only their cost on synthetic stacks of growing size.")
    ] = False,
    changes: Annotated[int, typer.Option(min=0, help="Of `dns`: changes at each number of edges. 0: none.")] = 200,
    edges: Annotated[
        list[int] | None,
        typer.Option(min=1, max=23, help="Of `dns`: a number of edges; repeatable. Default: 1, 2.", show_default=False),
    ] = None,
    records: Annotated[int, typer.Option(min=0, help="Of `dns`: records at once. 0: none.")] = 10_000,
    rest: Annotated[float, typer.Option(min=0, help="Of `dns`: seconds at rest. 0: none.")] = 600.0,
    simulated: Annotated[
        int,
        typer.Option("--proxies", min=0, help="Of `tenants`: only pushes to so many simulated proxies of one istiod."),
    ] = 0,
    beside: Annotated[
        int,
        typer.Option(
            "--side-by-side", min=0, help="Of `tenants`: only so many stacks, one after the other and at once."
        ),
    ] = 0,
    orders: Annotated[int, typer.Option(min=1, help="Of `controller`: orders, each of its own stack.")] = 8,
    executors: Annotated[int, typer.Option(min=1, help="Of `controller`: executors of these orders.")] = 2,
    state: State = None,
) -> None:
    """Measure, each on a sandbox of its own that is removed at the end.

    `mesh`: `pulumi up` of one mesh against the floor (helm template and kubectl apply of the same objects), a preview
    without changes of each of a mesh's stacks, and the steps of a warm `make up`. Six to twelve minutes.

    `clusters`: seconds and memory of two clusters and of four, and so of each one more. Some two minutes.

    `federation`: the cost of one mesh's part of a federation as others join: time, objects and bytes; the time of its
    `pulumi up`; and the configuration that its istiod then sends to a proxy. Some fifteen minutes.

    `dns`: from a Gateway's change to the DNS server's answer, by the DNS bridge and by an external-dns inside the same
    edge; many records at once; requests to the edge's API server at rest. Some two hours; ten minutes with
    `--changes 10 --edges 1 --records 200 --rest 60`.

    `intents`: time, memory and objects of 1,000 to 100,000 compiled intents, and the answers beside
    network-config-analyzer. Some four minutes; starts no cluster.

    `diff`: `hosted-mesh diff` of one stack with a change, and of 50 stacks with 3 changed, without and with the memo of
    earlier runs. Some five minutes; starts no cluster.

    `tenants`: `pulumi up` (against the floor, as for `mesh`) and a preview without changes of the first, tenth,
    fiftieth and hundredth mesh of a control plane's cluster, and the gateway's configuration. Some fifteen minutes.
    With `--proxies 2000`: seconds until a change of Services reaches each of so many simulated proxies of one istiod,
    and each of 50. Some seven minutes.
    With `--side-by-side 10`: `up` of so many tenants' stacks one after the other and at once, with latency to the
    state's backend. Some ten minutes.

    `observability`: CPU of a proxy with and without pushed metrics, its bytes beside a scrape, the time until a number
    is visible, and the collector's CPU and memory for 100 to 5,000 proxies. Some six minutes; starts no cluster.

    `controller`: seconds from an edit of a custom resource to its operation, orders per minute against bare `pulumi up`
    of the same stacks, and the cost of 10 and 1,000 meshes at rest. Some ten minutes.

    `policies`: the leaks that the policy pack catches, beside detect-secrets, checkov and gitleaks on the same
    programs, and its cost in previews of the all-in-one stack, and of stacks of up to 20,000 resources. Some forty
    minutes; with `--growth` some thirty.
    """
    if write and growth:
        raise typer.BadParameter("the page needs all of it: leave --growth out.", param_hint="--write")
    from bench import (
        clusters,
        controller,
        diff,
        federation,
        federation_up,
        intents,
        observability,
        proxies,
        pushes,
        report,
        side_by_side,
        tenants,
    )
    from bench.names import run as names
    from bench.policies import run as policies

    if what in (Bench.ALL, Bench.MESH):
        report.run(state_dir(state), Progress(), Console())
    if what in (Bench.ALL, Bench.INTENTS):
        intents.run(Progress(), Console())
    if what in (Bench.ALL, Bench.DIFF):
        diff.run(Progress(), Console())
    if what in (Bench.ALL, Bench.CLUSTERS):
        clusters.run(state_dir(state), Progress(), Console())
    if what in (Bench.ALL, Bench.FEDERATION):
        federation.run(Console())
        federation_up.run(state_dir(state), Progress(), Console())
        proxies.run(state_dir(state), Progress(), Console())
    if what in (Bench.ALL, Bench.TENANTS):
        if simulated:
            pushes.run(state_dir(state), Progress(), Console(), simulated)
        elif beside:
            side_by_side.run(state_dir(state), Progress(), Console(), beside)
        else:
            tenants.run(state_dir(state), Progress(), Console())
    if what in (Bench.ALL, Bench.OBSERVABILITY):
        observability.run(Progress(), Console())
    if what in (Bench.ALL, Bench.CONTROLLER):
        controller.run(state_dir(state), Progress(), Console(), stacks=orders, executors=executors)
    if what in (Bench.ALL, Bench.DNS):
        names.run(state_dir(state), Progress(), Console(), names.Size(changes, edges or (1, 2), records, rest))
    if what in (Bench.ALL, Bench.POLICIES):
        policies.run(state_dir(state), Progress(), Console(), write=write, growth=growth)


if __name__ == "__main__":
    sys.exit(main(app, "python3 -m bench"))
