"""Three meshes of one deployment: calls while a part of one dies, leftovers of one that leaves, places of secrets."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager

import pytest
from cryptography.x509 import load_pem_x509_certificate
from lightkube.resources.core_v1 import Namespace, Secret
from pulumi_hosted_mesh.operations.federation_picture import federation_picture

from sandbox import clusters
from sandbox.bootstrap import CHECKOUT
from sandbox.clusters import Sandbox
from sandbox.clusters.readiness import get_text
from sandbox.engine.deployment import POLICY_PACK
from sandbox.progress import Progress
from sandbox.proof import stored_secrets
from sandbox.proof.deployed import NotObserved, client_of, eventually
from sandbox.proof.stored_secrets import Found
from sandbox.toolchain import Tools
from tests.engine.library.engine import Project, Stack
from tests.live.federation.breaking.federation import kubectl
from tests.live.federation.doctor.diagnosis import diagnosis
from tests.live.federation.meshes import churn, three_meshes
from tests.live.federation.meshes.federated import CALLED, CALLER, DOMAIN, KINDS, NAMESPACE, STRANGER, Meshes, logged
from tests.live.federation.meshes.fleet import Fleet
from tests.live.federation.meshes.serving import MANY, SOME, predicted, serving
from tests.live.federation.meshes.three_meshes import (
    MONGODB,
    MONGODB_PORT,
    PLACES,
    RATINGS,
    RENAMED,
    asking,
    bookinfo,
    reviewer,
)

UP = ("up", "--yes", "--skip-preview", "--policy-pack", str(POLICY_PACK))
# In names, addresses and identities: not the end of "eastwest".
OF_WEST = re.compile(r"(?<!east)west")


@pytest.fixture(scope="module")
def meshes(tmp_path_factory: pytest.TempPathFactory, tools: Tools, progress: Progress) -> Iterator[Meshes]:
    state = tmp_path_factory.mktemp("three")
    try:
        sandbox: Sandbox = clusters.up(state, tools, progress, topology=three_meshes.topology())
        project = Project.make(tmp_path_factory.mktemp("project"), sandbox, tools)
        # No name leads to a gateway: proxies answer for imported hosts, from the start of their Pods on.
        made = Fleet(sandbox, tools, project, places=PLACES, names={}, with_egress=("east",))
        made.deploy()
        federate(made, *PLACES)
        made.run_programs(three_meshes.PROGRAMS)
        with closing(made):
            yield made
    finally:
        clusters.down(state)


def federate(meshes: Meshes, *members: str) -> None:
    """The stacks of those that take part, each by itself, with the policies on."""
    stacks = [meshes.stack(mesh, bookinfo(*members)) for mesh in members]
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda stack: stack.succeed(*UP), stacks))


@contextmanager
def through_egress(meshes: Meshes) -> Iterator[None]:
    """East's calls leave through its egress gateway. Its own stack alone runs: no peer is told."""
    meshes.stack("east", bookinfo(*PLACES, egress=True)).succeed(*UP)
    try:
        yield
    finally:
        meshes.stack("east", bookinfo(*PLACES)).succeed(*UP)


def seen(look: Callable[[], object], wanted: object) -> None:
    """Waits for an answer. The limit is for what never comes: an ejected gateway is left for a quarter of a minute, and
    for as much longer each time that it fails again."""

    def same() -> None:
        if (got := look()) != wanted:
            raise NotObserved(f"it is {got!r}, not {wanted!r}")

    eventually(same, seconds=120)


@contextmanager
def none_of(meshes: Meshes, mesh: str, deployment: str, namespace: str) -> Iterator[None]:
    """A Deployment without Pods, and then with one again."""
    scaled = ("scale", f"deployment/{deployment}", f"--namespace={namespace}")
    kubectl(meshes, mesh, *scaled, "--replicas=0")
    gone = ("wait", "--for=delete", "pod", f"--selector=app={deployment}", "--timeout=240s")
    kubectl(meshes, mesh, *gone, f"--namespace={namespace}")
    try:
        yield
    finally:
        kubectl(meshes, mesh, *scaled, "--replicas=1")
        kubectl(meshes, mesh, "rollout", "status", f"deployment/{deployment}", f"--namespace={namespace}")


