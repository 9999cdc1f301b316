"""Meshes in clusters of their own, under one root, with east-west gateways and small programs that call each other."""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any

import yaml
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from lightkube import Client
from lightkube.models.core_v1 import Pod as PodModel
from lightkube.resources.core_v1 import Pod
from pulumi_hosted_mesh.operations.endpoint_export import endpoint_of
from pulumi_hosted_mesh.spec.endpoint import EndpointDocument
from pulumi_hosted_mesh.vocabulary import DEFAULT_MEMBERSHIP

from sandbox.bootstrap import CHECKOUT
from sandbox.clusters import Cluster, Sandbox
from sandbox.proof import workloads
from sandbox.proof.deployed import Deployed, MeshFacts, NotObserved, client_of, eventually
from sandbox.proof.identity import AGENT
from sandbox.proof.traffic import fetched
from sandbox.toolchain import Tools
from tests.engine.library.engine import Project, Stack
from tests.live.federation.meshes.between import Between
from tests.support.applied import apply
from tests.support.authorities import DAY, NOW, Authority, pem
from tests.support.gateways import EASTWEST_PORTS, PROBE, STATUS_PORT
from tests.support.kubectl import Kubectl

NAMESPACE = "bookshop"
CALLER, STRANGER, CALLED = "productpage", "stranger", "reviews"
PORT = 9080
DOMAIN = "shops.sandbox.test"
HOST = f"{CALLED}.{NAMESPACE}.{DOMAIN}"
PLACES = {"east": "data-plane", "west": "data-plane-2"}
PROGRAMS = {"east": (CALLER, STRANGER), "west": (CALLED,)}
# Of Services that are not HTTP: what their port speaks, and its number.
PORTS = {"mongodb": ("tcp", 27017)}
# Names of imported services lead somewhere, so that callers can look them up: their proxies decide where to.
NAMES = {"west": (HOST,)}
EGRESS_PORTS = (15443, 15444)
LOG = '"%REQ(:METHOD)% %REQ(:PATH)%" %RESPONSE_CODE% %RESPONSE_FLAGS% %REQUESTED_SERVER_NAME% %DOWNSTREAM_TLS_VERSION%'
# What a federation makes in a data plane, for kubectl; with trust `partial` also envoyfilters.
KINDS = "gateways.networking.istio.io,virtualservices,serviceentries,destinationrules,authorizationpolicies"


def gateway_address(mesh: str) -> str:
    return f"eastwest.{mesh}.sandbox.test"


def mesh_document(cluster: Cluster, tools: Tools, mesh: str, *names: str, egress: bool = False) -> dict[str, Any]:
    """The committed mesh with another name, in its own cluster, with a gateway that has a name. names: that lead there
    too. egress: with a second gateway, which nobody reaches from outside."""
    committed = yaml.safe_load((CHECKOUT / "stacks/Pulumi.all-in-one.yaml").read_text())
    document: dict[str, Any] = copy.deepcopy(committed["config"]["hosted-mesh:mesh"])
    kubeconfig = str(cluster.sandbox.kubeconfig)
    (revision,), (membership,) = document["revisions"], document["memberships"]
    document |= {"name": mesh, "trust": {"management": "brought"}}
    document["controlPlane"]["cluster"]["kubeconfig"] = kubeconfig
    revision["host"] = f"istiod.{mesh}.sandbox.test"
    revision["exposure"] = {"sourceRanges": [f"{cluster.addresses.wan_address}/32"]}
    revision["proxies"] = {"accessLog": {"format": LOG}}
    revision["charts"] = {**revision["charts"], "path": str(tools.charts)}
    membership["cluster"] = {"kubeconfig": kubeconfig, "context": cluster.name}
    membership["access"] = {"apiServer": cluster.wan_server}
    service = {
        "ports": EASTWEST_PORTS,
        "annotations": {"external-dns.alpha.kubernetes.io/hostname": ",".join((gateway_address(mesh), *names))},
    }
    gateway = {"name": "eastwest", "replicas": 1, "service": service, "chartValues": {"readinessProbe": PROBE}}
    membership["gateways"] = [gateway]
    if egress:
        ports = [STATUS_PORT, *({"name": f"tls-{one}", "port": one} for one in EGRESS_PORTS)]
        inside = {"type": "ClusterIP", "ports": ports}
        membership["gateways"].append({**gateway, "name": "egress", "service": inside})
    return document


