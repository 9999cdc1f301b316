"""Names of two users' clusters, published from the control plane's: real external-dns, CoreDNS with etcd, and Knot.

Each edge writes into a zone of its own on both servers, and both write into `both.mesh.test`.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from sandbox import clusters, toolchain
from sandbox.bootstrap import CHECKOUT
from sandbox.clusters import Sandbox, Topology
from sandbox.progress import Progress
from sandbox.toolchain import Tools
from sandbox.toolchain.catalogue import NAMES
from tests.engine.library.engine import Api, Project
from tests.support.waiting import eventually

HERE = Path(__file__).parent / "dns"
EXAMPLE = CHECKOUT / "examples/dns_bridge"
COREDNS, KNOT = "10.96.0.53", "10.96.0.54"
TSIG = "dGhpcy1rZXktc2lnbnMtdXBkYXRlcy1vZi10aGUtdGVzdA=="
NAMESPACE = "hosted-mesh-dns"
ONE, TWO = "data-plane", "data-plane-2"
DOCUMENT: dict[str, Any] = {
    "intervalSeconds": 5,
    "nameservers": [COREDNS],
    "providers": [
        {
            "id": "inner",
            "type": "coredns",
            "authentication": "none",
            "zones": [{"name": "{edge}.mesh.test"}, {"name": "both.mesh.test", "shared": True}],
            "coredns": {"endpoints": [f"http://{COREDNS}:2379"]},
            "ttl": 5,
        },
        {
            "id": "outer",
            "type": "rfc2136",
            "zones": [{"name": "{edge}.shop.test"}],
            "rfc2136": {"host": KNOT, "serverZones": ["shop.test"], "tsigKeyName": "hosted-mesh"},
            "ttl": 5,
        },
    ],
}


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
        program = [sys.executable, "-I", HERE / "ask_addresses.py", server, *names]
        done = self.sandbox.run("control-plane", program, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr  # no answer is not the answer that there is none
        return list(json.loads(done.stdout))

    def await_answer(self, name: str, *addresses: str, server: str = COREDNS) -> None:
        eventually(lambda: self.ask(name, server) == sorted(addresses), f"{name} is {addresses}")

    def apply(self, edge: str, *documents: dict[str, Any]) -> None:
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": documents})
        command = [str(self.edges[edge].tools["kubectl"]), f"--kubeconfig={self.edges[edge].cluster.kubeconfig}"]
        done = subprocess.run([*command, "apply", "-f", "-"], input=text, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr

    def delete(self, edge: str, *what: str) -> None:
        done = self.edges[edge].kubectl("delete", *what)
        assert done.code == 0, done.text

    def conditions(self, edge: str, name: str) -> dict[str, tuple[str, str]]:
        """Status and reason by type, of the DNSEndpoint that has a name."""
        items = self.edges[edge].get("dnsendpoints", "-A")["items"]
        found = [one for one in items if any(each["dnsName"] == name for each in one["spec"]["endpoints"])]
        conditions = found[0].get("status", {}).get("conditions", []) if found else []
        return {one["type"]: (one["status"], one["reason"]) for one in conditions}

    def restart(self, deployment: str) -> None:
        """Kills its Pod, without a word of warning; another takes its place."""
        selector = f"app.kubernetes.io/name={deployment}"
        done = self.centre.kubectl("delete", "pod", "-n", NAMESPACE, "-l", selector, "--force", "--grace-period=0")
        assert done.code == 0, done.text


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


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory, progress: Progress) -> Iterator[Names]:
    state = tmp_path_factory.mktemp("dns") / "state"
    tools = toolchain.ensure(set(NAMES) - {"istioctl"}, progress=progress)
    charts = toolchain.ensure(progress=progress).charts
    try:
        sandbox = clusters.up(state, tools, progress, topology=Topology.of(3))
        edges = {one.name: Api(one, tools) for one in sandbox.data_planes}
        found = Names(sandbox, Api(sandbox.control_plane, tools), edges)
        servers = (HERE / "servers.yaml").read_text().replace("secret: TSIG", f"secret: {TSIG}")
        (state.parent / "servers.yaml").write_text(servers)
        ran = found.centre.kubectl("apply", "-f", str(state.parent / "servers.yaml"))
        assert ran.code == 0, ran.text
        for edge in edges.values():
            crds = charts / "base" / "files" / "crd-all.gen.yaml"
            ran = edge.kubectl("apply", "--server-side", "-f", str(crds))
            assert ran.code == 0, ran.text
        deploy(found, state.parent, tools)
        yield found
    finally:
        clusters.down(state)


def deploy(names: Names, directory: Path, tools: Tools) -> None:
    """The example's program, by the real engine; it returns when every Pod of the bridge is ready."""
    program = directory / "example"
    shutil.copytree(EXAMPLE, program)
    edges = [
        {"name": name, "apiServer": edge.cluster.wan_server, "sources": ["istio-gateway", "service"]}
        for name, edge in names.edges.items()
    ]
    (program / "dns.yaml").write_text(yaml.safe_dump(DOCUMENT | {"edges": edges}))
    settings = {"credentials": {"outer": ["tsig-secret"]}, "outer.tsig-secret": TSIG}
    Project.make(directory / "project", names.sandbox, tools, program).stack("names", settings).up()


