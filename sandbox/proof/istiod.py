"""Claim: istiod is ready in the provider's cluster, started from the live Pod that the Deployment made."""

from __future__ import annotations

import base64

from lightkube.models.core_v1 import Container
from lightkube.models.core_v1 import Pod as PodModel
from lightkube.resources.apps_v1 import Deployment, ReplicaSet
from lightkube.resources.core_v1 import Pod, Secret

from sandbox.proof.processes import Process
from sandbox.proof.scene import NotObserved, Scene

PROGRAM = "pilot-discovery"
KUBERNETES_TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount"  # noqa: S105 (a path)


def live_pod(scene: Scene) -> PodModel:
    """istiod's ready Pod, which a ReplicaSet of its Deployment owns."""
    namespace = scene.mesh.namespace
    deployments = list(scene.provider.list(Deployment, namespace=namespace, labels={"app": "istiod"}))
    if not deployments:
        raise NotObserved(f"no Deployment with app=istiod in namespace {namespace} of the provider's cluster")
    owners = {deployment.metadata.uid for deployment in deployments if deployment.metadata}
    sets = {
        made.metadata.uid
        for made in scene.provider.list(ReplicaSet, namespace=namespace)
        if made.metadata and any(owner.uid in owners for owner in made.metadata.ownerReferences or [])
    }
    for pod in scene.provider.list(Pod, namespace=namespace, labels={"app": "istiod"}):
        assert pod.metadata is not None
        owned = any(owner.uid in sets for owner in pod.metadata.ownerReferences or [])
        conditions = (pod.status.conditions or []) if pod.status else []
        ready = any(condition.type == "Ready" and condition.status == "True" for condition in conditions)
        if owned and ready and pod.metadata.deletionTimestamp is None:
            return pod
    raise NotObserved(
        f"no ready istiod Pod in {namespace}: look at `kubectl --context provider -n {namespace} get pods`"
    )


def observe(scene: Scene) -> str:
    """Compares the running process with the Pod: arguments, environment, mounts, and a mounted Secret's bytes."""
    pod = live_pod(scene)
    assert pod.metadata is not None
    assert pod.spec is not None
    process = scene.program_of(pod, PROGRAM)
    container = next(one for one in pod.spec.containers if one.name == "discovery")
    different = differences(container, process)
    if different:
        raise NotObserved(f"the process differs from its Pod: {'; '.join(different)}")
    _same_cacerts(scene, process)
    return (
        f"Pod {pod.metadata.name} ready; process {process.pid} has its {len(container.args or [])} arguments, "
        f"{len(container.env or [])} variables and {len(container.volumeMounts or [])} mounts"
    )


def differences(container: Container, process: Process) -> list[str]:
    """What of the container's arguments, literal variables and mounts the process does not have."""
    found = []
    if list(process.argv[1:]) != list(container.args or []):
        found.append(f"arguments are {list(process.argv[1:])}")
    for variable in container.env or []:
        has = process.env.get(variable.name)
        if variable.valueFrom is None and "$(" not in (variable.value or "") and has != (variable.value or ""):
            found.append(f"variable {variable.name} is {'missing' if has is None else 'another'}")
        if variable.valueFrom is not None and has is None:
            found.append(f"variable {variable.name} is missing")
    mounted = {_real(path) for path in process.mount_points()}
    for mount in container.volumeMounts or []:
        if _real(mount.mountPath) not in mounted:
            found.append(f"nothing is mounted at {mount.mountPath}")
    return found


def _real(path: str) -> str:
    """/var/run is a link to /run on every current distribution; the kernel tells the target."""
    return path.replace("/var/run/", "/run/", 1) if path.startswith("/var/run/") else path


def _same_cacerts(scene: Scene, process: Process) -> None:
    secret = scene.provider.get(Secret, "cacerts", namespace=scene.mesh.namespace)
    stored = _decoded(secret.data or {})
    for name, content in stored.items():
        if process.file(f"/etc/cacerts/{name}") != content:
            raise NotObserved(f"the process does not see the live Secret cacerts: {name} differs")


def _decoded(data: dict[str, str]) -> dict[str, bytes]:
    return {name: base64.b64decode(value) for name, value in data.items()}
