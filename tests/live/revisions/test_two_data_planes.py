"""A mesh with two data planes and two revisions: live proxies in both clusters, and a tag that moves a namespace.

Then gateways join a third. What a federation makes is there all along.
"""

from __future__ import annotations

import copy
import dataclasses
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from lightkube.models.core_v1 import Container, PodSpec
from lightkube.models.core_v1 import Pod as PodModel
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.core_v1 import Pod, Service
from pulumi_hosted_mesh.cli.command import app
from pulumi_hosted_mesh.clusters import kubeconfig
from pulumi_hosted_mesh.clusters.api_server import ApiServer
from pulumi_hosted_mesh.federation.exports import with_declared
from pulumi_hosted_mesh.federation.manifests import objects
from pulumi_hosted_mesh.operations.doctor.connection import LocalNetwork
from pulumi_hosted_mesh.operations.doctor.gateways import crossing
from pulumi_hosted_mesh.operations.doctor.observation import observe
from pulumi_hosted_mesh.operations.doctor.proxies import proxies_of
from pulumi_hosted_mesh.operations.doctor.views import views
from pulumi_hosted_mesh.spec.endpoint import EndpointDocument
from pulumi_hosted_mesh.spec.federation import Federation
from pulumi_hosted_mesh.spec.load import read_document
from typer.testing import CliRunner

from sandbox.bootstrap import CHECKOUT
from sandbox.clusters import Cluster, Sandbox, Topology
from sandbox.engine import deployment
from sandbox.progress import Progress
from sandbox.proof import identity, traffic, workloads
from sandbox.proof.deployed import Deployed, MeshFacts, NotObserved, client_of, eventually
from sandbox.toolchain import Tools
from tests.live.revisions.two_data_planes import (
    FIRST,
    FORBIDDEN,
    MEMBERS,
    OK,
    SECOND,
    answers,
    restarted,
    served,
    spiffe,
    uids,
)
from tests.support.clusters import started
from tests.support.gateways import EASTWEST_PORTS, PROBE
from tests.support.kubectl import Kubectl
from tests.support.updates import update

TAG, CANARY, DEFAULT = "prod", "canary", "default"
THIRD = "third"
JOINED = (*MEMBERS, THIRD)
CLUSTER_IDS = {FIRST: "demo", SECOND: "demo-second", THIRD: "demo-third"}
LABELS = {"istio.io/rev": TAG}
EASTWEST = "eastwest"
SERVICE = f"{workloads.CALLED}.{workloads.NAMESPACE}.svc.cluster.local"
PEER, IMPORTED = "192.0.2.7", "orders.shop.partners.test"
FEDERATION = {
    "name": "partners",
    "domain": "partners.test",
    "peers": [
        {
            "mesh": "demo",
            "gateway": {"address": "192.0.2.8"},
            "exports": [
                {
                    "namespace": workloads.NAMESPACE,
                    "service": workloads.CALLED,
                    "port": workloads.PORT,
                    "to": [{"mesh": "partner", "identities": ["shop/orders"]}],
                }
            ],
            "imports": [{"meshes": ["partner"], "namespace": "shop", "service": "orders"}],
        },
        {
            "mesh": "partner",
            "gateway": {"address": PEER},
            "exports": [
                {
                    "namespace": "shop",
                    "service": "orders",
                    "port": 80,
                    "to": [{"mesh": "demo", "identities": [f"{workloads.NAMESPACE}/{workloads.CALLER}"]}],
                }
            ],
        },
    ],
}
"""With a peer that is not there. The mesh's own gateway for it is the one that leads into the first network."""


