"""Two tenants behind one gateway, with real istiods and proxies. Each has a cluster and a network of its own.

Both call their mesh `store`. `shop` admits its own addresses alone, `bank` admits everybody, so that shop's credentials
reach bank's istiod and are judged there.
"""

from __future__ import annotations

import base64
import copy
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from lightkube.resources.core_v1 import Pod, Secret

from sandbox.bootstrap import CHECKOUT
from sandbox.clusters import Cluster, Sandbox, Topology
from sandbox.progress import Progress
from sandbox.proof import workloads
from sandbox.proof.deployed import Deployed, MeshFacts, client_of
from sandbox.toolchain import Tools
from tests.engine.library.engine import Project, Stack
from tests.support.clusters import started
from tests.support.envoys import shown_by
from tests.support.kubectl import Kubectl
from tests.support.split import HERE

SHOP, BANK = "shop", "bank"
MESH = "store"
"""Both tenants' name of their mesh."""
ZONE = "sandbox.test"
GATEWAY = "hosted-mesh-gateway"
HOSTNAME = "external-dns.alpha.kubernetes.io/hostname"
PROGRAMS = Path(__file__).parent / "programs"
KNOCK = PROGRAMS / "knock.py"
ASK = Path(__file__).parents[1] / "mesh/programs/ask_for_certificate.py"


def hosts(tenant: str) -> tuple[str, str]:
    """Of istiod and of its webhooks."""
    return f"istiod.{tenant}.{ZONE}", f"hooks.{tenant}.{ZONE}"


def cluster_of(tenant: str) -> str:
    """The label of Envoy's metrics for the way to a tenant's istiod, without its webhooks."""
    return f'envoy_cluster_name="{tenant}--{MESH}/{hosts(tenant)[0]}/xds"'


def namespace_of(tenant: str) -> str:
    """Of a tenant's istiod on the control plane."""
    return f"tenant-{tenant}--{MESH}"


