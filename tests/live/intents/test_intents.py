"""Intents over real proxies: what a document permits is carried, all else is refused, as the evaluator predicts."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
import yaml
from pulumi_hosted_mesh.cli.command import app
from pulumi_hosted_mesh.intents.addresses import addresses_of
from pulumi_hosted_mesh.intents.calls import OUTSIDE, Call
from pulumi_hosted_mesh.intents.evaluator import Evaluator
from pulumi_hosted_mesh.spec.inventory import Inventory
from pulumi_hosted_mesh.spec.load import read_document
from typer.testing import CliRunner

from sandbox import clusters
from sandbox.clusters import Topology
from sandbox.clusters.network.addresses import WAN, WAN_ROUTER
from sandbox.engine.deployment import POLICY_PACK
from sandbox.progress import Progress
from sandbox.proof.deployed import NotObserved, eventually
from sandbox.toolchain import Tools
from tests.engine.library.engine import Api, Project
from tests.live.intents.running.outside import (
    ADDRESS,
    HTTP,
    PROXY,
    SECURE,
    SECURE_TOO,
    TLS,
    TUNNELLED,
    Outside,
    running,
)
from tests.live.intents.running.random_intents import ISSUER, all_calls, random_document
from tests.live.intents.running.shop import (
    AUTHORITY_FILE,
    AWAY,
    FORBIDDEN,
    MESH,
    NAMESPACE,
    OPEN,
    PLACES,
    PORT,
    SERVICES,
    TCP_PORT,
    Answer,
    Document,
    Shop,
    compiled,
    document,
    http_call,
    inventory,
    key,
)
from tests.live.intents.running.tokens import Issuer
from tests.support.authorities import Authority, pem
from tests.support.nightly import all_but

TELLING = (135, 396)
"""Seeds whose documents, between them, have calls that depend on methods, paths as Envoy normalizes them, ports,
ranges, tokens, claims, accounts, denials and deny-all."""
SEEDS = (*TELLING, *range(1, 21))
REVIEWS = {"name": "reviews", "namespace": "books", "port": PORT}
READERS: Document = {
    "type": "intra-cluster",
    "name": "page-reviews",
    "service": REVIEWS,
    "clients": [{"service": "page"}],
    "access": [{"methods": ["GET"], "paths": ["/reviews/*"]}],
}
WRITERS: Document = {
    "type": "intra-cluster",
    "name": "ratings-reviews",
    "service": REVIEWS,
    "clients": [{"service": "ratings", "namespace": "stock"}],
    "access": [{"methods": ["POST"]}, {"action": "DENY", "paths": ["/admin/*"]}],
}


@pytest.fixture(scope="module")
def authority() -> Authority:
    """Of hosts outside."""
    return Authority("outside")


@pytest.fixture(scope="module")
def shop(
    tmp_path_factory: pytest.TempPathFactory, tools: Tools, progress: Progress, authority: Authority
) -> Iterator[Shop]:
    state = tmp_path_factory.mktemp("intents")
    try:
        sandbox = clusters.up(state, tools, progress, topology=Topology.of(3))
        project = Project.make(tmp_path_factory.mktemp("project"), sandbox, tools)
        made = Shop(sandbox, tools, project, places=PLACES, names={}, with_egress=(MESH,))
        made.install_gateway_api()
        made.deploy()
        made.start_services(authority)
        yield made
    finally:
        clusters.down(state)


@pytest.fixture(scope="module")
def outside(shop: Shop, tmp_path_factory: pytest.TempPathFactory, authority: Authority) -> Iterator[Outside]:
    with running(shop.sandbox, tmp_path_factory.mktemp("outside"), authority) as made:
        yield made


@pytest.fixture(scope="module")
def issuers() -> tuple[Issuer, Issuer]:
    """One that documents name, and a stranger."""
    return Issuer(ISSUER), Issuer("https://stranger.sandbox.test")


Calls = Mapping[tuple[str, str, str, str], int]
"""Statuses by caller, callee, method and path."""


def answer_so(shop: Shop, wanted: Calls) -> None:
    """Waits until calls have these statuses: a connection of before may be left over, whose first request differs."""
    given = [
        (Call(key(caller), key(callee)), shop.request(callee, method, path)) for caller, callee, method, path in wanted
    ]

    def look() -> None:
        found = dict(zip(wanted, (one.status for one in shop.answers(given)), strict=True))
        if different := {call: status for call, status in found.items() if status != wanted[call]}:
            raise NotObserved(f"other statuses than wanted: {different}")

    eventually(look, seconds=120)


@pytest.mark.parametrize("api", ["istio", "gateway-api"])
def test_named_clients_may_make_the_named_calls_and_nobody_else_any(shop: Shop, api: str) -> None:
    """The same by both kinds of routes: an intent with a timeout has one."""
    wanted = {
        ("page", "reviews", "GET", "/reviews/1"): OPEN,
        ("page", "reviews", "POST", "/reviews/1"): FORBIDDEN,
        ("page", "reviews", "GET", "/admin/keys"): FORBIDDEN,
        ("page", "reviews", "GET", "/reviews/../admin/keys"): FORBIDDEN,
        ("page", "ratings", "GET", "/"): FORBIDDEN,
        ("ratings", "reviews", "POST", "/reviews/1"): OPEN,
        ("ratings", "reviews", "POST", "/admin/keys"): FORBIDDEN,
        ("ratings", "reviews", "GET", "/reviews/1"): FORBIDDEN,
        ("ratings", "page", "GET", "/"): FORBIDDEN,
        ("reviews", "page", "GET", "/"): FORBIDDEN,
        ("reviews", "ratings", "GET", "/"): FORBIDDEN,
    }
    given = [{**READERS, "serviceMesh": api, "timeout": "5s"}, {**WRITERS, "serviceMesh": api}]
    shop.up(document(*given, namespaces=["books", "stock"]), "--policy-pack", str(POLICY_PACK))
    answer_so(shop, wanted)


def test_a_discovered_inventory_compiles_to_the_same_objects(shop: Shop) -> None:
    config = ["--kubeconfig", str(shop.cluster(MESH).kubeconfig)]
    done = CliRunner().invoke(app, ["discover", "--inventory", *config])
    assert done.exit_code == 0, done.output
    given = document(READERS, WRITERS, namespaces=["books", "stock"])
    assert compiled(given, yaml.safe_load(done.stdout)) == compiled(given)


def test_a_service_without_an_intent_stays_closed_and_opens_by_one(shop: Shop) -> None:
    call = ("page", "ratings", "GET", "/")
    given = document(READERS, namespaces=["books", "stock"])
    shop.up(given)
    answer_so(shop, {call: FORBIDDEN})
    ratings = {"name": "ratings", "namespace": "stock", "port": PORT}
    opens: Document = {
        "type": "intra-cluster",
        "name": "page-ratings",
        "service": ratings,
        "clients": [{"service": "page", "namespace": "books"}],
    }
    shop.up(document(READERS, opens, namespaces=["books", "stock"]))
    answer_so(shop, {call: OPEN})


@pytest.mark.parametrize("seed", all_but(TELLING, SEEDS, "random"))
def test_proxies_answer_each_call_as_the_evaluator_predicts(
    shop: Shop, issuers: tuple[Issuer, Issuer], seed: int
) -> None:
    given = random_document(seed, issuers[0], {name: shop.address(name) for name in SERVICES})
    evaluator = Evaluator(shop.up(given), read_document(Inventory, inventory()))
    calls = [*all_calls(shop, *issuers)]
    assert len(calls) >= 200
    predicted = [evaluator.judge(call) for call, _ in calls]

    def look() -> None:
        """All of them at one time. A connection of before may be left over, and keys of tokens arrive by themselves."""
        answers = zip(calls, predicted, shop.answers(calls), strict=True)
        wrong = [(call, verdict) for (call, _), verdict, answer in answers if answer.is_allowed != verdict.allowed]
        if wrong:
            verdicts = [f"{call} {dict(call.claims)}: predicted {verdict}" for call, verdict in wrong[:20]]
            raise NotObserved("\n".join([f"seed {seed}: {len(wrong)} of {len(calls)} calls", *verdicts]))

    try:
        eventually(look, seconds=120)
    except NotObserved as error:
        pytest.fail(f"{error}\n{yaml.safe_dump(given)}", pytrace=False)


def test_a_caller_does_not_choose_the_address_that_ranges_compare(shop: Shop) -> None:
    """X-Forwarded-For is written by callers."""
    elsewhere = shop.address("ratings")
    limited = {**READERS, "access": [{"ranges": [f"{elsewhere}/32"]}]}
    shop.up(document(limited, namespaces=["books", "stock"]))
    shop.warm("page", ["reviews"])
    forged = [
        shop.request("reviews", **{"X-Forwarded-For": address}) for address in (elsewhere, f"{elsewhere}, {elsewhere}")
    ]

    def look() -> None:
        found = [one.status for one in shop.send("page", forged)]
        if found != [FORBIDDEN, FORBIDDEN]:  # a connection of before may be left over, as in `answer_so`
            raise NotObserved(f"statuses {found}")

    eventually(look, seconds=120)


@pytest.mark.parametrize(
    ("api", "route"),
    [
        ("istio", f"outbound|{PORT}|v2|reviews.books.svc.cluster.local"),
        ("gateway-api", f"outbound|{PORT}||reviews-v2.books.svc.cluster.local"),
    ],
)
def test_a_thousand_requests_are_shared_by_the_weights(shop: Shop, api: str, route: str) -> None:
    """Within five standard deviations of a binomial distribution: one run in a million is outside."""
    many, share = 1_000, 0.8
    weights = [{"version": "v1", "weight": 80}, {"version": "v2", "weight": 20}]
    made = shop.up(document({**READERS, "access": [], "weights": weights, "serviceMesh": api}))
    kinds = {one["kind"] for manifests in made.objects.values() for one in manifests}
    assert ("HTTPRoute" in kinds, "VirtualService" in kinds) == (api == "gateway-api", api == "istio")
    agent = shop.agent("page")

    def routed() -> None:
        if route not in shop.deployed.of_proxy(agent, "/config_dump?resource=dynamic_route_configs"):
            raise NotObserved(f"page's proxy has no {route} yet")

    eventually(routed, seconds=120)
    shop.warm("page", ["reviews"])
    answers = shop.send("page", [shop.request("reviews")] * many, together=8)
    assert {one.status for one in answers} == {OPEN}
    first = sum(str(one.pod).startswith("reviews-v1-") for one in answers)
    assert abs(first - many * share) <= 5 * (many * share * (1 - share)) ** 0.5


def test_a_broken_circuit_refuses_what_exceeds_its_limits(shop: Shop, outside: Outside) -> None:
    slow = [shop.request("reviews", path=f"/fetch?url=http://{ADDRESS}:{HTTP}/sleep")] * 10
    open_to_page = {**READERS, "access": []}
    shop.up(document(open_to_page))
    shop.warm("page", ["reviews"])

    def unlimited() -> None:
        """Routes and limits of the test before leave a moment after its policies."""
        if (found := Counter(one.status for one in shop.send("page", slow, together=10))) != {OPEN: 10}:
            raise NotObserved(f"statuses {dict(found)}")

    eventually(unlimited, seconds=120)
    shop.up(document({**open_to_page, "circuitBreaking": {"maxConnections": 1, "maxPendingRequests": 1}}))

    def limited() -> None:
        answers = shop.send("page", slow, together=10)
        overflows = [one for one in answers if one.status == 503 and "overflow" in one.why]
        passed = [one for one in answers if one.status == OPEN]
        if len(overflows) < 4 or not passed or len(overflows) + len(passed) != len(answers):
            raise NotObserved(f"answers {Counter((one.status, one.why[:80]) for one in answers)}")

    eventually(limited, seconds=120)


def external(name: str, host: str, **more: Any) -> Document:
    """An intent of page for a host outside, at the address of the test's programs."""
    given = {"host": host, "protocol": "HTTP", "port": 80, "addresses": [ADDRESS], **more.pop("external")}
    clients = [{"service": "page", "namespace": "books"}]
    return {"type": "outbound", "name": name, "external": given, "clients": clients, **more}