def document(
    committed: Mapping[str, Any], clusters: Sequence[Cluster], tag: str, *, joined: bool = False
) -> dict[str, Any]:
    """The sandbox's own document with a cluster more, a revision more, and a tag that names one of the two.

    Without the DNS bridge: the sandbox publishes the hosts. joined: one more still, and a gateway leads to each
    cluster's network.
    """
    config = copy.deepcopy(dict(committed))
    del config["config"]["hosted-mesh:dns"]
    mesh = config["config"]["hosted-mesh:mesh"]
    (revision,), (first,) = mesh["revisions"], mesh["memberships"]
    revision["exposure"]["publishName"] = True
    revision["exposure"]["sourceRanges"] = [f"{one.addresses.wan_address}/32" for one in clusters]
    canary = copy.deepcopy(revision) | {"name": CANARY, "host": "istiod-canary.demo.sandbox.test"}
    members = [first]
    for name, cluster in zip(JOINED if joined else MEMBERS, clusters, strict=False):
        if name != FIRST:
            members.append(copy.deepcopy(first) | {"name": name})
            members[-1]["cluster"]["context"] = cluster.name
            members[-1]["access"]["apiServer"] = cluster.wan_server
    mesh |= {"revisions": [revision, canary], "memberships": members, "tags": {TAG: tag}}
    if joined:
        mesh["crossNetwork"] = "gateways"
        ports, values = {"ports": EASTWEST_PORTS}, {"readinessProbe": PROBE}
        for one in members:
            one["gateways"] = [{"name": EASTWEST, "replicas": 1, "service": ports, "chartValues": values}]
    return config


@dataclasses.dataclass
class Lab:
    """The sandbox, its engine, and the outputs of the last update."""

    sandbox: Sandbox
    tools: Tools
    directory: Path
    outputs: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def up(self, tag: str, *, joined: bool = False) -> None:
        """The policies on."""
        deployment.engine(self.sandbox, self.tools)  # writes the configuration that `make up` would use
        config = yaml.safe_load(deployment.config_file(self.sandbox.state).read_text())
        file = self.directory / "stack.yaml"
        file.write_text(yaml.safe_dump(document(config, self.sandbox.data_planes, tag, joined=joined)))
        update(self.sandbox, self.tools, file)
        self.outputs = deployment.outputs(self.sandbox, self.tools)

    def deployed(self, membership: str, revision: str) -> Deployed:
        """One data plane as it is told of one revision; its namespaces choose that by the tag."""
        endpoints = {"one": self.outputs["endpoints"][f"{membership}/{revision}"]}
        facts = MeshFacts.of({**self.outputs, "endpoints": endpoints, "injection_labels": LABELS})
        made = Deployed(self.sandbox, self.tools, facts, engine_states=list, gateways=list)
        made.__dict__["data_plane"] = client_of(self.cluster(membership))  # instead of the first one's
        return made

    def cluster(self, membership: str) -> Cluster:
        return self.sandbox.data_planes[JOINED.index(membership)]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory, tools: Tools, progress: Progress) -> Iterator[Lab]:
    with started(tmp_path_factory.mktemp("live"), tools, progress, topology=Topology.of(4)) as sandbox:
        made = Lab(sandbox, tools, tmp_path_factory.mktemp("several"))
        made.up(DEFAULT)
        yield made


def endpoints(deployed: Deployed, pod: PodModel, name: str = f"outbound|{workloads.PORT}||{SERVICE}") -> set[str]:
    """Where a proxy would send a request, of what istiod told it. name: the proxy's for the Service that is called."""
    process = deployed.program_of(pod, identity.AGENT)
    clusters = json.loads(deployed.of_proxy(process, "/clusters?format=json"))
    return {
        host["address"]["socket_address"]["address"]
        for one in clusters["cluster_statuses"]
        if one["name"] == name
        for host in one.get("host_statuses", [])
    }


def told_of_the_import(deployed: Deployed, caller: PodModel) -> None:
    """A peer's gateway is on no network of the mesh, and each member's workloads call it."""

    def look() -> None:
        if (found := endpoints(deployed, caller, f"outbound|80||{IMPORTED}")) != {PEER}:
            raise NotObserved(f"the import is at {found}, not at {PEER}")

    eventually(look, seconds=120)


def take_addresses(deployed: Deployed) -> None:
    """Pods beside the mesh, so that Pods of one name have other addresses than in the cluster that has none."""
    container = Container(name="app", image=workloads.IMAGE)
    for number in range(3):
        metadata = ObjectMeta(name=f"takes-an-address-{number}", namespace="default")
        deployed.data_plane.create(Pod(metadata=metadata, spec=PodSpec(containers=[container])))
    for number in range(3):
        deployed.data_plane.wait(Pod, f"takes-an-address-{number}", namespace="default", for_conditions=["Ready"])


