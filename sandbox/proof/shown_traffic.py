"""Requests of the sample workloads that Prometheus counts and Kiali shows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from urllib.parse import urlencode

from lightkube.models.core_v1 import Pod as PodModel
from lightkube.resources.core_v1 import Pod, Service

from sandbox.proof import traffic, workloads
from sandbox.proof.deployed import Deployed, NotObserved, eventually
from sandbox.proof.identity import AGENT

PLAN: Mapping[int, int] = MappingProxyType({200: 91, 404: 4, 500: 5})
"""Requests by status of the answer."""
_METRICS_SERVICE = "envoy_metrics_service::"


def show(deployed: Deployed, namespace: str) -> None:
    """Sends requests, and returns once Prometheus has an increase by them. namespace: of Prometheus.

    Twice: an increase counts from a series' first sample on. Raises NotObserved.
    """
    workloads.deploy(deployed)
    caller = pushing(deployed)[workloads.CALLER]
    # A new Pod's proxy may not have the other one's address yet.
    agent = deployed.program_of(caller, AGENT)
    eventually(lambda: traffic.answered(deployed, agent, 200), seconds=60)
    # Again after a 403: Envoy judges the first request of an idle connection by the policy that the proof has removed.
    eventually(lambda: send(deployed, caller), seconds=60)
    eventually(lambda: has_result(deployed, namespace, f"{_series()} > 0"), seconds=90)
    eventually(lambda: send(deployed, caller), seconds=60)
    eventually(lambda: has_result(deployed, namespace, f"sum(increase({_series()}[2m])) > 0"), seconds=90)


def send(deployed: Deployed, caller: PodModel, plan: Mapping[int, int] = PLAN) -> None:
    """Requests of frontend to backend, all of them answered as requested. Raises NotObserved."""
    service = deployed.data_plane.get(Service, workloads.CALLED, namespace=workloads.NAMESPACE)
    assert service.spec is not None
    host = f"{workloads.CALLED}.{workloads.NAMESPACE}.svc.cluster.local:{workloads.PORT}"
    target = (str(service.spec.clusterIP), str(workloads.PORT), host)
    wanted = (f"{status}={number}" for status, number in plan.items())
    agent = deployed.program_of(caller, AGENT)
    found = deployed.in_network_of(agent, "send_requests.py", *target, *wanted)
    if found != {str(status): number for status, number in plan.items()}:
        raise NotObserved(f"{workloads.CALLED} answered {found}")


def pushing(deployed: Deployed) -> dict[str, PodModel]:
    """The sample workloads' ready Pods, whose proxies push metrics. A Pod from before the stack is replaced."""
    for name in (workloads.CALLER, workloads.CALLED):
        pod = workloads.ready_pod(deployed, name)
        if not _pushes(deployed, pod):
            _delete(deployed, pod)

    def ready(name: str) -> PodModel:
        return require_push(deployed, workloads.ready_pod(deployed, name))

    return {
        name: eventually(lambda: ready(name), seconds=deployed.patience, every=2)  # noqa: B023 (called at once)
        for name in (workloads.CALLER, workloads.CALLED)
    }


def require_push(deployed: Deployed, pod: PodModel) -> PodModel:
    """The Pod. Raises NotObserved if its proxy pushes no metrics, and deletes it then: its Deployment makes another."""
    if not _pushes(deployed, pod):
        _delete(deployed, pod)  # istiod's template may be older than the mesh document
        raise NotObserved(f"the proxy of {pod.metadata and pod.metadata.name} has no metrics service")
    return pod


def has_result(deployed: Deployed, namespace: str, query: str) -> None:
    """Raises NotObserved unless Prometheus answers an instant query with a series."""
    service = deployed.control_plane.get(Service, "prometheus", namespace=namespace)
    assert service.spec is not None
    url = f"http://{service.spec.clusterIP}:9090/api/v1/query?{urlencode({'query': query})}"
    page = deployed.in_network(deployed.sandbox.control_plane.name, "http_get.py", url)
    if page["status"] != 200 or not json.loads(page["body"])["data"]["result"]:
        raise NotObserved(f"Prometheus has nothing for {query}")


def _series() -> str:
    return f'istio_requests_total{{source_workload="{workloads.CALLER}",response_code="500"}}'


def _pushes(deployed: Deployed, pod: PodModel) -> bool:
    return _METRICS_SERVICE in deployed.of_proxy(deployed.program_of(pod, AGENT), "/clusters")


def _delete(deployed: Deployed, pod: PodModel) -> None:
    assert pod.metadata is not None
    deployed.data_plane.delete(Pod, str(pod.metadata.name), namespace=str(pod.metadata.namespace))
