"""Objects and documents for several test modules."""

from __future__ import annotations

import json
from collections.abc import Mapping

from lightkube.models.core_v1 import Pod as PodModel
from lightkube.resources.core_v1 import Pod, Service

from sandbox.proof import identity, traffic, workloads
from sandbox.proof.deployed import Deployed, NotObserved, eventually

FIRST, SECOND = MEMBERS = ("default", "second")

HOSTNAME = "external-dns.alpha.kubernetes.io/hostname"

OK, FORBIDDEN = 200, 403


def exposed(deployed: Deployed) -> set[str]:
    """Addresses of the one istiod whose host this is."""
    return {
        str(ingress.ip)
        for service in deployed.control_plane.list(Service, namespace=deployed.mesh.namespace)
        if (service.metadata.annotations or {}).get(HOSTNAME) == deployed.mesh.host and service.status.loadBalancer
        for ingress in service.status.loadBalancer.ingress or []
    }


def spiffe(deployed: Deployed, name: str) -> str:
    return f"spiffe://{deployed.mesh.trust_domain}/ns/{workloads.NAMESPACE}/sa/{name}"


def served(deployed: Deployed, name: str, pod: PodModel, revision: str, cluster_id: str) -> None:
    """The proxy is this revision's and this cluster's: by its injection, its certificate, its connection, its node."""
    status = (pod.metadata.annotations or {})["sidecar.istio.io/status"]
    assert json.loads(status)["revision"] == revision
    process = deployed.program_of(pod, identity.AGENT)
    dump = json.loads(deployed.of_proxy(process, "/config_dump"))
    assert identity.seen_in(dump, spiffe(deployed, name), deployed.mesh.root_certificate) > 0
    (node,) = [one["bootstrap"]["node"] for one in dump["configs"] if one["@type"].endswith("BootstrapConfigDump")]
    told = [node["metadata"].get(name) for name in ("CLUSTER_ID", "NETWORK", "REQUESTED_NETWORK_VIEW")]
    assert told == [cluster_id, cluster_id, cluster_id]
    addresses = exposed(deployed)

    def connected() -> None:
        if not any((address, deployed.mesh.xds_port) in process.established() for address in addresses):
            raise NotObserved(f"{name} is not connected to {deployed.mesh.host} at {addresses}")

    eventually(connected, seconds=120)


def answers(deployed: Deployed, status: int) -> None:
    """A request from one workload to the other in this cluster, with the caller's identity if it arrives."""
    caller = deployed.program_of(workloads.ready_pod(deployed, workloads.CALLER), identity.AGENT)

    def look() -> None:
        headers = traffic.answered(deployed, caller, status)
        if status == OK:
            traffic.arrived_from(headers, spiffe(deployed, workloads.CALLER))

    eventually(look, seconds=120)


def uids(pods: Mapping[str, PodModel]) -> dict[str, str]:
    return {name: str(pod.metadata.uid) for name, pod in pods.items()}


def restarted(deployed: Deployed, name: str) -> dict[str, PodModel]:
    """The workloads' Pods once one's is made anew: whose its proxy is was decided when the old one was made."""
    old = workloads.ready_pod(deployed, name)
    deployed.data_plane.delete(Pod, old.metadata.name, namespace=workloads.NAMESPACE)
    return workloads.deploy(deployed)
