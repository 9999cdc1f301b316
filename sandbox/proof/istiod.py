"""Claim: istiod is ready in the control plane's cluster, started from the live Pod of the Deployment."""

from __future__ import annotations

import base64
from collections.abc import Mapping

from lightkube import ApiError
from lightkube.models.core_v1 import Container
from lightkube.models.core_v1 import Pod as PodModel
from lightkube.resources.apps_v1 import Deployment, ReplicaSet
from lightkube.resources.core_v1 import ConfigMap, Pod, Secret

from sandbox.proof import workloads
from sandbox.proof.deployed import Deployed, NotObserved
from sandbox.proof.leftovers import not_owned
from sandbox.proof.pod_values import Data, expanded, values
from sandbox.proof.processes import Process

PROGRAM = "pilot-discovery"
IMAGE = "pilot"  # Istio's name of that program's image
CONTAINER = "discovery"
KUBERNETES_TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount"  # noqa: S105 (a path)


def live_pod(deployed: Deployed) -> PodModel:
    """istiod's ready Pod, which a ReplicaSet of its Deployment owns."""
    namespace = deployed.mesh.namespace
    deployments = list(deployed.control_plane.list(Deployment, namespace=namespace, labels={"app": "istiod"}))
    if not deployments:
        raise NotObserved(f"no Deployment with app=istiod in namespace {namespace} of the control plane's cluster")
    sets = deployed.control_plane.list(ReplicaSet, namespace=namespace)
    pods = list(deployed.control_plane.list(Pod, namespace=namespace, labels={"app": "istiod"}))
    names = {(namespace, str(one.metadata.name)) for one in deployments if one.metadata}
    strangers = not_owned(pods, sets, deployments, names)
    for pod in pods:
        assert pod.metadata is not None
        if pod not in strangers and workloads.is_ready(pod) and pod.metadata.deletionTimestamp is None:
            return pod
    look = f"kubectl --context {deployed.sandbox.control_plane.name} -n {namespace} get pods"
    raise NotObserved(f"no ready istiod Pod in {namespace}: look at `{look}`")


def log(deployed: Deployed, *, lines: int = 500) -> str:
    """The latest log lines of each Pod of istiod."""
    pods = deployed.control_plane.list(Pod, namespace=deployed.mesh.namespace, labels={"app": "istiod"})
    found: list[str] = []
    for pod in pods:
        assert pod.metadata is not None
        name, container = str(pod.metadata.name), CONTAINER
        namespace = deployed.mesh.namespace
        found += deployed.control_plane.log(name, namespace=namespace, container=container, tail_lines=lines)
    return "\n".join(line.rstrip("\n") for line in found)


def observe(deployed: Deployed) -> str:
    """Compares the running process with the Pod: program, arguments, environment, mounts, a mounted Secret's bytes."""
    pod = live_pod(deployed)
    assert pod.metadata is not None
    assert pod.spec is not None
    process = deployed.program_of(pod, PROGRAM)
    container = next(one for one in pod.spec.containers if one.name == CONTAINER)
    if image_name(container.image or "") != IMAGE:
        raise NotObserved(f"the Pod's image is {container.image}, which is not Istio's {IMAGE}")
    if not deployed.is_program(process, PROGRAM):
        raise NotObserved(f"process {process.pid} does not run the program {PROGRAM}, under any name")
    different = differences(container, process, resolved(deployed, pod, container))
    if different:
        raise NotObserved(f"the process differs from its Pod: {'; '.join(different)}")
    _same_cacerts(deployed, process)
    return (
        f"Pod {pod.metadata.name} ready; process {process.pid} runs {PROGRAM} with its {len(container.args or [])} "
        f"arguments, {len(container.env or [])} variables and {len(container.volumeMounts or [])} mounts"
    )


def image_name(reference: str) -> str:
    """The last part of an image reference, without tag and digest."""
    return reference.partition("@")[0].rpartition("/")[2].partition(":")[0]


def resolved(deployed: Deployed, pod: PodModel, container: Container) -> dict[str, str]:
    """The required value of each variable of the container, by the running Pod."""
    objects = {
        "configMapKeyRef": lambda name: _data(deployed, ConfigMap, name),
        "secretKeyRef": lambda name: _data(deployed, Secret, name),
    }
    return values(pod, container, objects)


def differences(container: Container, process: Process, variables: Mapping[str, str]) -> list[str]:
    """The container's arguments, variables and mounts that the process lacks. variables: resolved."""
    found = []
    arguments = [expanded(one, variables) for one in container.args or []]
    if list(process.argv[1:]) != arguments:
        found.append(f"arguments are {list(process.argv[1:])}")
    for name, value in variables.items():
        if (has := process.env.get(name)) != value:
            found.append(f"variable {name} is {'missing' if has is None else 'another'}")
    mounted = {_real(path) for path in process.mount_points()}
    for mount in container.volumeMounts or []:
        if _real(mount.mountPath) not in mounted:
            found.append(f"nothing is mounted at {mount.mountPath}")
    return found


def _data(deployed: Deployed, kind: type[ConfigMap] | type[Secret], name: str) -> Data:
    """Nothing for an object that is not there."""
    try:
        held = deployed.control_plane.get(kind, name, namespace=deployed.mesh.namespace)
    except ApiError as error:
        if error.status.code == 404:
            return {}
        raise
    if isinstance(held, Secret):
        return {key: value.decode(errors="replace") for key, value in _decoded(held.data or {}).items()}
    return held.data or {}


def _real(path: str) -> str:
    """/var/run is a link to /run on every current distribution; the kernel reports the link's target."""
    return path.replace("/var/run/", "/run/", 1) if path.startswith("/var/run/") else path


def _same_cacerts(deployed: Deployed, process: Process) -> None:
    secret = deployed.control_plane.get(Secret, "cacerts", namespace=deployed.mesh.namespace)
    stored = _decoded(secret.data or {})
    for name, content in stored.items():
        if process.file(f"/etc/cacerts/{name}") != content:
            raise NotObserved(f"the process does not see the live Secret cacerts: {name} differs")


def _decoded(data: dict[str, str]) -> dict[str, bytes]:
    return {name: base64.b64decode(value) for name, value in data.items()}
