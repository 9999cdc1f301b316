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
from sandbox.proof.scene import Scene
from tests.live.breaking.mesh import changed


@contextmanager
def open_to_all(ranges: list[str] | None, scene: Scene) -> Iterator[None]:
    """The exposed Service with other source ranges."""
    services = scene.control_plane.list(Service, namespace=scene.mesh.namespace)
    exposed = next(service for service in services if service.spec.type == "LoadBalancer")
    change, back = (
        {"spec": {"loadBalancerSourceRanges": one}} for one in (ranges, exposed.spec.loadBalancerSourceRanges)
    )
    with changed(scene.control_plane, Service, exposed.metadata.name, change, back, scene.mesh.namespace):
        yield


@contextmanager
def ranges_that_do_nothing(scene: Scene) -> Iterator[Scene]:
    """Ranges that read well and let everybody in: those of the object that is read are not those that are enforced."""
    services = scene.control_plane.list(Service, namespace=scene.mesh.namespace)
    exposed = next(service for service in services if service.spec.type == "LoadBalancer")
    right = exposed.spec.loadBalancerSourceRanges
    whole = ["0.0.0.0/1", "128.0.0.0/1"]

    class Reading:
        def __getattr__(self, name):
            return getattr(scene.control_plane, name)

        def list(self, kind, **options):
            for one in scene.control_plane.list(kind, **options):
                if kind is Service and one.spec.type == "LoadBalancer":
                    one.spec.loadBalancerSourceRanges = right
                yield one

    other = dataclasses.replace(scene)
    other.__dict__["control_plane"] = Reading()
    with open_to_all(whole, scene):
        yield other


@contextmanager
def no_network_policy(scene: Scene) -> Iterator[None]:
    """The mesh's namespace without its NetworkPolicies."""
    saved = list(scene.control_plane.list(NetworkPolicy, namespace=scene.mesh.namespace))
    assert saved
    for one in saved:
        scene.control_plane.delete(NetworkPolicy, one.metadata.name, namespace=scene.mesh.namespace)
    try:
        yield
    finally:
        for one in saved:
            one.metadata.resourceVersion = one.metadata.uid = one.metadata.managedFields = None
            scene.control_plane.create(one)


@contextmanager
def node_port(scene: Scene) -> Iterator[None]:
    """A Service of another namespace that leads to istiod by a port of every node, past the source ranges."""
    pod = istiod.live_pod(scene)
    metadata = {"name": "past-the-ranges", "namespace": "default"}
    port = {"name": "tls", "port": 15012, "protocol": "TCP"}
    labels = {"kubernetes.io/service-name": "past-the-ranges"}
    scene.control_plane.create(Service.from_dict({"metadata": metadata, "spec": {"type": "NodePort", "ports": [port]}}))
    try:
        slice_ = {"addressType": "IPv4", "endpoints": [{"addresses": [pod.status.podIP]}], "ports": [port]}
        scene.control_plane.create(EndpointSlice.from_dict({"metadata": {**metadata, "labels": labels}, **slice_}))
        yield
    finally:
        scene.control_plane.delete(Service, "past-the-ranges", namespace="default")


@contextmanager
def monitoring_port_exposed(scene: Scene) -> Iterator[None]:
    """istiod's monitoring port added to the exposed ones, and no NetworkPolicy, which would refuse it all the same."""
    services = scene.control_plane.list(Service, namespace=scene.mesh.namespace)
    exposed = next(service for service in services if service.spec.type == "LoadBalancer")
    kept = [port.to_dict() for port in exposed.spec.ports]
    more = [*kept, {"name": "http-monitoring", "port": 15014, "targetPort": 15014, "protocol": "TCP"}]

    def expose(ports: list[dict[str, object]]) -> None:
        # A merge patch replaces the list; a strategic one would add to it.
        change, kind = {"spec": {"ports": ports}}, PatchType.MERGE
        scene.control_plane.patch(
            Service, exposed.metadata.name, change, namespace=scene.mesh.namespace, patch_type=kind
        )

    with no_network_policy(scene):
        expose(more)
        try:
            yield
        finally:
            expose(kept)
