"""The proof on the real mesh: all ticks, and for each tick, breaking the thing that it claims takes the tick away."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest
from lightkube import ApiError
from lightkube.generic_resource import create_namespaced_resource
from lightkube.resources.admissionregistration_v1 import (
    MutatingWebhookConfiguration,
    ValidatingWebhookConfiguration,
)
from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.core_v1 import ConfigMap, Pod, Secret, Service
from lightkube.types import PatchType

from sandbox import proof, up
from sandbox.proof import istiod, workloads
from sandbox.proof.scene import NotObserved, Scene, eventually
from sandbox.proof.table import CHECKS, observe
from sandbox.proof.traffic import AuthorizationPolicy

CHECK = {check.name: check for check in CHECKS}
DestinationRule = create_namespaced_resource("networking.istio.io", "v1", "DestinationRule", "destinationrules")


@pytest.fixture(scope="module")
def scene(live_sandbox, tools) -> Scene:
    """With the sample workloads in it, so that each test can run alone."""
    made = Scene.of(live_sandbox, tools)
    workloads.deploy(made)
    return made


def test_every_claim_holds(live_sandbox, tools, progress):
    rows = proof.run(live_sandbox, tools, progress)
    assert [row.name for row in rows] == list(CHECK)
    assert {row.name: row.evidence for row in rows if not row.holds} == {}


def test_up_puts_back_what_somebody_deleted(live_sandbox, tools, progress, scene):
    """The engine takes the clusters to be as it left them; a proof that fails makes `up` look."""
    deployment = next(iter(scene.provider.list(Deployment, namespace=scene.mesh.namespace, labels={"app": "istiod"})))
    scene.provider.delete(Deployment, deployment.metadata.name, namespace=scene.mesh.namespace)
    changes = []

    def deploy(*, refresh):
        changes.append(up.deploy(live_sandbox, tools, progress, refresh=refresh))
        return changes[-1]

    (row,) = up.settled(deploy, lambda: proof.run(live_sandbox, tools, only=["istiod"]))
    assert row.holds, row.evidence
    assert [one.total for one in changes] == [0, 1]


@contextmanager
def no_istiod(scene: Scene) -> Iterator[None]:
    """istiod's Deployment scaled to nothing."""
    pod = istiod.live_pod(scene)
    deployment = next(iter(scene.provider.list(Deployment, namespace=scene.mesh.namespace, labels={"app": "istiod"})))
    name, replicas = deployment.metadata.name, deployment.spec.replicas

    def scale(count: int) -> None:
        scene.provider.patch(Deployment, name, {"spec": {"replicas": count}}, namespace=scene.mesh.namespace)

    def gone() -> None:
        try:
            scene.provider.get(Pod, pod.metadata.name, namespace=scene.mesh.namespace)
        except ApiError as error:
            assert error.status.code == 404
            return
        raise NotObserved("istiod's Pod is still there")

    scale(0)
    try:
        eventually(gone, seconds=60)
        yield
    finally:
        scale(replicas)
        eventually(lambda: istiod.live_pod(scene), seconds=60)


@contextmanager
def without_webhooks_of(kind, scene: Scene) -> Iterator[None]:
    """The user's cluster with every webhook configuration of one kind deleted."""
    saved = [one for one in scene.user.list(kind) if any(hook.name.endswith("istio.io") for hook in one.webhooks or [])]
    assert saved
    for one in saved:
        scene.user.delete(kind, one.metadata.name)
    try:
        yield
    finally:
        for one in saved:
            one.metadata.resourceVersion = one.metadata.uid = one.metadata.managedFields = None
            scene.user.create(one)


@contextmanager
def webhook_by_service(scene: Scene) -> Iterator[None]:
    """An injection webhook that refers to a Service in the user's cluster beside the ones by URL."""
    original = next(iter(scene.user.list(MutatingWebhookConfiguration)))
    changed = MutatingWebhookConfiguration.from_dict(original.to_dict())
    for hook in changed.webhooks:
        hook.clientConfig.url = None
        hook.clientConfig.service = {
            "name": "istiod",
            "namespace": scene.mesh.namespace,
            "path": "/inject",
            "port": 443,
        }
    scene.user.replace(changed)
    try:
        yield
    finally:
        current = scene.user.get(MutatingWebhookConfiguration, original.metadata.name)
        original.metadata.resourceVersion = current.metadata.resourceVersion
        scene.user.replace(original)


@contextmanager
def another_policy(scene: Scene) -> Iterator[None]:
    """A policy that lets nobody call the backend."""
    policy = AuthorizationPolicy.from_dict(
        {"metadata": {"name": "nobody", "namespace": workloads.NAMESPACE}, "spec": {}}
    )
    scene.user.apply(policy, force=True)
    try:
        yield
    finally:
        scene.user.delete(AuthorizationPolicy, "nobody", namespace=workloads.NAMESPACE)


