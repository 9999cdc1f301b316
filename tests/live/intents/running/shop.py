"""A mesh with three services, an entry and an egress gateway, and the intents of a test in it."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

from lightkube.models.core_v1 import Pod as PodModel
from lightkube.resources.core_v1 import Pod, Service
from pulumi_hosted_mesh.intents.calls import Call
from pulumi_hosted_mesh.intents.compiled import Compiled
from pulumi_hosted_mesh.intents.compiler import compile_intents
from pulumi_hosted_mesh.spec.intents import Intents
from pulumi_hosted_mesh.spec.inventory import Inventory
from pulumi_hosted_mesh.spec.load import read_document

from sandbox.proof import workloads
from sandbox.proof.deployed import NotObserved, eventually
from sandbox.proof.identity import AGENT
from sandbox.proof.processes import Process
from tests.engine.library.engine import Stack
from tests.live.federation.meshes.federated import Meshes
from tests.support.applied import apply
from tests.support.authorities import Authority, pem
from tests.support.gateways import PROBE, STATUS_PORT
from tests.support.kubectl import Kubectl

T = TypeVar("T")
Document = dict[str, Any]
MESH = "east"
NAMESPACE = f"mesh-{MESH}"
PLACES = {MESH: "data-plane"}
AWAY = "data-plane-2"
"""A cluster with Istio's definitions and no mesh."""
PORT, TCP_PORT = 9080, 9091
LISTENS, TCP_LISTENS = 8080, 9092
"""Ports of the programs: other numbers than their Services'."""
SERVICES = {"page": "books", "reviews": "books", "ratings": "stock"}
VERSIONS = {"reviews": ("v1", "v2")}
CONFIG_MAP, FOLDER = "outside-ca", "/etc/outside"
VOLUME = {"name": CONFIG_MAP, "configMap": {"name": CONFIG_MAP}}
MOUNT = {"name": CONFIG_MAP, "mountPath": FOLDER, "readOnly": True}
AUTHORITY_FILE = f"{FOLDER}/ca.pem"
"""Of hosts outside, in proxies."""
EGRESS_FILES = {
    "spec": {
        "template": {
            "spec": {"volumes": [VOLUME], "containers": [{"name": "istio-proxy", "volumeMounts": [MOUNT]}]},
        }
    }
}
PROGRAM = Path(__file__).parents[1] / "programs/calls.py"
OPEN, FORBIDDEN = 200, 403
FEATURES = {"gatewayApi": True}


def key(service: str) -> str:
    """`namespace/service`, as calls name it."""
    return f"{SERVICES[service]}/{service}"


def host(service: str) -> str:
    return f"{service}.{SERVICES[service]}.svc.cluster.local"


def inventory(**of_cluster: Any) -> Document:
    """The mesh's cluster and its services."""
    gateways = [{"name": "ingress", "role": "ingress"}, {"name": "egress", "role": "egress"}]
    ports = [
        {"port": PORT, "targetPort": LISTENS},
        {"port": TCP_PORT, "protocol": "TCP", "targetPort": TCP_LISTENS},
    ]
    services = [
        {
            "name": name,
            "namespace": namespace,
            "clusters": [MESH],
            "serviceAccount": name,
            "versions": list(VERSIONS.get(name, ())),
            "ports": ports,
        }
        for name, namespace in SERVICES.items()
    ]
    return {"clusters": [{"name": MESH, "mesh": MESH, "gateways": gateways, **of_cluster}], "services": services}


def document(*intents: Document, **more: Any) -> Document:
    return {
        "project": "shop",
        "application": "books",
        "domain": "shops.sandbox.test",
        "groups": [{"name": "all", "intents": list(intents)}],
        **more,
    }


@dataclass(frozen=True)
class Answer:
    """status: None if the connection ended without one. pod: of the answering program; None for a proxy's answer."""

    status: int | None
    pod: str | None
    why: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_allowed(self) -> bool:
        """Whether a program answered. Raises NotObserved for any other failure than a refusal."""
        refused = self.status in (401, FORBIDDEN) or (self.status is None and "closed" in self.why.lower())
        if self.pod is None and not refused and "reset" not in self.why.lower():
            raise NotObserved(f"the call was neither answered nor refused: {self.status} {self.why}")
        return self.pod is not None