ORIGINATION: Document = {"targetPort": TLS, "tls": {"caCertificates": AUTHORITY_FILE}}
PARTY = {"host": "proxy.example.org", "port": PROXY, "addresses": [ADDRESS]}
OUTBOUND = document(
    external("plain", "plain.example.org", external={"targetPort": HTTP}),
    external("secure", SECURE, external=ORIGINATION),
    external("impostor", "impostor.example.org", external=ORIGINATION),
    external(
        "foreign",
        "foreign.example.org",
        external={"targetPort": TLS, "tls": {"caCertificates": "/var/run/secrets/istio/root-cert.pem"}},
    ),
    external("tunnelled", TUNNELLED, external={"protocol": "TLS", "port": 443, "proxy": PARTY}),
    external("leaving", "leaving.example.org", external={"targetPort": HTTP}, egressGateway={"name": "egress"}),
    external("leaving-secure", SECURE_TOO, external=ORIGINATION, egressGateway={"name": "egress"}),
    external("bytes", "bytes.example.org", external={"protocol": "TCP", "port": 5432, "targetPort": HTTP}),
    namespaces=["books", "stock"],
    outboundTraffic="REGISTRY_ONLY",
)


def answered(look: Callable[[], Answer], status: int | None, pod: str | None = None) -> None:
    """Waits for an answer: routes arrive a moment after policies."""

    def same() -> None:
        if ((found := look()).status, found.pod) != (status, pod):
            raise NotObserved(f"{found}, not {status} of {pod}")

    eventually(same, seconds=120)


