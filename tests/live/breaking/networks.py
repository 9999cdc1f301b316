"""Ways to open the real mesh to more than it should be; each puts back what it changed."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager

from lightkube.resources.core_v1 import Service
from lightkube.resources.discovery_v1 import EndpointSlice
from lightkube.resources.networking_v1 import NetworkPolicy
from lightkube.types import PatchType

from sandbox.proof import istiod
from sandbox.proof.deployed import Deployed
from tests.live.breaking.mesh import changed


@contextmanager
def open_to_all(ranges: list[str] | None, deployed: Deployed) -> Iterator[None]:
    """The exposed Service with other source ranges."""
    services = deployed.control_plane.list(Service, namespace=deployed.mesh.namespace)
    exposed = next(service for service in services if service.spec.type == "LoadBalancer")
    change, back = (
        {"spec": {"loadBalancerSourceRanges": one}} for one in (ranges, exposed.spec.loadBalancerSourceRanges)
    )
    with changed(deployed.control_plane, Service, exposed.metadata.name, change, back, deployed.mesh.namespace):
        yield


@contextmanager
def ranges_that_do_nothing(deployed: Deployed) -> Iterator[Deployed]:
    """Ranges that read well and let everybody in: those of the object that is read are not those that are enforced."""
    services = deployed.control_plane.list(Service, namespace=deployed.mesh.namespace)
    exposed = next(service for service in services if service.spec.type == "LoadBalancer")
    right = exposed.spec.loadBalancerSourceRanges
    whole = ["0.0.0.0/1", "128.0.0.0/1"]

    class Reading:
        def __getattr__(self, name):
            return getattr(deployed.control_plane, name)

        def list(self, kind, **options):
            for one in deployed.control_plane.list(kind, **options):
                if kind is Service and one.spec.type == "LoadBalancer":
                    one.spec.loadBalancerSourceRanges = right
                yield one

    other = dataclasses.replace(deployed)
    other.__dict__["control_plane"] = Reading()
    with open_to_all(whole, deployed):
        yield other


@contextmanager
def no_network_policy(deployed: Deployed) -> Iterator[None]:
    """The mesh's namespace without its NetworkPolicies."""
    saved = list(deployed.control_plane.list(NetworkPolicy, namespace=deployed.mesh.namespace))
    assert saved
    for one in saved:
        deployed.control_plane.delete(NetworkPolicy, one.metadata.name, namespace=deployed.mesh.namespace)
    try:
        yield
    finally:
        for one in saved:
            one.metadata.resourceVersion = one.metadata.uid = one.metadata.managedFields = None
            deployed.control_plane.create(one)


@contextmanager
def node_port(deployed: Deployed) -> Iterator[None]:
    """A Service of another namespace that leads to istiod by a port of every node, past the source ranges."""
    pod = istiod.live_pod(deployed)
    metadata = {"name": "past-the-ranges", "namespace": "default"}
    port = {"name": "tls", "port": 15012, "protocol": "TCP"}
    labels = {"kubernetes.io/service-name": "past-the-ranges"}
    spec = {"type": "NodePort", "ports": [port]}
    deployed.control_plane.create(Service.from_dict({"metadata": metadata, "spec": spec}))
    try:
        slice_ = {"addressType": "IPv4", "endpoints": [{"addresses": [pod.status.podIP]}], "ports": [port]}
        deployed.control_plane.create(EndpointSlice.from_dict({"metadata": {**metadata, "labels": labels}, **slice_}))
        yield
    finally:
        deployed.control_plane.delete(Service, "past-the-ranges", namespace="default")


@contextmanager
def monitoring_port_exposed(deployed: Deployed) -> Iterator[None]:
    """istiod's monitoring port added to the exposed ones, and no NetworkPolicy, which would refuse it all the same."""
    services = deployed.control_plane.list(Service, namespace=deployed.mesh.namespace)
    exposed = next(service for service in services if service.spec.type == "LoadBalancer")
    kept = [port.to_dict() for port in exposed.spec.ports]
    more = [*kept, {"name": "http-monitoring", "port": 15014, "targetPort": 15014, "protocol": "TCP"}]

    def expose(ports: list[dict[str, object]]) -> None:
        # A merge patch replaces the list; a strategic one would add to it.
        change, kind = {"spec": {"ports": ports}}, PatchType.MERGE
        deployed.control_plane.patch(
            Service, exposed.metadata.name, change, namespace=deployed.mesh.namespace, patch_type=kind
        )

    with no_network_policy(deployed):
        expose(more)
        try:
            yield
        finally:
            expose(kept)