@dataclass(frozen=True)
class Tenant:
    """One mesh: its cluster, its stack, and what the stack's outputs say."""

    name: str
    sandbox: Sandbox
    tools: Tools
    cluster: Cluster
    stack: Stack

    @cached_property
    def deployed(self) -> Deployed:
        facts = MeshFacts.of(self.stack.outputs())
        made = Deployed(self.sandbox, self.tools, facts, engine_states=list, gateways=list)
        made.__dict__["data_plane"] = client_of(self.cluster)  # instead of the first one's
        return made

    def run(self, program: Path, *words: object) -> str:
        """What a program prints in the tenant's own network."""
        command = [sys.executable, "-P", program, *map(str, words)]
        done = self.sandbox.run(self.cluster.name, command, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return str(done.stdout).strip()

    def token(self) -> str:
        """Of a workload, valid in this mesh."""
        kubectl = Kubectl.of(self.cluster, self.tools)
        name = workloads.CALLER
        return kubectl("create", "token", name, f"-n={workloads.NAMESPACE}", "--audience=istio-ca").strip()

    def certificate(self, folder: Path, domain: str = "") -> Path:
        """Of a workload, signed by the mesh's own authority. domain: by default the mesh's trust domain."""
        data = (
            client_of(self.sandbox.control_plane).get(Secret, "cacerts", namespace=namespace_of(self.name)).data or {}
        )
        files = {name: base64.b64decode(value) for name, value in data.items()}
        own = x509.load_pem_x509_certificate(files["ca-cert.pem"])
        key: Any = load_pem_private_key(files["ca-key.pem"], None)
        authority: Any = SimpleNamespace(key=key, certificate=own, name=own.subject)
        file = folder / f"{self.name}.pem"
        domain = domain or self.deployed.mesh.trust_domain
        file.write_bytes(shown_by(authority, f"spiffe://{domain}/ns/{workloads.NAMESPACE}/sa/{workloads.CALLER}"))
        return file


@dataclass
class Lab:
    """The sandbox with the gateway and both tenants."""

    sandbox: Sandbox
    tools: Tools
    gateway: Stack
    tenants: Mapping[str, Tenant]

    @property
    def address(self) -> str:
        (found,) = self.gateway.outputs()["addresses"]
        return str(found)

    @cached_property
    def pod_address(self) -> str:
        """Of the gateway's Pod."""
        pods = client_of(self.sandbox.control_plane).list(Pod, namespace=GATEWAY)
        (found,) = [str(one.status.podIP) for one in pods if one.status]
        return found

    def pod_of(self, namespace: str, begin: str) -> str:
        """Address of the only Pod with this beginning of its name."""
        pods = client_of(self.sandbox.control_plane).list(Pod, namespace=namespace)
        (found,) = [str(one.status.podIP) for one in pods if one.status and str(one.metadata.name).startswith(begin)]
        return found

    def counted(self, metric: str, label: str = "") -> int:
        """The sum of one of Envoy's counters. label: text in the metric's labels."""
        # From the node: its own Pods' probes come from there, too.
        node, url = self.sandbox.control_plane.name, f"http://{self.pod_address}:15090/stats/prometheus"
        page = str(self.tenants[BANK].deployed.in_network(node, "http_get.py", url)["body"])
        lines = [one for one in page.splitlines() if one.startswith(f"{metric}{{") and label in one]
        return sum(int(one.rsplit(" ", 1)[1]) for one in lines)


def documents(
    sandbox: Sandbox, tools: Tools, api_servers: Mapping[str, str]
) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """The gateway's document, and each mesh's: the committed one with the exposure `gateway`.

    api_servers: other addresses of tenants' API servers for their istiods.
    """
    committed = yaml.safe_load((CHECKOUT / "stacks/Pulumi.all-in-one.yaml").read_text())["config"]["hosted-mesh:mesh"]
    meshes = {}
    for name, cluster in zip((SHOP, BANK), sandbox.data_planes, strict=True):
        document = copy.deepcopy(committed) | {"name": MESH, "tenant": name}
        (revision,), (membership,) = document["revisions"], document["memberships"]
        istiod, hooks = hosts(name)
        own = {"sourceRanges": [f"{cluster.addresses.wan_address}/32"]} if name == SHOP else {"openToAll": True}
        revision |= {"host": istiod, "exposure": {"kind": "gateway", **own, "webhooks": {"host": hooks, **own}}}
        revision["charts"]["path"] = str(tools.charts)
        membership |= {"clusterId": name}
        membership["cluster"]["context"] = cluster.name
        membership["access"]["apiServer"] = api_servers.get(name, cluster.wan_server)
        meshes[name] = document
    # The sandbox's DNS has no wildcards.
    names = ",".join(host for name in meshes for host in hosts(name))
    settings = {"zones": [ZONE], "openToAll": True, "replicas": 1, "annotations": {HOSTNAME: names}}
    settings["resources"] = {"cpuRequest": "50m", "memoryRequest": "64Mi"}
    return {"cluster": committed["controlPlane"]["cluster"], "gateway": settings}, meshes


@contextmanager
def both_deployed(
    factory: pytest.TempPathFactory,
    tools: Tools,
    progress: Progress,
    prepared: Callable[[Sandbox], Mapping[str, str]] = lambda _: {},
) -> Iterator[Lab]:
    """Both tenants deployed. prepared: called before, for other addresses of tenants' API servers."""
    with started(factory.mktemp("tenants"), tools, progress, topology=Topology.of(3)) as sandbox:
        project = Project.make(factory.mktemp("project"), sandbox, tools)
        settings, meshes = documents(sandbox, tools, prepared(sandbox))
        gateway = project.stack("gateway", {"stack": "gateway", "gateway": settings})
        gateway.up()
        tenants = {}
        for (name, mesh), cluster in zip(meshes.items(), sandbox.data_planes, strict=True):
            config = {"stack": "all-in-one", "mesh": mesh, "references": {"gateway": f"{HERE}/gateway"}}
            tenants[name] = Tenant(name, sandbox, tools, cluster, project.stack(name, config))
        with ThreadPoolExecutor() as pool:  # tenants do not wait for each other
            list(pool.map(lambda one: one.stack.up(), tenants.values()))
        yield Lab(sandbox, tools, gateway, tenants)


def workloads_of(lab: Lab) -> Mapping[str, Mapping[str, Any]]:
    """The sample workloads of both tenants, by tenant and name: injected by webhooks behind the gateway."""
    with ThreadPoolExecutor() as pool:
        found = pool.map(lambda one: workloads.deploy(one.deployed), lab.tenants.values())
        return dict(zip(lab.tenants, found, strict=True))


def istiod_counted(lab: Lab, tenant: str, metric: str) -> float:
    """The sum of one of istiod's own counters."""
    found = metrics_of_istiod(lab, tenant)
    return sum(float(one.rsplit(" ", 1)[1]) for one in found if one.startswith((f"{metric}{{", f"{metric} ")))


def metrics_of_istiod(lab: Lab, tenant: str) -> list[str]:
    # From the node: its own Pods' probes come from there, too.
    url = f"http://{lab.pod_of(namespace_of(tenant), 'istiod-')}:15014/metrics"
    page = lab.tenants[tenant].deployed.in_network(lab.sandbox.control_plane.name, "http_get.py", url)
    return str(page["body"]).splitlines()
