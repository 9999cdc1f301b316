"""Names of two users' clusters, published from the control plane's: real external-dns, CoreDNS with etcd, and Knot.

Each edge writes into a zone of its own on both servers, and both write into `both.mesh.test`.
"""

from __future__ import annotations

import base64
import json
import signal
from collections.abc import Iterator
from itertools import groupby
from typing import Any

import pytest
import yaml

from sandbox import clusters
from sandbox.clusters import Sandbox
from sandbox.progress import Progress
from tests.engine.library.engine import Stack
from tests.live.dns.bridge.dns_names import (
    CENTRE,
    COREDNS,
    DOCUMENT_FILE,
    EASTWEST,
    EASTWEST_ADDRESS,
    ISTIOD,
    ISTIOD_ADDRESS,
    KNOT,
    NAMESPACE,
    OLD,
    OLD_ADDRESS,
    ONE,
    TSIG,
    TWO,
    Names,
    address_of,
    connections,
    deploy,
    endpoint,
    gateway,
    record,
    send,
    service,
    settings_of,
    start,
)
from tests.support.waiting import eventually

LISTENER = {"name": "http", "port": 80, "protocol": "HTTP"}
LONG_AGO = "2026-01-01T00:00:00Z"


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory, progress: Progress) -> Iterator[tuple[Names, Stack]]:
    directory = tmp_path_factory.mktemp("dns")
    try:
        found = start(directory, progress)
        ran = found.edges[TWO].kubectl("apply", "--server-side", "-f", str(found.centre.tools.gateway_api_crds))
        assert ran.code == 0, ran.text
        more = {TWO: ["istio-virtualservice", "gateway-httproute", "gateway-grpcroute"]}
        yield found, deploy(found, directory, more=more)
    finally:
        clusters.down(directory / "state")


@pytest.fixture(scope="module")
def names(deployed: tuple[Names, Stack]) -> Names:
    return deployed[0]


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
    eventually(lambda: edge.get("dnsendpoints", "-A")["items"] == [], "its records' objects are gone")
    names.delete(ONE, "service", "ingress-2", "-n", "default")


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
        # What external-dns' provider for CoreDNS would write below the name, where a zone may be another's.
        endpoint("below", {**record(f"top.{TWO}.mesh.test", "192.0.2.67"), "labels": {"192.0.2.67": "a.b"}}),
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
    names.await_answer(f"top.{TWO}.mesh.test", "192.0.2.67")
    assert names.ask(f"a.b.top.{TWO}.mesh.test") == []
    assert names.ask(f"nothing.{ONE}.shop.test", KNOT) == []

    # Its leaving takes nothing of theirs with it.
    names.delete(TWO, "dnsendpoints", "--all", "-n", "default")
    names.await_answer(marks[0])
    names.await_answer(marks[1], server=KNOT)
    assert names.ask(theirs[0]) == ["192.0.2.1"]
    assert names.ask(theirs[1], KNOT) == ["192.0.2.1"]
    names.delete(ONE, "dnsendpoints", "www", "-n", "default")


def test_what_the_program_knows_is_answered_and_no_edge_can_change_it(names: Names) -> None:
    names.await_answer(ISTIOD, ISTIOD_ADDRESS)
    names.apply(TWO, endpoint("thief", record(ISTIOD, "192.0.2.66"), record("*.centre.mesh.test", "192.0.2.66")))
    eventually(lambda: names.conditions(TWO, ISTIOD).get("Accepted") == ("False", "Filtered"), "it is filtered")
    # Also by somebody who owns the edge's whole cluster: what was written before this is published or refused by now.
    mark = f"mark.{TWO}.mesh.test"
    names.apply(TWO, endpoint("mark", record(mark, "192.0.2.2")))
    names.await_answer(mark, "192.0.2.2")
    assert names.ask(ISTIOD) == [ISTIOD_ADDRESS]
    assert names.keys("centre.mesh.test") == [ISTIOD_ADDRESS]
    names.delete(TWO, "dnsendpoints", "thief", "mark", "-n", "default")

    # The account by which they are read can do that, there.
    def may(*what: str) -> bool:
        account = f"system:serviceaccount:{NAMESPACE}:dns-records"
        return names.centre.kubectl("auth", "can-i", *what, f"--as={account}").output.strip() == "yes"

    assert may("list", "dnsendpoints", "-n", NAMESPACE)
    refused = [
        ("list", "dnsendpoints", "-A"),
        *((verb, "dnsendpoints", "-n", NAMESPACE) for verb in ("create", "update", "delete")),
        *(("get", kind, "-n", NAMESPACE) for kind in ("secrets", "configmaps", "pods")),
    ]
    assert [one for one in refused if may(*one)] == []

    # As the program changes it, and takes it away.
    write_own(names, ISTIOD, record(ISTIOD, "192.0.2.72"))
    names.await_answer(ISTIOD, "192.0.2.72")
    done = names.centre.kubectl("delete", "dnsendpoint", ISTIOD, "-n", NAMESPACE)
    assert done.code == 0, done.text
    names.await_answer(ISTIOD)


