"""Calls from east to west by an intents document: its stacks in both meshes, and counted requests of each caller."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import yaml
from lightkube.resources.core_v1 import Service
from pulumi_hosted_mesh.cli.command import app
from typer.testing import CliRunner

from sandbox.proof.deployed import NotObserved, eventually
from sandbox.proof.identity import AGENT
from tests.engine.library.engine import Run, Stack
from tests.live.federation.meshes.federated import (
    CALLED,
    CALLER,
    DOMAIN,
    HOST,
    NAMESPACE,
    PLACES,
    PORT,
    STRANGER,
    Meshes,
    federation,
)
from tests.live.federation.meshes.three_meshes import of_proxy
from tests.live.intents.running.shop import FORBIDDEN, OPEN, Answer, Document, answers_in, http_call, verdicts_in

NEIGHBOUR = "details"
"""A program of west, which no intent names."""
HOMES = {CALLER: "east", STRANGER: "east", CALLED: "west", NEIGHBOUR: "west"}
READERS: Document = {
    "type": "inter-cluster",
    "name": "page-reviews",
    "service": {"name": CALLED, "namespace": NAMESPACE, "port": PORT},
    "clients": [{"service": CALLER, "serviceAccounts": [CALLER]}],
    "access": [{"methods": ["GET"], "paths": ["/reviews/*"]}, {"methods": ["PUT"], "hosts": [HOST]}],
}
MANY = 20
"""Requests of each call."""


@dataclass(frozen=True)
class Asked:
    """A request to reviews, and the proxy that judges it last, `GATEWAY` or `CALLEE`."""

    caller: str
    method: str
    path: str
    judge: str

    def __str__(self) -> str:
        return f"{NAMESPACE}/{self.caller} -> {NAMESPACE}/{CALLED}:{PORT} {self.method} {self.path}"

    @property
    def by_host(self) -> str:
        """The same call by the name that importers use."""
        return str(self).replace(f"-> {NAMESPACE}/{CALLED}:", f"-> {HOST}:")


GATEWAY, CALLEE = "gateway", "callee"
OPENED = (
    Asked(CALLER, "GET", "/reviews/1", CALLEE),
    Asked(CALLER, "GET", "/reviews/2?page=/admin", CALLEE),
    Asked(CALLER, "PUT", "/reviews/1", CALLEE),
)
CLOSED = (
    Asked(CALLER, "POST", "/reviews/1", CALLEE),
    Asked(CALLER, "GET", "/admin/keys", CALLEE),
    Asked(CALLER, "GET", "/reviews/../admin/keys", CALLEE),
    Asked(STRANGER, "GET", "/reviews/1", GATEWAY),
    Asked(NEIGHBOUR, "GET", "/reviews/1", CALLEE),
)


def document(*intents: Document) -> Document:
    """The application's namespace stays closed without an intent."""
    groups = [{"name": "pages", "intents": list(intents)}]
    return {"project": "shops", "application": NAMESPACE, "namespaces": [NAMESPACE], "groups": groups}


def inventory() -> Document:
    services = [
        {"name": name, "namespace": NAMESPACE, "clusters": [mesh], "serviceAccount": name, "ports": [{"port": PORT}]}
        for name, mesh in HOMES.items()
    ]
    gateways = [{"name": "eastwest", "role": "east-west"}]
    return {
        "clusters": [{"name": mesh, "mesh": mesh, "gateways": gateways} for mesh in PLACES],
        "services": services,
        "federations": [{"name": "shops", "domain": DOMAIN, "meshes": list(PLACES)}],
    }


