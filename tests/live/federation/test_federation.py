"""A request from one mesh to another, over the east-west gateway, on real parts: who gets through, and what is left."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from lightkube.resources.core_v1 import Pod, Service
from pulumi_hosted_mesh.clusters.api_server import UnreachableError

from sandbox.clusters import Topology
from sandbox.engine.deployment import POLICY_PACK
from sandbox.progress import Progress
from sandbox.proof.deployed import NotObserved, eventually
from sandbox.proof.identity import AGENT
from sandbox.proof.traffic import arrived_from
from sandbox.toolchain import Tools
from tests.engine.library.engine import Project
from tests.live.federation.breaking import diagnosed
from tests.live.federation.breaking.cases import CASES
from tests.live.federation.breaking.federation import ENTRY, Breaking, kubectl, stored
from tests.live.federation.doctor.diagnosis import diagnosis, notices_alone, verdicts_of
from tests.live.federation.doctor.limited import EVERYWHERE, OF_PROXIES, OF_THE_CONTROL_PLANE, THERE, limited
from tests.live.federation.meshes.crossing import CLOSED, OPENED, READERS, crossing, document, settled, together
from tests.live.federation.meshes.federated import (
    CALLED,
    CALLER,
    HOST,
    KINDS,
    NAMESPACE,
    PLACES,
    STRANGER,
    Meshes,
    answered,
    federation,
    logged,
)
from tests.live.federation.meshes.three_meshes import asking, configuration, of_proxy
from tests.support.authorities import Authority, pem
from tests.support.clusters import started
from tests.support.nightly import nightly_if

LABEL = "hosted-mesh.io/federation"
GATEWAY = "gateways.networking.istio.io"
TAKEN = 418
MYSQL = 33060


@pytest.fixture(scope="module")
def meshes(tmp_path_factory: pytest.TempPathFactory, tools: Tools, progress: Progress) -> Iterator[Meshes]:
    with started(tmp_path_factory.mktemp("federation"), tools, progress, topology=Topology.of(3)) as sandbox:
        made = Meshes(sandbox, tools, Project.make(tmp_path_factory.mktemp("project"), sandbox, tools))
        made.deploy()
        made.run_programs()
        federate(made, CALLER)
        with closing(made):
            yield made


def federate(meshes: Meshes, *callers: str, of: Iterable[str] = PLACES) -> None:
    """The meshes' stacks, each by itself, with the policies on. callers: accounts of east that west lets in."""
    document = federation(*(f"{NAMESPACE}/{name}" for name in callers))
    for mesh in of:
        meshes.stack(mesh, document).succeed("up", "--yes", "--policy-pack", str(POLICY_PACK))


def test_the_callers_identity_arrives_and_was_verified_at_the_gateway(meshes: Meshes) -> None:
    headers = answered(meshes, CALLER, 200)
    at_gateway, at_workload = headers["x-forwarded-client-cert"].split(",")
    gateway = "spiffe://west.mesh.local/ns/mesh-west/sa/eastwest"
    assert at_gateway.startswith(f"By={gateway};")
    assert at_gateway.endswith(f"URI=spiffe://east.mesh.local/ns/{NAMESPACE}/sa/{CALLER}")
    arrived_from({"x-forwarded-client-cert": at_workload}, gateway)


def test_the_gateways_address_is_an_output(meshes: Meshes) -> None:
    """By which the stack `dns` publishes its host."""
    service = meshes.client("east").get(Service, "eastwest", namespace="mesh-east")
    assert service.status and service.status.loadBalancer and service.status.loadBalancer.ingress
    address = service.status.loadBalancer.ingress[0].ip
    assert address
    outputs = meshes.project.stack("mesh-east", meshes.config("east")).outputs()
    assert outputs["gateway_addresses"] == {"mesh-east/eastwest": [address]}


def test_who_is_not_named_is_refused_at_the_gateway_until_named(meshes: Meshes) -> None:
    """The called program has no policy of its own: the export alone decides."""
    answered(meshes, STRANGER, 403)
    federate(meshes, CALLER, STRANGER, of=["west"])
    answered(meshes, STRANGER, 200)
    federate(meshes, CALLER, of=["west"])
    answered(meshes, STRANGER, 403)
    answered(meshes, CALLER, 200)