def reviewers(meshes: Meshes) -> set[str]:
    """The meshes that answered ten requests, one after the other; all with 200."""
    return {reviewer(meshes) for _ in range(10)}


def test_a_request_goes_through_all_three_and_each_gateway_sees_who_calls(meshes: Meshes) -> None:
    seen(lambda: reviewer(meshes), "west")
    headers = eventually(lambda: three_meshes.rating_of_review(meshes), seconds=120)
    at_gateway, _ = headers["x-forwarded-client-cert"].split(",")
    assert at_gateway.startswith("By=spiffe://north.mesh.local/ns/mesh-north/sa/eastwest;")
    assert at_gateway.endswith(f"URI=spiffe://west.mesh.local/ns/{NAMESPACE}/sa/{CALLED}")


def test_the_page_about_federations_shows_these_meshes(meshes: Meshes) -> None:
    _, _, rest = (CHECKOUT / "docs/components/federation.md").read_text().partition("```mermaid\n")
    shown, _, _ = rest.partition("```")
    stacks = [meshes.stack(mesh, bookinfo(*PLACES)) for mesh in PLACES]
    assert shown == federation_picture(resource for stack in stacks for resource in stack.resources())


@pytest.mark.nightly
def test_the_near_one_of_two_is_asked_while_it_lives(meshes: Meshes) -> None:
    seen(lambda: reviewer(meshes), "west")
    with asking(meshes) as answers:
        assert reviewers(meshes) == {"west"}
    assert answers.keys() == {f"200 {meshes.pod('west', CALLED).metadata.name}"}


def test_an_import_is_called_by_the_name_that_the_importer_gave_it(meshes: Meshes) -> None:
    def renamed() -> str:
        status, body, headers = meshes.call(CALLER, RENAMED)
        return headers["host"] if status == 200 else f"{status} {body[:160]}"

    seen(renamed, RATINGS)


def test_tcp_crosses_for_those_who_are_named(meshes: Meshes) -> None:
    """The gateway sees a connection and its certificate alone: who is not named has it closed."""

    def pod(caller: str) -> str:
        _, body, _ = meshes.call(caller, MONGODB, port=MONGODB_PORT)
        return str(json.loads(body)["pod"])

    def refused() -> None:
        """Its proxy may have the import later than the other caller's."""
        with pytest.raises(NotObserved) as error:
            pod(STRANGER)
        if not re.search(r"closed|reset", str(error.value)):
            raise error.value

    seen(lambda: pod(CALLER), str(meshes.pod("north", "mongodb").metadata.name))
    eventually(refused, seconds=120)


@pytest.mark.parametrize(
    ("what", "namespace"), [(CALLED, NAMESPACE), pytest.param("eastwest", "mesh-west", marks=pytest.mark.nightly)]
)
def test_reviews_fail_over_to_the_far_mesh_and_come_back(meshes: Meshes, what: str, namespace: str) -> None:
    """Whether the near reviews die or the gateway before them. In a row, for half of them would be no failover.

    A caller that asks meanwhile loses nothing: its GETs are asked again of the other mesh.
    """
    fails_over(meshes, what, namespace)


def fails_over(meshes: Meshes, what: str, namespace: str) -> None:
    """What dies is west's."""
    seen(lambda: reviewer(meshes), "west")
    with asking(meshes) as answers:
        with none_of(meshes, "west", what, namespace):
            seen(lambda: reviewers(meshes), {"north"})
        seen(lambda: reviewers(meshes), {"west"})
    assert {answer.partition(" ")[0] for answer in answers} == {"200"}, answers


