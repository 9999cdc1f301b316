"""Costs of pushed metrics, by real Envoys and a real collector: `make bench ARGS=observability`.

All programs run on loopback; no cluster is started. A caller's Envoy sends each request on to a called Envoy. It has
the library's access logger and Istio's inclusion list of statistics, and pushes every 10 s over mTLS.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any, Final

import grpc
import grpc.aio
from pulumi_hosted_mesh.observability import proxy_objects
from rich.console import Console

from agents.metrics_collector import telemetry_messages
from agents.metrics_collector.receivers import METRICS_SERVICE
from bench.grid import Grid
from bench.samples import Samples
from sandbox import toolchain
from sandbox.progress import Progress
from sandbox.toolchain import Tools
from tests.support import pushing_envoys as envoys
from tests.support.authorities import pem
from tests.support.envoys import shown_by
from tests.support.ports import free_port
from tests.unit.agents.metrics_collector.collecting import (
    HOST,
    Collector,
    Mesh,
    collecting,
    durations,
    requests,
    resident,
    sent_by,
)

EDGES: Final = 10
ROUNDS, SECONDS = 7, 3.0
LOAD: Final = Path(__file__).parent / "request_load.py"
INTERVAL: Final = 10.0
"""Seconds between two pushes of a proxy: Envoy's default."""
SCRAPE_INTERVAL: Final = 15.0
"""Seconds: the default of the library's Prometheus, and of Istio's sample one."""
PROXIES: Final = (100, 1000, 5000)
SERIES, HISTOGRAMS = 50, 10
MESSAGES: Final = 5
AT_ONCE: Final = 50
"""Streams that open or send at the same time."""
TICKS: Final = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Caller:
    """A caller's Envoy: its port, the port of its administration, and its process."""

    port: int
    admin: int
    process: int


def run(progress: Progress, console: Console) -> None:
    """Measures and prints the tables. Some six minutes."""
    tools = toolchain.ensure(["envoy"], progress=progress)
    with tempfile.TemporaryDirectory() as folder:
        for grid in proxies(tools, Path(folder)):
            console.print(grid.for_terminal())
    rows = []
    for number in PROXIES:
        with tempfile.TemporaryDirectory() as folder:
            rows.append(collector_cost(number, Path(folder)))
    columns = ("streams", "series", "CPU per message", "streams per core", "series per core", "memory per stream")
    title = f"The collector, {SERIES} counters and {HISTOGRAMS} histograms per proxy, a message every {INTERVAL:.0f} s"
    console.print(Grid(title, columns, rows).for_terminal())


def proxies(tools: Tools, folder: Path) -> Iterator[Grid]:
    """The cost for a proxy, its bytes beside a scrape of it, and the time until a number is visible."""
    mesh = Mesh("a", folder / "a")
    with ExitStack() as stack:
        collector = stack.enter_context(collecting(folder, mesh))
        called = stack.enter_context(_called(tools, folder, mesh))
        pushing, quiet = (
            stack.enter_context(_caller(tools, folder, mesh, called, pushes=pushes)) for pushes in (True, False)
        )
        yield _cpu(pushing, quiet)
        yield _bytes(collector, pushing)
        yield _delay(collector, pushing)


@contextmanager
def _called(tools: Tools, folder: Path, mesh: Mesh) -> Iterator[int]:
    workload, port = envoys.Workload(folder, "backend", mesh.domain, mesh.authority), free_port()
    listener = envoys.listener(port, None, socket=workload.socket(server=True))
    with envoys.envoy(tools, workload, {"listeners": [listener]}, free_port(), pushes=False):
        yield port


@contextmanager
def _caller(tools: Tools, folder: Path, mesh: Mesh, called: int, *, pushes: bool) -> Iterator[Caller]:
    name = "pushing" if pushes else "quiet"
    workload = envoys.Workload(folder, name, mesh.domain, mesh.authority)
    port, admin = free_port(), free_port()
    listener = envoys.listener(port, "0", socket=None, reports=proxy_objects.SENDS if pushes else None, is_client=True)
    routes = [{"match": {"prefix": f"/{number}/"}, "route": {"cluster": _name(number)}} for number in range(EDGES)]
    manager = listener["filter_chains"][0]["filters"][0]["typed_config"]
    manager["route_config"]["virtual_hosts"][0]["routes"] = routes
    upstream = workload.socket(name=mesh.principal("backend"))
    clusters = [envoys.cluster(_name(number), called, upstream) for number in range(EDGES)]
    clusters.append(envoys.cluster("collector", mesh.port, workload.socket(name=HOST), grpc=True))
    resources = {"listeners": [listener], "clusters": clusters}
    with envoys.envoy(tools, workload, resources, admin, pushes=pushes) as process:
        yield Caller(port, admin, process.pid)