def outward(shop: Shop, caller: str, host: str, port: int = 80, path: str = "/") -> Answer:
    (answer,) = shop.send(caller, [http_call(ADDRESS, port, host, path)])
    return answer


@pytest.mark.usefixtures("outside")
def test_hosts_outside_are_closed_but_for_those_of_intents(shop: Shop) -> None:
    shop.up(document(namespaces=["books", "stock"]))
    answered(lambda: outward(shop, "page", "any.example.org", HTTP), OPEN, "outside")
    shop.up(OUTBOUND)
    answered(lambda: outward(shop, "page", "plain.example.org"), OPEN, "outside")
    answered(lambda: outward(shop, "page", "any.example.org"), 502)
    answered(lambda: outward(shop, "page", "any.example.org", HTTP), None)
    answered(lambda: outward(shop, "ratings", "plain.example.org"), None)


@pytest.mark.usefixtures("outside")
def test_bytes_leave_by_the_hosts_own_virtual_address(shop: Shop) -> None:
    shop.up(OUTBOUND)
    address, _ = addresses_of(["bytes.example.org"])["bytes.example.org"]

    def sent(to: str) -> Answer:
        (answer,) = shop.send("page", [{"address": to, "port": 5432, "protocol": "TCP"}])
        return answer

    answered(lambda: sent(address), OPEN, "outside")
    answered(lambda: sent(ADDRESS), None)