def test_what_the_program_knows_says_whether_it_is_published(names: Names) -> None:
    """By both providers; one publisher keeps the conditions of all."""
    accepted = ("True", "Accepted")

    def says(name: str, accepted: tuple[str, str], ready: tuple[str, str]) -> None:
        wanted = {"Accepted": accepted, "Ready": ready}
        eventually(lambda: names.conditions(CENTRE, name) == wanted, f"{name} says {ready}")

    names.await_answer(EASTWEST, EASTWEST_ADDRESS, server=KNOT)
    says(EASTWEST, accepted, ("True", "Programmed"))
    own, elsewhere, invalid = "own.centre.mesh.test", f"own.{ONE}.mesh.test", "no name.centre.mesh.test"
    write_own(names, EASTWEST, record(EASTWEST, EASTWEST_ADDRESS), record(own, "192.0.2.74"))
    names.await_answer(own, "192.0.2.74")
    says(own, accepted, ("True", "Programmed"))
    for name, reason in ((elsewhere, "Filtered"), (invalid, "Invalid")):
        write_own(names, EASTWEST, record(name, "192.0.2.75"))
        says(name, ("False", reason), ("False", reason))
    assert names.ask(elsewhere) == []
    names.await_answer(own)

    publisher = "dns-publisher-control-plane-outer"
    set_key(names, base64.b64encode(b"not the key that the server knows").decode())
    names.restart(publisher)
    write_own(names, EASTWEST, record(EASTWEST, "192.0.2.76"))
    says(EASTWEST, accepted, ("False", "Failed"))
    # The one that keeps the conditions is lost, and the one that stood by goes on.
    names.kill_holder("dns-publisher-control-plane-inner")
    set_key(names, TSIG)
    names.restart(publisher)
    names.await_answer(EASTWEST, "192.0.2.76", server=KNOT)
    says(EASTWEST, accepted, ("True", "Programmed"))


def write_own(names: Names, host: str, *records: dict[str, Any]) -> None:
    """The records of one of the program's own objects."""
    changed = json.dumps({"spec": {"endpoints": records}})
    done = names.centre.kubectl("patch", "dnsendpoint", host, "-n", NAMESPACE, "--type=merge", "-p", changed)
    assert done.code == 0, done.text


def set_key(names: Names, secret: str) -> None:
    """Gives the publishers of the second server another key, once they start."""
    data = json.dumps({"data": {"tsig-secret": base64.b64encode(secret.encode()).decode()}})
    done = names.centre.kubectl("patch", "secret", "dns-provider-outer", "-n", NAMESPACE, "-p", data)
    assert done.code == 0, done.text


def test_a_shared_name_is_answered_by_both_and_each_takes_its_own(names: Names) -> None:
    for edge, address in ((ONE, "192.0.2.11"), (TWO, "192.0.2.12")):
        names.apply(edge, endpoint("api", record("api.both.mesh.test", address)))
    names.await_answer("api.both.mesh.test", "192.0.2.11", "192.0.2.12")
    names.delete(ONE, "dnsendpoints", "api", "-n", "default")
    names.await_answer("api.both.mesh.test", "192.0.2.12")
    names.delete(TWO, "dnsendpoints", "api", "-n", "default")
    names.await_answer("api.both.mesh.test")


