"""Ways to break istiod, identities, traffic and secrets of the real mesh; each puts back what it changed."""

from __future__ import annotations

import base64
import dataclasses
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager

from lightkube import ApiError
from lightkube.generic_resource import create_namespaced_resource
from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.core_v1 import ConfigMap, Pod, Secret

from sandbox.proof import istiod, workloads
from sandbox.proof.deployed import Deployed, NotObserved, eventually
from sandbox.proof.workloads import AuthorizationPolicy
from tests.support.authorities import Authority, pem
from tests.support.changing import created

PeerAuthentication = create_namespaced_resource("security.istio.io", "v1", "PeerAuthentication", "peerauthentications")
DestinationRule = create_namespaced_resource("networking.istio.io", "v1", "DestinationRule", "destinationrules")


def istiods_deployment(deployed: Deployed):
    found = deployed.control_plane.list(Deployment, namespace=deployed.mesh.namespace, labels={"app": "istiod"})
    return next(iter(found))


@contextmanager
def no_istiod(deployed: Deployed) -> Iterator[None]:
    """istiod's Deployment scaled to nothing."""
    pod = istiod.live_pod(deployed)
    deployment = istiods_deployment(deployed)
    name, replicas = deployment.metadata.name, deployment.spec.replicas

    def scale(count: int) -> None:
        deployed.control_plane.patch(Deployment, name, {"spec": {"replicas": count}}, namespace=deployed.mesh.namespace)

    def gone() -> None:
        try:
            deployed.control_plane.get(Pod, pod.metadata.name, namespace=deployed.mesh.namespace)
        except ApiError as error:
            assert error.status.code == 404
            return
        raise NotObserved("istiod's Pod is still there")

    scale(0)
    try:
        eventually(gone, seconds=120)
        yield
    finally:
        scale(replicas)
        eventually(lambda: istiod.live_pod(deployed), seconds=120)


@contextmanager
def foreign_root(deployed: Deployed) -> Iterator[Deployed]:
    """The workloads' certificates held against the root of another mesh."""
    root = pem(Authority("root").certificate).decode()
    yield dataclasses.replace(deployed, mesh=dataclasses.replace(deployed.mesh, root_certificate=root))


@contextmanager
def another_trust_domain(deployed: Deployed) -> Iterator[Deployed]:
    """The workloads' names held against those of another mesh."""
    yield dataclasses.replace(deployed, mesh=dataclasses.replace(deployed.mesh, trust_domain="other.local"))


@contextmanager
def permissive_plaintext(deployed: Deployed) -> Iterator[None]:
    """Plain text to a backend that takes it: every request answers 200, without an identity."""
    metadata = {"name": "permissive", "namespace": workloads.NAMESPACE}
    spec = {"selector": {"matchLabels": {"app": workloads.CALLED}}, "mtls": {"mode": "PERMISSIVE"}}
    permissive = PeerAuthentication.from_dict({"metadata": metadata, "spec": spec})
    with created(deployed.data_plane, permissive), plaintext(deployed):
        yield


def another_policy(deployed: Deployed) -> AbstractContextManager[None]:
    """A policy that lets nobody call the backend."""
    metadata = {"name": "nobody", "namespace": workloads.NAMESPACE}
    return created(deployed.data_plane, AuthorizationPolicy.from_dict({"metadata": metadata, "spec": {}}))


def plaintext(deployed: Deployed) -> AbstractContextManager[None]:
    """The caller told to speak plain text to the backend, whose side demands mutual TLS."""
    host = f"{workloads.CALLED}.{workloads.NAMESPACE}.svc.cluster.local"
    rule = {"host": host, "trafficPolicy": {"tls": {"mode": "DISABLE"}}}
    metadata = {"name": "plaintext", "namespace": workloads.NAMESPACE}
    return created(deployed.data_plane, DestinationRule.from_dict({"metadata": metadata, "spec": rule}))


def agent_in_the_users_cluster(deployed: Deployed) -> AbstractContextManager[None]:
    """A Pod of the control plane's, by a name and an image that tell nothing; it need not even get a node."""
    container = {"name": "agent", "image": "registry.test/agent:1"}
    metadata = {"name": "stray", "namespace": "kube-system", "labels": {"sidecar.istio.io/inject": "false"}}
    spec = {"nodeSelector": {"no": "such-node"}, "containers": [container]}
    return created(deployed.data_plane, Pod.from_dict({"metadata": metadata, "spec": spec}), grace_period=0)


@contextmanager
def leaked(disguises: Mapping[str, Callable[[bytes], bytes]], deployed: Deployed) -> Iterator[None]:
    """Secrets of the control plane, one for each disguise, each of which also stands so in a ConfigMap of the user's.

    The Secrets' names are `leak-DISGUISE-...`. They are this test's own: etcd keeps old revisions, so a leaked real key
    would stay found for good.
    """
    with ExitStack() as made:
        for name, disguise in disguises.items():
            secret, own = secrets.token_hex(24).encode(), secrets.token_hex(4)
            # The key's name says nothing of what is in it, nor does the ConfigMap's: only who is found is named.
            metadata = {"name": f"leak-{name}-{own}", "namespace": deployed.mesh.namespace}
            data = {"ca.crt": base64.b64encode(secret).decode()}
            kept = Secret.from_dict({"metadata": metadata, "data": data})
            made.enter_context(created(deployed.control_plane, kept))
            metadata = {"name": f"innocent-{own}", "namespace": "default"}
            stored = {"innocent": disguise(secret).decode()}
            leak = ConfigMap.from_dict({"metadata": metadata, "data": stored})
            made.enter_context(created(deployed.data_plane, leak))
        yield