@contextmanager
def plaintext(scene: Scene) -> Iterator[None]:
    """The caller told to speak plain text to the backend, whose side demands mutual TLS."""
    host = f"{workloads.CALLED}.{workloads.NAMESPACE}.svc.cluster.local"
    rule = {"host": host, "trafficPolicy": {"tls": {"mode": "DISABLE"}}}
    metadata = {"name": "plaintext", "namespace": workloads.NAMESPACE}
    scene.user.apply(DestinationRule.from_dict({"metadata": metadata, "spec": rule}), force=True)
    try:
        yield
    finally:
        scene.user.delete(DestinationRule, "plaintext", namespace=workloads.NAMESPACE)


@contextmanager
def monitoring_port_exposed(scene: Scene) -> Iterator[None]:
    """istiod's monitoring port added to the exposed ones."""
    services = scene.provider.list(Service, namespace=scene.mesh.namespace)
    exposed = next(service for service in services if service.spec.type == "LoadBalancer")
    kept = [port.to_dict() for port in exposed.spec.ports]
    more = [*kept, {"name": "http-monitoring", "port": 15014, "targetPort": 15014, "protocol": "TCP"}]

    def expose(ports: list[dict[str, object]]) -> None:
        # A merge patch replaces the list; a strategic one would add to it.
        change, kind = {"spec": {"ports": ports}}, PatchType.MERGE
        scene.provider.patch(Service, exposed.metadata.name, change, namespace=scene.mesh.namespace, patch_type=kind)

    expose(more)
    try:
        yield
    finally:
        expose(kept)


@contextmanager
def agent_in_the_users_cluster(scene: Scene) -> Iterator[None]:
    """A Pod of the provider's, by a name and an image that tell nothing; it need not even get a node."""
    container = {"name": "agent", "image": "registry.test/agent:1"}
    metadata = {"name": "stray", "namespace": "kube-system", "labels": {"sidecar.istio.io/inject": "false"}}
    spec = {"nodeSelector": {"no": "such-node"}, "containers": [container]}
    scene.user.create(Pod.from_dict({"metadata": metadata, "spec": spec}))
    try:
        yield
    finally:
        scene.user.delete(Pod, "stray", namespace="kube-system", grace_period=0)


@contextmanager
def leaked(value: Callable[[bytes], bytes], scene: Scene) -> Iterator[None]:
    """A secret of the control plane that also stands in a ConfigMap of the user's, in some disguise.

    A secret of this test's own: etcd keeps old revisions, so a leaked real key would stay found for good.
    """
    secret = secrets.token_hex(24).encode()
    metadata = {"name": f"leak-{secrets.token_hex(4)}", "namespace": scene.mesh.namespace}
    data = {"key": base64.b64encode(secret).decode()}
    scene.provider.create(Secret.from_dict({"metadata": metadata, "data": data}))
    user_metadata = {**metadata, "namespace": "default"}
    stored = {"innocent": value(secret).decode()}
    scene.user.create(ConfigMap.from_dict({"metadata": user_metadata, "data": stored}))
    try:
        yield
    finally:
        scene.user.delete(ConfigMap, metadata["name"], namespace="default")
        scene.provider.delete(Secret, metadata["name"], namespace=scene.mesh.namespace)


Break = Callable[[Scene], AbstractContextManager[None]]
BREAKS: list[tuple[str, str, Break, str]] = [
    ("istiod", "scaled to nothing", no_istiod, "no ready istiod Pod"),
    ("injection", "webhook deleted", lambda s: without_webhooks_of(MutatingWebhookConfiguration, s), "no webhook"),
    ("injection", "webhook by Service", webhook_by_service, "refers to a Service"),
    ("validation", "webhook deleted", lambda s: without_webhooks_of(ValidatingWebhookConfiguration, s), "no webhook"),
    ("identity", "istiod gone", no_istiod, "istiod"),
    ("traffic", "denied for good", another_policy, "answered 403"),
    ("traffic", "no mutual TLS", plaintext, "answered 503"),
    ("boundary", "one port too many", monitoring_port_exposed, "15014"),
    ("pods", "an agent in the user's cluster", agent_in_the_users_cluster, "kube-system/stray"),
    ("secrets", "leaked in plain", lambda s: leaked(lambda secret: secret, s), "leak-"),
    ("secrets", "leaked in base64", lambda s: leaked(lambda secret: base64.b64encode(b"x" + secret), s), "leak-"),
]


@pytest.mark.parametrize(("name", "breaks", "reason"), [pytest.param(n, b, r, id=f"{n}: {w}") for n, w, b, r in BREAKS])
def test_a_broken_claim_loses_its_tick(scene, name, breaks, reason):
    def holds() -> None:
        row = observe(CHECK[name], scene)
        if not row.holds:
            raise NotObserved(row.evidence)

    def fails() -> str:
        row = observe(CHECK[name], scene)
        if row.holds:
            raise NotObserved("the tick is still there")
        return row.evidence

    eventually(holds, seconds=60)
    with breaks(scene):
        assert reason in eventually(fails, seconds=60)
    eventually(holds, seconds=90)


def test_every_claim_has_a_test_that_breaks_it():
    assert {name for name, *_ in BREAKS} == set(CHECK)