def test_one_name_has_an_inside_and_an_outside_view(names: Names) -> None:
    """Two providers publish the same zone of one edge, each the objects with its label; of another edge none does."""
    name = f"web.{TWO}.views.test"
    for view, address in (("inside", "192.0.2.15"), ("outside", "192.0.2.16")):
        seen = endpoint(view, record(name, address))
        names.apply(TWO, {**seen, "metadata": {**seen["metadata"], "labels": {"view": view}}})
    names.await_answer(name, "192.0.2.15")
    names.await_answer(name, "192.0.2.16", server=KNOT)
    # Of a Service: its annotation is the label.
    direct = f"direct.{TWO}.views.test"
    chosen = annotated(service("direct", app="direct"), direct)
    chosen["metadata"]["annotations"]["external-dns.alpha.kubernetes.io/webhook-view"] = "outside"
    names.apply(TWO, chosen)
    names.await_answer(direct, address_of(names.edges[TWO], "direct"), server=KNOT)
    assert names.ask(direct) == []
    names.delete(TWO, "service", "direct", "-n", "default")
    names.await_answer(direct, server=KNOT)
    for edge in (ONE, TWO):  # of the second one without a label
        none = f"none.{edge}.views.test"
        names.apply(edge, endpoint("none", record(none, "192.0.2.17")))
        eventually(lambda: names.conditions(edge, none).get("Accepted") == ("False", "Filtered"), f"{none} is filtered")  # noqa: B023
    names.delete(TWO, "dnsendpoints", "inside", "-n", "default")
    names.await_answer(name)
    assert names.ask(name, KNOT) == ["192.0.2.16"]
    for edge in (ONE, TWO):
        names.delete(edge, "dnsendpoints", "--all", "-n", "default")
    names.await_answer(name, server=KNOT)


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
    names.delete(ONE, "dnsendpoints", "kept", "-n", "default")


def reading(names: Names, deployment: str) -> bool:
    """Whether of its Pods the one that acts has connections to the edge, and no other."""
    server = names.edges[ONE].cluster.wan_server
    reads = {pod for pod in names.nodes_of(deployment) if connections(pod, server)}
    return reads == {names.holder(deployment)}


def test_another_goes_on_when_the_one_that_writes_is_lost_in_mid_sync(names: Names) -> None:
    publisher, zone = f"dns-publisher-{ONE}-inner", f"{ONE}.mesh.test"
    many = [f"n{number}.many.{zone}" for number in range(600)]
    for deployment in (publisher, f"dns-reader-{ONE}"):
        # Who stands by is ready, and does not watch the edge.
        eventually(lambda: len(names.nodes_of(deployment)) == 2, f"two of {deployment} are ready")  # noqa: B023
        eventually(lambda: reading(names, deployment), f"of {deployment} the one that acts reads the edge")  # noqa: B023
    names.apply(ONE, endpoint("many", *(record(name, "192.0.2.41") for name in many)))
    eventually(lambda: names.keys(f"many.{zone}"), "the first are there")
    killed = names.kill_holder(publisher)
    eventually(lambda: names.ask_all(many) == [["192.0.2.41"]] * len(many), "all are there")
    assert names.keys(f"many.{zone}") == ["192.0.2.41"] * len(many)
    eventually(lambda: names.holder(publisher) != killed, "the one that stood by acts")

    # The reader's too: what an edge's users make is found by the one that stood by.
    killed = names.kill_holder(f"dns-reader-{ONE}")
    names.apply(ONE, service("ingress"), gateway("late", f"late.{zone}"))
    names.await_answer(f"late.{zone}", address_of(names.edges[ONE], "ingress"))
    eventually(lambda: names.holder(f"dns-reader-{ONE}") != killed, "the reader that stood by acts")

    # Now the DNS server itself, and its etcd, while all of them are being taken away.
    names.delete(ONE, "dnsendpoints", "many", "-n", "default")
    names.delete(ONE, "gateways.networking.istio.io", "late", "-n", "default")
    eventually(lambda: len(names.keys(f"many.{zone}")) < len(many), "the first are gone")
    (pod,) = names.centre.get("pods", "-n", "dns", "-l", "app=coredns")["items"]
    for program in ("etcd", "coredns"):
        assert send(signal.SIGKILL, pod["metadata"]["name"], program) == 1
    names.keys("mesh.test")  # once it is back
    eventually(lambda: names.keys(f"many.{zone}") == names.keys(f"late.{zone}") == [], "all are gone")