def test_tls_is_originated_to_the_very_host_of_a_trusted_authority(shop: Shop, outside: Outside) -> None:
    shop.up(OUTBOUND)
    answered(lambda: outward(shop, "page", SECURE, path="/originated"), OPEN, "outside-tls")
    outside.saw("outside-tls", SECURE, "/originated")
    answered(lambda: outward(shop, "page", "impostor.example.org"), 503)
    answered(lambda: outward(shop, "page", "foreign.example.org"), 503)


def test_tls_passes_through_the_proxy_of_a_third_party(shop: Shop, outside: Outside, authority: Authority) -> None:
    shop.up(OUTBOUND)
    before = len(outside.lines())
    trusted = pem(authority.certificate).decode()

    def tunnelled(caller: str, name: str) -> Answer:
        call = {**http_call(ADDRESS, 443, name, "/through"), "tls": name, "authority": trusted}
        (answer,) = shop.send(caller, [call])
        return answer

    answered(lambda: tunnelled("page", TUNNELLED), OPEN, "outside-tls")
    outside.saw("proxy", "CONNECT", f"{TUNNELLED}:443", since=before)
    outside.saw("outside-tls", TUNNELLED, "/through", since=before)
    answered(lambda: tunnelled("page", SECURE), None)
    answered(lambda: tunnelled("ratings", TUNNELLED), None)


