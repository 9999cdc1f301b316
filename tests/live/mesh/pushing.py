"""The stack `observability` beside the mesh of `make up`, the workloads whose proxies push, and a gateway to them."""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml
from lightkube.generic_resource import create_namespaced_resource
from lightkube.models.core_v1 import Pod as PodModel
from lightkube.resources.core_v1 import Namespace, Pod, Secret

from sandbox.engine import deployment
from sandbox.engine.name_server import addresses
from sandbox.proof import workloads
from sandbox.proof.deployed import Deployed, NotObserved, eventually
from sandbox.proof.identity import AGENT
from tests.engine.library.engine import Project, Stack
from tests.live.mesh.observed import GATEWAY, Observed
from tests.support.applied import apply
from tests.support.updates import update

# Outside of the zone of `make up`: the sandbox's load balancer publishes it, as a cloud's external-dns does.
HOST = "collector.observed.sandbox.test"
LOGS, SPANS = "envoy.access_loggers.open_telemetry", "envoy.tracers.opentelemetry"
Gateway = create_namespaced_resource("networking.istio.io", "v1", "Gateway", "gateways")
VirtualService = create_namespaced_resource("networking.istio.io", "v1", "VirtualService", "virtualservices")
Telemetry = create_namespaced_resource("telemetry.istio.io", "v1", "Telemetry", "telemetries")


def document(mesh: str, *, source: str = "access-logger", **parts: Any) -> dict[str, Any]:
    """The observability document: a collector, and other parts."""
    collector = {
        "placement": "control-plane",
        "host": HOST,
        "image": "hosted-mesh/metrics-collector:1",
        "exposure": {"sourceRanges": ["10.90.0.20/32"], "publishName": True},
        "source": source,
    }
    return {"mesh": mesh, "collector": collector, "network": mesh, **parts}


@contextmanager
def pushing(
    deployed: Deployed, folder: Path, observability: Mapping[str, Any], gateways: tuple[Any, ...] = ()
) -> Iterator[Callable[..., Any]]:
    """The stack, and the collector's address in the mesh document; both undone.

    Yields its update, with other parts of the document. gateways: of the data plane.
    """
    sandbox, tools = deployed.sandbox, deployed.tools
    deployment.engine(sandbox, tools)
    committed = deployment.config_file(sandbox.state)
    config = copy.deepcopy(yaml.safe_load(committed.read_text()))
    mesh = config["config"]["hosted-mesh:mesh"]
    metrics = {"host": HOST, "source": observability["collector"]["source"]}
    mesh["revisions"][0]["proxies"] = {"metrics": metrics}
    if gateways:
        mesh["memberships"][0]["gateways"] = list(gateways)
    changed = folder / "stack.yaml"
    changed.write_text(yaml.safe_dump(config))
    secret = deployed.control_plane.get(Secret, "cacerts", namespace=deployed.mesh.namespace)
    files = {name: base64.b64decode(value).decode() for name, value in (secret.data or {}).items()}
    clusters = {
        "controlPlane": {"kubeconfig": str(sandbox.kubeconfig), "context": sandbox.control_plane.name},
        "dataPlane": {"kubeconfig": str(sandbox.kubeconfig), "context": sandbox.data_plane.name},
    }
    project = Project.make(folder / "stacks", sandbox, tools)

    def stack_with(**parts: Any) -> Stack:
        own = {"observability": {**observability, **parts}, **clusters}
        return project.stack("observability", {"stack": "observability", "observability": own, "cacerts": files})

    stack = stack_with()
    try:
        stack.up()
        assert stack.outputs() == {"push_address": f"{HOST}:15018", "debug_address": "", "namespace": "obs-demo"}
        update(sandbox, tools, changed)
        yield lambda **parts: stack_with(**parts).up()
    finally:
        update(sandbox, tools, committed)
        stack.destroy()


def has_address(deployed: Deployed) -> None:
    """Raises NotObserved unless the data plane resolves the collector's name."""
    if not addresses(deployed.sandbox, deployed.sandbox.data_plane.name, HOST):
        raise NotObserved(f"{HOST} has no address")


def apply_all(deployed: Deployed, *objects: Any) -> None:
    """Objects of the data plane, in order; webhooks may answer a moment later."""
    for one in objects:
        eventually(lambda: apply(deployed.data_plane, one), seconds=120)  # noqa: B023 (called at once)