def test_the_gateway_logs_who_got_through_and_who_did_not(meshes: Meshes) -> None:
    """By the one setting of the mesh's document, `accessLog`. And callers speak TLS 1.3, which nothing asks of them."""
    answered(meshes, CALLER, 200)
    answered(meshes, STRANGER, 403)
    for answer in ('" 200 ', '" 403 '):
        logged(meshes, "west", "eastwest", answer, HOST, "TLSv1.3")


def test_an_intent_between_meshes_opens_the_named_calls_of_the_named_client_alone(
    meshes: Meshes, tmp_path: Path
) -> None:
    """West's gateway judges the caller by its own certificate, and reviews' proxy the request by the gateway's."""
    intents = document(READERS)
    try:
        with crossing(meshes, tmp_path) as west:
            stacks = west.stacks(intents)
            together(stacks.values(), "up", "--yes", "--skip-preview")
            answers = eventually(lambda: west.counted(OPENED, CLOSED), seconds=120)
            of_caller, of_gateway = answers[OPENED[0]][-1].headers["x-forwarded-client-cert"].split(",")
            gateway = "spiffe://west.mesh.local/ns/mesh-west/sa/eastwest"
            assert of_caller.startswith(f"By={gateway};")
            assert of_caller.endswith(f"URI=spiffe://east.mesh.local/ns/{NAMESPACE}/sa/{CALLER}")
            arrived_from({"x-forwarded-client-cert": of_gateway}, gateway)

            verdicts = {
                one: [west.explained(intents, str(one)), west.explained(intents, one.by_host)] for one in answers
            }
            assert verdicts == {one: [one in OPENED] * 2 for one in answers}
            pair = (f"{NAMESPACE}/{CALLER}", f"{NAMESPACE}/{CALLED}")
            assert west.matrix(intents) == {pair: ["GET /reviews/*", "PUT *"]}
            peers = {one["mesh"]: one for one in west.federated(intents)["peers"]}
            assert stacks["intents-west"].outputs()["exports"] == peers["west"]["exports"]
            assert stacks["intents-east"].outputs()["imports"] == peers["east"]["imports"]
            together(stacks.values(), "up", "--yes", "--skip-preview", "--expect-no-changes")

            without = west.stacks(document())
            without["intents-west"].up()
            eventually(lambda: west.counted((), (*OPENED, *CLOSED)), seconds=120)
            together([without[f"federation-{mesh}"] for mesh in PLACES], "up", "--yes", "--skip-preview")
            assert not west.matrix(document())
            eventually(lambda: west.unanswered(OPENED), seconds=120)
    finally:
        federate(meshes, CALLER)
        settled(meshes, **{CALLER: 200, STRANGER: 403})


def test_another_namespace_s_route_is_not_taken_at_the_gateway(meshes: Meshes) -> None:
    """Its own namespace's is, which was made later: by then istiod has read the other."""
    answered(meshes, CALLER, 200)
    kubectl(meshes, "west", "create", "--filename=-", given=thief(NAMESPACE, "/of-another"))
    kubectl(meshes, "west", "create", "--filename=-", given=thief("mesh-west", "/of-its-own"))
    try:

        def taken() -> None:
            if (got := meshes.call(CALLER, path="/of-its-own")[0]) != TAKEN:
                raise NotObserved(f"the route of the gateway's namespace is not there: {got}")

        def passed_on() -> None:
            status = meshes.call(CALLER, path="/of-another")[0]
            assert status != TAKEN
            if status != 200:  # by a connection of before, whose first request has the policies before
                raise NotObserved(f"it got {status}")

        eventually(taken, seconds=120)
        eventually(passed_on, seconds=120)
    finally:
        for namespace in (NAMESPACE, "mesh-west"):
            kubectl(meshes, "west", "delete", "virtualservice", "thief", f"--namespace={namespace}")


def thief(namespace: str, path: str) -> dict[str, Any]:
    """A VirtualService by which the gateway itself answers requests to the exported host."""
    match = {"match": [{"uri": {"prefix": path}}], "directResponse": {"status": TAKEN}}
    return {
        "apiVersion": "networking.istio.io/v1",
        "kind": "VirtualService",
        "metadata": {"name": "thief", "namespace": namespace},
        "spec": {"hosts": [HOST], "gateways": ["mesh-west/shops"], "http": [match]},
    }