def webhooks_answer(lab: Lab, membership: str, revision: str) -> None:
    """`hosted-mesh check-webhooks`, for the revision and the tag if it names that, once the host is resolved."""
    config = ["--kubeconfig", str(lab.sandbox.kubeconfig), "--context", lab.cluster(membership).name]
    facts = yaml.safe_dump(lab.outputs["endpoints"][f"{membership}/{revision}"])

    def look() -> None:
        done = CliRunner().invoke(app, ["check-webhooks", "-", *config], input=facts)
        if done.exit_code != 0:
            raise NotObserved(done.output)

    eventually(look, seconds=120)


def test_two_clusters_are_served_and_a_tag_moves_one_namespace(lab: Lab) -> None:
    """Each cluster's proxies have its own services, all have one trust, and Istio's objects are the first's."""
    deployments = {member: lab.deployed(member, DEFAULT) for member in MEMBERS}
    take_addresses(deployments[SECOND])
    pods = {}
    for member, deployed in deployments.items():
        for revision in (DEFAULT, CANARY):
            webhooks_answer(lab, member, revision)
        pods[member] = workloads.deploy(deployed)
        for name, pod in pods[member].items():
            served(deployed, name, pod, DEFAULT, CLUSTER_IDS[member])
        answers(deployed, OK)
    # Each cluster has a Service of this name, on a network that nothing leads to from the other.
    called = {member: pods[member][workloads.CALLED].status.podIP for member in MEMBERS}
    assert called[FIRST] != called[SECOND]
    for member, deployed in deployments.items():
        assert endpoints(deployed, pods[member][workloads.CALLER]) == {called[member]}
    federation = read_document(Federation, FEDERATION)
    Kubectl.of(lab.cluster(FIRST), lab.tools).apply(*objects(federation, "demo", with_declared(federation, [])))
    for member, deployed in deployments.items():
        told_of_the_import(deployed, pods[member][workloads.CALLER])
    with traffic.denied(deployments[FIRST], spiffe(deployments[FIRST], workloads.CALLER)):
        for deployed in deployments.values():
            answers(deployed, FORBIDDEN)
    for deployed in deployments.values():
        answers(deployed, OK)

    lab.up(CANARY)
    moved = lab.deployed(FIRST, CANARY)
    for member, deployed in deployments.items():
        webhooks_answer(lab, member, CANARY)
        assert uids(workloads.deploy(deployed)) == uids(pods[member])
        answers(deployed, OK)
    # A restart is what moves a Pod: the caller goes to the canary, what it calls stays.
    now = restarted(moved, workloads.CALLER)
    assert {name for name in now if uids(now)[name] != uids(pods[FIRST])[name]} == {workloads.CALLER}
    served(moved, workloads.CALLER, now[workloads.CALLER], CANARY, CLUSTER_IDS[FIRST])
    served(deployments[FIRST], workloads.CALLED, now[workloads.CALLED], DEFAULT, CLUSTER_IDS[FIRST])
    answers(moved, OK)
    with traffic.denied(moved, spiffe(moved, workloads.CALLER)):
        answers(moved, FORBIDDEN)
    # The other cluster's proxies are the old revision's, and go on.
    for name, pod in workloads.deploy(deployments[SECOND]).items():
        assert uids({name: pod}) == uids({name: pods[SECOND][name]})
        served(deployments[SECOND], name, pod, DEFAULT, CLUSTER_IDS[SECOND])
    answers(deployments[SECOND], OK)


def addresses_of_gateway(deployed: Deployed) -> set[str]:
    service = deployed.data_plane.get(Service, EASTWEST, namespace=deployed.mesh.namespace)
    assert service.status and service.status.loadBalancer
    return {str(ingress.ip) for ingress in service.status.loadBalancer.ingress or []}


def of_another_view(lab: Lab, membership: str, revision: str) -> list[tuple[str | None, str]]:
    """What `hosted-mesh doctor` says of the views of a member's proxies, and what to do."""
    asked = kubeconfig.KubeconfigRequest(context=lab.cluster(membership).name)
    found = list(proxies_of(ApiServer(kubeconfig.from_file(str(lab.sandbox.kubeconfig), asked))))
    endpoint = read_document(EndpointDocument, lab.outputs["endpoints"][f"{membership}/{revision}"])
    return [(one.cause, one.fix) for one in views(found, endpoint)]