@dataclass(frozen=True)
class Crossing:
    """Two meshes with the intents of one document. folder: for files of commands."""

    meshes: Meshes
    folder: Path

    def command(self, intents: Document, *words: str) -> str:
        """The output of `hosted-mesh intents`, whose files are the document and the inventory."""
        files = {"intents": intents, "inventory": inventory(), "federation": joined()}
        paths = {name: str(self.folder / f"{name}.yaml") for name in files}
        for name, given in files.items():
            Path(paths[name]).write_text(yaml.safe_dump(given))
        options = ["--federation", paths["federation"]] if words == ("compile",) else []
        done = CliRunner().invoke(app, ["intents", *words, paths["intents"], paths["inventory"], *options])
        assert done.exit_code in (0, 3), done.output
        return done.stdout

    def federated(self, intents: Document) -> Document:
        """The federation's document with the exports and imports of intents."""
        found: Document = yaml.safe_load(self.command(intents, "compile"))
        return found

    def explained(self, intents: Document, call: str) -> bool:
        """The verdict of `explain`."""
        return bool(json.loads(self.command(intents, "explain", call, "-o", "json"))["allowed"])

    def matrix(self, intents: Document) -> dict[tuple[str, str], list[str]]:
        """The open pairs of `matrix`, with their calls."""
        cells = json.loads(self.command(intents, "matrix", "-o", "json"))["cells"]
        return {(one["caller"], one["callee"]): one["calls"] for one in cells if one["calls"]}

    def intents_stack(self, mesh: str, intents: Document) -> Stack:
        """The stack `intents` of a mesh's cluster."""
        cluster = self.meshes.cluster(mesh)
        target = {"name": mesh, "cluster": {"kubeconfig": str(cluster.kubeconfig), "context": cluster.name}}
        config = {"stack": "intents", "intents": intents, "inventory": inventory(), "target": target}
        return self.meshes.project.stack(f"intents-{mesh}", config)

    def stacks(self, intents: Document) -> dict[str, Stack]:
        """The stacks `intents` and `federation` of both meshes, by name."""
        united = self.federated(intents)
        found = [self.intents_stack(mesh, intents) for mesh in PLACES]
        found += [self.meshes.stack(mesh, united) for mesh in PLACES]
        return {one.name: one for one in found}

    def answers(self, asked: Iterable[Asked], many: int = 1) -> dict[Asked, list[Answer]]:
        """The answers of each call, that many times. Callers in east use the name of the export, west's their own."""
        by_caller: dict[str, list[Asked]] = {}
        for one in asked:
            by_caller.setdefault(one.caller, []).append(one)

        def of(caller: str) -> dict[Asked, list[Answer]]:
            mesh, those = HOMES[caller], by_caller[caller]
            agent = self.meshes.deployed.program_of(self.meshes.pod(mesh, caller), AGENT)
            # Callers' proxies decide by the name. Where they have none, this address of a machine refuses at once.
            address, name = self.meshes.cluster("east").addresses.gateway, HOST
            if mesh == "west":
                found = self.meshes.client("west").get(Service, CALLED, namespace=NAMESPACE)
                address, name = str(found.spec.clusterIP), f"{CALLED}.{NAMESPACE}"
            calls = [http_call(address, PORT, f"{name}:{PORT}", one.path, one.method) for one in those]
            given = answers_in(self.meshes.deployed.enter(agent), calls * many)
            return {one: given[at :: len(those)] for at, one in enumerate(those)}

        with ThreadPoolExecutor() as pool:
            return {one: given for found in pool.map(of, by_caller) for one, given in found.items()}

    def judged(self) -> Counter[tuple[str, str]]:
        """Requests that west's gateway and reviews' proxy have allowed and denied so far, by proxy and verdict."""
        return Counter(
            {
                (judge, verdict): count
                for judge, name, namespace in ((GATEWAY, "eastwest", "mesh-west"), (CALLEE, CALLED, NAMESPACE))
                for verdict, count in allowed_and_denied(self.meshes, "west", name, namespace).items()
            }
        )

    def counted(self, opened: Iterable[Asked], closed: Iterable[Asked]) -> Mapping[Asked, list[Answer]]:
        """The answers, where all requests are answered as wanted, each judged at the proxy of its call.

        Raises NotObserved for others: a connection of before may be left over, whose first request differs.
        """
        opened, closed, before = [*opened], [*closed], self.judged()
        answers = self.answers((*opened, *closed), MANY)
        judged = self.judged() - before
        expected = Counter[tuple[str, str]]()
        for one, given in answers.items():
            statuses = Counter((answer.status, answer.pod is not None) for answer in given)
            is_open = one in opened
            if statuses != {(OPEN if is_open else FORBIDDEN, is_open): MANY}:
                raise NotObserved(f"{one}: {dict(statuses)}")
            expected[one.judge, "allowed" if is_open else "denied"] += MANY
            if HOMES[one.caller] == "east" and one.judge == CALLEE:
                expected[GATEWAY, "allowed"] += MANY
        if judged != expected:
            raise NotObserved(f"judged {dict(judged)}, not {dict(expected)}")
        return answers

    def unanswered(self, asked: Iterable[Asked]) -> None:
        """Raises NotObserved if one of these calls reaches reviews."""
        for one, given in self.answers(asked, MANY).items():
            if any(answer.pod for answer in given):
                raise NotObserved(f"{one} is still answered: {given[-1]}")


def settled(meshes: Meshes, **statuses: int) -> None:
    """Waits until many requests of each caller in a row have its status. At a time, for the workers of a proxy have
    connections of their own, and the first request of one that is left over has the policies before."""
    call = http_call(meshes.cluster("east").addresses.gateway, PORT, f"{HOST}:{PORT}")

    def look() -> None:
        for caller, status in statuses.items():
            agent = meshes.deployed.program_of(meshes.pod("east", caller), AGENT)
            given = answers_in(meshes.deployed.enter(agent), [call] * MANY, together=8)
            if (found := Counter(one.status for one in given)) != {status: MANY}:
                raise NotObserved(f"{caller}: {dict(found)}, not {status}")

    eventually(look, seconds=120)


def allowed_and_denied(meshes: Meshes, mesh: str, name: str, namespace: str) -> Counter[str]:
    """Requests and connections that a proxy has allowed and denied so far. name: its label app."""
    return verdicts_in(of_proxy(meshes, mesh, name, namespace, "/stats?filter=rbac"))


def joined() -> Document:
    """The federation's document, without exports and imports."""
    given = federation()
    for peer in given["peers"]:
        peer.pop("exports", None)
        peer.pop("imports", None)
    return given


def together(stacks: Iterable[Stack], *words: str) -> list[Run]:
    """The same command of several stacks, side by side."""
    with ThreadPoolExecutor() as pool:
        return list(pool.map(lambda one: one.succeed(*words), stacks))


@contextmanager
def crossing(meshes: Meshes, folder: Path) -> Iterator[Crossing]:
    """With one more program in west; afterwards no stack of intents is left."""
    made = Crossing(meshes, folder)
    meshes.run_programs({"west": (NEIGHBOUR,)})
    try:
        yield made
    finally:
        for mesh in PLACES:
            made.intents_stack(mesh, document()).destroy()