@dataclass(frozen=True)
class Shop(Meshes):
    """The mesh as it runs."""

    _numbers: Iterator[int] = field(default_factory=lambda: count(1))
    _cached: dict[str, Any] = field(default_factory=dict)

    def config(self, mesh: str) -> Document:
        """With an entry gateway that only the Services of intents lead to, and the Gateway API."""
        config = super().config(mesh)
        config["mesh"]["revisions"][0]["features"] = FEATURES
        service = {"type": "ClusterIP", "ports": [STATUS_PORT]}
        values = {"readinessProbe": PROBE}
        (membership,) = config["mesh"]["memberships"]
        gateway = {"name": "ingress", "replicas": 1, "service": service, "chartValues": values}
        membership.setdefault("access", {})["features"] = FEATURES
        membership["gateways"] = [*(one for one in membership["gateways"] if one["name"] != "eastwest"), gateway]
        return config

    @cached_property
    def kubectl(self) -> Kubectl:
        return Kubectl.of(self.cluster(MESH), self.tools)

    def install_gateway_api(self) -> None:
        """Before istiod starts, which watches what is there."""
        self.kubectl("apply", "--server-side", f"--filename={self.tools.gateway_api_crds}")

    def start_services(self, outside: Authority) -> None:
        """The services' programs, one for each version, each with a second one that speaks TCP.

        outside: authority of hosts outside, in the proxies of page and of the egress gateway.
        """
        for manifest in manifests(outside):
            eventually(lambda: apply(self.client(MESH), workloads.parse(manifest)), seconds=120)  # noqa: B023
        self.kubectl.apply(authority_of(outside, NAMESPACE))
        self.kubectl("patch", "deployment/egress", f"--namespace={NAMESPACE}", f"--patch={json.dumps(EGRESS_FILES)}")
        for name in SERVICES:
            eventually(lambda: self.pods(name), seconds=120)  # noqa: B023
        self.kubectl("rollout", "status", "deployment/egress", f"--namespace={NAMESPACE}", "--timeout=120s")

    def pods(self, service: str) -> Sequence[PodModel]:
        """The ready Pods of a service."""
        found = self.client(MESH).list(Pod, namespace=SERVICES[service], labels={"app": service})
        pods = [one for one in found if workloads.is_ready(one) and workloads.has_proxy(one)]
        if len(pods) != len(VERSIONS.get(service, ("",))):
            raise NotObserved(f"{service} has {len(pods)} ready Pods")
        return pods

    def agent(self, service: str) -> Process:
        """The agent of a service's first Pod, to enter its network."""
        return self._once(f"agent {service}", lambda: self.deployed.program_of(self.pods(service)[0], AGENT))

    def address(self, service: str) -> str:
        """The first Pod's."""
        return self._once(f"pod {service}", lambda: str(self.pods(service)[0].status.podIP))

    def cluster_ip(self, name: str, namespace: str) -> str:
        def look() -> str:
            return str(self.client(MESH).get(Service, name, namespace=namespace).spec.clusterIP)

        return self._once(f"service {namespace}/{name}", look)

    def _once(self, name: str, look: Callable[[], T]) -> T:
        if name not in self._cached:
            self._cached[name] = look()
        found: T = self._cached[name]
        return found

    def intents_stack(self, given: Document, places: Document | None = None, name: str = MESH) -> Stack:
        """The stack `intents` of a cluster. places: the inventory."""
        cluster = self.cluster(MESH) if name == MESH else self.sandbox.clusters[AWAY]
        target = {"name": name, "cluster": {"kubeconfig": str(cluster.kubeconfig), "context": cluster.name}}
        config = {"stack": "intents", "intents": given, "inventory": places or inventory(), "target": target}
        return self.project.stack(f"intents-{name}", config)

    def up(self, given: Document, *options: str, places: Document | None = None) -> Compiled:
        """Applies a document by `pulumi up`, and waits until each service's proxy has its policies."""
        if self._cached.get("applied") != (given, places) or options:
            self._cached.pop("applied", None)
            self.intents_stack(given, places).succeed("up", "--yes", "--skip-preview", *options)
            self.settle()
            self._cached["applied"] = (given, places)
        return compiled(given, places)

    def settle(self) -> None:
        """Waits until the proxies have a policy that is written now, and so all earlier ones."""
        mark = f"mark-{next(self._numbers)}"
        places = (*dict.fromkeys(SERVICES.values()), NAMESPACE)
        self.kubectl.apply(*(marker(mark, namespace) for namespace in places))
        agents = [self.deployed.program_of(pod, AGENT) for name in SERVICES for pod in self.pods(name)]

        def look() -> None:
            for agent in list(agents):
                if mark not in self.deployed.of_proxy(agent, "/config_dump?resource=dynamic_listeners"):
                    raise NotObserved(f"a proxy has no {mark} yet")
                agents.remove(agent)

        eventually(look, seconds=120)

    def send(self, caller: str, calls: Sequence[Document], together: int = 1) -> list[Answer]:
        """The answers of calls from a service's first Pod, in order. together: the number of calls at a time."""
        return answers_in(self.deployed.enter(self.agent(caller)), calls, together)

    def send_from(self, network: str, calls: Sequence[Document]) -> list[Answer]:
        """The answers of calls from outside of the mesh: another cluster's network, or the one between them."""
        return answers_in(self.sandbox.enter(network), calls)

    def load_balancer(self, name: str) -> str:
        """The outer address of a Service of an entry gateway."""

        def look() -> str:
            found = self.client(MESH).get(Service, name, namespace=NAMESPACE).status.loadBalancer.ingress
            if not found:
                raise NotObserved(f"Service {name} has no address yet")
            return str(found[0].ip)

        return eventually(look, seconds=120)

    def request(self, callee: str, method: str = "GET", path: str = "/", **headers: str) -> Document:
        """A call to a service, by its whole name. headers: `authorization` is a token's."""
        address = self.cluster_ip(callee, SERVICES[callee])
        return http_call(address, PORT, f"{host(callee)}:{PORT}", path, method, **headers)

    def bytes_to(self, callee: str) -> Document:
        """A call to a service's TCP port."""
        return {"address": self.cluster_ip(callee, SERVICES[callee]), "port": TCP_PORT, "protocol": "TCP"}

    def judged(self, name: str) -> Counter[str]:
        """The verdicts of a service's proxies, or of a gateway's, so far."""
        namespace = SERVICES.get(name, NAMESPACE)
        found = Counter[str]()
        for pod in self.client(MESH).list(Pod, namespace=namespace, labels={"app": name}):
            agent = self.deployed.program_of(pod, AGENT)
            found += verdicts_in(self.deployed.of_proxy(agent, "/stats?filter=rbac"))
        return found

    def warm(self, caller: str, callees: Iterable[str]) -> None:
        """Uses up the connections of before: the first request of one is judged by the old policies. Each worker of a
        proxy has its own."""
        self.send(caller, [self.request(callee, path="/warm") for callee in callees for _ in range(12)], together=8)

    def answers(self, calls: Sequence[tuple[Call, Document]]) -> list[Answer]:
        """Of calls of any callers, in order."""
        callers = {call.caller.partition("/")[2] for call, _ in calls}

        def of(caller: str) -> Iterator[tuple[int, Answer]]:
            those = [(at, given) for at, (call, given) in enumerate(calls) if call.caller == key(caller)]
            self.warm(caller, [one for one in SERVICES if one != caller])
            return zip((at for at, _ in those), self.send(caller, [given for _, given in those]), strict=True)

        with ThreadPoolExecutor() as pool:
            found = dict(pair for pairs in pool.map(of, callers) for pair in pairs)
        return [found[at] for at in range(len(calls))]


