"""Claim: of the control plane only sidecars and gateways run in the data plane."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from lightkube.models.apps_v1 import Deployment as DeploymentModel
from lightkube.models.apps_v1 import ReplicaSet as ReplicaSetModel
from lightkube.models.core_v1 import Pod as PodModel
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.apps_v1 import Deployment, ReplicaSet
from lightkube.resources.core_v1 import Pod

from sandbox.proof import workloads
from sandbox.proof.deployed import Deployed, NotObserved

Name = tuple[str, str]
"""Of a Deployment: its namespace and its name."""
SAMPLES: frozenset[Name] = frozenset((workloads.NAMESPACE, name) for name in (workloads.CALLER, workloads.CALLED))


def none_of_the_control_planes(deployed: Deployed) -> str:
    """Lists every Pod of the data plane; the sample workloads must be among them, or the listing proves nothing.

    This cluster has no other users. So all Pods besides the samples and the document's gateways come from the control
    plane's side, regardless of image, labels and namespace.
    """
    # Pods first: owners made in between are then in the second list.
    pods = list(deployed.data_plane.list(Pod, namespace="*"))
    sets = list(deployed.data_plane.list(ReplicaSet, namespace="*"))
    deployments = list(deployed.data_plane.list(Deployment, namespace="*"))
    stray = not_owned(pods, sets, deployments, SAMPLES | frozenset(deployed.gateways()))
    if stray:
        named = ", ".join(described(pod) for pod in stray)
        raise NotObserved(f"made neither by a sample workload nor by a gateway of the document: {named}")
    own = len(pods) - len(not_owned(pods, sets, deployments, SAMPLES))
    if not own:
        raise NotObserved("the sample workloads are not among the Pods listed")
    return f"{len(pods)} Pods in all, {own} of them the sample workloads', none the control plane's"


def not_owned(
    pods: Iterable[PodModel],
    sets: Iterable[ReplicaSetModel],
    deployments: Iterable[DeploymentModel],
    allowed: Collection[Name],
) -> list[PodModel]:
    """The Pods that no Deployment in `allowed` made, by the chain of controllers that the API server keeps."""
    made_by = {
        metadata.uid for metadata in map(_metadata, deployments) if (metadata.namespace, metadata.name) in allowed
    }
    made_by = {metadata.uid for metadata in map(_metadata, sets) if _controller(metadata) in made_by}
    return [pod for pod in pods if _controller(_metadata(pod)) not in made_by]


def described(pod: PodModel) -> str:
    """Namespace, name and images of a Pod."""
    assert pod.spec is not None
    metadata = _metadata(pod)
    images = [str(container.image) for container in [*(pod.spec.initContainers or []), *pod.spec.containers]]
    return f"Pod {metadata.namespace}/{metadata.name} ({', '.join(images)})"


def _controller(metadata: ObjectMeta) -> str | None:
    """The UID of the one owner that manages the object."""
    return next((owner.uid for owner in metadata.ownerReferences or [] if owner.controller), None)


def _metadata(model: PodModel | ReplicaSetModel | DeploymentModel) -> ObjectMeta:
    assert model.metadata is not None
    return model.metadata
