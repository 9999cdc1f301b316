"""The DNS bridge between two edges and two DNS servers, and what tests ask of it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

import yaml

from sandbox import clusters, toolchain
from sandbox.bootstrap import CHECKOUT
from sandbox.clusters import Sandbox, Topology
from sandbox.progress import Progress
from sandbox.proof import deployed
from sandbox.proof.deployed import PROGRAMS, NotObserved
from tests.engine.library.engine import Api, Project, Stack
from tests.support.kubectl import Kubectl
from tests.support.waiting import eventually

HERE = Path(__file__).parent
EXAMPLE = CHECKOUT / "examples/dns_bridge"
COREDNS, KNOT = "10.96.0.53", "10.96.0.54"
ISTIOD, ISTIOD_ADDRESS = "istiod.centre.mesh.test", "192.0.2.71"
EASTWEST, EASTWEST_ADDRESS = "eastwest.centre.shop.test", "192.0.2.73"
"""What the program itself publishes, by one provider and by the other."""
OLD, OLD_ADDRESS = "old.data-plane.shop.test", "192.0.2.66"
"""A record in the server's own zone file."""
TSIG = "dGhpcy1rZXktc2lnbnMtdXBkYXRlcy1vZi10aGUtdGVzdA=="
NAMESPACE = "hosted-mesh-dns"
DOCUMENT_FILE = "dns.yaml"
"""In the program's folder."""
ESTABLISHED = "01"
"""In `/proc/net/tcp`."""
CENTRE, ONE, TWO = "control-plane", "data-plane", "data-plane-2"
DOCUMENT: dict[str, Any] = {
    "intervalSeconds": 5,
    "leaseSeconds": 6,
    "nameservers": [COREDNS],
    "providers": [
        {
            "id": "inner",
            "type": "coredns",
            "authentication": "none",
            "zones": [{"name": "{edge}.mesh.test"}, {"name": "both.mesh.test", "shared": True}],
            "controlPlaneZones": ["centre.mesh.test"],
            "coredns": {"endpoints": [f"http://{COREDNS}:2379"]},
            "ttl": 5,
        },
        {
            "id": "outer",
            "type": "rfc2136",
            "zones": [{"name": "{edge}.shop.test"}],
            "controlPlaneZones": ["centre.shop.test"],
            "rfc2136": {"host": KNOT, "serverZones": ["shop.test"], "tsigKeyName": "hosted-mesh"},
            "ttl": 5,
        },
        {
            "id": "inside",
            "type": "coredns",
            "authentication": "none",
            "selector": {"site": TWO},
            "recordSelector": {"view": "inside"},
            "zones": [{"name": "{edge}.views.test"}],
            "coredns": {"endpoints": [f"http://{COREDNS}:2379"]},
            "ttl": 5,
        },
        {
            "id": "outside",
            "type": "rfc2136",
            "selector": {"site": TWO},
            "recordSelector": {"view": "outside"},
            "zones": [{"name": "{edge}.views.test"}],
            "rfc2136": {"host": KNOT, "serverZones": ["views.test"], "tsigKeyName": "hosted-mesh"},
            "ttl": 5,
        },
    ],
}
"""The first two publish for both edges, the last two are views of one name, of one edge."""


