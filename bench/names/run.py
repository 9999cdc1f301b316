"""`make bench ARGS=dns`: the DNS bridge beside an external-dns inside each edge, for the same names and one server."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from bench.names import figures, world
from bench.names.figures import BRIDGE, INSIDE, Changes, Many, Rest
from bench.names.world import World
from bench.own_sandbox import beside
from bench.samples import Samples
from sandbox.errors import SandboxError
from sandbox.progress import Progress, Step
from tests.live.dns.bridge.dns_names import NAMESPACE, gateway

PORTS = (world.BRIDGE_PORT, world.INSIDE_PORT)
LONGEST_PAUSE_SECONDS, SETTLE_SECONDS = 6.0, 30.0
HOSTS_OF_ONE = 100
MANY_LIMIT_SECONDS = 3600.0


@dataclass(frozen=True)
class Size:
    """changes: at each number of edges. edges: numbers of them; the first one is also measured with many records and at
    rest. rest: seconds. A zero leaves the measurement out."""

    changes: int
    edges: Sequence[int]
    records: int
    rest: float


def run(state: Path, progress: Progress, console: Console, size: Size) -> None:
    """Measures on sandboxes of its own beside `state`, and prints the tables. Raises SandboxError."""
    found: list[Changes] = []
    try:
        for position, edges in enumerate(size.edges):
            with beside(state) as folder:
                made = world.prepare(folder, progress, edges)
                if position == 0 and size.rest:
                    console.print(figures.rest_grid(*at_rest(made, progress, size.rest)).for_terminal())
                if position == 0 and size.records:
                    console.print(figures.many_grid(with_many(made, progress, size.records)).for_terminal())
                if size.changes:
                    made.run_bridge(on=True)
                    made.run_inside(on=True)
                    found.append(with_changes(made, progress, size.changes))
    finally:  # keeps the results when more edges are too many for the machine
        if found:
            console.print(figures.changes_grid(found).for_terminal())


def at_rest(made: World, progress: Progress, seconds: float) -> tuple[Rest, Rest]:
    """Requests to the first edge's API server, of the bridge and of the one inside, while both read it."""
    edge = next(iter(made.names.edges))
    with progress.step("requests at rest"):
        watches = [figures.watches_in(made.metrics(edge))]
        for start in (made.run_bridge, made.run_inside):
            start(on=True)
            time.sleep(SETTLE_SECONDS)  # each one's initial lists do not count as rest
            watches.append(figures.watches_in(made.metrics(edge)))
        before, began = made.metrics(edge), time.monotonic()
        time.sleep(seconds)
        after, ended = made.metrics(edge), time.monotonic()
    bridge, inside = (
        Rest(
            way,
            ended - began,
            figures.requests_in(after, schema) - figures.requests_in(before, schema),
            watches[number + 1] - watches[number],
        )
        for number, (way, schema) in enumerate(((BRIDGE, NAMESPACE), (INSIDE, world.ASIDE)))
    )
    return bridge, inside


def with_many(made: World, progress: Progress, records: int) -> list[Many]:
    """Each way by itself, with the other's Pods gone."""
    edge, found = next(iter(made.names.edges)), []
    many = world.gateways(edge, records, HOSTS_OF_ONE)
    with progress.step(f"{records:,} records") as step, made.observer() as observer:
        for way, prefix in ((BRIDGE, world.BRIDGE_PREFIX), (INSIDE, world.INSIDE_PREFIX)):
            step.note(way)
            made.run_bridge(on=way == BRIDGE)
            made.run_inside(on=way == INSIDE)
            keys = {"prefix": world.key_prefix(prefix, edge)}
            observer.ask(keys)  # so that it has started
            began = time.monotonic()
            deadline = began + MANY_LIMIT_SECONDS
            made.change(edge, *many)
            while (there := observer.ask(keys)) < records:
                _again(step, f"{way}: {there:,}", deadline, f"{way} published {there:,} of {records:,} records")
            found.append(Many(way, records, time.monotonic() - began))
            made.take_away(edge, *many)
            while (there := observer.ask(keys)) > 0:
                _again(step, f"{way}: {there:,} are left", deadline, f"{way} left {there:,} of {records:,} records")
    return found


def _again(step: Step, note: str, deadline: float, so_far: str) -> None:
    """Between two looks. Raises: SandboxError after the deadline."""
    step.note(note)
    if time.monotonic() > deadline:
        raise SandboxError(f"{so_far} in an hour.")
    time.sleep(0.2)


def with_changes(made: World, progress: Progress, changes: int) -> Changes:
    """One after the other at each edge, the edges side by side, while both ways publish. Half of the changes add a new
    name, the others remove it again."""
    edges = [*made.names.edges]
    shares = [changes // len(edges) + (position < changes % len(edges)) for position in range(len(edges))]
    with progress.step(f"{changes} changes at {len(edges)} edges"), ExitStack() as stack:
        observers = [stack.enter_context(made.observer()) for _ in edges]

        def of_edge(edge: str, share: int, observer: world.Observer) -> list[tuple[float, float]]:
            observer.ask({"prefix": world.BRIDGE_PREFIX})  # so that it has started
            pauses, found = random.Random(edge), []  # noqa: S311 (the same in each run)
            for number in range(share):
                time.sleep(pauses.uniform(0, LONGEST_PAUSE_SECONDS))  # external-dns looks at its clock once a second
                found.append(_change(made, edge, number, observer))
            return found

        with ThreadPoolExecutor(len(edges)) as pool:
            parts = pool.map(of_edge, edges, shares, observers)
            both = [one for part in parts for one in part]
    return Changes(len(edges), *(Samples([one[way] for one in both]) for way in (0, 1)))


def _change(made: World, edge: str, number: int, observer: world.Observer) -> tuple[float, float]:
    """Seconds to the answer: by the bridge, and from inside."""
    host = f"n{number // 2}.{edge}.{world.ZONE}"
    wanted = [made.addresses[edge]] if number % 2 == 0 else []
    changed = gateway("changes", host, app=world.APP)
    observer.begin({"name": host, "addresses": wanted, "ports": PORTS})
    began = time.monotonic()
    (made.take_away if number % 2 else made.change)(edge, changed)
    answered = observer.end()
    if None in answered.values():
        silent = [BRIDGE if port == str(world.BRIDGE_PORT) else INSIDE for port, at in answered.items() if at is None]
        raise SandboxError(f"{host} did not get the answer {wanted or 'nothing'} from {' and '.join(silent)}.")
    by_bridge, by_inside = (answered[str(port)] - began for port in PORTS)
    return by_bridge, by_inside
