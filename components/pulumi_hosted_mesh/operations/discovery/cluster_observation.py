"""The lists that discovery reads in a cluster, read-only. It reads only the metadata of Secrets and Pods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pulumi_hosted_mesh.clusters.api_server import ApiServer, RefusedError, UnauthorizedError, UnreachableError
from pulumi_hosted_mesh.vocabulary import FEDERATION_LABEL

Manifest = Mapping[str, Any]

READ: Final[Mapping[str, tuple[str, bool]]] = {
    "Namespace": ("/api/v1/namespaces", False),
    "Deployment": ("/apis/apps/v1/deployments", False),
    "StatefulSet": ("/apis/apps/v1/statefulsets", False),
    "DaemonSet": ("/apis/apps/v1/daemonsets", False),
    "Service": ("/api/v1/services", False),
    # Mesh config and the values of an installation; every version of the charts sets this label.
    "ConfigMap": ("/api/v1/configmaps?labelSelector=istio.io/rev", False),
    "MutatingWebhookConfiguration": ("/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations", False),
    # Injection sets this label on each Pod with a sidecar.
    "Pod": ("/api/v1/pods?labelSelector=security.istio.io/tlsMode%3Distio", True),
    # Credentials of an istiod for other clusters; their annotation names the cluster.
    "Secret": ("/api/v1/secrets?labelSelector=istio/multiCluster%3Dtrue", True),
    "ServiceEntry": (f"/apis/networking.istio.io/v1/serviceentries?labelSelector={FEDERATION_LABEL}", True),
}
"""Path of each list, and True if its metadata is enough."""

NO_NAMESPACE: Final = "the server has no namespaces, so it is no API server. Correct the kubeconfig's server"


@dataclass(frozen=True)
class ClusterObservation:
    """Facts of one cluster.

    cluster: the caller's name of it. objects: by kind, as the API server stores them.
    unreadable: kinds that this credential may not list. unreachable: reason for missing facts; empty without one.
    """

    cluster: str
    objects: Mapping[str, list[Manifest]] = field(default_factory=dict)
    unreadable: tuple[str, ...] = ()
    unreachable: str = ""

    def of(self, kind: str) -> list[Manifest]:
        """The objects of a kind."""
        return self.objects.get(kind, [])


def observe(cluster: str, api: ApiServer) -> ClusterObservation:
    """Reads a cluster. Forbidden lists go to `unreadable`.

    The result is `unreachable` if the API server does not answer, rejects the credential, or forbids every list.
    """
    objects: dict[str, list[Manifest]] = {}
    unreadable: list[str] = []
    last = ""
    for kind, (path, metadata_only) in READ.items():
        try:
            objects[kind] = list(api.list(path, metadata_only=metadata_only))
        except UnreachableError as error:
            if not isinstance(error, RefusedError) or isinstance(error, UnauthorizedError):
                return ClusterObservation(cluster, {}, (), str(error))
            unreadable.append(kind)
            last = str(error)
        else:
            if kind == "Namespace" and not objects[kind]:
                return ClusterObservation(cluster, {}, (), NO_NAMESPACE)
    if not objects:
        return ClusterObservation(cluster, {}, (), last)
    return ClusterObservation(cluster, objects, tuple(unreadable))
