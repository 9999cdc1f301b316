"""A gateway of the document in the user's cluster: injected, with a certificate from istiod, routing from outside."""

from __future__ import annotations

import copy
import json
from collections.abc import Collection, Iterator

import pytest
import yaml
from lightkube import ApiError
from lightkube.generic_resource import create_namespaced_resource
from lightkube.models.core_v1 import Pod as PodModel
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.admissionregistration_v1 import MutatingWebhookConfiguration
from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.core_v1 import Pod, Service
from lightkube.resources.policy_v1 import PodDisruptionBudget

from sandbox.clusters import Sandbox
from sandbox.engine import deployment
from sandbox.proof import workloads
from sandbox.proof.deployed import Deployed, NotObserved, eventually
from sandbox.toolchain import Tools
from tests.live.mesh.breaking.webhooks import without_webhooks_of
from tests.support.gateways import PROBE
from tests.support.kubectl import Kubectl
from tests.support.updates import update

NAME = "edge"
PORT = 80
GATEWAY = {"name": NAME, "chartValues": {"readinessProbe": PROBE}}
BACKEND = f"{workloads.CALLED}.{workloads.NAMESPACE}.svc.cluster.local"
Gateway = create_namespaced_resource("networking.istio.io", "v1", "Gateway", "gateways")
VirtualService = create_namespaced_resource("networking.istio.io", "v1", "VirtualService", "virtualservices")


@pytest.fixture(scope="module")
def deployed(live_sandbox: Sandbox, tools: Tools) -> Deployed:
    return Deployed.of(live_sandbox, tools)


