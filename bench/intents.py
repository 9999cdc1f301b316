"""Costs of compiling intents, and the answers beside network-config-analyzer: `make bench ARGS=intents`.

Each size is compiled in a process of its own, whose highest resident memory counts. Nothing is started.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import yaml
from pulumi_hosted_mesh.intents.compiler import compile_intents
from pulumi_hosted_mesh.intents.matrix import matrix
from pulumi_hosted_mesh.spec.intents import Intents
from pulumi_hosted_mesh.spec.inventory import Inventory
from pulumi_hosted_mesh.spec.load import read_document
from rich.console import Console

from bench.grid import Grid
from bench.policies.scanners.environments import pinned, python_with
from sandbox.progress import Progress

SIZES: Final = (1_000, 10_000, 100_000)
CLUSTERS: Final = 100
PEER: Final = "network-config-analyzer"
PEER_SIZES: Final = (10, 50)
NAMESPACE: Final = "shop"
LINE: Final = re.compile(r"src_ns: \[(.*?)\] src_pods: \[(.*?)\] dst_ns: \[(.*?)\] dst_pods: \[(.*?)\] conn: (.*)")


@dataclass(frozen=True)
class Cost:
    """Of one number of intents. Seconds to read both documents and to compile; the process' memory, in MiB, at its
    highest; objects, and bytes of them as JSON; lines of the document and of the objects, as YAML of 1,000 intents."""

    intents: int
    read: float
    compile: float
    memory: float
    objects: int
    bytes: int
    lines: int
    written: int


def run(progress: Progress, console: Console) -> None:
    """Measures and prints the tables. Some four minutes."""
    found = []
    for size in SIZES:
        done = subprocess.run(
            [sys.executable, "-m", "bench.intents", str(size)], check=True, capture_output=True, text=True
        )
        found.append(Cost(**json.loads(done.stdout)))
    console.print(grid(found).for_terminal())
    console.print(beside(progress).for_terminal())


def cost(size: int) -> Cost:
    """Compiles in this process."""
    document, places = documents(size)
    began = time.process_time()
    intents, inventory = read_document(Intents, document), read_document(Inventory, places)
    between = time.process_time()
    compiled = compile_intents(intents, inventory)
    ended = time.process_time()
    objects = [one for those in compiled.objects.values() for one in those]
    count = sum(len(json.dumps(one, separators=(",", ":"))) for one in objects)
    few, few_places = documents(min(size, 1_000))
    made = compile_intents(read_document(Intents, few), read_document(Inventory, few_places)).objects.values()
    lines = len(yaml.safe_dump(few).splitlines()) * size // min(size, 1_000)
    written = sum(len(yaml.safe_dump(one).splitlines()) for those in made for one in those) * size // min(size, 1_000)
    return Cost(size, between - began, ended - between, _highest(), len(objects), count, lines, written)


def _highest() -> float:
    """The highest resident memory of this process, in MiB; without that of its parent before exec."""
    status = Path("/proc/self/status").read_text()
    return int(re.findall(r"VmHWM:\s+(\d+)", status)[0]) / 1024


def documents(size: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """So many intents over 100 clusters of a mesh each: 7 of 10 within a cluster, 2 with routes, 1 outbound."""
    clusters = [
        {"name": f"c{at}", "mesh": f"m{at}", "gateways": [{"name": "egress", "role": "egress"}]}
        for at in range(CLUSTERS)
    ]
    services = [
        {
            "name": f"s{at}",
            "namespace": f"{NAMESPACE}-{at // CLUSTERS % 20}",
            "clusters": [f"c{at % CLUSTERS}"],
            "serviceAccount": f"s{at}",
            "versions": ["v1", "v2"],
            "ports": [{"port": 80}],
        }
        for at in range(size)
    ]
    intents = []
    for at, service in enumerate(services):
        caller = services[(at + CLUSTERS) % size]
        client = {"service": caller["name"], "namespace": caller["namespace"]}
        intent: dict[str, Any] = {"name": f"i{at}", "type": "intra-cluster", "clients": [client]}
        if at % 10 == 9:
            intent |= {
                "type": "outbound",
                "external": {"host": f"h{at}.example.com"},
                "egressGateway": {"name": "egress"},
            }
        else:
            intent["service"] = {"name": service["name"], "namespace": service["namespace"], "port": 80}
            intent["access"] = [{"methods": ["GET"], "paths": [f"/{at}/*"]}]
        if at % 10 in (7, 8):
            intent |= {"weights": [{"version": "v1", "weight": 90}, {"version": "v2", "weight": 10}], "timeout": "2s"}
        intents.append(intent)
    document = {"project": "bench", "application": "bench", "groups": [{"name": "all", "intents": intents}]}
    return document, {"clusters": clusters, "services": services}


def grid(found: list[Cost]) -> Grid:
    """One row for each number of intents."""
    columns = ["intents", "read", "compile", "each", "memory", "objects", "each", "bytes, each", "lines", "of Istio"]
    rows = [
        [
            f"{one.intents:,}",
            f"{one.read:.2f} s",
            f"{one.compile:.2f} s",
            f"{one.compile / one.intents * 1e6:.0f} us",
            f"{one.memory:.0f} MiB",
            f"{one.objects:,}",
            f"{one.objects / one.intents:.2f}",
            f"{one.bytes / one.intents:,.0f}",
            f"{one.lines:,}",
            f"{one.written:,}",
        ]
        for one in found
    ]
    return Grid(f"intents over {CLUSTERS} clusters, CPU seconds", columns, rows)


def beside(progress: Progress) -> Grid:
    """The same services and policies, judged by both: pairs of caller and callee with their methods and paths."""
    tool = python_with(PEER, progress).parent / "nca"
    rows = []
    for size in PEER_SIZES:
        document, places = policies_only(size)
        inventory = read_document(Inventory, places)
        compiled = compile_intents(read_document(Intents, document), inventory)
        began = time.monotonic()
        own = {key: cell.calls for key, cell in matrix(compiled, inventory).cells.items() if key[0] != "outside"}
        ours = time.monotonic() - began
        with tempfile.TemporaryDirectory() as folder:
            objects = [one for those in compiled.objects.values() for one in those]
            (Path(folder) / "all.yaml").write_text(yaml.safe_dump_all([*pods(places), *objects]))
            began = time.monotonic()
            command = [str(tool), "--connectivity", folder, "-n", folder, "-p", folder, "--output_format", "txt"]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            theirs = time.monotonic() - began
        answers = parsed(done.stdout, [one["name"] for one in places["services"]])
        same = sum(normal(calls) == answers.get(key, set()) for key, calls in own.items())
        rows.append([str(size), f"{ours:.2f} s", f"{theirs:.2f} s", f"{len(own):,}", f"{same:,}"])
    columns = ["services and policies", "matrix", PEER, "pairs", "same answers"]
    return Grid(f"beside {PEER} {pinned(PEER)}, which starts Python each time", columns, rows)


def policies_only(size: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Services of one namespace and cluster, each called by its neighbour; with the only trust domain that the peer
    reads."""
    services = [
        {"name": f"s{at}", "namespace": NAMESPACE, "clusters": ["c"], "serviceAccount": f"s{at}"} for at in range(size)
    ]
    intents = []
    for at in range(size):
        intent: dict[str, Any] = {
            "name": f"i{at}",
            "type": "intra-cluster",
            "service": {"name": f"s{at}", "namespace": NAMESPACE},
            "clients": [{"service": f"s{(at + 1) % size}"}],
        }
        if at % 2:
            intent["access"] = [{"methods": ["GET"], "paths": [f"/{at}/*"]}, {"methods": ["PUT"]}]
        intents.append(intent)
    document = {"project": "bench", "application": "bench", "groups": [{"name": "all", "intents": intents}]}
    clusters = [{"name": "c", "mesh": "m", "trustDomain": "cluster.local"}]
    return document, {"clusters": clusters, "services": services}