@dataclass(frozen=True)
class Names:
    """The bridge between two edges and two DNS servers."""

    sandbox: Sandbox
    centre: Api
    edges: dict[str, Api]

    def ask(self, name: str, server: str = COREDNS) -> list[str]:
        """A name's addresses, as a machine of the control plane's network is answered."""
        return self.ask_all([name], server)[0]

    def ask_all(self, names: list[str], server: str = COREDNS) -> list[list[str]]:
        """Asked again without an answer, as of a busy machine: that is not the answer that there is none."""
        program = [sys.executable, "-I", PROGRAMS / "ask_addresses.py", server, *names]

        def answers() -> list[list[str]]:
            done = self.sandbox.run("control-plane", program, capture_output=True, text=True, timeout=120)
            if done.returncode != 0:
                raise NotObserved(done.stderr)
            return list(json.loads(done.stdout))

        return deployed.eventually(answers, seconds=120)

    def await_answer(self, name: str, *addresses: str, server: str = COREDNS) -> None:
        eventually(lambda: self.ask(name, server) == sorted(addresses), f"{name} is {addresses}")

    def apply(self, edge: str, *documents: dict[str, Any], options: Sequence[str] = ()) -> None:
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": documents})
        Kubectl.of(self.edges[edge].cluster, self.edges[edge].tools)("apply", *options, "-f", "-", text=text)

    def delete(self, edge: str, *what: str) -> None:
        done = self.edges[edge].kubectl("delete", *what)
        assert done.code == 0, done.text

    def conditions(self, cluster: str, name: str) -> dict[str, tuple[str, str]]:
        """Status and reason by type, of the DNSEndpoint that has a name. cluster: an edge, or `CENTRE`."""
        items = (self.centre if cluster == CENTRE else self.edges[cluster]).get("dnsendpoints", "-A")["items"]
        found = [one for one in items if any(each["dnsName"] == name for each in one["spec"]["endpoints"])]
        conditions = found[0].get("status", {}).get("conditions", []) if found else []
        return {one["type"]: (one["status"], one["reason"]) for one in conditions}

    def restart(self, deployment: str) -> None:
        """Kills its Pods, without a word of warning; others take their place."""
        selector = f"app.kubernetes.io/name={deployment}"
        done = self.centre.kubectl("delete", "pod", "-n", NAMESPACE, "-l", selector, "--force", "--grace-period=0")
        assert done.code == 0, done.text

    def holder(self, deployment: str) -> str:
        """The Pod that acts. One that has given up its place is not waited for, it is nobody."""

        def held() -> str:
            spec = self.centre.get("lease", deployment, "-n", NAMESPACE)["spec"]
            return str(spec.get("holderIdentity", ""))

        return eventually(held, f"a Pod of {deployment} acts")

    def kill_holder(self, deployment: str) -> str:
        """As `restart`, of the one that acts alone; its name."""
        pod = self.holder(deployment)
        done = self.centre.kubectl("delete", "pod", "-n", NAMESPACE, pod, "--force", "--grace-period=0")
        assert done.code == 0, done.text
        return pod

    def keys(self, name: str) -> list[str]:
        """Targets of all of etcd's keys of a name and below it: those that are written twice are there twice."""
        return sorted(one["host"] for one in self._etcd(name)["values"].values())

    def writes(self) -> int:
        """How many writes etcd has taken, of whoever it was."""
        return int(self._etcd("mesh.test")["revision"])

    def nodes_of(self, deployment: str) -> dict[str, str]:
        """Nodes of its ready Pods, by the Pod's name."""
        pods = self.centre.get("pods", "-n", NAMESPACE, "-l", f"app.kubernetes.io/name={deployment}")["items"]
        return {
            one["metadata"]["name"]: one["spec"]["nodeName"]
            for one in pods
            if {"type": "Ready", "status": "True"}.items()
            <= next((each for each in one["status"].get("conditions", []) if each["type"] == "Ready"), {}).items()
        }

    @contextmanager
    def without_power(self, node: str) -> Iterator[None]:
        """A node's agent and all processes of its Pods killed at once, with no word to anybody, and not started again
        before this ends. The agent is process 1 of a PID namespace; who would start it again waits for its parent."""
        (found,) = [one.pid for one in clusters.status(self.sandbox.state).processes if one.name == node]
        waits = str(found)
        first = self.sandbox.run("wan", ["cat", f"/proc/{waits}/task/{waits}/children"], capture_output=True, text=True)
        agent = first.stdout.strip()
        assert agent.isdigit(), (first.stdout, first.stderr)
        self.sandbox.run("wan", ["kill", "-STOP", waits], check=True)
        try:
            self.sandbox.run("wan", ["kill", "-KILL", agent], check=True)
            yield
        finally:
            self.sandbox.run("wan", ["kill", "-CONT", waits], check=True)

    @contextmanager
    def watched(self, *asked: str) -> Iterator[list[list[list[str]]]]:
        """Asks for names without a pause; what was answered, each time for all of them."""
        seen: list[list[list[str]]] = []
        done = threading.Event()

        def ask() -> None:
            while not done.is_set():
                seen.append(self.ask_all([*asked]))

        with ThreadPoolExecutor(1) as pool:
            asking = pool.submit(ask)
            try:
                yield seen
            finally:
                done.set()
            asking.result()

    @contextmanager
    def asked_steadily(self, *names: tuple[str, str]) -> Iterator[dict[str, Any]]:
        """Queries names every 100 ms, each a server and a name; the result is complete when this ends."""
        found: dict[str, Any] = {}
        queries = [f"{server}={name}" for server, name in names]
        program = [sys.executable, "-I", str(HERE / "ask_steadily.py"), str(PROGRAMS), *queries]
        command = [*self.sandbox.enter("control-plane"), *program]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            try:
                yield found
            finally:
                said, _ = process.communicate(timeout=60)
        found |= json.loads(said)

    def _etcd(self, name: str) -> dict[str, Any]:
        path = "/skydns/" + "/".join(reversed(name.split("."))) + "/"
        program = [sys.executable, "-I", HERE / "ask_keys.py", f"http://{COREDNS}:2379", path]

        def answer() -> dict[str, Any]:
            done = self.sandbox.run("control-plane", program, capture_output=True, text=True, timeout=120)
            if done.returncode != 0:
                raise NotObserved(done.stderr)
            return dict(json.loads(done.stdout))

        return deployed.eventually(answer, seconds=120)


def send(number: signal.Signals, pod: str, program: str = "") -> int:
    """Sends a signal to the processes of a Pod, or to those of one program there; how many there are."""
    found = 0
    for entry in processes_of(pod, program):
        with suppress(OSError):
            os.kill(int(entry.name), number)
            found += 1
    return found