def ready(deployed: Deployed, namespace: str, name: str) -> PodModel:
    """The ready Pod of a workload, with a sidecar in it. Raises NotObserved."""
    found = list(deployed.data_plane.list(Pod, namespace=namespace, labels={"app": name}))
    for pod in found:
        is_ending = pod.metadata is not None and pod.metadata.deletionTimestamp is not None
        if workloads.has_proxy(pod) and workloads.is_ready(pod) and not is_ending:
            return pod
    raise NotObserved(f"{name} is not ready: {[one.status and one.status.containerStatuses for one in found]}")


@contextmanager
def sending(
    deployed: Deployed, namespace: str, ports: Mapping[str, Mapping[str, Any]], *parts: str
) -> Iterator[Observed]:
    """Workloads in a namespace of their own, once their proxies have these parts for the collector.

    ports: of each workload's Service. parts: LOGS, SPANS.
    """
    eventually(lambda: has_address(deployed), seconds=120)
    made = workloads.manifests(deployed.mesh.injection_labels, ports, namespace=namespace)
    try:
        apply_all(deployed, *map(workloads.parse, made))
        pods = {name: eventually(lambda: ready(deployed, namespace, name), seconds=90) for name in ports}  # noqa: B023
        for pod in pods.values():
            eventually(lambda: has_parts(deployed, pod, *parts, f"outbound|15018||{HOST}"), seconds=120)  # noqa: B023
        yield Observed(deployed, namespace, pods)
    finally:
        deployed.data_plane.delete(Namespace, namespace)


def has_parts(deployed: Deployed, pod: PodModel, *parts: str) -> None:
    """Raises NotObserved unless the proxy's listeners have all of them."""
    found = deployed.of_proxy(deployed.program_of(pod, AGENT), "/config_dump?resource=dynamic_listeners")
    for part in parts:
        if part not in found:
            raise NotObserved(f"the proxy of {pod.metadata and pod.metadata.name} has no {part}")


def route(deployed: Deployed, namespace: str) -> Iterator[Any]:
    """Everything that arrives at the gateway goes to the called workload."""
    metadata = {"name": GATEWAY, "namespace": namespace}
    server = {"port": {"number": 80, "name": "http", "protocol": "HTTP"}, "hosts": ["*"]}
    there = {**metadata, "namespace": deployed.mesh.namespace}
    yield Gateway.from_dict({"metadata": there, "spec": {"selector": {"istio": GATEWAY}, "servers": [server]}})
    host = f"{workloads.CALLED}.{namespace}.svc.cluster.local"
    backend = {"destination": {"host": host, "port": {"number": workloads.PORT}}}
    rules = {"hosts": ["*"], "gateways": [f"{there['namespace']}/{GATEWAY}"], "http": [{"route": [backend]}]}
    yield VirtualService.from_dict({"metadata": metadata, "spec": rules})


@contextmanager
def forged_tenant(observed: Observed, name: str) -> Iterator[None]:
    """A workload's spans name another tenant: by a Telemetry object, which the data plane's administrator may add."""
    deployed, namespace = observed.deployed, observed.namespace
    tags = {"hosted_mesh.tenant": {"literal": {"value": "other"}}}
    spec = {"selector": {"matchLabels": {"app": name}}, "tracing": [{"customTags": tags}]}
    apply(
        deployed.data_plane, Telemetry.from_dict({"metadata": {"name": "forged", "namespace": namespace}, "spec": spec})
    )
    agent = deployed.program_of(observed.pods[name], AGENT)

    def configured() -> None:
        """In each listener that sends spans: a new one warms beside the old one."""
        dump = json.loads(deployed.of_proxy(agent, "/config_dump?resource=dynamic_listeners"))
        listeners = dump["configs"]
        active = [text for one in listeners if SPANS in (text := json.dumps(one.get("active_state", {})))]
        if any("warming_state" in one for one in listeners) or not active:
            raise NotObserved(f"a listener of {name}'s proxy warms")
        if any("hosted_mesh.tenant" not in text for text in active):
            raise NotObserved(f"{name}'s proxy has no forged tag")

    eventually(configured, seconds=120)
    yield
    deployed.data_plane.delete(Telemetry, "forged", namespace=namespace)