def pods(places: dict[str, Any]) -> list[dict[str, Any]]:
    """The namespace and a Pod with a sidecar for each service, as the peer reads them."""
    containers = [{"name": name, "image": "none"} for name in ("istio-proxy", "program")]
    labels = {"istio-injection": "enabled"}
    found: list[dict[str, Any]] = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": labels}}
    ]
    for one in places["services"]:
        metadata = {"name": one["name"], "namespace": NAMESPACE, "labels": {"app": one["name"]}}
        spec = {"serviceAccountName": one["serviceAccount"], "containers": containers}
        found.append({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
    return found


def parsed(text: str, names: list[str]) -> dict[tuple[str, str], set[str]]:
    """The peer's lines about TCP: methods and paths of each pair."""
    found: dict[tuple[str, str], set[str]] = {}
    for line in text.partition("non-TCP")[0].splitlines():
        match = LINE.search(line)
        if match is None:
            continue
        callers, callees = (
            names if given == "*" else [one.strip() for one in given.split(",")] for given in (match[2], match[4])
        )
        for caller in callers:
            for callee in callees:
                key = (f"{NAMESPACE}/{caller}", f"{NAMESPACE}/{callee}")
                found.setdefault(key, set()).update(_operations(match[5]))
    return found


def _operations(conn: str) -> set[str]:
    if conn.strip() == "All connections":
        return {"all"}
    found = set()
    for part in re.findall(r"\{(.*?)\}", conn):
        methods = re.search(r"methods:([A-Z, ]+?)(?:,paths|$)", part)
        paths = re.search(r"paths:(.*)$", part)
        for method in methods[1].split(",") if methods else ["*"]:
            for path in paths[1].split(",") if paths else ["*"]:
                found.add(f"{method.strip()} {path.strip()}")
    return found


def normal(calls: tuple[str, ...]) -> set[str]:
    """Our words for calls, as `_operations` writes the peer's."""
    return {*calls}


if __name__ == "__main__":
    print(json.dumps(asdict(cost(int(sys.argv[1])))))