@contextmanager
def packets_vanish(meshes: Meshes, mesh: str) -> Iterator[None]:
    """To and from a mesh's gateway, between the clusters. Nobody is told: not by a refusal, and not by DNS."""
    path = "-o=jsonpath={.status.loadBalancer.ingress[0].ip}"
    address = kubectl(meshes, mesh, "get", "service", "eastwest", f"-n=mesh-{mesh}", path)

    def filtered(rules: str) -> None:
        meshes.sandbox.run("wan", [meshes.tools["nft"], "-f", "-"], input=rules, text=True, check=True, timeout=60)

    filtered(
        f"""table inet vanishing {{
            chain to_and_from {{
                type filter hook prerouting priority raw;
                ip daddr {address} drop
                ip saddr {address} drop
            }}
        }}
        """
    )
    try:
        yield
    finally:
        filtered("delete table inet vanishing\n")


@pytest.mark.nightly
def test_a_gateway_whose_packets_vanish_is_left_and_no_request_fails(meshes: Meshes) -> None:
    """Nor does one that was sent on a connection of before: its answer does not begin in time."""
    seen(lambda: reviewer(meshes), "west")
    with asking(meshes) as answers:
        with packets_vanish(meshes, "west"):
            seen(lambda: reviewers(meshes), {"north"})
        seen(lambda: reviewers(meshes), {"west"})
    assert {answer.partition(" ")[0] for answer in answers} == {"200"}, answers


@pytest.mark.nightly
def test_a_gateway_that_is_gone_hurts_only_those_who_need_it(meshes: Meshes) -> None:
    def rated() -> bool:
        try:
            return bool(three_meshes.rating_of_review(meshes))
        except NotObserved:
            return False

    details = f"details.{NAMESPACE}"
    seen(rated, True)
    with asking(meshes) as reviews, asking(meshes, details) as local:
        with none_of(meshes, "north", "eastwest", "mesh-north"):
            seen(rated, False)
            seen(lambda: meshes.call(CALLER, RENAMED)[0], 503)
            assert reviewers(meshes) == {"west"}
        seen(rated, True)
    assert reviews.keys() == {f"200 {meshes.pod('west', CALLED).metadata.name}"}
    assert local.keys() == {f"200 {meshes.pod('east', 'details').metadata.name}"}


@contextmanager
def no_way_to_peers(meshes: Meshes) -> Iterator[None]:
    """A NetworkPolicy that keeps east's programs from the peers' gateways, as a firewall before their nodes would."""
    path = "-o=jsonpath={.status.loadBalancer.ingress[0].ip}"
    addresses = [
        kubectl(meshes, mesh, "get", "service", "eastwest", f"-n=mesh-{mesh}", path) for mesh in ("west", "north")
    ]
    elsewhere = {"cidr": "0.0.0.0/0", "except": [f"{one}/32" for one in addresses]}
    policy = {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": "no-way-to-peers", "namespace": NAMESPACE},
        "spec": {"podSelector": {}, "policyTypes": ["Egress"], "egress": [{"to": [{"ipBlock": elsewhere}]}]},
    }
    kubectl(meshes, "east", "create", "--filename=-", given=policy)
    try:
        yield
    finally:
        kubectl(meshes, "east", "delete", "networkpolicy", "no-way-to-peers", f"--namespace={NAMESPACE}")


def seen_by_west(meshes: Meshes) -> str:
    """The caller of a request as west's gateway sees it. Raises NotObserved if another one answers."""
    status, _, headers = meshes.call(CALLER)
    at_gateway, *_ = headers.get("x-forwarded-client-cert", "").split(",")
    if status != 200 or not at_gateway.startswith("By=spiffe://west.mesh.local/ns/mesh-west/sa/eastwest;"):
        raise NotObserved(f"{status} of {at_gateway}")
    return at_gateway


