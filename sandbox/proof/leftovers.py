"""Claim: nothing of the provider's runs in the user's cluster but sidecars and gateways."""

from __future__ import annotations

from lightkube.models.core_v1 import Pod as PodModel
from lightkube.resources.core_v1 import Pod

from sandbox.proof import workloads
from sandbox.proof.scene import NotObserved, Scene

CONTROL_PLANE_IMAGES = ("pilot", "install-cni", "operator", "external-dns", "olm")


def no_provider_pods(scene: Scene) -> str:
    """Lists every Pod of the user's cluster; the sample workloads must be among them, or the listing proves nothing."""
    pods = list(scene.user.list(Pod, namespace="*"))
    own = [pod for pod in pods if pod.metadata and pod.metadata.namespace == workloads.NAMESPACE]
    if not own:
        raise NotObserved("the sample workloads are not among the Pods listed")
    foreign = [
        f"{pod.metadata.namespace}/{pod.metadata.name}" for pod in pods if pod.metadata and provider_owned(scene, pod)
    ]
    if foreign:
        raise NotObserved(f"Pods of the provider's run there: {', '.join(foreign)}")
    return f"{len(pods)} Pods in all, {len(own)} of them the sample workloads', none the provider's"


def provider_owned(scene: Scene, pod: PodModel) -> bool:
    """A Pod in the mesh's own namespace that is no gateway, or one that runs a control-plane image."""
    assert pod.metadata is not None
    assert pod.spec is not None
    containers = [*pod.spec.containers, *(pod.spec.initContainers or [])]
    images = [str(container.image).rsplit("/", 1)[-1].split(":")[0] for container in containers]
    if any(image in CONTROL_PLANE_IMAGES for image in images):
        return True
    return pod.metadata.namespace == scene.mesh.namespace and not all(image == "proxyv2" for image in images)
