"""Ways to take istiod's name out of the DNS of the real mesh; each puts back what it changed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.core_v1 import Service

from sandbox import name_server
from sandbox.proof.names import NAMESPACE, DNSEndpoint
from sandbox.proof.scene import NotObserved, Scene, eventually
from tests.live.breaking.mesh import changed, no_istiod

HOSTNAME = "external-dns.alpha.kubernetes.io/hostname"


@contextmanager
def record_deleted(scene: Scene) -> Iterator[None]:
    """The bridge's own record of istiod's host, deleted: the bridge takes it out of the DNS."""
    saved = scene.control_plane.get(DNSEndpoint, scene.mesh.host, namespace=NAMESPACE)
    scene.control_plane.delete(DNSEndpoint, scene.mesh.host, namespace=NAMESPACE)
    try:
        yield
    finally:
        kept = saved.metadata
        assert kept is not None
        metadata = ObjectMeta(
            name=scene.mesh.host, namespace=NAMESPACE, labels=kept.labels, annotations=kept.annotations
        )
        scene.control_plane.create(DNSEndpoint(metadata=metadata, spec=saved["spec"]))


@contextmanager
def record_deleted_and_istiod_new(scene: Scene) -> Iterator[None]:
    """The same, and istiod's Pod is another one: the API server has no connection left, and has to find it by name."""
    with record_deleted(scene):
        eventually(lambda: unanswered(scene), seconds=60)
        with no_istiod(scene):
            pass
        yield


def unanswered(scene: Scene) -> None:
    """Raises NotObserved while istiod's host is answered in the data plane's network."""
    if name_server.addresses(scene.sandbox, scene.sandbox.data_plane.name, scene.mesh.host):
        raise NotObserved(f"{scene.mesh.host} is still answered")


@contextmanager
def bridge_stopped(scene: Scene) -> Iterator[None]:
    """The bridge's publisher scaled to nothing: the record stays, and nobody would change it."""
    (publisher,) = scene.control_plane.list(Deployment, namespace=NAMESPACE)
    count = publisher.spec.replicas

    def scale(replicas: int) -> None:
        change = {"spec": {"replicas": replicas}}
        scene.control_plane.patch(Deployment, publisher.metadata.name, change, namespace=NAMESPACE)

    scale(0)
    try:
        yield
    finally:
        scale(count)


@contextmanager
def published_by_the_sandbox(scene: Scene) -> Iterator[None]:
    """istiod's Service with the annotation by which the sandbox itself publishes names."""
    services = scene.control_plane.list(Service, namespace=scene.mesh.namespace)
    exposed = next(service for service in services if service.spec.type == "LoadBalancer")
    change, back = ({"metadata": {"annotations": {HOSTNAME: value}}} for value in (scene.mesh.host, None))
    with changed(scene.control_plane, Service, exposed.metadata.name, change, back, scene.mesh.namespace):
        yield