def answers_in(enter: Sequence[str], calls: Sequence[Document], together: int = 1) -> list[Answer]:
    """The answers of calls from a network, in order. enter: the command that enters it."""
    given = json.dumps({"calls": calls, "together": together})
    command = [*enter, sys.executable, "-I", str(PROGRAM)]
    done = subprocess.run(command, input=given, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode != 0:
        raise NotObserved(f"the program that makes calls failed: {done.stderr[-400:]}")
    return [Answer(one["status"], one["pod"], one["why"], one.get("headers", {})) for one in json.loads(done.stdout)]


def verdicts_in(stats: str) -> Counter[str]:
    """Requests and connections that a proxy has allowed and denied, by its statistics."""
    found = Counter[str]()
    for line in stats.splitlines():
        counter, _, value = line.partition(": ")
        verdict = counter.rpartition(".")[2]
        if counter.startswith(("http.", "tcp.")) and verdict in ("allowed", "denied"):
            found[verdict] += int(value)
    return found


def http_call(address: str, port: int, host: str, path: str = "/", method: str = "GET", **headers: str) -> Document:
    """A call by HTTP to any address. headers: `authorization` is a token's."""
    given = {name: f"Bearer {value}" if name == "authorization" else value for name, value in headers.items()}
    return {
        "address": address,
        "port": port,
        "protocol": "HTTP",
        "method": method,
        "path": path,
        "headers": {"Host": host, "Content-Length": "0", **given},
    }


def compiled(given: Document, places: Document | None = None) -> Compiled:
    return compile_intents(
        read_document(Intents, copy.deepcopy(given)), read_document(Inventory, places or inventory())
    )


def marker(mark: str, namespace: str) -> Document:
    """A policy that denies nobody, so it has no effect but its presence."""
    principal = f"nowhere.local/ns/{mark}/sa/{mark}"
    return {
        "apiVersion": "security.istio.io/v1",
        "kind": "AuthorizationPolicy",
        "metadata": {"name": "marker", "namespace": namespace},
        "spec": {"action": "DENY", "rules": [{"from": [{"source": {"principals": [principal]}}]}]},
    }


def authority_of(outside: Authority, namespace: str) -> Document:
    """The authority of hosts outside, for proxies of a namespace."""
    metadata = {"name": CONFIG_MAP, "namespace": namespace}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata,
        "data": {"ca.pem": pem(outside.certificate).decode()},
    }