def test_calls_leave_through_the_egress_gateway_alone_and_peers_see_who_calls(meshes: Meshes) -> None:
    """Programs that have no way to peers call through it, and a peer judges them by their own certificates."""

    def status(caller: str = CALLER) -> int:
        return meshes.call(caller)[0]

    def doctor() -> dict[str, str]:
        return diagnosis(meshes, "east", given=bookinfo(*PLACES, egress=True))

    with no_way_to_peers(meshes):
        with through_egress(meshes):
            at_gateway = eventually(lambda: seen_by_west(meshes), seconds=120)
            assert at_gateway.endswith(f"URI=spiffe://east.mesh.local/ns/{NAMESPACE}/sa/{CALLER}")
            seen(lambda: status(STRANGER), 403)
            seen(lambda: meshes.call(CALLER, RENAMED)[0], 200)
            mongodb = str(meshes.pod("north", "mongodb").metadata.name)
            seen(lambda: json.loads(meshes.call(CALLER, MONGODB, port=MONGODB_PORT)[1])["pod"], mongodb)
            seen(doctor, {})
            with none_of(meshes, "east", "egress", "mesh-east"):
                seen(status, 503)
                seen(lambda: meshes.call(CALLER, RENAMED)[0], 503)
                assert meshes.call(CALLER, f"details.{NAMESPACE}")[0] == 200
                seen(doctor, {"egress gateway egress in namespace mesh-east": "not-ready"})
            seen(lambda: reviewer(meshes), "west")
        # Without it they have to connect to the peers, and cannot.
        seen(status, 503)
    seen(lambda: reviewer(meshes), "west")
    assert "egress" not in kubectl(meshes, "east", "get", KINDS, "--namespace=mesh-east", "--output=name")


@pytest.mark.nightly
def test_reviews_fail_over_and_come_back_through_the_egress_gateway_too(meshes: Meshes) -> None:
    """Which mesh is asked stays the caller's choice: the egress gateway has a port for each."""
    with through_egress(meshes):
        fails_over(meshes, CALLED, NAMESPACE)
        fails_over(meshes, "eastwest", "mesh-west")


def test_intents_share_a_service_of_two_meshes_and_leave_by_the_egress_gateway(meshes: Meshes) -> None:
    """Named clients alone, by HTTP and by TCP. Two meshes that are equally far share the requests: within five standard
    deviations of a binomial distribution."""
    with serving(meshes, west_is_near=False) as way:
        shares = eventually(way.counted, seconds=120)
        assert abs(shares["west"] - MANY / 2) <= 5 * (MANY / 4) ** 0.5, shares
        logged(meshes, "east", "egress", MONGODB)
    opened = {one for one, allowed in predicted().items() if allowed}
    assert opened == {(CALLER, CALLED, "GET"), (CALLER, "mongodb", "GET")}


@pytest.mark.nightly
def test_the_near_mesh_of_an_intent_serves_alone_and_the_far_one_when_it_fails(meshes: Meshes) -> None:
    with serving(meshes, west_is_near=True) as way:
        assert eventually(way.counted, seconds=120) == {"west": MANY}
        with none_of(meshes, "west", CALLED, NAMESPACE):
            seen(lambda: way.answered(SOME), {"north": SOME})
        seen(lambda: way.answered(SOME), {"west": SOME})


def told_of_west(meshes: Meshes) -> dict[str, bool]:
    """Whether the others' objects, and the configuration of their proxies, name west."""
    found = {}
    for mesh in ("east", "north"):
        found[f"objects of {mesh}"] = kubectl(meshes, mesh, "get", KINDS, "--all-namespaces", "--output=json")
        found[f"gateway of {mesh}"] = three_meshes.configuration(meshes, mesh, "eastwest", f"mesh-{mesh}")
    found["proxy of productpage"] = three_meshes.configuration(meshes, "east", CALLER, NAMESPACE)
    return {name: bool(OF_WEST.search(text)) for name, text in found.items()}


@pytest.mark.nightly
def test_a_mesh_leaves_and_no_request_of_the_others_fails(meshes: Meshes) -> None:
    """The near one, so all that productpage asks moves to the far one meanwhile."""
    seen(lambda: reviewer(meshes), "west")
    names = {mesh: meshes.pod(mesh, CALLED).metadata.name for mesh in ("west", "north")}
    before = told_of_west(meshes)
    assert all(before.values()), before
    with asking(meshes) as answers:
        federate(meshes, "east", "north")
        seen(lambda: reviewer(meshes), "north")
        meshes.stack("west", bookinfo(*PLACES)).destroy()
        seen(lambda: told_of_west(meshes), dict.fromkeys(before, False))
        assert reviewer(meshes) == "north"
    assert answers.keys() == {f"200 {names['west']}", f"200 {names['north']}"}
    assert kubectl(meshes, "west", "get", KINDS, "-A", "--selector=hosted-mesh.io/federation", "--output=name") == ""


