"""Intents for services of west and north, whose callers in east leave by its egress gateway: each call is counted."""

from __future__ import annotations

import copy
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

from lightkube.resources.core_v1 import Service
from pulumi_hosted_mesh.federation.exports import with_declared
from pulumi_hosted_mesh.federation.manifests import objects
from pulumi_hosted_mesh.intents.calls import Call
from pulumi_hosted_mesh.intents.compiler import compile_intents, with_intents
from pulumi_hosted_mesh.intents.evaluator import Evaluator
from pulumi_hosted_mesh.spec.federation import Federation
from pulumi_hosted_mesh.spec.intents import Intents
from pulumi_hosted_mesh.spec.inventory import Inventory
from pulumi_hosted_mesh.spec.load import read_document

from sandbox.proof.deployed import NotObserved
from sandbox.proof.identity import AGENT
from tests.engine.library.engine import Stack
from tests.live.federation.breaking.federation import kubectl
from tests.live.federation.meshes.crossing import allowed_and_denied, document, together
from tests.live.federation.meshes.federated import (
    CALLED,
    CALLER,
    DOMAIN,
    EGRESS_PORTS,
    HOST,
    NAMESPACE,
    PORT,
    STRANGER,
    Meshes,
)
from tests.live.federation.meshes.three_meshes import (
    LOCALITIES,
    MONGODB,
    MONGODB_PORT,
    PLACES,
    PROGRAMS,
    bookinfo,
    of_proxy,
)
from tests.live.intents.running.shop import FORBIDDEN, OPEN, Answer, Document, answers_in, http_call

SERVING = ("west", "north")
PAGE = [{"service": CALLER, "egressGateway": {"name": "egress"}}]
READERS: Document = {
    "type": "inter-cluster",
    "name": "page-reviews",
    "service": {"name": CALLED, "namespace": NAMESPACE, "port": PORT},
    "clients": PAGE,
    "access": [{"methods": ["GET"], "paths": ["/reviews/*"]}],
}
BYTES: Document = {
    "type": "inter-cluster",
    "name": "page-mongodb",
    "service": {"name": "mongodb", "namespace": NAMESPACE, "protocol": "TCP", "port": MONGODB_PORT},
    "clients": PAGE,
}
MANY, SOME = 200, 20
"""Permitted requests to reviews, and calls of each other kind."""
LEADS_TO = {"west": EGRESS_PORTS[0], "north": EGRESS_PORTS[1]}
"""The egress gateway's port for each."""
Counts = Counter[tuple[str, ...]]


def inventory() -> Document:
    gateways: dict[str, list[Document]] = {mesh: [{"name": "eastwest", "role": "east-west"}] for mesh in PLACES}
    ports = {mesh: port for mesh, port in LEADS_TO.items() if port != EGRESS_PORTS[0]}
    gateways["east"].append({"name": "egress", "role": "egress", "ports": ports})
    names = {name for those in PROGRAMS.values() for name in those}
    services = [
        {
            "name": name,
            "namespace": NAMESPACE,
            "clusters": [mesh for mesh, those in PROGRAMS.items() if name in those],
            "serviceAccount": name,
            "ports": [{"port": MONGODB_PORT, "protocol": "TCP"} if name == "mongodb" else {"port": PORT}],
        }
        for name in sorted(names)
    ]
    return {
        "clusters": [{"name": mesh, "mesh": mesh, "gateways": gateways[mesh]} for mesh in PLACES],
        "services": services,
        "federations": [{"name": "shops", "domain": DOMAIN, "meshes": list(PLACES)}],
    }


def predicted() -> dict[tuple[str, str, str], bool]:
    """The evaluator's verdicts on the calls that `counted` makes: caller, callee and method."""
    places = read_document(Inventory, inventory())
    evaluator = Evaluator(compile_intents(read_document(Intents, document(READERS, BYTES)), places), places)
    calls = [(CALLER, CALLED, "GET"), (CALLER, CALLED, "POST"), (STRANGER, CALLED, "GET")]
    calls += [(caller, "mongodb", "GET") for caller in (CALLER, STRANGER)]
    return {
        (caller, callee, method): evaluator.judge(
            Call(f"{NAMESPACE}/{caller}", f"{NAMESPACE}/{callee}", method, "/reviews/1")
        ).allowed
        for caller, callee, method in calls
    }


def without_exports_of(given: Document, *names: str) -> Document:
    """A federation's document whose peers neither export nor import these services."""
    peers = copy.deepcopy(given["peers"])
    for peer in peers:
        for part in {"exports", "imports"} & peer.keys():
            peer[part] = [one for one in peer[part] if one["service"] not in names]
    return {**given, "peers": peers}