def test_calls_leave_by_the_egress_gateway_which_judges_the_caller(shop: Shop, outside: Outside) -> None:
    shop.up(OUTBOUND)
    answered(lambda: outward(shop, "page", "leaving.example.org", path="/by-egress"), OPEN, "outside")
    answered(lambda: outward(shop, "page", SECURE_TOO, path="/by-egress-secure"), OPEN, "outside-tls")
    answered(lambda: outward(shop, "reviews", "leaving.example.org", path="/of-reviews"), FORBIDDEN)
    outside.saw("outside-tls", SECURE_TOO, "/by-egress-secure")

    def logged() -> None:
        lines = shop.kubectl("logs", "deployment/egress", f"--namespace={NAMESPACE}", "--tail=200").splitlines()
        for path, status in (("/by-egress", OPEN), ("/by-egress-secure", OPEN), ("/of-reviews", FORBIDDEN)):
            if not any(f'"GET {path}" {status} ' in line for line in lines):
                raise NotObserved(f"the access log has no {status} of {path}: {lines[-6:]}")

    eventually(logged, seconds=120)


@pytest.mark.usefixtures("outside")
def test_gateways_of_one_intent_are_made_and_carry_its_calls_only(shop: Shop) -> None:
    """For calls that leave, and for mutual TLS between clusters, which the callee sees as the gateway's."""
    reads: Document = {
        **READERS,
        "type": "inter-cluster",
        "name": "between",
        "mutualTls": True,
        "access": [{"methods": ["GET"]}],
    }
    own = external("own", "own.example.org", external={"targetPort": HTTP}, egressGateway={"dedicated": True})
    shop.up(document(own, reads, namespaces=["books", "stock"], outboundTraffic="REGISTRY_ONLY"))
    for name in ("own-egress", "between-egress"):
        shop.kubectl("rollout", "status", f"deployment/{name}", f"--namespace={NAMESPACE}", "--timeout=120s")
    answered(lambda: outward(shop, "page", "own.example.org"), OPEN, "outside")
    answered(lambda: outward(shop, "reviews", "own.example.org"), FORBIDDEN)

    def arrived() -> None:
        (answer,) = shop.send("page", [shop.request("reviews")])
        last = answer.headers.get("x-forwarded-client-cert", "").rpartition(",")[2]
        if answer.status != OPEN or f"/ns/{NAMESPACE}/sa/between-egress" not in last:
            raise NotObserved(f"{answer}")

    eventually(arrived, seconds=120)
    answer_so(
        shop, {("page", "reviews", "POST", "/"): FORBIDDEN, ("ratings", "reviews", "GET", "/reviews/1"): FORBIDDEN}
    )