def cacerts(root: Authority, mesh: str, ends: datetime = NOW + 365 * DAY) -> dict[str, str]:
    """A mesh's intermediate under the shared root, as the files of `cacerts`.

    With the name constraints of docs/components/trust.md, so istiod, API servers, agents and gateways live with them.
    """
    hosts = (f"istiod.{mesh}.sandbox.test", f"mesh-{mesh}.svc")
    permitted = [x509.UniformResourceIdentifier(f"{mesh}.mesh.local"), *map(x509.DNSName, hosts)]
    own = Authority(f"intermediate of {mesh}", root, ends=ends, permitted=permitted)
    key = own.key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )
    certificate = pem(own.certificate).decode()
    files = {"ca-cert.pem": certificate, "cert-chain.pem": certificate, "ca-key.pem": key.decode()}
    return files | {"root-cert.pem": pem(root.certificate).decode()}


def federation(*callers: str) -> dict[str, Any]:
    """West exports reviews to these identities of east."""
    audience = [{"mesh": "east", "identities": list(callers)}]
    exports = [{"namespace": NAMESPACE, "service": CALLED, "port": PORT, "to": audience}]
    wishes = [{"meshes": ["west"], "namespace": NAMESPACE, "service": CALLED}]
    peers = [
        {"mesh": "east", "gateway": {"address": gateway_address("east")}, "locality": "sandbox/a", "imports": wishes},
        {"mesh": "west", "gateway": {"address": gateway_address("west")}, "locality": "sandbox/b", "exports": exports},
    ]
    return {"name": "shops", "domain": DOMAIN, "peers": peers}