def manifests(outside: Authority) -> Iterator[Document]:
    """Namespaces, accounts, Services and Deployments."""
    for namespace in dict.fromkeys(SERVICES.values()):
        ports = {
            name: {"name": "http", "port": PORT, "targetPort": LISTENS}
            for name, place in SERVICES.items()
            if place == namespace
        }
        labels = {"istio-injection": "enabled"}
        for one in workloads.manifests(labels, ports, namespace=namespace, listens=LISTENS):
            if one["kind"] == "Namespace":
                yield one
                yield authority_of(outside, namespace)
                continue
            if one["kind"] == "Service":
                one["spec"]["ports"].append({"name": "tcp", "port": TCP_PORT, "targetPort": TCP_LISTENS})
            if one["kind"] == "Deployment":
                yield from _versions(one)
            else:
                yield one


def _versions(deployment: Document) -> Iterator[Document]:
    name = deployment["metadata"]["name"]
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    deployment["spec"]["template"]["metadata"]["annotations"] = {
        "sidecar.istio.io/userVolume": json.dumps([VOLUME]),
        "sidecar.istio.io/userVolumeMount": json.dumps([MOUNT]),
    }
    second = copy.deepcopy(container)
    second["name"], second["ports"] = "tcp", [{"containerPort": TCP_LISTENS}]
    second["env"] = [{"name": "PORT", "value": str(TCP_LISTENS)}]
    del second["readinessProbe"]
    deployment["spec"]["template"]["spec"]["containers"].append(second)
    for version in VERSIONS.get(name, ("",)):
        one = copy.deepcopy(deployment)
        if version:
            one["metadata"]["name"] = f"{name}-{version}"
            for labels in (one["spec"]["selector"]["matchLabels"], one["spec"]["template"]["metadata"]["labels"]):
                labels["version"] = version
        yield one