def _name(number: int) -> str:
    return f"outbound|8080||backend-{number}.bookshop.svc.cluster.local"


def _cpu(pushing: Caller, quiet: Caller) -> Grid:
    """Rounds of both in turn: their ratio does not depend on other work of the machine."""
    found: dict[str, list[float]] = {"pushing": [], "quiet": []}
    rates: dict[str, list[float]] = {"pushing": [], "quiet": []}
    for place in range(ROUNDS):
        both = [("pushing", pushing), ("quiet", quiet)]
        for name, caller in both if place % 2 else reversed(both):
            before = cpu(caller.process)
            number, took = load(caller.port)
            found[name].append((cpu(caller.process) - before) / number * 1e6)
            rates[name].append(number / took)
    ratio = Samples(found["pushing"]) / Samples(found["quiet"])
    rows = [
        ("CPU per request, without push", *Samples(found["quiet"]).figures(" us")),
        ("CPU per request, with push", *Samples(found["pushing"]).figures(" us")),
        ("ratio", *ratio.figures("")),
        ("requests per second, without push", *Samples(rates["quiet"]).figures("")),
        ("requests per second, with push", *Samples(rates["pushing"]).figures("")),
    ]
    return Grid("CPU of a proxy with and without push", ("", "median", "least", "most"), rows)


def load(port: int, seconds: float = SECONDS) -> tuple[int, float]:
    """Requests that a process of its own sent, and the seconds of that."""
    with Popen([sys.executable, "-I", str(LOAD), str(port), str(seconds), str(EDGES)], stdout=PIPE) as process:
        answer, _ = process.communicate(timeout=seconds + 60)
    number, took = answer.split()
    return int(number), float(took)