def connections(pod: str, server: str) -> int:
    """How many connections a Pod has to the port of an API server, by its address."""
    port = f":{urlsplit(server).port:04X}"
    for entry in processes_of(pod):
        with suppress(OSError):
            lines = [one.split() for name in ("tcp", "tcp6") for one in (entry / "net" / name).read_text().splitlines()]
            return sum(one[2].endswith(port) and one[3] == ESTABLISHED for one in lines)
    return 0


def processes_of(pod: str, program: str = "") -> Iterator[Path]:
    """Folders of `/proc`."""
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            runs = (entry / "cmdline").read_bytes().partition(b"\0")[0].decode().rpartition("/")[2]
            if f"HOSTNAME={pod}".encode() in (entry / "environ").read_bytes().split(b"\0") and program in ("", runs):
                yield entry


def service(name: str, app: str = "ingress") -> dict[str, Any]:
    spec = {"type": "LoadBalancer", "selector": {"app": app}, "ports": [{"name": "http", "port": 80}]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": "default"}, "spec": spec}


def gateway(name: str, *hosts: str, app: str = "ingress") -> dict[str, Any]:
    port = {"number": 80, "name": "http", "protocol": "HTTP"}
    return {
        "apiVersion": "networking.istio.io/v1",
        "kind": "Gateway",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"selector": {"app": app}, "servers": [{"port": port, "hosts": list(hosts)}]},
    }


def endpoint(name: str, *records: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "externaldns.k8s.io/v1alpha1",
        "kind": "DNSEndpoint",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"endpoints": list(records)},
    }


def record(name: str, *targets: str) -> dict[str, Any]:
    return {"dnsName": name, "recordType": "A", "targets": list(targets)}


def start(directory: Path, progress: Progress, edges: int = 2) -> Names:
    """Clusters whose state is in `directory`/state, with the two DNS servers and with Istio's kinds on each edge.

    The control plane's has two nodes, of which the DNS servers are on the first.
    """
    centre, *others = Topology.of(edges + 1).clusters
    topology = Topology(clusters=(centre.model_copy(update={"zones": ("a", "b")}), *others))
    tools = toolchain.ensure(also={"knotd"}, progress=progress)
    sandbox = clusters.up(directory / "state", tools, progress, topology=topology)
    found = Names(
        sandbox, Api(sandbox.control_plane, tools), {one.name: Api(one, tools) for one in sandbox.data_planes}
    )
    serve(found.centre, directory)
    for edge in found.edges.values():
        ran = edge.kubectl("apply", "--server-side", "-f", str(tools.charts / "base" / "files" / "crd-all.gen.yaml"))
        assert ran.code == 0, ran.text
    return found


def serve(cluster: Api, directory: Path) -> None:
    """The two DNS servers in a cluster."""
    servers = (HERE / "servers.yaml").read_text().replace("secret: TSIG", f"secret: {TSIG}")
    (directory / "servers.yaml").write_text(servers)
    ran = cluster.kubectl("apply", "-f", str(directory / "servers.yaml"))
    assert ran.code == 0, ran.text


def deploy(
    names: Names,
    directory: Path,
    document: Mapping[str, Any] = MappingProxyType(DOCUMENT),
    more: Mapping[str, Sequence[str]] | None = None,
    limit: float = 600,
) -> Stack:
    """The example's program, by the real engine; it returns when every Pod of the bridge is ready.

    more: sources of an edge, beside Istio's gateways and Services. limit: seconds of one command. The stack reads
    `DOCUMENT_FILE` anew each time.
    """
    program = directory / "example"
    shutil.copytree(EXAMPLE, program)
    edges = [
        {
            "name": name,
            "labels": {"site": name},
            "apiServer": edge.cluster.wan_server,
            "sources": ["istio-gateway", "service", *(more or {}).get(name, ())],
        }
        for name, edge in names.edges.items()
    ]
    (program / DOCUMENT_FILE).write_text(yaml.safe_dump({**document, "edges": edges}))
    project = Project.make(directory / "project", names.sandbox, names.centre.tools, program, limit)
    stack = project.stack("names", settings_of(document))
    stack.up()
    return stack


def settings_of(document: Mapping[str, Any]) -> dict[str, Any]:
    """The stack's configuration: the program's records, and the credentials of providers by their ids."""
    settings: dict[str, Any] = {"records": {ISTIOD: [ISTIOD_ADDRESS]}}
    signed = [one["id"] for one in document["providers"] if one["type"] == "rfc2136"]
    if signed:
        settings["records"][EASTWEST] = [EASTWEST_ADDRESS]
    settings["credentials"] = {one: ["tsig-secret"] for one in signed}
    return settings | {f"{one}.tsig-secret": TSIG for one in signed}


def address_of(api: Api, name: str) -> str:
    def given() -> str:
        found = api.get("service", name, "-n", "default")["status"]["loadBalancer"].get("ingress") or [{}]
        return str(found[0].get("ip", ""))

    return eventually(given, f"the Service {name} has an address")
