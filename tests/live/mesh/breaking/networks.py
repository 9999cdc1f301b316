"""Ways to open the real mesh to more than it should be; each puts back what it changed."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from lightkube.resources.core_v1 import Service
from lightkube.resources.discovery_v1 import EndpointSlice
from lightkube.resources.networking_v1 import NetworkPolicy

from sandbox.proof import istiod
from sandbox.proof.deployed import Deployed
from tests.support.changing import changed, created, deleted


def exposed(deployed: Deployed) -> Any:
    """istiod's Service that data planes reach."""
    services = deployed.control_plane.list(Service, namespace=deployed.mesh.namespace)
    return next(service for service in services if service.spec.type == "LoadBalancer")


def open_to_all(ranges: list[str] | None, deployed: Deployed) -> AbstractContextManager[None]:
    """The exposed Service with other source ranges."""
    service = exposed(deployed)
    change, back = (
        {"spec": {"loadBalancerSourceRanges": one}} for one in (ranges, service.spec.loadBalancerSourceRanges)
    )
    return changed(deployed.control_plane, Service, service.metadata.name, change, back, deployed.mesh.namespace)


@contextmanager
def ranges_that_do_nothing(deployed: Deployed) -> Iterator[Deployed]:
    """Ranges that read well and let everybody in: those of the object that is read are not those that are enforced."""
    right = exposed(deployed).spec.loadBalancerSourceRanges
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


def no_network_policy(deployed: Deployed) -> AbstractContextManager[None]:
    """The mesh's namespace without its NetworkPolicies."""
    return deleted(
        deployed.control_plane, deployed.control_plane.list(NetworkPolicy, namespace=deployed.mesh.namespace)
    )


def node_port(deployed: Deployed) -> AbstractContextManager[None]:
    """A Service of another namespace that leads to istiod by a port of every node, past the source ranges."""
    pod = istiod.live_pod(deployed)
    metadata = {"name": "past-the-ranges", "namespace": "default"}
    port = {"name": "tls", "port": 15012, "protocol": "TCP"}
    labels = {"kubernetes.io/service-name": "past-the-ranges"}
    spec = {"type": "NodePort", "ports": [port]}
    service = Service.from_dict({"metadata": metadata, "spec": spec})
    slice_ = {"addressType": "IPv4", "endpoints": [{"addresses": [pod.status.podIP]}], "ports": [port]}
    endpoints = EndpointSlice.from_dict({"metadata": {**metadata, "labels": labels}, **slice_})
    return created(deployed.control_plane, service, endpoints)


@contextmanager
def monitoring_port_exposed(deployed: Deployed) -> Iterator[None]:
    """istiod's monitoring port added to the exposed ones, and no NetworkPolicy, which would refuse it all the same."""
    service = exposed(deployed)
    kept = [port.to_dict() for port in service.spec.ports]
    more = [*kept, {"name": "http-monitoring", "port": 15014, "targetPort": 15014, "protocol": "TCP"}]

    change, back = ({"spec": {"ports": ports}} for ports in (more, kept))
    name, namespace = service.metadata.name, deployed.mesh.namespace
    with no_network_policy(deployed), changed(deployed.control_plane, Service, name, change, back, namespace):
        yield