def cpu(process: int) -> float:
    """Computing seconds of a process, of all its threads."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def _bytes(collector: Collector, caller: Caller) -> Grid:
    """Bytes of messages over a minute; a page of the same proxy for Prometheus, read at the same time."""
    began, before, sent = time.monotonic(), collector.own("received_bytes_total"), collector.own("messages_total")
    time.sleep(6 * INTERVAL + 2)
    minutes = (time.monotonic() - began) / 60
    pushed = (collector.own("received_bytes_total") - before) / minutes
    rate = (collector.own("messages_total") - sent) / minutes
    url = f"http://127.0.0.1:{caller.admin}/stats/prometheus"
    with urllib.request.urlopen(url, timeout=60) as answer:
        page = len(answer.read())
    scraped = page * 60 / SCRAPE_INTERVAL
    rows = [
        ("pushed", f"{rate:.1f}", f"{pushed / rate / 1000:.1f} kB", f"{pushed / 1000:.0f} kB", "none"),
        (
            "scraped by a Prometheus outside",
            f"{60 / SCRAPE_INTERVAL:.0f}",
            f"{page / 1000:.1f} kB",
            f"{scraped / 1000:.0f} kB",
            "one for each proxy",
        ),
    ]
    columns = ("", "per minute", "size", "bytes per minute", "open ports in the user's cluster")
    return Grid(f"Bytes of a proxy with {EDGES} edges, over the boundary", columns, rows)


def _delay(collector: Collector, caller: Caller) -> Grid:
    """From a request to its number on the collector's page. Prometheus' own interval comes on top."""
    found = []
    for place in range(ROUNDS):
        # Another part of the interval each time.
        time.sleep(INTERVAL * place / ROUNDS)
        before = collector.sum("istio_requests_total")
        began = time.monotonic()
        with urllib.request.urlopen(f"http://127.0.0.1:{caller.port}/0/", timeout=60) as answer:
            answer.read()
        while collector.sum("istio_requests_total") <= before:
            time.sleep(0.05)
        found.append(time.monotonic() - began)
    rows = [("to the collector's page", *Samples(found).figures(" s"))]
    return Grid("From a request to its number", ("", "median", "least", "most"), rows)


def collector_cost(number: int, folder: Path) -> Sequence[str]:
    """One row: streams that are open at once, each with messages of its own series."""
    mesh = Mesh("a", folder / "a")
    series = 2 * number * (SERIES + HISTOGRAMS)
    limits = {"bytes_per_second": 2**30, "burst": 2**30, "series": series, "streams": 2 * number}
    with collecting(folder, mesh, limits=limits) as collector:
        assert collector.process is not None
        process = collector.process.pid
        memory = resident(process)
        opened, filled, spent = asyncio.run(_streams(number, mesh, process))
        each = spent / (number * MESSAGES)
        streams = INTERVAL / each
        return (
            f"{number:,}",
            f"{number * (SERIES + HISTOGRAMS):,}",
            f"{each * 1000:.2f} ms",
            f"{streams:,.0f}",
            f"{streams * (SERIES + HISTOGRAMS):,.0f}",
            f"{(opened - memory) / number * 1000:.0f} kB, {(filled - memory) / number * 1000:.0f} kB with its series",
        )


async def _streams(number: int, mesh: Mesh, process: int) -> tuple[float, float, float]:
    """Memory in MB with streams of one series each, and with all series; CPU seconds of the further messages."""
    roots, senders = pem(mesh.authority.certificate), [Sender(mesh, f"w{place}") for place in range(number)]
    calls, channels = list[Any](), list[Any]()

    def call(one: Sender) -> Any:
        chain, mark, key = shown_by(mesh.authority, one.principal).partition(b"-----BEGIN PRIVATE KEY-----")
        shown = grpc.ssl_channel_credentials(roots, mark + key, chain)
        options = [("grpc.ssl_target_name_override", HOST), ("grpc.use_local_subchannel_pool", 1)]
        channels.append(grpc.aio.secure_channel(f"127.0.0.1:{mesh.port}", shown, options=options))
        return channels[-1].stream_unary(f"/{METRICS_SERVICE}/StreamMetrics")()

    async def send(value: int, series: int) -> None:
        for start in range(0, number, AT_ONCE):
            some = slice(start, start + AT_ONCE)
            if value == 1:  # with thousands of handshakes at once, the last ones would exceed gRPC's time
                calls.extend(map(call, senders[some]))
            texts = [one.message(value, series, is_first=value == 1) for one in senders[some]]
            await asyncio.gather(*(call.write(raw) for call, raw in zip(calls[some], texts, strict=True)))

    await send(1, 1)
    await _rests(process)
    opened = resident(process)
    await send(2, SERIES)
    await _rests(process)
    filled, before = resident(process), cpu(process)
    for value in range(3, 3 + MESSAGES):
        await send(value, SERIES)
    # A stream's answer comes after its last message was read.
    for one in calls:
        await one.done_writing()
        await one
    spent = cpu(process) - before
    for channel in channels:
        await channel.close()
    return opened, filled, spent


async def _rests(process: int) -> None:
    """Waits until the collector has read all: its own page would cost more than the messages."""
    before = -1.0
    while (now := cpu(process)) - before > 0.02:
        before = now
        await asyncio.sleep(1)


@dataclass(frozen=True)
class Sender:
    """A simulated proxy."""

    mesh: Mesh
    workload: str

    @property
    def principal(self) -> str:
        return self.mesh.principal(self.workload)

    def message(self, value: int, series: int, *, is_first: bool) -> bytes:
        """Counters with this total, and one histogram for each five of them."""
        tags = [sent_by(self, to=f"backend-{place}") for place in range(series)]
        families = [*(requests(one, value) for one in tags), *(durations(one, 5) for one in tags[::5])]
        made = telemetry_messages.StreamMetricsMessage(envoy_metrics=families)
        if is_first:
            made.identifier.node.id = f"sidecar~10.0.0.1~{self.workload}-1.bookshop~bookshop.svc.cluster.local"
        return bytes(made.SerializeToString())