# What an application's team may write of servers at the port that peers call. Seen without istiod's setting: of the
# exported host the first two have Envoy refuse the listener, so that no new Pod of the gateway gets ready, or, made
# before the federation's, answer its callers; the one in plain, made before, leaves callers with 503.
SERVERS: dict[str, dict[str, Any]] = {
    "host": {"protocol": "HTTPS", "hosts": [HOST], "tls": {"mode": "ISTIO_MUTUAL"}},
    "opaque": {"protocol": "TLS", "hosts": [f"*/{HOST}"], "tls": {"mode": "PASSTHROUGH"}},
    "plain": {"protocol": "HTTP", "hosts": ["*"]},
    "passes": {"protocol": "TLS", "hosts": ["*.local"], "tls": {"mode": "AUTO_PASSTHROUGH"}},
}


def foreign(name: str, selector: dict[str, str]) -> dict[str, Any]:
    """A Gateway of the application's namespace, for the federation's gateway."""
    server = dict(SERVERS[name])
    port = {"number": 15443, "name": name, "protocol": server.pop("protocol")}
    return {
        "apiVersion": "networking.istio.io/v1",
        "kind": "Gateway",
        "metadata": {"name": f"foreign-{name}", "namespace": NAMESPACE},
        "spec": {"selector": selector, "servers": [{"port": port, **server}]},
    }


def later(meshes: Meshes, manifest: dict[str, Any]) -> None:
    """What is made now is younger than an object: API servers count seconds."""
    metadata = manifest["metadata"]
    path = "-o=jsonpath={.metadata.creationTimestamp}"
    said = kubectl(meshes, "west", "get", GATEWAY, metadata["name"], f"--namespace={metadata['namespace']}", path)
    made = datetime.fromisoformat(said)
    if datetime.now(UTC) - made < timedelta(seconds=1):
        raise NotObserved(f"it is as old as what was made at {made}")


def alone(meshes: Meshes) -> None:
    """The gateway has one Pod, as the one before has gone."""
    found = meshes.client("west").list(Pod, namespace="mesh-west", labels={"app": "eastwest"})
    if (count := len(list(found))) != 1:
        raise NotObserved(f"there are {count}")


def test_gateways_of_another_namespace_change_nothing_at_the_gateway(meshes: Meshes) -> None:
    """Made before the federation's own, and after it began anew, when it takes nothing over. By a route of its own
    namespace, which is made last, it is known that istiod has read them."""
    made = [foreign(name, {"istio": "eastwest"}) for name in SERVERS]
    for one in made:
        kubectl(meshes, "west", "create", "--filename=-", given=one)
    own = stored(meshes, "west", GATEWAY, "shops", "mesh-west")
    kubectl(meshes, "west", "delete", GATEWAY, "shops", "--namespace=mesh-west")
    eventually(lambda: later(meshes, made[-1]), seconds=60)
    kubectl(meshes, "west", "create", "--filename=-", given=own)
    kubectl(meshes, "west", "create", "--filename=-", given=thief("mesh-west", "/told"))
    try:

        def told() -> None:
            if (got := meshes.call(CALLER, path="/told")[0]) != TAKEN:
                raise NotObserved(f"the gateway does not have the newest: {got}")

        kubectl(meshes, "west", "rollout", "restart", "deployment/eastwest", "--namespace=mesh-west")
        kubectl(meshes, "west", "rollout", "status", "deployment/eastwest", "--namespace=mesh-west", "--timeout=120s")
        eventually(lambda: alone(meshes), seconds=120)
        eventually(told, seconds=120)
        answered(meshes, CALLER, 200)
        answered(meshes, STRANGER, 403)
        listeners = of_proxy(meshes, "west", "eastwest", "mesh-west", "/config_dump?resource=dynamic_listeners")
        assert HOST in listeners
        assert [one for one in ("foreign-", "outbound_.9080_") if one in listeners] == []
        eventually(lambda: sound(meshes, "west"), seconds=120)
        assert {one.cause for one in verdicts_of(meshes, "west") if one.notice} == {"without-effect"}
    finally:
        kubectl(meshes, "west", "delete", "virtualservice", "thief", "--namespace=mesh-west")
        for one in made:
            kubectl(meshes, "west", "delete", "--filename=-", given=one)


