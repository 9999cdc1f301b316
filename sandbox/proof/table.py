"""The claims in the table's order, and a claim's row."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from lightkube import ApiError
from rich.table import Table
from rich.text import Text

from sandbox.clusters import Sandbox
from sandbox.progress import Progress
from sandbox.proof import boundary, identity, istiod, leftovers, limits, names, stored_secrets, traffic, webhooks
from sandbox.proof.deployed import Deployed, NotObserved
from sandbox.toolchain import Tools


@dataclass(frozen=True)
class Check:
    """One claim and the function that observes it: it returns the evidence or raises `NotObserved`."""

    name: str
    claim: str
    observe: Callable[[Deployed], str]


@dataclass(frozen=True)
class Observation:
    """The result of one check: `evidence` when the claim holds, else the reason of the failure."""

    name: str
    claim: str
    holds: bool
    evidence: str
    seconds: float


CHECKS: tuple[Check, ...] = (
    Check("istiod", "istiod runs in the control plane, as in its live Pod", istiod.observe),
    Check("injection", "the data plane's API server gets sidecars from the control plane, by URL", webhooks.injection),
    Check("validation", "the control plane's webhook rejects a bad Istio object", webhooks.validation),
    Check("identity", "workloads got certificates and configuration over mTLS", identity.observe),
    Check("names", "DNS has istiod's name because the bridge publishes it", names.observe),
    Check("traffic", "a request answers 200 with the caller's identity, 403 once denied", traffic.observe),
    Check("boundary", "from the data plane's network only istiod's exposed ports answer", boundary.observe),
    Check("limits", "the mesh's own objects refuse the rest, without the sandbox's firewall too", limits.observe),
    Check("pods", "no program of the control plane runs in the data plane", leftovers.none_of_the_control_planes),
    Check("secrets", "no control-plane secret is stored in the data plane's etcd", stored_secrets.observe),
)


def observe(check: Check, deployed: Deployed) -> Observation:
    """Makes one check now. Any failure to observe is a row without a tick, never an exception."""
    began = time.monotonic()
    try:
        holds, evidence = True, check.observe(deployed)
    except NotObserved as reason:
        holds, evidence = False, str(reason)
    except ApiError as error:
        holds, evidence = False, f"an API server refused: {error.status.message}"
    except Exception as error:  # a check that breaks has observed nothing
        holds, evidence = False, f"the check itself failed: {type(error).__name__}: {error}"
    return Observation(check.name, check.claim, holds, evidence, time.monotonic() - began)


def run(
    sandbox: Sandbox, tools: Tools, progress: Progress | None = None, *, only: Iterable[str] = ()
) -> list[Observation]:
    """Deploys missing sample workloads and makes every check (or those named in `only`).

    Takes some ten seconds. It leaves only the sample workloads in the data plane.
    """
    wanted = set(only)
    deployed = Deployed.of(sandbox, tools)
    rows = []
    for check in CHECKS:
        if wanted and check.name not in wanted:
            continue
        if progress is not None:
            progress.note(check.claim)
        rows.append(observe(check, deployed))
    return rows


def render(observations: Iterable[Observation]) -> Table:
    """The table for people: a tick, the claim, the evidence."""
    table = Table(title="Seen just now", title_justify="left", expand=True, show_lines=True)
    table.add_column("", width=1)
    table.add_column("claim", ratio=2)
    table.add_column("observation", ratio=3)
    for row in observations:
        mark = Text("✔", style="green") if row.holds else Text("✘", style="bold red")
        table.add_row(mark, row.claim, Text(row.evidence))
    return table
