"""The two sample workloads that run in the mesh: `frontend` calls `backend`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from lightkube import ApiError
from lightkube.codecs import AnyResource, from_dict
from lightkube.generic_resource import create_namespaced_resource
from lightkube.models.core_v1 import Pod as PodModel
from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.core_v1 import Pod

from sandbox.proof.deployed import Deployed, NotObserved, eventually

NAMESPACE = "bookshop"
CALLER = "frontend"
CALLED = "backend"
PORT = 8080
PORTS = {name: {"name": "http", "port": PORT} for name in (CALLER, CALLED)}
IMAGE = "hosted-mesh/sample:1"
PROXY = "istio-proxy"
_ISTIO = ("security.istio.io", "v1")
PeerAuthentication = create_namespaced_resource(*_ISTIO, "PeerAuthentication", "peerauthentications")
AuthorizationPolicy = create_namespaced_resource(*_ISTIO, "AuthorizationPolicy", "authorizationpolicies")


def manifests(
    injection_labels: Mapping[str, str],
    ports: Mapping[str, Mapping[str, Any]] = PORTS,
    *,
    namespace: str = NAMESPACE,
    listens: int = PORT,
) -> Iterator[dict[str, Any]]:
    """A namespace with injection on, STRICT mutual TLS in it, and a ServiceAccount, Service and Deployment each.

    ports: of each workload's Service, by the workload's name. listens: the port of the programs.
    """
    yield {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": namespace, "labels": dict(injection_labels)},
    }
    yield {
        "apiVersion": "security.istio.io/v1",
        "kind": "PeerAuthentication",
        "metadata": {"name": "default", "namespace": namespace},
        "spec": {"mtls": {"mode": "STRICT"}},
    }
    for name, port in ports.items():
        metadata = {"name": name, "namespace": namespace, "labels": {"app": name}}
        yield {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}
        yield {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": metadata,
            "spec": {"selector": {"app": name}, "ports": [dict(port)]},
        }
        yield {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": metadata,
            "spec": {
                "replicas": 1,
                "selector": {"matchLabels": {"app": name}},
                "template": {"metadata": {"labels": {"app": name}}, "spec": pod_spec(name, listens)},
            },
        }


def pod_spec(service_account: str, listens: int = PORT) -> dict[str, Any]:
    """A Pod of one container that answers on a port."""
    return {
        "serviceAccountName": service_account,
        "containers": [
            {
                "name": "app",
                "image": IMAGE,
                "env": [{"name": "PORT", "value": str(listens)}],
                "ports": [{"containerPort": listens}],
                "readinessProbe": {"httpGet": {"path": "/ready", "port": listens}, "periodSeconds": 1},
                "resources": {"requests": {"cpu": "10m", "memory": "32Mi"}},
            }
        ],
    }


def parse(manifest: Mapping[str, object]) -> AnyResource:
    """The manifest as an object for the Kubernetes client."""
    return from_dict(dict(manifest))


def deploy(deployed: Deployed) -> dict[str, PodModel]:
    """Applies the sample workloads and waits until one injected Pod of each is ready; returns it by name."""
    for manifest in manifests(deployed.mesh.injection_labels):
        eventually(partial(_apply, deployed, manifest), seconds=deployed.patience)
    return {
        name: eventually(partial(ready_pod, deployed, name), seconds=deployed.patience) for name in (CALLER, CALLED)
    }


def _apply(deployed: Deployed, manifest: Mapping[str, object]) -> None:
    """Webhooks answer once the exposed address leads to istiod, a moment after the Service has the address.

    An older connection of the API server may lead to a former Pod: that call ends with the webhook's time-out, and the
    next one connects again.
    """
    try:
        deployed.data_plane.apply(parse(manifest), force=True)
    except ApiError as error:
        message = str(error.status.message)
        if "failed calling webhook" in message:
            raise NotObserved(message) from None
        raise


def ready_pod(deployed: Deployed, name: str) -> PodModel:
    """The ready Pod of one sample workload, with a sidecar in it."""
    found = deployed.data_plane.list(Pod, namespace=NAMESPACE, labels={"app": name})
    pods = [pod for pod in found if pod.metadata and pod.metadata.deletionTimestamp is None]
    for pod in pods:
        if has_proxy(pod) and is_ready(pod):
            return pod
    raise NotObserved(f"{name}: {_why_not_ready(deployed, name, pods)}")


def has_proxy(pod: PodModel) -> bool:
    """Whether injection added a sidecar to the Pod, as a native sidecar or as a plain container."""
    assert pod.spec is not None
    containers = [*pod.spec.containers, *(pod.spec.initContainers or [])]
    return any(container.name == PROXY for container in containers)


def is_ready(pod: PodModel) -> bool:
    conditions = (pod.status.conditions or []) if pod.status else []
    return any(condition.type == "Ready" and condition.status == "True" for condition in conditions)


def _why_not_ready(deployed: Deployed, name: str, pods: Sequence[PodModel]) -> str:
    for pod in pods:
        if not has_proxy(pod):
            return "its Pod came back without a sidecar"
        statuses = (
            [*(pod.status.initContainerStatuses or []), *(pod.status.containerStatuses or [])] if pod.status else []
        )
        for status in statuses:
            waiting = status.state.waiting if status.state else None
            if waiting:
                return f"container {status.name} waits: {waiting.reason}: {waiting.message or ''}"
            if not status.ready and not (status.state and status.state.terminated):
                return f"container {status.name} runs but is not ready"
    if pods:
        return "its Pod is not ready yet"
    try:  # no Pod at all: the ReplicaSet was refused, and the Deployment has the reason
        deployment = deployed.data_plane.get(Deployment, name, namespace=NAMESPACE)
    except ApiError as error:
        return f"the Deployment cannot be read: {error.status.message}"
    conditions = (deployment.status.conditions or []) if deployment.status else []
    refused = [str(condition.message) for condition in conditions if condition.type == "ReplicaFailure"]
    return f"no Pod was made: {refused[0]}" if refused else "no Pod was made yet"