# A server that greets who connects, as MySQL does, at the ports that it is given, until its input ends; and a client
# that tells whether it was greeted at the first port before five others were at the second, or once it spoke itself.
GREETS = """
import os, socket, sys, threading
kept = []
def serve(listener):
    while True:
        kept.append(listener.accept()[0])
        kept[-1].sendall(b"welcome")
for port in sys.argv[1:]:
    threading.Thread(target=serve, args=(socket.create_server(("0.0.0.0", int(port)), backlog=32),)).start()
print("ready", flush=True)
sys.stdin.read()
os._exit(0)
"""
LISTENS = """
import socket, sys
def ask(port):
    return socket.create_connection((sys.argv[1], int(port)), timeout=30)
first = ask(sys.argv[2])
for _ in range(5):
    assert ask(sys.argv[3]).recv(7) == b"welcome"
first.setblocking(False)
try:
    print(first.recv(7).decode())
except BlockingIOError:
    first.settimeout(30)
    first.sendall(b"no request\\r\\n")
    print("silent, then " + first.recv(7).decode())
"""


@pytest.mark.nightly("doctor")
def test_a_port_of_http_keeps_servers_that_speak_first_from_being_heard(meshes: Meshes) -> None:
    """Why what peers select by labels opens no other port than those of HTTP. By five greetings at another port, which
    are asked for later, it is known that the first would have come."""
    cluster, name = meshes.cluster("east"), "mysql.bookshop.shops.sandbox.test"
    serving = [*meshes.sandbox.enter(cluster.name), sys.executable, "-I", "-c", GREETS, str(MYSQL), str(MYSQL + 1)]

    def heard(wanted: str) -> None:
        inside = meshes.deployed.enter(meshes.deployed.program_of(meshes.pod("east", STRANGER), AGENT))
        command = [*inside, sys.executable, "-I", "-c", LISTENS, cluster.addresses.gateway, str(MYSQL), str(MYSQL + 1)]
        said = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout.strip()
        if said != wanted:
            raise NotObserved(f"{said}, not {wanted}")

    entry = stored(meshes, "east", "serviceentry", ENTRY, "mesh-east")
    entry["metadata"] = {"name": "by-labels", "namespace": "mesh-east"}
    entry["spec"] |= {"hosts": [name], "ports": [{**entry["spec"]["ports"][0], "number": MYSQL}]}
    with subprocess.Popen(serving, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdout
        assert server.stdout.readline() == b"ready\n"
        eventually(lambda: heard("welcome"), seconds=120)
        kubectl(meshes, "east", "create", "--filename=-", given=entry)
        try:
            eventually(lambda: heard("silent, then welcome"), seconds=120)
        finally:
            kubectl(meshes, "east", "delete", "--filename=-", given=entry)
        eventually(lambda: heard("welcome"), seconds=120)


@pytest.mark.nightly("doctor")
def test_trust_changes_under_the_shared_root_and_no_request_fails(meshes: Meshes) -> None:
    """The step between `complete` and `partial`, there and back, in no particular order of the meshes."""

    def up(mesh: str, trust: str) -> None:
        given = federation(f"{NAMESPACE}/{CALLER}") | {"trust": trust}
        for peer in given["peers"]:
            peer["rootCertificate"] = pem(meshes.root.certificate).decode()
        meshes.stack(mesh, given).succeed("up", "--yes", "--skip-preview")

    def bundles(wanted: bool) -> None:
        for mesh, name, namespace in (("east", CALLER, NAMESPACE), ("west", "eastwest", "mesh-west")):
            if ("SPIFFECertValidatorConfig" in configuration(meshes, mesh, name, namespace)) is not wanted:
                raise NotObserved(f"{name} has bundles, or has none: not {wanted}")

    answered(meshes, CALLER, 200)
    with asking(meshes) as answers:
        for mesh in PLACES:
            up(mesh, "changing")
        eventually(lambda: bundles(True), seconds=120)
        for mesh in PLACES:
            up(mesh, "complete")
        eventually(lambda: bundles(False), seconds=120)
    assert answers.keys() == {f"200 {meshes.pod('west', CALLED).metadata.name}"}, answers


def test_discovery_shows_both_and_who_imports_from_whom(meshes: Meshes) -> None:
    command = [sys.executable, "-c", "from pulumi_hosted_mesh.cli.command import app; app()", "discover", "--json"]
    options = ["--kubeconfig", str(meshes.sandbox.kubeconfig)]
    done = subprocess.run([*command, *options], capture_output=True, text=True, timeout=240, check=True)
    found = {one["name"]: one for one in json.loads(done.stdout)["meshes"]}
    assert {name: one["peers"] for name, one in found.items()} == {"east": ["west"], "west": []}
    for name, one in found.items():
        control_plane, data_plane = one["installations"]
        assert (control_plane["cluster"], control_plane["ready"]) == ("control-plane", "1/1")
        (gateway,) = data_plane["gateways"]
        assert (data_plane["cluster"], gateway["ports"]) == (PLACES[name], [15021, 15443])
        assert gateway["addresses"]
    (member,) = found["east"]["installations"][1]["members"]
    assert (member["namespace"], member["proxies"]) == (NAMESPACE, 2)


def test_no_key_of_an_authority_and_no_peers_credential_is_in_a_users_etcd(meshes: Meshes) -> None:
    for mesh, place in PLACES.items():
        stored: bytes = b"\n".join(value for _, value in meshes.sandbox.clusters[place].etcd_items())
        assert HOST.encode() in stored  # it is searched where something is to be found
        for other in PLACES:
            assert meshes.keys[other].encode() not in stored
        (peer,) = set(PLACES) - {mesh}
        assert str(meshes.cluster(peer).wan_server).encode() not in stored


def test_doctor_finds_nothing_wrong_with_what_works(meshes: Meshes) -> None:
    answered(meshes, CALLER, 200)
    for mesh in PLACES:
        eventually(lambda: sound(meshes, mesh), seconds=120)  # noqa: B023 (called at once)


DAILY = {"missing-service-entry", "wrong-address", "mismatched-cacerts", "token-refused", "time-out"}


@pytest.mark.parametrize(
    ("breaking", "check", "cause"),
    [
        pytest.param(*case, id=f"{case[1]}-{case[2]}", marks=nightly_if(case[2] not in DAILY, "doctor"))
        for case in CASES
    ],
)
def test_doctor_names_exactly_what_is_broken(meshes: Meshes, breaking: Breaking, check: str, cause: str) -> None:
    with breaking(meshes):
        names_only(meshes, check, cause)


@pytest.mark.nightly("doctor")
@pytest.mark.parametrize(
    ("breaking", "cause"),
    [
        (diagnosed.exported_service_is_gone, "missing-service"),
        (diagnosed.exported_service_has_another_port, "missing-port"),
    ],
    ids=["missing-service", "missing-port"],
)
def test_doctor_of_the_exporter_names_a_service_that_its_export_lacks(
    meshes: Meshes, breaking: Breaking, cause: str
) -> None:
    with breaking(meshes):
        names_only(meshes, f"exported Service {CALLED} in namespace {NAMESPACE}", cause, mesh="west")


def test_the_rights_that_doctors_page_says_suffice(meshes: Meshes) -> None:
    eventually(lambda: sound(meshes), seconds=120)  # also after what the test before has put back
    with (
        limited(meshes, "east", "mesh-east", {**EVERYWHERE, **OF_PROXIES}, THERE) as data_plane,
        limited(meshes, None, "mesh-east", {}, OF_THE_CONTROL_PLANE) as control_plane,
    ):
        assert diagnosis(meshes, "east", configs=[data_plane, control_plane]) == {}
    with (
        limited(meshes, "east", "mesh-east", EVERYWHERE, {**THERE, "list": []}) as less,
        pytest.raises(UnreachableError, match=r"networkpolicies\S* is forbidden"),
    ):
        diagnosis(meshes, "east", configs=[less])
    with limited(meshes, "east", "mesh-east", EVERYWHERE, THERE) as less:
        assert diagnosis(meshes, "east", configs=[less], ask_proxies=False) == {}
        with pytest.raises(UnreachableError, match=r"pods/proxy\S* in API group \S* in the namespace"):
            diagnosis(meshes, "east", configs=[less])


def names_only(meshes: Meshes, check: str, *causes: str, mesh: str = "east", **options: Any) -> None:
    """The API servers and the network learn of a change a moment later."""

    def look() -> None:
        found = diagnosis(meshes, mesh, **options)
        if not (len(found) == 1 and all(one.startswith(check) and found[one] in causes for one in found)):
            raise NotObserved(f"{found}, not {causes} of {check}")

    eventually(look, seconds=120)


@pytest.mark.nightly("doctor")
def test_doctor_names_an_istiod_that_is_away_or_what_a_data_planes_user_sees_of_it(meshes: Meshes) -> None:
    with diagnosed.no_istiod(meshes):
        names_only(meshes, "istiod istiod in", "not-ready")
        names_only(meshes, "a Pod with", "unreachable", "time-out", of_the_control_plane=False, ask_proxies=False)
        apart = "connection of proxies of revision default to istiod"
        names_only(meshes, apart, "not-connected", of_the_control_plane=False, of_the_webhooks=False)
    eventually(lambda: sound(meshes), seconds=120)  # a proxy asks again half a minute later at most


def sound(meshes: Meshes, mesh: str = "east") -> None:
    """Doctor finds nothing wrong. It sees a change of an object, and its way back, a moment later."""
    if found := diagnosis(meshes, mesh):
        raise NotObserved(f"{found}")


@pytest.mark.nightly("doctor")
def test_doctor_names_a_network_policy_in_the_way_and_the_peer_sees_it_too(meshes: Meshes) -> None:
    with diagnosed.policy_before_the_gateway(meshes):
        names_only(meshes, "gateway eastwest in", "network-policy", mesh="west")
        names_only(meshes, "port 15443 of the gateway of west", "time-out", "refused", "unreachable")


@pytest.mark.nightly("doctor")
def test_doctor_names_roots_that_differ(meshes: Meshes) -> None:
    """West's by the document is another than the one that east's proxies have."""
    given = federation(f"{NAMESPACE}/{CALLER}")
    given["peers"][1]["rootCertificate"] = pem(Authority("another root").certificate).decode()
    names_only(meshes, "root certificate of east", "roots-differ", given=given)


@pytest.mark.nightly("doctor")
def test_doctor_names_a_clock_that_is_off_and_certificates_that_end(meshes: Meshes) -> None:
    names_only(meshes, "clock of this machine", "clock-skew", clock_is_ahead=timedelta(hours=1))
    names_only(meshes, "Secret cacerts in", "ends-soon", soon=timedelta(days=400))
    found = diagnosis(meshes, "east", soon=timedelta(days=4000))
    assert (found.pop("root certificate of east"), list(found.values())) == ("ends-soon", ["ends-soon"])


def test_doctor_tells_people_and_machines(meshes: Meshes, tmp_path: Path) -> None:
    """As it is called: from a machine that cannot resolve the sandbox's names, and says so and no more."""
    file = tmp_path / "federation.yaml"
    file.write_text(json.dumps(federation(f"{NAMESPACE}/{CALLER}")))
    command = [sys.executable, "-c", "from pulumi_hosted_mesh.cli.command import app; app()", "doctor", str(file)]
    options = ["--mesh", "west", "--kubeconfig", str(meshes.cluster("west").kubeconfig)]
    people = subprocess.run([*command, *options], capture_output=True, text=True, timeout=240)
    assert people.returncode == 3
    wrong = [line for line in people.stdout.splitlines() if line.startswith("FAILED")]
    assert len(wrong) == 1
    assert "gateway address eastwest.west.sandbox.test of west: name-not-found" in wrong[0]
    endpoint = tmp_path / "endpoint.yaml"
    endpoint.write_text(meshes.endpoint("west").model_dump_json(by_alias=True, exclude_none=True))
    centre = f"--control-plane-kubeconfig={meshes.sandbox.control_plane.kubeconfig}"
    options += [centre, f"--endpoint={endpoint}", "--ask-proxies", "--output=json"]
    machines = subprocess.run([*command, *options], capture_output=True, text=True, timeout=240)
    said = json.loads(machines.stdout)
    assert (said["mesh"], said["ok"]) == ("west", False)
    assert [one["cause"] for one in said["checks"] if not one["ok"]] == ["name-not-found"]


def test_a_mesh_that_leaves_leaves_nothing_but_its_gateway_and_doctor_tells_of_it(meshes: Meshes) -> None:
    for mesh in PLACES:
        assert notices_alone(meshes, mesh) == {f"federation shops of {mesh}": "another-federation"}
        meshes.stack(mesh, federation(f"{NAMESPACE}/{CALLER}")).destroy()
        assert kubectl(meshes, mesh, "get", KINDS, "--all-namespaces", f"--selector={LABEL}", "--output=name") == ""
        assert notices_alone(meshes, mesh) == {f"gateway eastwest in namespace mesh-{mesh}": "unused-gateway"}

    def refused() -> None:
        """The name leads to the gateway still, where no server is left for it."""
        try:
            got = meshes.call(CALLER)[0]
        except NotObserved:
            return
        if got == 200:
            raise NotObserved("the request is still answered")

    eventually(refused, seconds=120)