@pytest.mark.nightly
def test_nothing_is_lost_when_the_program_that_external_dns_reads_an_edge_by_is_killed(names: Names) -> None:
    """Gates and writers, of all replicas at once. What external-dns knew may be old then, so it too begins anew."""
    zone = f"{ONE}.mesh.test"
    kept = f"kept.{zone}"
    names.apply(ONE, service("ingress"), gateway("kept", kept))
    address = address_of(names.edges[ONE], "ingress")
    names.await_answer(kept, address)
    with names.watched(kept) as seen:
        for deployment in (f"dns-publisher-{ONE}-inner", f"dns-reader-{ONE}"):
            eventually(lambda: len(names.nodes_of(deployment)) == 2, f"two of {deployment} are ready")  # noqa: B023
            eventually(lambda: reading(names, deployment), f"of {deployment} the one that acts reads the edge")  # noqa: B023
            host = f"{deployment}.{zone}"
            assert [send(signal.SIGKILL, pod, "python3") for pod in names.nodes_of(deployment)] == [1, 1]
            names.apply(ONE, gateway("killed", host))
            names.await_answer(host, address)
            eventually(lambda: reading(names, deployment), f"one of {deployment} reads the edge again")  # noqa: B023
    assert seen
    assert {tuple(answers[0]) for answers in seen} == {(address,)}
    for name in ("kept", "killed"):
        names.delete(ONE, "gateways.networking.istio.io", name, "-n", "default")
    names.await_answer(kept)
    names.delete(ONE, "service", "ingress", "-n", "default")


@pytest.mark.nightly
def test_one_that_was_frozen_writes_nothing_when_it_wakes_up(names: Names) -> None:
    """As on a node that lost its network: it runs on, and does not know that another took over."""
    publisher, name = f"dns-publisher-{ONE}-inner", f"moved.{ONE}.mesh.test"
    names.apply(ONE, endpoint("moved", record(name, "192.0.2.51")))
    names.await_answer(name, "192.0.2.51")
    frozen = names.holder(publisher)
    assert send(signal.SIGSTOP, frozen) >= 3
    try:
        names.apply(ONE, endpoint("moved", record(name, "192.0.2.52")))
        names.await_answer(name, "192.0.2.52")
        assert names.holder(publisher) != frozen
    finally:
        send(signal.SIGCONT, frozen)
    # Several rounds of both: what they write is written once.
    for number in (53, 54, 55):
        names.apply(ONE, endpoint("moved", record(name, f"192.0.2.{number}")))
        names.await_answer(name, f"192.0.2.{number}")
        assert names.keys(name) == [f"192.0.2.{number}"]
    names.delete(ONE, "dnsendpoints", "moved", "-n", "default")
    names.await_answer(name)


@pytest.mark.nightly
def test_a_node_that_is_lost_takes_no_record_with_it_and_another_goes_on(names: Names) -> None:
    """As by a power cut: its agent and all of its Pods' processes at once. Kubernetes takes a minute to notice."""
    publisher, zone = f"dns-publisher-{ONE}-inner", f"{ONE}.mesh.test"
    kept, moved = f"kept.{zone}", f"moved.{zone}"
    names.apply(ONE, endpoint("kept", record(kept, "192.0.2.80")), endpoint("moved", record(moved, "192.0.2.81")))
    names.await_answer(kept, "192.0.2.80")
    names.await_answer(moved, "192.0.2.81")

    def move(address: str) -> int:
        """How many writes it took."""
        before = names.writes()
        names.apply(ONE, endpoint("moved", record(moved, address)))
        names.await_answer(moved, address)
        eventually(lambda: names.keys(moved) == [address], "it is there once")
        return names.writes() - before

    def nodes() -> set[str]:
        return set(names.nodes_of(publisher).values())

    def acts_on() -> str | None:
        return names.nodes_of(publisher).get(names.holder(publisher))

    first, second = "control-plane-node", "control-plane-node-2"
    eventually(lambda: nodes() == {first, second}, "its Pods are on both nodes")
    if eventually(acts_on, "one of them acts") == first:
        names.kill_holder(publisher)
        eventually(lambda: acts_on() == second and nodes() == {first, second}, "the one on the other node acts")
    lost = names.holder(publisher)
    once = move("192.0.2.82")

    def transitions() -> int:
        return int(names.centre.get("lease", publisher, "-n", NAMESPACE)["spec"]["leaseTransitions"])

    before = transitions()
    with names.watched(kept, moved) as seen:
        with names.without_power(second):
            assert move("192.0.2.83") == once
            assert names.holder(publisher) != lost
            assert send(signal.SIGCONT, lost) == 0  # no process of it is left
        # It is back, with the Pod that acted before, as a node is that was switched on again.
        eventually(lambda: send(signal.SIGCONT, lost) >= 3, "the node's Pods run again")
        eventually(lambda: nodes() == {first, second}, "and are ready")
        assert [move(f"192.0.2.{number}") for number in (84, 85)] == [once, once]
    assert transitions() == before + 1
    assert len(seen) > 20
    assert {tuple(answers[0]) for answers in seen} == {("192.0.2.80",)}
    # Each of its addresses in turn. external-dns deletes etcd's key of one before it writes that of the next.
    in_turn = [one for one, _ in groupby(tuple(answers[1]) for answers in seen) if one]
    assert in_turn == sorted({*in_turn})
    assert {*in_turn} <= {(f"192.0.2.{number}",) for number in (82, 83, 84, 85)}
    for name in ("kept", "moved"):
        names.delete(ONE, "dnsendpoints", name, "-n", "default")


