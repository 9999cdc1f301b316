"""Ways to take istiod's name out of the DNS of the real mesh; each puts back what it changed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.core_v1 import Service

from sandbox.clusters.network.addresses import WAN_DNS
from sandbox.proof.deployed import Deployed, NotObserved, eventually
from sandbox.proof.names import NAMESPACE, DNSEndpoint
from tests.live.mesh.breaking.mesh import no_istiod
from tests.live.mesh.breaking.networks import exposed
from tests.support.changing import changed

HOSTNAME = "external-dns.alpha.kubernetes.io/hostname"


@contextmanager
def record_deleted(deployed: Deployed) -> Iterator[None]:
    """The bridge's own record of istiod's host, deleted: the bridge takes it out of the DNS."""
    saved = deployed.control_plane.get(DNSEndpoint, deployed.mesh.host, namespace=NAMESPACE)
    deployed.control_plane.delete(DNSEndpoint, deployed.mesh.host, namespace=NAMESPACE)
    try:
        yield
    finally:
        kept = saved.metadata
        assert kept is not None
        metadata = ObjectMeta(
            name=deployed.mesh.host, namespace=NAMESPACE, labels=kept.labels, annotations=kept.annotations
        )
        deployed.control_plane.create(DNSEndpoint(metadata=metadata, spec=saved["spec"]))


@contextmanager
def record_deleted_and_istiod_new(deployed: Deployed) -> Iterator[None]:
    """The same, and istiod's Pod is another one: the API server has no connection left, and has to find it by name."""
    with record_deleted(deployed):
        eventually(lambda: unanswered(deployed), seconds=120)
        with no_istiod(deployed):
            pass
        yield


def unanswered(deployed: Deployed) -> None:
    """Raises NotObserved until the answer in the data plane's network is that istiod's host has no address."""
    network, host = deployed.sandbox.data_plane.name, deployed.mesh.host
    (found,) = deployed.in_network(network, "ask_addresses.py", WAN_DNS, host)
    if found:
        raise NotObserved(f"{host} is still {', '.join(found)}")


def bridge_stopped(deployed: Deployed) -> AbstractContextManager[None]:
    """The bridge's publisher scaled to nothing: the record stays, and nobody would change it."""
    (publisher,) = deployed.control_plane.list(Deployment, namespace=NAMESPACE)
    change, back = ({"spec": {"replicas": count}} for count in (0, publisher.spec.replicas))
    return changed(deployed.control_plane, Deployment, publisher.metadata.name, change, back, NAMESPACE)


def published_by_the_sandbox(deployed: Deployed) -> AbstractContextManager[None]:
    """istiod's Service with the annotation by which the sandbox itself publishes names."""
    change, back = ({"metadata": {"annotations": {HOSTNAME: value}}} for value in (deployed.mesh.host, None))
    name = exposed(deployed).metadata.name
    return changed(deployed.control_plane, Service, name, change, back, deployed.mesh.namespace)