def federated(*, west_is_near: bool) -> Federation:
    """The federation's document, with reviews and mongodb by the intents. west_is_near: else it is as far as north.

    Exporters have the same objects as without intents, so that east's stack alone changes.
    """
    base = without_exports_of(bookinfo(*PLACES), CALLED, "mongodb")
    if not west_is_near:
        for peer in base["peers"]:
            peer["locality"] = "/".join(LOCALITIES["north"]) if peer["mesh"] == "west" else peer["locality"]
    compiled = compile_intents(read_document(Intents, document(READERS, BYTES)), read_document(Inventory, inventory()))
    made = with_intents(read_document(Federation, base), compiled)
    for mesh in SERVING:
        before, after = (
            sorted(map(str, objects(one, mesh, with_declared(one, []))))
            for one in (read_document(Federation, bookinfo(*PLACES)), made)
        )
        assert after == before, f"the objects of {mesh} change"
    return made


def serving_mesh(answer: Answer) -> str:
    """The mesh of the gateway that an answered request came through."""
    found = re.match(r"By=spiffe://([a-z]+)\.mesh\.local/", answer.headers["x-forwarded-client-cert"])
    assert found, answer
    return found[1]


@dataclass(frozen=True)
class Serving:
    """The meshes with these intents."""

    meshes: Meshes

    def stack(self, mesh: str) -> Stack:
        """The stack `intents` of a mesh's cluster."""
        cluster = self.meshes.cluster(mesh)
        target = {"name": mesh, "cluster": {"kubeconfig": str(cluster.kubeconfig), "context": cluster.name}}
        given = document(READERS, BYTES)
        config = {"stack": "intents", "intents": given, "inventory": inventory(), "target": target}
        return self.meshes.project.stack(f"intents-{mesh}", config)

    def east(self, *, west_is_near: bool) -> Stack:
        """East's stack `federation`."""
        made = federated(west_is_near=west_is_near)
        return self.meshes.stack("east", made.model_dump(mode="json", by_alias=True, exclude_unset=True))

    @cached_property
    def egress_address(self) -> str:
        return str(self.meshes.client("east").get(Service, "egress", namespace="mesh-east").spec.clusterIP)

    def answers(self, caller: str, calls: Sequence[Document], many: int) -> list[Answer]:
        agent = self.meshes.deployed.program_of(self.meshes.pod("east", caller), AGENT)
        return answers_in(self.meshes.deployed.enter(agent), [*calls] * many)

    def request(self, method: str = "GET") -> Document:
        """To reviews. A proxy without its name would send it to this address of a machine, which refuses at once."""
        address = self.meshes.cluster("east").addresses.gateway
        return http_call(address, PORT, f"{HOST}:{PORT}", "/reviews/1", method)

    def bytes_to_mongodb(self) -> Document:
        """To the address that istiod gave mongodb in east."""
        listeners = of_proxy(self.meshes, "east", CALLER, NAMESPACE, "/listeners")
        found = re.search(rf"([0-9.]+):{MONGODB_PORT}\b", listeners)
        if not found:
            raise NotObserved(f"productpage's proxy has no listener of port {MONGODB_PORT}")
        return {"address": found[1], "port": MONGODB_PORT, "protocol": "TCP"}

    def answered(self, many: int) -> Counter[str]:
        """The meshes that answered productpage's requests. Raises NotObserved for another answer than 200."""
        answers = self.answers(CALLER, [self.request()], many)
        if wrong := [one for one in answers if one.status != OPEN]:
            raise NotObserved(f"{len(wrong)} of {many} requests have another answer: {wrong[0]}")
        return Counter(map(serving_mesh, answers))

    def judged(self) -> Counts:
        """Calls that each proxy of west and north has allowed and denied so far."""
        found = Counts()
        for mesh in SERVING:
            for name in ("eastwest", *(name for name in PROGRAMS[mesh] if name != "ratings")):
                namespace = f"mesh-{mesh}" if name == "eastwest" else NAMESPACE
                for verdict, count in allowed_and_denied(self.meshes, mesh, name, namespace).items():
                    found[mesh, name, verdict] = count
        return found

    def left(self) -> Counts:
        """Requests to reviews and connections to mongodb that callers have sent so far, by caller and address."""
        found = Counts()
        for caller in (CALLER, STRANGER):
            for host, counter in ((HOST, "rq_total"), (MONGODB, "cx_total")):
                for address, count in self._upstream(caller, NAMESPACE, host, counter):
                    found[caller, host, address] += count
        return found

    def connections(self) -> tuple[Counts, Counts]:
        """Connections by mesh: of callers to the egress gateway, and of the egress gateway to peers."""
        entered, passed = Counts(), Counts()
        meshes = {f"{self.egress_address}:{port}": mesh for mesh, port in LEADS_TO.items()}
        for caller in (CALLER, STRANGER):
            for host in (HOST, MONGODB):
                for address, count in self._upstream(caller, NAMESPACE, host, "cx_total"):
                    entered[(meshes.get(address, address),)] += count
        for mesh in SERVING:
            for _, count in self._upstream("egress", "mesh-east", f"{mesh}.shops.egress.internal", "cx_total"):
                passed[(mesh,)] += count
        return entered, passed

    def _upstream(self, name: str, namespace: str, host: str, counter: str) -> Iterator[tuple[str, int]]:
        """A counter of the endpoints of a host at one proxy of east, by address."""
        for line in of_proxy(self.meshes, "east", name, namespace, "/clusters").splitlines():
            cluster, *rest = line.split("::")
            if cluster.endswith(f"||{host}") and rest[1:2] == [counter]:
                yield rest[0], int(rest[2])

    def counted(self) -> Counter[str]:
        """The meshes that answered the permitted requests, where all calls are answered as the intents have them.

        Raises NotObserved for others, and where a proxy on the way counted another number of them.
        """
        judged, left, (entered, passed) = self.judged(), self.left(), self.connections()
        plan = [
            (CALLER, self.request(), MANY, OPEN),
            (CALLER, self.request("POST"), SOME, FORBIDDEN),
            (STRANGER, self.request(), SOME, FORBIDDEN),
            (CALLER, self.bytes_to_mongodb(), SOME, OPEN),
            (STRANGER, self.bytes_to_mongodb(), SOME, None),
        ]
        with ThreadPoolExecutor() as pool:
            given = [*pool.map(lambda one: self.answers(one[0], [one[1]], one[2]), plan)]
        for (caller, call, many, status), answers in zip(plan, given, strict=True):
            found = Counter((one.status, one.pod is not None) for one in answers)
            if found != {(status, status == OPEN): many}:
                raise NotObserved(f"{caller} {call}: {dict(found)}")
        shares = Counter(map(serving_mesh, given[0]))
        left = self.left() - left
        judged = self.judged() - judged
        now = self.connections()
        if (now[0] - entered) != (now[1] - passed):
            raise NotObserved(f"connections to the egress gateway {now[0] - entered}, from it {now[1] - passed}")
        self._require(left, judged, shares)
        return shares

    def _require(self, left: Counts, judged: Counts, shares: Counter[str]) -> None:
        """Each call left by the egress gateway, and each proxy of its way judged it once."""
        sent = {mesh: f"{self.egress_address}:{port}" for mesh, port in LEADS_TO.items()}
        foreign = {key: count for key, count in left.items() if key[2] not in sent.values()}
        if foreign:
            raise NotObserved(f"calls did not leave by the egress gateway: {foreign}")
        totals = {(caller, host): sum(left[caller, host, one] for one in sent.values()) for caller, host, _ in left}
        if totals != {
            (CALLER, HOST): MANY + SOME,
            (STRANGER, HOST): SOME,
            (CALLER, MONGODB): SOME,
            (STRANGER, MONGODB): SOME,
        }:
            raise NotObserved(f"calls left {totals}")
        # Stranger's too: for a refused connection the gateway connects to mongodb, and passes nothing on.
        expected = Counts({("north", "mongodb", "allowed"): 2 * SOME})
        for mesh, address in sent.items():
            of_page, of_stranger = (
                left[caller, HOST, address] + left[caller, MONGODB, address] for caller in (CALLER, STRANGER)
            )
            expected[mesh, "eastwest", "allowed"] = of_page
            expected[mesh, "eastwest", "denied"] = of_stranger
            expected[mesh, CALLED, "allowed"] = shares[mesh]
            expected[mesh, CALLED, "denied"] = left[CALLER, HOST, address] - shares[mesh]
        if judged != +expected:
            raise NotObserved(f"judged {dict(judged)}, not {dict(expected)}")


@contextmanager
def serving(meshes: Meshes, *, west_is_near: bool) -> Iterator[Serving]:
    """With the intents in the meshes that serve, and with east's calls through its egress gateway; afterwards without.

    East's own objects of the intents would close its namespace, which no call of theirs enters.
    """
    made = Serving(meshes)
    up = ("up", "--yes", "--skip-preview")
    try:
        together([*map(made.stack, SERVING), made.east(west_is_near=west_is_near)], *up)
        yield made
    finally:
        with ThreadPoolExecutor() as pool:
            list(pool.map(lambda mesh: made.stack(mesh).destroy(), SERVING))
        together([meshes.stack("east", bookinfo(*PLACES))], *up)
        for mesh in SERVING:
            # Envoy judges the first request of a pooled connection by the policies before: of later tests.
            kubectl(meshes, mesh, "delete", "pods", f"--selector=app={CALLED}", f"--namespace={NAMESPACE}")
        for mesh in SERVING:
            there = (f"deployment/{CALLED}", f"--namespace={NAMESPACE}", "--timeout=120s")
            kubectl(meshes, mesh, "rollout", "status", *there)
