"""`python3 -m bench`: what to measure. The only room that imports from all others, and that no other imports."""

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
    """What `bench` measures."""

    ALL = "all"
    MESH = "mesh"
    POLICIES = "policies"
    CLUSTERS = "clusters"
    FEDERATION = "federation"
    DNS = "dns"


@app.command()
def bench(
    what: Annotated[Bench, typer.Argument(help="What to measure.")] = Bench.ALL,
    write: Annotated[
        bool, typer.Option("--write", help="Write what was measured of the policies to docs/policies/bench.md.")
    ] = False,
    growth: Annotated[
        bool, typer.Option("--growth", help="Of `policies`: only what they add to synthetic stacks as these grow.")
    ] = False,
    changes: Annotated[int, typer.Option(min=0, help="Of `dns`: changes at each number of edges. 0: none.")] = 200,
    edges: Annotated[
        list[int] | None,
        typer.Option(
            min=1, max=23, help="Of `dns`: a number of edges; may be repeated. Default: 1, 2.", show_default=False
        ),
    ] = None,
    records: Annotated[int, typer.Option(min=0, help="Of `dns`: records at once. 0: none.")] = 10_000,
    rest: Annotated[float, typer.Option(min=0, help="Of `dns`: seconds at rest. 0: none.")] = 600.0,
    state: State = None,
) -> None:
    """Measure, each on a sandbox of its own that is removed again.

    `mesh`: `pulumi up` of one mesh against the floor (helm template and kubectl apply of the same objects), a preview
    without changes of each of a mesh's stacks, and the steps of a warm `make up`. Six to twelve minutes.

    `clusters`: seconds and memory of two clusters and of four, and so of each one more. Some two minutes.

    `federation`: what one mesh's part of a federation costs as others join: time, objects and bytes; what
    `pulumi up` of it takes; and what its istiod then sends to a proxy. Some fifteen minutes.

    `dns`: from a Gateway's change to the DNS server's answer, by the DNS bridge and by an external-dns inside the same
    edge; many records at once; requests to the edge's API server at rest. Some two hours; ten minutes with
    `--changes 10 --edges 1 --records 200 --rest 60`.

    `policies`: what the policy pack catches, beside detect-secrets, checkov and gitleaks on the same programs, and what
    it adds to a preview: of the all-in-one stack, and of stacks of up to 20,000 resources. Some forty minutes; with
    `--growth` some thirty.
    """
    if write and growth:
        raise typer.BadParameter("the page needs all of it: leave --growth out.", param_hint="--write")
    from bench import clusters, federation, federation_up, proxies, report
    from bench.names import run as names
    from bench.policies import run as policies

    if what in (Bench.ALL, Bench.MESH):
        report.run(state_dir(state), Progress(), Console())
    if what in (Bench.ALL, Bench.CLUSTERS):
        clusters.run(state_dir(state), Progress(), Console())
    if what in (Bench.ALL, Bench.FEDERATION):
        federation.run(Console())
        federation_up.run(state_dir(state), Progress(), Console())
        proxies.run(state_dir(state), Progress(), Console())
    if what in (Bench.ALL, Bench.DNS):
        names.run(state_dir(state), Progress(), Console(), names.Size(changes, edges or (1, 2), records, rest))
    if what in (Bench.ALL, Bench.POLICIES):
        policies.run(state_dir(state), Progress(), Console(), write=write, growth=growth)


if __name__ == "__main__":
    sys.exit(main(app, "python3 -m bench"))