def test_bytes_pass_for_the_named_client_alone_also_by_the_egress_gateway(shop: Shop) -> None:
    """To reviews directly, and to ratings through the gateway, which judges the caller."""
    common = {"namespace": "books", "protocol": "TCP", "port": TCP_PORT}
    clients = [{"service": "page", "namespace": "books"}]
    directly = {"type": "intra-cluster", "name": "bytes-near", "service": {**common, "name": "reviews"}}
    by_egress = {
        "type": "inter-cluster",
        "name": "bytes-between",
        "service": {**common, "name": "ratings", "namespace": "stock"},
        "egressGateway": {"name": "egress"},
    }
    given = document(*({**one, "clients": clients} for one in (directly, by_egress)), namespaces=["books", "stock"])
    evaluator = Evaluator(shop.up(given), read_document(Inventory, inventory()))
    many = 10
    calls = {
        ("page", "reviews"): True,
        ("ratings", "reviews"): False,
        ("page", "ratings"): True,
        ("reviews", "ratings"): False,
    }
    # The marker's DENY lets each connection pass, before the ALLOW judges it.
    once_each = {"allowed": 3 * many, "denied": many}
    # Also of the refused caller, for which the gateway connects and passes nothing on.
    of_gateway = {"allowed": 4 * many}

    def judged() -> None:
        proxies = ("reviews", "egress", "ratings")
        before = {name: shop.judged(name) for name in proxies}
        for (caller, callee), wanted in calls.items():
            answers = shop.send(caller, [shop.bytes_to(callee)] * many)
            if {one.is_allowed for one in answers} != {wanted}:
                raise NotObserved(f"{caller} to {callee}: {answers[-1]}, not {wanted}")
        found = {name: dict(shop.judged(name) - before[name]) for name in proxies}
        if found != {"reviews": once_each, "egress": once_each, "ratings": of_gateway}:
            raise NotObserved(f"judged {found}")

    eventually(judged, seconds=120)
    for (caller, callee), wanted in calls.items():
        assert evaluator.judge(Call(key(caller), key(callee), port=TCP_PORT)).allowed is wanted
    answer_so(shop, {("page", "reviews", "GET", "/"): FORBIDDEN, ("page", "ratings", "GET", "/"): FORBIDDEN})


def test_callers_outside_are_judged_by_path_address_and_token(shop: Shop, issuers: tuple[Issuer, Issuer]) -> None:
    issuer, stranger = issuers
    near = shop.sandbox.control_plane
    limits: dict[str, Document] = {
        "www": {"access": [{"methods": ["GET"], "paths": ["/page*"]}]},
        "staff": {"access": [{"ranges": [f"{near.addresses.wan_address}/32"]}]},
        "rest": {"access": [{"action": "DENY", "ranges": [f"{near.addresses.wan_address}/32"]}]},
        "members": {
            "jwt": {"issuer": issuer.name, "jwks": issuer.jwks},
            "access": [{"claims": {"role": ["editor"]}}],
        },
    }
    common = {"type": "inbound", "service": {"name": "page", "namespace": "books", "port": PORT}}
    intents = [{**common, "name": f"in-{name}", "externalPrefix": name, **more} for name, more in limits.items()]
    given = document(*intents, namespaces=["books", "stock"])
    evaluator = Evaluator(shop.up(given), read_document(Inventory, inventory()))
    address = shop.load_balancer("shop-ingress-80")
    claims = {"iss": issuer.name, "sub": "ann", "role": "editor"}
    tokens = {
        "editor": (issuer.token(sub="ann", role="editor"), claims),
        "guest": (issuer.token(sub="ann", role="guest"), {**claims, "role": "guest"}),
        "foreign": (stranger.token(sub="eve", role="editor"), {**claims, "iss": stranger.name}),
    }
    forged = {"X-Forwarded-For": str(near.addresses.wan_address)}
    wanted = [
        (WAN, "www", "GET", "/page/1", {}, OPEN),
        (WAN, "www", "POST", "/page/1", {}, FORBIDDEN),
        (WAN, "www", "GET", "/page/../admin", {}, FORBIDDEN),
        (WAN, "other", "GET", "/", {}, FORBIDDEN),
        (near.name, "staff", "GET", "/", {}, OPEN),
        (WAN, "staff", "GET", "/", {}, FORBIDDEN),
        (WAN, "staff", "GET", "/", forged, FORBIDDEN),
        (near.name, "rest", "GET", "/", {}, FORBIDDEN),
        (WAN, "rest", "GET", "/", {}, OPEN),
        (WAN, "members", "GET", "/", {}, FORBIDDEN),
        (WAN, "members", "GET", "/", {"authorization": "editor"}, OPEN),
        (WAN, "members", "GET", "/", {"authorization": "guest"}, FORBIDDEN),
        (WAN, "members", "GET", "/", {"authorization": "foreign"}, 401),
    ]
    for network, prefix, method, path, headers, status in wanted:
        host = f"{prefix}.shops.sandbox.test"
        token, shown = tokens.get(headers.get("authorization", ""), ("", {}))
        call = http_call(address, 80, host, path, method, **({"authorization": token} if token else headers))

        def got(network: str = network, call: Document = call) -> Answer:
            (answer,) = shop.send_from(network, [call])
            return Answer(answer.status, None)

        answered(got, status)
        caller = near.addresses.wan_address if network == near.name else WAN_ROUTER
        verdict = evaluator.judge(Call(OUTSIDE, host, method, path, claims=shown, address=str(caller)))
        assert verdict.allowed is (status == OPEN), (host, path, verdict)


