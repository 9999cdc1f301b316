"""Names of the custom resources and of the watcher's objects in a user's cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

GROUP: Final = "hosted-mesh.io"
VERSION: Final = "v1alpha1"


@dataclass(frozen=True)
class ResourceKind:
    """A kind of custom resource. short: its short name for kubectl."""

    kind: str
    plural: str
    short: str


HOSTED_MESH: Final = ResourceKind("HostedMesh", "hostedmeshes", "hmesh")
TRAFFIC_INTENTS: Final = ResourceKind("TrafficIntents", "trafficintents", "tintents")
RESOURCE_KINDS: Final = (HOSTED_MESH, TRAFFIC_INTENTS)
FINALIZER: Final = f"{GROUP}/controller"
"""Keeps a resource until its mesh or its objects are gone."""
WATCHER: Final = "hosted-mesh-watcher"
EVENTS_NAMESPACE: Final = "default"
"""Events of resources without a namespace are there."""
