"""Recognises istiod and its objects, in any program."""

from __future__ import annotations

import fnmatch
from typing import Any, Final

from . import vocabulary
from .model import Resource, Stack
from .tree import UNKNOWN, at, items

ISTIOS_LABELS: Final = frozenset({vocabulary.MESH_LABEL, vocabulary.REVISION_LABEL})
ISTIOS_PARTS: Final = frozenset({"istiod", "istio", "sidecar-injector", "istio-reader"})
"""Values of labels."""
ISTIOS_NAMES: Final = ("istio*", "*-istio-*", "hosted-mesh*")
WORKLOADS: Final = frozenset({"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Pod"})


def pod_of(resource: Resource) -> Any:
    """The Pod specification of a workload; None for other kinds."""
    if resource.kind not in WORKLOADS:
        return None
    return at(resource.body, "spec") if resource.kind == "Pod" else at(resource.body, "spec", "template", "spec")


def discovery_container(resource: Resource) -> Any:
    """istiod's container in a workload; None when the workload is not istiod."""
    for container in items(pod_of(resource), "containers"):
        image, name = at(container, "image", default=""), at(container, "name", default="")
        args = [arg for arg in items(container, "args") if isinstance(arg, str)]
        repository = image.rsplit("/", 1)[-1].split(":")[0].split("@")[0] if isinstance(image, str) else ""
        if repository == "pilot" or args[:1] == ["discovery"] or name == "discovery":
            return container
    return None


def environment(container: Any) -> dict[str, Any]:
    """A container's environment: value, or UNKNOWN; "" for a value from elsewhere."""
    return {
        name: at(entry, "value", default="")
        for entry in items(container, "env")
        if isinstance(name := at(entry, "name"), str)
    }


def is_external(resource: Resource, container: Any) -> bool:
    """True for an istiod that reads another cluster, by its settings or by a kubeconfig."""
    env = environment(container)
    if str(env.get("EXTERNAL_ISTIOD", "")).lower() == "true":
        return True
    mounts = [at(mount, "mountPath", default="") for mount in items(container, "volumeMounts")]
    return any(isinstance(path, str) and path.startswith("/var/run/secrets/remote") for path in mounts) or any(
        at(volume, "secret", "secretName") == vocabulary.KUBECONFIG_SECRET
        for volume in items(pod_of(resource), "volumes")
    )


def is_istios(stack: Stack, resource: Resource) -> bool:
    """True for an object of the hosted mesh, or of any Istio: by components, labels or the object's name."""
    types = stack.ancestor_types(resource)
    if any(kind in vocabulary.DATA_PLANE_TYPES | vocabulary.CONTROL_PLANE_TYPES for kind in types):
        return True
    labels = at(resource.body, "metadata", "labels", default={})
    if labels is UNKNOWN:
        return True
    if isinstance(labels, dict) and (
        not ISTIOS_LABELS.isdisjoint(labels) or any(isinstance(v, str) and v in ISTIOS_PARTS for v in labels.values())
    ):
        return True
    return any(fnmatch.fnmatchcase(resource.object_name, pattern) for pattern in ISTIOS_NAMES)