def test_a_provider_that_refuses_is_said_until_it_no_longer_does(names: Names) -> None:
    publisher, name = f"dns-publisher-{ONE}-outer", f"refused.{ONE}.shop.test"

    def key(secret: str) -> None:
        set_key(names, secret)
        names.restart(publisher)

    kept = f"settled.{ONE}.shop.test"
    names.apply(ONE, endpoint("settled", record(kept, "192.0.2.61")))
    names.await_answer(kept, "192.0.2.61", server=KNOT)
    # The answer is there before the publisher says so, which a restart would keep it from.
    eventually(lambda: names.conditions(ONE, kept).get("Ready") == ("True", "Programmed"), "it says that it is there")
    key(base64.b64encode(b"not the key that the server knows").decode())
    names.apply(ONE, endpoint("refused", record(name, "192.0.2.62")))
    eventually(lambda: names.conditions(ONE, name).get("Ready") == ("False", "Failed"), "the refusal is said")
    said = names.edges[ONE].get("dnsendpoints", "refused", "-n", "default")["status"]["conditions"]
    (message,) = (one["message"] for one in said if one["type"] == "Ready")
    assert message.startswith(f"{name}: provider outer refuses: ")
    assert "its server is reachable and rejects the request" in message
    assert names.conditions(ONE, name)["Accepted"] == ("True", "Accepted")
    eventually(lambda: names.conditions(ONE, kept).get("Ready") == ("True", "Programmed"), "the other one is there")
    assert names.ask(name, KNOT) == []
    key(TSIG)
    names.await_answer(name, "192.0.2.62", server=KNOT)
    eventually(lambda: names.conditions(ONE, name).get("Ready") == ("True", "Programmed"), "it says that it is there")
    assert names.ask(kept, KNOT) == ["192.0.2.61"]


def test_an_alias_waits_while_anothers_old_record_answers_and_capitals_are_one_name(names: Names) -> None:
    """external-dns leaves the old record alone, of the server's own zone file. So the alias is not there."""
    loud, target = f"LOUD.{ONE}.mesh.test", f"lb.{ONE}.shop.test"
    alias = {"dnsName": OLD, "recordType": "CNAME", "targets": [target]}
    names.apply(ONE, endpoint("old", alias, record(target, "192.0.2.95")), endpoint("loud", record(loud, "192.0.2.96")))
    names.await_answer(loud.lower(), "192.0.2.96")
    names.await_answer(target, "192.0.2.95", server=KNOT)
    eventually(lambda: names.conditions(ONE, loud).get("Ready") == ("True", "Programmed"), "capitals are published")
    # Another publisher's than the conditions of the capitals.
    eventually(lambda: names.conditions(ONE, OLD).get("Ready") == ("False", "Pending"), "the alias waits")
    assert names.ask(OLD, KNOT) == [OLD_ADDRESS]
    names.delete(ONE, "dnsendpoints", "old", "loud", "-n", "default")
    names.await_answer(target, server=KNOT)
    assert names.ask(OLD, KNOT) == [OLD_ADDRESS]