def secrets_of(meshes: Meshes, mesh: str) -> Iterator[Found]:
    """What gives power over a mesh's cluster: the keys of its own programs and people, and every Secret in it."""
    cluster = meshes.cluster(mesh)
    for path in cluster.secret_files():
        yield Found(f"{mesh}'s file {path.name}", path.read_bytes())
    for secret in meshes.client(mesh).list(Secret, namespace="*"):
        for name, value in (secret.data or {}).items():
            yield Found(f"{mesh}'s Secret {secret.metadata.name}: {name}", base64.b64decode(value))


def test_no_peers_credential_and_no_key_of_the_control_plane_is_in_a_data_planes_etcd(meshes: Meshes) -> None:
    """By content, in any encoding, with what etcd has of deleted and earlier objects: kubeconfigs, tokens, keys."""
    deployed = meshes.deployed
    with ThreadPoolExecutor() as pool:
        states = [*pool.map(Stack.export, meshes.mesh_stacks())]
    shared = {
        "the control plane's Secrets": [*stored_secrets.stored(deployed.control_plane)],
        "the control plane's key files": [*stored_secrets.files(deployed.sandbox.control_plane)],
        "the engine's state": [found for one in states for found in stored_secrets.state(one)],
    }
    held = {mesh: [*secrets_of(meshes, mesh)] for mesh in PLACES}
    places = [deployed.sandbox.control_plane, *(meshes.cluster(mesh) for mesh in PLACES)]
    names = {str(one.metadata.name) for place in places for one in client_of(place).list(Namespace)}
    root = load_pem_x509_certificate(deployed.mesh.root_certificate.encode())
    for mesh in PLACES:
        cluster = meshes.cluster(mesh)
        own = stored_secrets.signed_by(json.loads(get_text(cluster, "/openid/v1/jwks")))
        peers = {f"what opens {peer}": held[peer] for peer in PLACES if peer != mesh}
        search = stored_secrets.search_for({**shared, **peers}, own, names)
        search.add_bytes(stored_secrets.CONTROL, root.signature)
        stored_secrets.look(search, cluster.etcd_items())


@pytest.mark.nightly
@pytest.mark.parametrize("sharing", ["shared", "perService"])
def test_a_peers_churn_is_told_to_its_importers_alone_and_holds_up_no_other_peers_change(
    meshes: Meshes, sharing: str
) -> None:
    """Productpage calls the 200 of west that come and go; a program in another namespace calls one of north's. The 200
    have a ServiceEntry together, or each its own and a DestinationRule.

    The last test, for etcd keeps all that it writes, and the search of it would take minutes.
    """
    federate(meshes, *PLACES)  # An earlier test lets west leave; east's imports then have other objects.
    meshes.run_programs({"east": (churn.STOCK,)}, churn.ASIDE)
    aside, page = ("east", churn.STOCK, churn.ASIDE), ("east", CALLER, NAMESPACE)
    uninvolved = [aside, ("north", CALLED, NAMESPACE), ("north", "eastwest", "mesh-north")]
    added = churn.added(sharing)

    def known() -> int:
        return len(churn.hosts(meshes, *page, rf"many-\d+\.{churn.ASIDE}\.{re.escape(DOMAIN)}"))

    before = churn.settled(meshes, *uninvolved)
    churn.write(meshes, [*added.common, *added.many])
    seen(known, churn.SERVICES)
    churn.remove(meshes, [*added.many, *added.common])
    seen(known, 0)
    assert churn.settled(meshes, *uninvolved) == before
    churn.write(meshes, added.common)
    with churn.coming_and_going(meshes, added.many) as goes_on:
        churn.write(meshes, added.late)
        seen(lambda: churn.hosts(meshes, *aside, rf"[^|\s]+\.{churn.ASIDE}\.{re.escape(DOMAIN)}"), {churn.LATE})
        assert goes_on()
    churn.remove(meshes, [*added.late, *added.common])
    seen(lambda: churn.hosts(meshes, *aside, re.escape(churn.LATE)), set())
