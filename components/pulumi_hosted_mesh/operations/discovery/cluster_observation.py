"""What discovery reads of a cluster: a table of lists, read-only, and of Secrets and Pods nothing but metadata."""

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
    "DaemonSet": ("/apis/apps/v1/daemonsets", False),
    "Service": ("/api/v1/services", False),
    # Mesh config and the values of an installation; every version of the charts labels them so.
    "ConfigMap": ("/api/v1/configmaps?labelSelector=istio.io/rev", False),
    "MutatingWebhookConfiguration": ("/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations", False),
    # Injection labels each Pod with a sidecar so.
    "Pod": ("/api/v1/pods?labelSelector=security.istio.io/tlsMode%3Distio", True),
    # Credentials by which an istiod reads another cluster; their annotation names it.
    "Secret": ("/api/v1/secrets?labelSelector=istio/multiCluster%3Dtrue", True),
    "ServiceEntry": (f"/apis/networking.istio.io/v1/serviceentries?labelSelector={FEDERATION_LABEL}", True),
}
"""Path of each list, and whether its metadata is enough."""

NO_NAMESPACE: Final = "what answers has no namespaces, so it is no API server. Correct the kubeconfig's server"


@dataclass(frozen=True)
class Observed:
    """One cluster as it was read.

    cluster: what the caller calls it. objects: by kind, as the API server stores them.
    unreadable: kinds that this credential may not list. unreachable: why there is nothing at all, else empty.
    """

    cluster: str
    objects: Mapping[str, list[Manifest]] = field(default_factory=dict)
    unreadable: tuple[str, ...] = ()
    unreachable: str = ""

    def of(self, kind: str) -> list[Manifest]:
        """The objects of a kind."""
        return self.objects.get(kind, [])


def observe(cluster: str, api: ApiServer) -> Observed:
    """Reads a cluster. A list that is refused is left out and named; an API server that is silent, or that does not
    know the credential, ends it, and so does one that refuses every list."""
    objects: dict[str, list[Manifest]] = {}
    unreadable: list[str] = []
    last = ""
    for kind, (path, metadata_only) in READ.items():
        try:
            objects[kind] = list(api.list(path, metadata_only=metadata_only))
        except UnreachableError as error:
            if not isinstance(error, RefusedError) or isinstance(error, UnauthorizedError):
                return Observed(cluster, {}, (), str(error))
            unreadable.append(kind)
            last = str(error)
        else:
            if kind == "Namespace" and not objects[kind]:
                return Observed(cluster, {}, (), NO_NAMESPACE)
    if not objects:
        return Observed(cluster, {}, (), last)
    return Observed(cluster, objects, tuple(unreadable))