def test_names_of_virtual_services_and_routes(names: Names) -> None:
    """No istiod is there, which would accept the route and give its Gateway an address: the test says so instead."""
    rule = {"route": [{"destination": {"host": "web.default.svc.cluster.local"}}]}
    virtual, *routed = (f"{one}.{TWO}.mesh.test" for one in ("virtual", "http", "grpc"))
    parent = {"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "listens"}
    objects = [
        {
            "kind": "VirtualService",
            "name": "virtual",
            "spec": {"hosts": [virtual], "gateways": ["any"], "http": [rule]},
        },
        {"kind": "Gateway", "name": "listens", "spec": {"gatewayClassName": "by-hand", "listeners": [LISTENER]}},
        *(
            {"kind": kind, "name": "routed", "spec": {"hostnames": [name], "parentRefs": [parent]}}
            for kind, name in zip(("HTTPRoute", "GRPCRoute"), routed, strict=True)
        ),
    ]
    group = {"VirtualService": "networking.istio.io/v1"}

    def written(one: dict[str, Any], **status: Any) -> dict[str, Any]:
        api = group.get(one["kind"], "gateway.networking.k8s.io/v1")
        metadata = {"name": one["name"], "namespace": "default"}
        return {"apiVersion": api, "kind": one["kind"], "metadata": metadata, "spec": one["spec"], **status}

    names.apply(TWO, service("ingress"), gateway("any", "*"), *map(written, objects))
    taken = {"type": "Accepted", "status": "True", "reason": "Accepted", "message": "", "lastTransitionTime": LONG_AGO}
    parents = [{"parentRef": parent, "controllerName": "example.com/by-hand", "conditions": [taken]}]
    names.apply(
        TWO,
        written(objects[1], status={"addresses": [{"type": "IPAddress", "value": "192.0.2.71"}]}),
        *(written(one, status={"parents": parents}) for one in objects[2:]),
        options=["--server-side", "--subresource=status"],
    )
    names.await_answer(virtual, address_of(names.edges[TWO], "ingress"))
    for name in routed:
        names.await_answer(name, "192.0.2.71")
    for kind in ("httproutes", "grpcroutes"):
        names.delete(TWO, f"{kind}.gateway.networking.k8s.io/routed", "-n", "default")
    names.delete(TWO, "virtualservices.networking.istio.io/virtual", "-n", "default")
    for name in (virtual, *routed):
        names.await_answer(name)
    names.delete(TWO, "service", "ingress", "-n", "default")


def test_names_of_services(names: Names) -> None:
    """By external-dns' own annotations, and outside of the edge's zones as little as by any other object."""
    own, elsewhere = f"direct.{ONE}.mesh.test", f"direct.{TWO}.mesh.test"
    names.apply(ONE, annotated(service("direct", app="direct"), f"{own},{elsewhere}"))
    address = address_of(names.edges[ONE], "direct")
    names.await_answer(own, address)
    eventually(lambda: names.conditions(ONE, own).get("Ready") == ("True", "Programmed"), "it says so")
    eventually(lambda: names.conditions(ONE, elsewhere).get("Accepted") == ("False", "Filtered"), "it is filtered")
    assert names.ask(elsewhere) == []
    names.apply(ONE, annotated(service("direct", app="direct"), f"other.{ONE}.mesh.test"))
    names.await_answer(f"other.{ONE}.mesh.test", address)
    names.await_answer(own)
    names.delete(ONE, "service", "direct", "-n", "default")
    names.await_answer(f"other.{ONE}.mesh.test")


def annotated(service: dict[str, Any], hosts: str) -> dict[str, Any]:
    hostname = {"external-dns.alpha.kubernetes.io/hostname": hosts}
    return {**service, "metadata": {**service["metadata"], "annotations": hostname}}


@pytest.mark.nightly("renamed")
def test_names_of_a_renamed_provider_and_a_moved_bridge_are_answered_throughout(deployed: tuple[Names, Stack]) -> None:
    """Both at once: other ids, in another namespace. Queries each 100 ms, at both servers, and back again."""
    names, stack = deployed
    kept = [(COREDNS, f"kept.{ONE}.mesh.test"), (KNOT, f"kept.{ONE}.shop.test"), (KNOT, f"kept.{TWO}.shop.test")]
    for edge in (ONE, TWO):
        both = [f"kept.{edge}.mesh.test", f"kept.{edge}.shop.test"]
        names.apply(edge, endpoint("kept", *(record(name, "192.0.2.97") for name in both)))
    for server, name in kept:
        names.await_answer(name, "192.0.2.97", server=server)
    keys = names.keys(f"{ONE}.mesh.test")

    file = stack.project.program / DOCUMENT_FILE
    before = yaml.safe_load(file.read_text())
    ids = {"inner": "core", "outer": "signed"}
    providers = [{**one, "id": ids.get(one["id"], one["id"])} for one in before["providers"]]
    after = {**before, "providers": providers, "namespace": "moved-dns"}
    for document in (after, before):
        file.write_text(yaml.safe_dump(document))
        with names.asked_steadily(*kept) as asked:
            stack.project.stack("names", settings_of(document)).up()
        for query, seen in asked.items():
            assert len(seen["answers"]) == 1, (query, seen)
            assert sum(seen["answers"].values()) > 20, (query, seen)
        assert all("192.0.2.97" in asked[f"{server}={name}"]["answers"] for server, name in kept)
        # Each record is there once, and it is the new publisher that goes on.
        assert names.keys(f"{ONE}.mesh.test") == keys
        names.apply(ONE, endpoint("kept", record(kept[0][1], "192.0.2.98"), record(kept[1][1], "192.0.2.98")))
        names.await_answer(kept[0][1], "192.0.2.98")
        names.await_answer(kept[1][1], "192.0.2.98", server=KNOT)
        names.apply(ONE, endpoint("kept", record(kept[0][1], "192.0.2.97"), record(kept[1][1], "192.0.2.97")))
        names.await_answer(kept[0][1], "192.0.2.97")
        names.await_answer(kept[1][1], "192.0.2.97", server=KNOT)
    for edge in (ONE, TWO):
        names.delete(edge, "dnsendpoints", "kept", "-n", "default")
    names.await_answer(kept[0][1])


def test_an_edge_that_is_removed_takes_its_records_along_and_destroy_leaves_none(
    deployed: tuple[Names, Stack],
) -> None:
    """The last test: nothing is left of the bridge after it."""
    names, stack = deployed
    both = "gone.both.mesh.test"
    for edge, address in ((ONE, "192.0.2.91"), (TWO, "192.0.2.92")):
        own = [f"gone.{edge}.mesh.test", f"gone.{edge}.shop.test"]
        names.apply(edge, endpoint("gone", *(record(name, address) for name in (*own, both))))
        names.await_answer(own[0], address)
        names.await_answer(own[1], address, server=KNOT)
    names.await_answer(both, "192.0.2.91", "192.0.2.92")

    # Of an edge that is gone, by a publisher that never read it: as Pulumi does it, by its Lease.
    publisher = f"dns-publisher-{ONE}-inner"
    server = process(names.sandbox, f"{ONE}-apiserver")
    names.sandbox.run("wan", ["kill", "-STOP", str(server)], check=True)
    try:
        names.restart(publisher)
        done = names.centre.kubectl("delete", "lease", publisher, "-n", NAMESPACE, "--timeout=240s")
        assert done.code == 0, done.text
        assert names.keys(f"{ONE}.mesh.test") == []
        assert names.ask(both) == ["192.0.2.92"]
        assert names.ask(f"gone.{ONE}.shop.test", KNOT) == ["192.0.2.91"]
    finally:
        names.sandbox.run("wan", ["kill", "-CONT", str(server)], check=True)

    file = stack.project.program / DOCUMENT_FILE
    document = yaml.safe_load(file.read_text())
    file.write_text(yaml.safe_dump({**document, "edges": [one for one in document["edges"] if one["name"] != ONE]}))
    stack.up()
    assert names.ask(f"gone.{ONE}.shop.test", KNOT) == []
    assert names.ask(f"gone.{TWO}.shop.test", KNOT) == ["192.0.2.92"]
    assert names.ask(EASTWEST, KNOT) != []

    stack.destroy()
    assert names.keys("mesh.test") == []
    assert [names.ask(name, KNOT) for name in (f"gone.{TWO}.shop.test", EASTWEST)] == [[], []]
    assert "NotFound" in names.centre.kubectl("get", "namespace", NAMESPACE).text