@pytest.fixture(scope="module", autouse=True)
def gateway(deployed: Deployed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The sandbox's own stack with a gateway in its document, the policies on; without it again afterwards."""
    deployment.engine(deployed.sandbox, deployed.tools)
    committed = deployment.config_file(deployed.sandbox.state)
    config = copy.deepcopy(yaml.safe_load(committed.read_text()))
    config["config"]["hosted-mesh:mesh"]["memberships"][0]["gateways"] = [GATEWAY]
    file = tmp_path_factory.mktemp("gateways") / "stack.yaml"
    file.write_text(yaml.safe_dump(config))
    try:
        update(deployed.sandbox, deployed.tools, file)
        yield
    finally:
        update(deployed.sandbox, deployed.tools, committed)
    with pytest.raises(ApiError, match="not found"):
        deployed.data_plane.get(Deployment, NAME, namespace=deployed.mesh.namespace)


@pytest.fixture(scope="module")
def route(deployed: Deployed) -> Iterator[None]:
    """Everything that arrives at the gateway goes to the sample workload `backend`, which demands mutual TLS.

    The Gateway is beside the gateway, the VirtualService beside the workload. A Gateway there, which was made first,
    takes nothing away.
    """
    workloads.deploy(deployed)
    there = {"name": NAME, "namespace": deployed.mesh.namespace}
    metadata = {"name": NAME, "namespace": workloads.NAMESPACE}
    server = {"port": {"number": PORT, "name": "http", "protocol": "HTTP"}, "hosts": ["*"]}
    backend = {"destination": {"host": BACKEND, "port": {"number": workloads.PORT}}}
    rules = {"hosts": ["*"], "gateways": [f"{deployed.mesh.namespace}/{NAME}"], "http": [{"route": [backend]}]}
    spec = {"selector": {"istio": NAME}, "servers": [server]}
    opaque = {"port": {"number": PORT, "name": "tcp", "protocol": "TCP"}, "hosts": ["*"]}
    for where, servers in ((metadata, [opaque]), (there, [server])):
        made = Gateway.from_dict({"metadata": where, "spec": {**spec, "servers": servers}})
        deployed.data_plane.apply(made, force=True)
    deployed.data_plane.apply(VirtualService.from_dict({"metadata": metadata, "spec": rules}), force=True)
    yield
    deployed.data_plane.delete(VirtualService, NAME, namespace=workloads.NAMESPACE)
    for namespace in (workloads.NAMESPACE, deployed.mesh.namespace):
        deployed.data_plane.delete(Gateway, NAME, namespace=namespace)


def pods(deployed: Deployed) -> list[PodModel]:
    found = deployed.data_plane.list(Pod, namespace=deployed.mesh.namespace, labels={"app": NAME})
    return [pod for pod in found if pod.metadata and pod.metadata.deletionTimestamp is None]


def images(pod: PodModel) -> list[str]:
    assert pod.spec is not None
    return [str(container.image) for container in pod.spec.containers]


def is_ready(pod: PodModel) -> bool:
    conditions = (pod.status.conditions or []) if pod.status else []
    return any(one.type == "Ready" and one.status == "True" for one in conditions)


def answer(deployed: Deployed) -> dict[str, str]:
    """The headers that `backend` received of a request that was made in the provider's network, where no mesh is."""
    service = deployed.data_plane.get(Service, NAME, namespace=deployed.mesh.namespace)
    assert service.status is not None
    assert service.status.loadBalancer is not None
    (ingress,) = service.status.loadBalancer.ingress or []
    got = deployed.in_network(deployed.sandbox.control_plane.name, "http_get.py", f"http://{ingress.ip}:{PORT}/")
    if got["status"] != 200:
        raise NotObserved(f"the gateway answered {got['status']}: {got['body'][:120]}")
    return {name.lower(): value for name, value in json.loads(got["body"])["headers"].items()}


def name_of(pod: PodModel) -> str:
    assert pod.metadata is not None
    return str(pod.metadata.name)


def two_ready(deployed: Deployed) -> list[PodModel]:
    found = pods(deployed)
    if [is_ready(pod) and "auto" not in images(pod) for pod in found] != [True] * 2:
        raise NotObserved("there are not yet two ready Pods alone")
    return found


def test_it_is_ready_when_up_has_ended(deployed: Deployed) -> None:
    """With its first Pod; the second comes when the autoscaler has seen it."""
    (pod, *_) = [one for one in pods(deployed) if is_ready(one)]
    assert ["proxyv2" in image for image in images(pod)] == [True]


def test_a_drain_takes_one_pod_at_a_time(deployed: Deployed) -> None:
    first, second = eventually(lambda: two_ready(deployed), seconds=120)

    def evict(pod: PodModel) -> None:
        metadata = {"name": name_of(pod), "namespace": deployed.mesh.namespace}
        asked = Pod.Eviction.from_dict({"metadata": metadata})
        deployed.data_plane.create(asked, name_of(pod), namespace=deployed.mesh.namespace)

    def allows_one() -> None:
        budget = deployed.data_plane.get(PodDisruptionBudget, NAME, namespace=deployed.mesh.namespace)
        if budget.status is None or budget.status.disruptionsAllowed != 1:
            raise NotObserved("the budget has not counted both Pods yet")

    eventually(allows_one, seconds=120)
    evict(first)
    with pytest.raises(ApiError, match="disruption budget"):
        evict(second)
    healed = eventually(lambda: two_ready(deployed), seconds=120)
    assert name_of(second) in map(name_of, healed)
    assert name_of(first) not in map(name_of, healed)


@pytest.mark.usefixtures("route")
def test_a_request_from_outside_the_mesh_arrives_with_the_gateways_identity(deployed: Deployed) -> None:
    """The backend's proxy saw the gateway's certificate, and verified it by the mesh's root."""
    headers = eventually(lambda: answer(deployed), seconds=120)
    spiffe = f"spiffe://{deployed.mesh.trust_domain}/ns/{deployed.mesh.namespace}/sa/{NAME}"
    assert f"URI={spiffe}" in headers["x-forwarded-client-cert"]


def test_one_that_was_made_before_the_webhooks_is_healed_by_a_restart(deployed: Deployed) -> None:
    """What the documentation tells the integrator who installs the webhooks: the Pod stays as it was made."""

    def the_new_pod(old: Collection[str]) -> PodModel:
        for pod in pods(deployed):
            if name_of(pod) not in old:
                return pod
        raise NotObserved("no new Pod was made")

    def not_injected() -> None:
        """The API server knows that the webhooks are gone a moment later."""
        template = deployed.data_plane.get(Deployment, NAME, namespace=deployed.mesh.namespace).spec.template
        labels, annotations = template.metadata.labels, template.metadata.annotations
        metadata = ObjectMeta(name="tried", namespace=deployed.mesh.namespace, labels=labels, annotations=annotations)
        if images(deployed.data_plane.create(Pod(metadata=metadata, spec=template.spec), dry_run=True)) != ["auto"]:
            raise NotObserved("a new Pod is injected still")

    def refused(pod: PodModel) -> None:
        now = deployed.data_plane.get(Pod, name_of(pod), namespace=deployed.mesh.namespace)
        statuses = (now.status.containerStatuses or []) if now.status else []
        if not any(one.state and one.state.waiting and one.state.waiting.reason == "ErrImagePull" for one in statuses):
            raise NotObserved("the node has not refused the image yet")

    old = [name_of(pod) for pod in eventually(lambda: two_ready(deployed), seconds=120)]
    with without_webhooks_of(MutatingWebhookConfiguration, deployed):
        eventually(not_injected, seconds=120)
        deployed.data_plane.delete(Pod, old[0], namespace=deployed.mesh.namespace, grace_period=0)
        made = eventually(lambda: the_new_pod(old), seconds=120)
        assert images(made) == ["auto"]
        eventually(lambda: refused(made), seconds=120)
    kubectl = Kubectl.of(deployed.sandbox.data_plane, deployed.tools)
    kubectl("rollout", "restart", f"deployment/{NAME}", f"--namespace={deployed.mesh.namespace}")
    eventually(lambda: two_ready(deployed), seconds=120)
