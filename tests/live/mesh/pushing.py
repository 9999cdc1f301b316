"""The stack `observability` beside the mesh of `make up`, and the workloads whose proxies push."""

from __future__ import annotations

import base64
import copy
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml
from lightkube.models.core_v1 import Pod as PodModel
from lightkube.resources.core_v1 import Pod, Secret

from sandbox.engine import deployment
from sandbox.engine.name_server import addresses
from sandbox.proof import workloads
from sandbox.proof.deployed import Deployed, NotObserved, eventually
from tests.engine.library.engine import Project, Stack
from tests.support.applied import apply
from tests.support.updates import update

# Outside of the zone of `make up`: the sandbox's load balancer publishes it, as a cloud's external-dns does.
HOST = "collector.observed.sandbox.test"


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