def address_of(api: Api, name: str) -> str:
    def given() -> str:
        found = api.get("service", name, "-n", "default")["status"]["loadBalancer"].get("ingress") or [{}]
        return str(found[0].get("ip", ""))

    return eventually(given, f"the Service {name} has an address")


def process(sandbox: Sandbox, name: str) -> int:
    found = [one.pid for one in clusters.status(sandbox.state).processes if one.name == name]
    assert found and found[0] is not None
    return found[0]


def test_a_gateways_names_are_answered_follow_it_and_go(names: Names) -> None:
    edge = names.edges[ONE]
    names.apply(ONE, service("ingress"), gateway("web", f"web.{ONE}.mesh.test", f"web.{ONE}.shop.test"))
    first = address_of(edge, "ingress")
    names.await_answer(f"web.{ONE}.mesh.test", first)
    names.await_answer(f"web.{ONE}.shop.test", first, server=KNOT)
    for name in (f"web.{ONE}.mesh.test", f"web.{ONE}.shop.test"):
        eventually(
            lambda: (
                names.conditions(ONE, name)  # noqa: B023
                == {"Accepted": ("True", "Accepted"), "Ready": ("True", "Programmed")}
            ),
            f"{name} says that it is published",
        )

    # A second address, and one of the two goes again: what a registry of TXT records beside etcd loses track of.
    names.apply(ONE, service("ingress-2"))
    second = address_of(edge, "ingress-2")
    names.await_answer(f"web.{ONE}.mesh.test", first, second)
    names.await_answer(f"web.{ONE}.shop.test", first, second, server=KNOT)
    names.delete(ONE, "service", "ingress", "-n", "default")
    names.await_answer(f"web.{ONE}.mesh.test", second)
    names.await_answer(f"web.{ONE}.shop.test", second, server=KNOT)

    names.apply(ONE, gateway("web", f"new.{ONE}.mesh.test", f"web.{ONE}.shop.test"))
    names.await_answer(f"new.{ONE}.mesh.test", second)
    names.await_answer(f"web.{ONE}.mesh.test")
    names.delete(ONE, "gateways.networking.istio.io", "web", "-n", "default")
    names.await_answer(f"new.{ONE}.mesh.test")
    names.await_answer(f"web.{ONE}.shop.test", server=KNOT)
    assert edge.get("dnsendpoints", "-A")["items"] == []