@dataclass(frozen=True)
class Meshes:
    """The meshes as they run. places: the cluster of each. names: that lead to the gateway of each, besides its own.

    with_egress: those that have an egress gateway too.
    """

    sandbox: Sandbox
    tools: Tools
    project: Project
    keys: dict[str, str] = field(default_factory=dict)
    """A line of each mesh's intermediate key."""
    endpoints: dict[str, EndpointDocument] = field(default_factory=dict)
    root: Authority = field(default_factory=lambda: Authority("the shared root", ends=NOW + 3650 * DAY))
    roots: Mapping[str, Authority] = field(default_factory=dict)
    """Of meshes that have one of their own."""
    places: Mapping[str, str] = field(default_factory=lambda: PLACES)
    names: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: NAMES)
    with_egress: Collection[str] = ()

    def cluster(self, mesh: str) -> Cluster:
        return self.sandbox.clusters[self.places[mesh]]

    def client(self, mesh: str) -> Client:
        return client_of(self.cluster(mesh))

    @cached_property
    def deployed(self) -> Deployed:
        """For its ways into Pods' networks; its mesh is east."""
        mesh = MeshFacts.of(self.outputs("east"))
        return Deployed(self.sandbox, self.tools, mesh, lambda: (), lambda: ())

    @cached_property
    def between(self) -> Between:
        """For what the machines of peers see; ends with `close`."""
        return Between(self.sandbox)

    def close(self) -> None:
        if "between" in vars(self):
            with self.between:
                pass

    def deploy(self) -> None:
        """All meshes, by a stack each, side by side."""
        stacks = []
        for mesh in self.places:
            stacks.append(self.project.stack(f"mesh-{mesh}", {**self.config(mesh), "cacerts": self.files(mesh)}))
        with ThreadPoolExecutor() as pool:
            list(pool.map(Stack.up, stacks))

    def files(self, mesh: str) -> dict[str, str]:
        """A mesh's intermediate, new."""
        found = cacerts(self.roots.get(mesh, self.root), mesh)
        self.keys[mesh] = found["ca-key.pem"].splitlines()[1]
        return found

    def endpoint(self, mesh: str) -> EndpointDocument:
        """What a data plane's user is handed."""
        if mesh not in self.endpoints:
            self.endpoints[mesh] = endpoint_of(self.outputs(mesh), DEFAULT_MEMBERSHIP, None)
        return self.endpoints[mesh]

    def outputs(self, mesh: str) -> Mapping[str, Any]:
        """Of a mesh's stack."""
        return self.project.stack(f"mesh-{mesh}", self.config(mesh)).outputs()

    def mesh_stacks(self) -> list[Stack]:
        """The stacks of all meshes, without their federation's."""
        return [self.project.stack(f"mesh-{mesh}", self.config(mesh)) for mesh in self.places]

    def config(self, mesh: str) -> dict[str, Any]:
        names, egress = self.names.get(mesh, ()), mesh in self.with_egress
        document = mesh_document(self.cluster(mesh), self.tools, mesh, *names, egress=egress)
        return {"stack": "all-in-one", "mesh": document}

    def stack(self, mesh: str, document: Mapping[str, Any]) -> Stack:
        """A mesh's part of the federation, with a kubeconfig of its own cluster alone."""
        cluster = {"kubeconfig": str(self.cluster(mesh).kubeconfig), "context": self.cluster(mesh).name}
        config = {"stack": "federation", "federation": document, "member": {"mesh": mesh, "cluster": cluster}}
        return self.project.stack(f"federation-{mesh}", config)

    def run_programs(self, wanted: Mapping[str, tuple[str, ...]] = PROGRAMS, namespace: str = NAMESPACE) -> None:
        """By mesh, each under its own account, with strict mutual TLS: callers in east, the called ones elsewhere."""
        for mesh, names in wanted.items():
            for manifest in programs(names, namespace):
                eventually(lambda: apply(self.client(mesh), workloads.parse(manifest)), seconds=120)  # noqa: B023
        for mesh, names in wanted.items():
            for name in names:
                eventually(lambda: self.pod(mesh, name, namespace), seconds=120)  # noqa: B023

    def pod(self, mesh: str, name: str, namespace: str = NAMESPACE) -> PodModel:
        """The ready Pod of a program, with its sidecar."""
        for pod in self.client(mesh).list(Pod, namespace=namespace, labels={"app": name}):
            if workloads.is_ready(pod) and workloads.has_proxy(pod) and pod.metadata.deletionTimestamp is None:
                return pod
        raise NotObserved(f"{name} of {mesh} has no ready Pod with a sidecar")

    def call(self, caller: str, host: str = HOST, path: str = "/", port: int = PORT) -> tuple[int, str, dict[str, str]]:
        """What a caller in east gets: status, body, and the headers that arrived, in lower case."""
        process = self.deployed.program_of(self.pod("east", caller), AGENT)
        return fetched(self.deployed, process, f"http://{host}:{port}{path}", PORT)


def logged(meshes: Meshes, mesh: str, gateway: str, *words: str) -> None:
    """Waits until one line of a gateway's access log has all of these."""
    kubectl = Kubectl.of(meshes.cluster(mesh), meshes.tools)

    def look() -> None:
        lines = kubectl("logs", f"deployment/{gateway}", f"--namespace=mesh-{mesh}", "--tail=500").splitlines()
        if not any(all(word in line for word in words) for line in lines):
            raise NotObserved(f"no line with {words}: {lines[-5:]}")

    eventually(look, seconds=120)


def answered(meshes: Meshes, caller: str, status: int) -> dict[str, str]:
    """The headers that arrived with a request that is answered so."""

    def look() -> dict[str, str]:
        got, body, headers = meshes.call(caller)
        if got != status:
            raise NotObserved(f"{caller} got {got}, not {status}: {body[:160]}")
        return headers

    return eventually(look, seconds=120)


def programs(names: tuple[str, ...], namespace: str = NAMESPACE) -> Iterator[dict[str, Any]]:
    speaks = {name: PORTS.get(name, ("http", PORT)) for name in names}
    ports = {name: {"name": word, "port": port, "targetPort": PORT} for name, (word, port) in speaks.items()}
    return workloads.manifests({"istio-injection": "enabled"}, ports, namespace=namespace, listens=PORT)