@contextmanager
def away(shop: Shop) -> Iterator[None]:
    """One cluster's API server is killed as often as it starts."""
    over = threading.Event()

    def kill() -> None:
        while not over.is_set():
            for one in clusters.status(shop.sandbox.state).processes:
                if one.name == f"{AWAY}-apiserver" and one.pid is not None:
                    shop.sandbox.run(WAN, ["kill", "-KILL", str(one.pid)], capture_output=True)
            over.wait(0.2)

    killing = threading.Thread(target=kill)
    killing.start()
    try:
        yield
    finally:
        over.set()
        killing.join()


@pytest.mark.nightly("away")
def test_a_cluster_that_is_away_delays_no_other_and_converges_later(shop: Shop, tools: Tools) -> None:
    places = inventory()
    places["clusters"].append({"name": AWAY, "mesh": "west"})
    for one in places["services"]:
        one["clusters"].append(AWAY)
    first = document(READERS, namespaces=["books", "stock"])
    second = document({**READERS, "access": [{"methods": ["DELETE"]}]}, WRITERS, namespaces=["books", "stock"])
    api = Api(shop.sandbox.clusters[AWAY], tools)

    def objects() -> dict[str, Any]:
        found = api.get("authorizationpolicies", "--all-namespaces")["items"]
        return {one["metadata"]["name"]: one["spec"] for one in found if one["spec"]}

    def wanted(given: Document) -> dict[str, Any]:
        those = [one for one in compiled(given, places).objects[AWAY] if one["kind"] == "AuthorizationPolicy"]
        return {one["metadata"]["name"]: one["spec"] for one in those if one["spec"]}

    definitions = str(tools.charts / "base/files/crd-all.gen.yaml")  # removed with the sandbox
    assert api.kubectl("create", "-f", definitions).code == 0
    assert api.kubectl("wait", "--for=condition=Established", "-f", definitions, "--timeout=60s").code == 0
    for name in {*SERVICES.values()}:
        assert api.kubectl("create", "namespace", name).code == 0
    shop.intents_stack(first, places, AWAY).up()
    shop.up(first, places=places)
    assert objects() == wanted(first)
    with ThreadPoolExecutor() as pool, away(shop):
        of_away = shop.intents_stack(second, places, AWAY)
        trying = pool.submit(of_away.run, "up", "--yes", "--skip-preview")
        shop.up(second, places=places)
        calls = {
            ("page", "reviews", "GET", "/reviews/1"): FORBIDDEN,
            ("page", "reviews", "DELETE", "/reviews/1"): OPEN,
            ("ratings", "reviews", "POST", "/reviews/1"): OPEN,
        }
        answer_so(shop, calls)
        assert trying.result().code != 0
    eventually(lambda: back(api), seconds=120)
    assert objects() == wanted(first), "nothing of the second document was written"
    of_away.up()
    assert objects() == wanted(second)
    assert of_away.up().summary().keys() == {"unchanged"}


def back(api: Api) -> None:
    if api.kubectl("get", "namespaces", "--request-timeout=5s").code != 0:
        raise NotObserved("the API server does not answer yet")