def test_an_edge_cannot_touch_anothers_names(names: Names) -> None:
    """By what a Gateway says, and by whatever somebody who owns the whole edge writes there."""
    theirs = [f"www.{ONE}.mesh.test", f"www.{ONE}.shop.test"]
    names.apply(ONE, endpoint("www", *(record(name, "192.0.2.1") for name in theirs)))
    names.await_answer(theirs[0], "192.0.2.1")
    names.await_answer(theirs[1], "192.0.2.1", server=KNOT)

    names.apply(
        TWO,
        service("ingress"),
        gateway("thief", theirs[0], theirs[1], "bank.example.org", f"own.{TWO}.mesh.test"),
        endpoint("thief", record(theirs[0], "192.0.2.66"), record(theirs[1], "192.0.2.66")),
        # What a provider that writes names into text as they are would take for the other's.
        endpoint("text", record(f"www.{ONE}.shop.test. 5 IN A 192.0.2.66 ;.{TWO}.shop.test", "192.0.2.66")),
        endpoint("wildcard", record("*.shop.test", "192.0.2.66"), record("*.mesh.test", "192.0.2.66")),
    )
    for name in (theirs[0], "bank.example.org", "*.shop.test"):
        eventually(lambda: names.conditions(TWO, name).get("Accepted") == ("False", "Filtered"), f"{name} is filtered")  # noqa: B023
    # Whatever was written before these is published or refused by now, on both servers.
    marks = [f"mark.{TWO}.mesh.test", f"mark.{TWO}.shop.test"]
    names.apply(TWO, endpoint("mark", *(record(name, "192.0.2.2") for name in marks)))
    names.await_answer(marks[0], "192.0.2.2")
    names.await_answer(marks[1], "192.0.2.2", server=KNOT)
    names.await_answer(f"own.{TWO}.mesh.test", address_of(names.edges[TWO], "ingress"))
    assert names.ask(theirs[0]) == ["192.0.2.1"]
    assert names.ask(theirs[1], KNOT) == ["192.0.2.1"]
    assert names.ask("bank.example.org") == []
    assert names.ask(f"nothing.{ONE}.shop.test", KNOT) == []

    # Its leaving takes nothing of theirs with it.
    names.delete(TWO, "dnsendpoints", "--all", "-n", "default")
    names.await_answer(marks[0])
    names.await_answer(marks[1], server=KNOT)
    assert names.ask(theirs[0]) == ["192.0.2.1"]
    assert names.ask(theirs[1], KNOT) == ["192.0.2.1"]


def test_a_shared_name_is_answered_by_both_and_each_takes_its_own(names: Names) -> None:
    for edge, address in ((ONE, "192.0.2.11"), (TWO, "192.0.2.12")):
        names.apply(edge, endpoint("api", record("api.both.mesh.test", address)))
    names.await_answer("api.both.mesh.test", "192.0.2.11", "192.0.2.12")
    names.delete(ONE, "dnsendpoints", "api", "-n", "default")
    names.await_answer("api.both.mesh.test", "192.0.2.12")
    names.delete(TWO, "dnsendpoints", "api", "-n", "default")
    names.await_answer("api.both.mesh.test")


def test_an_edge_that_is_away_keeps_its_records(names: Names) -> None:
    kept = [f"kept.{ONE}.mesh.test", f"kept.{ONE}.shop.test"]
    names.apply(ONE, endpoint("kept", *(record(name, "192.0.2.21") for name in kept)))
    names.await_answer(kept[0], "192.0.2.21")
    names.await_answer(kept[1], "192.0.2.21", server=KNOT)
    server = process(names.sandbox, f"{ONE}-apiserver")
    names.sandbox.run("wan", ["kill", "-STOP", str(server)], check=True)
    try:
        # Those that remember what they read, and those that start anew and cannot read anything.
        names.restart(f"dns-publisher-{ONE}-inner")
        names.restart(f"dns-publisher-{ONE}-outer")
        names.restart(f"dns-reader-{ONE}")
        # The other edge's goes on meanwhile: several rounds of it.
        for number in range(3):
            names.apply(TWO, endpoint("round", record(f"round.{TWO}.mesh.test", f"192.0.2.3{number}")))
            names.await_answer(f"round.{TWO}.mesh.test", f"192.0.2.3{number}")
            assert names.ask(kept[0]) == ["192.0.2.21"]
            assert names.ask(kept[1], KNOT) == ["192.0.2.21"]
    finally:
        names.sandbox.run("wan", ["kill", "-CONT", str(server)], check=True)
    names.apply(ONE, endpoint("kept", *(record(name, "192.0.2.22") for name in kept)))
    names.await_answer(kept[0], "192.0.2.22")
    names.await_answer(kept[1], "192.0.2.22", server=KNOT)


def test_an_external_dns_that_is_killed_in_mid_sync_is_finished_by_the_next(names: Names) -> None:
    many = [f"n{number}.{ONE}.mesh.test" for number in range(150)]
    names.apply(ONE, endpoint("many", *(record(name, "192.0.2.41") for name in many)))
    eventually(lambda: any(names.ask_all(many)), "the first are there")
    names.restart(f"dns-publisher-{ONE}-inner")
    eventually(lambda: names.ask_all(many) == [["192.0.2.41"]] * len(many), "all are there, once each")
    names.delete(ONE, "dnsendpoints", "many", "-n", "default")
    names.restart(f"dns-publisher-{ONE}-inner")
    eventually(lambda: not any(names.ask_all(many)), "all are gone")