def between_networks(lab: Lab) -> list[str | None]:
    """What `hosted-mesh doctor` says of the federation's gateway as its network's. Gateways' ports are not tried."""
    document = read_document(Federation, FEDERATION)
    data_plane = kubeconfig.from_file(
        str(lab.sandbox.kubeconfig), kubeconfig.KubeconfigRequest(context=lab.cluster(FIRST).name)
    )
    endpoint = read_document(EndpointDocument, lab.outputs["endpoints"][f"{FIRST}/{CANARY}"])
    untried = LocalNetwork(lambda _: (), lambda *_: None)
    observed = observe(document, "demo", with_declared(document, []), data_plane, endpoint=endpoint, here=untried)
    return [one.cause for one in crossing(document.peer("demo"), observed)]


def who_answers(deployed: Deployed, caller: PodModel) -> set[str]:
    """The Pods that answer twenty requests of the caller's, each with 200 and the caller's identity."""
    process = deployed.program_of(caller, identity.AGENT)
    url = f"http://{workloads.CALLED}.{workloads.NAMESPACE}:{workloads.PORT}/"
    answered = set()
    for _ in range(20):
        status, body, headers = traffic.fetched(deployed, process, url, workloads.PORT)
        if status != OK:
            raise NotObserved(f"the request answered {status}: {body[:160]}")
        traffic.arrived_from(headers, spiffe(deployed, workloads.CALLER))
        answered.add(str(json.loads(body)["pod"]))
    return answered


def test_gateways_lead_from_each_network_to_the_others(lab: Lab) -> None:
    """With `crossNetwork: gateways` each cluster's callers are answered by the others' Pods too, by mutual TLS from end
    to end; so they are where a gateway is a federation's too.

    The members go on as the test before left them, and there is one more. Gateway: the page's.
    """
    lab.up(CANARY, joined=True)
    deployments = {member: lab.deployed(member, CANARY) for member in JOINED}
    assert between_networks(lab) == ["passes-nothing-on"]
    page = (CHECKOUT / "docs/components/networks.md").read_text()
    (passes,) = re.findall(r"```yaml\n(apiVersion: networking.istio.io/v1\nkind: Gateway\n.*?)```", page, re.DOTALL)
    Kubectl.of(lab.cluster(FIRST), lab.tools).apply(yaml.safe_load(passes))
    assert between_networks(lab) == [None]
    # Of the first member's the caller alone is the canary's.
    (stale,) = of_another_view(lab, FIRST, CANARY)
    assert stale[0] == "another-view"
    assert f"/{workloads.CALLER}" in stale[1]
    pods = {member: restarted(deployments[member], workloads.CALLER) for member in MEMBERS}
    pods[THIRD] = workloads.deploy(deployments[THIRD])
    callers, called = (
        {member: pods[member][name] for member in JOINED} for name in (workloads.CALLER, workloads.CALLED)
    )
    assert of_another_view(lab, FIRST, CANARY) == [(None, "")]
    names = {str(one.metadata.name) for one in called.values()}
    for member, deployed in deployments.items():
        others = [addresses_of_gateway(other) for name, other in deployments.items() if name != member]
        own = {called[member].status.podIP}
        wanted = own.union(*others)
        (passing,) = deployed.data_plane.list(Pod, namespace=deployed.mesh.namespace, labels={"app": EASTWEST})

        def told() -> None:
            if (found := endpoints(deployed, callers[member])) != wanted:  # noqa: B023
                raise NotObserved(f"{member} is told of {found}, not of {wanted}")  # noqa: B023

        def passed_on() -> None:
            """What comes in by the gateway is not handed on to another."""
            name = f"outbound_.{workloads.PORT}_._.{SERVICE}"
            if (found := endpoints(deployed, passing, name)) != own:  # noqa: B023
                raise NotObserved(f"the gateway of {member} leads to {found}, not to {own}")  # noqa: B023

        def answered() -> None:
            if (found := who_answers(deployed, callers[member])) != names:  # noqa: B023
                raise NotObserved(f"{found} answered {member}, not {names}")  # noqa: B023

        told_of_the_import(deployed, callers[member])
        for look in (told, passed_on, answered):
            eventually(look, seconds=120)
