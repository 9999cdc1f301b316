"""Which kinds the API server has, and where."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sandbox.plugins.kubernetes.objects import Gvk, defined_by, is_crd, text_in
from sandbox.plugins.kubernetes.scheme import is_built_in

if TYPE_CHECKING:
    from sandbox.plugins.kubernetes.api_server.client import Client

_AGGREGATED: Final = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
# fmt: off
_CLUSTER_WIDE: Final = frozenset({
    "APIService", "CertificateSigningRequest", "ClusterRole", "ClusterRoleBinding", "ClusterTrustBundle",
    "ComponentStatus", "CSIDriver", "CSINode", "CustomResourceDefinition", "DeviceClass", "DeviceTaintRule",
    "FlowSchema", "IPAddress", "IngressClass", "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding",
    "MutatingWebhookConfiguration", "Namespace", "Node", "PersistentVolume", "PodSecurityPolicy", "PriorityClass",
    "PriorityLevelConfiguration", "ResourceSlice", "RuntimeClass", "SelfSubjectAccessReview", "SelfSubjectReview",
    "SelfSubjectRulesReview", "ServiceCIDR", "StorageClass", "StorageVersion", "StorageVersionMigration",
    "SubjectAccessReview", "TokenReview", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding",
    "ValidatingWebhookConfiguration", "VolumeAttachment", "VolumeAttributesClass",
})
# fmt: on


class ClusterError(Exception):
    """The API server did not do what it was asked for."""


class NoSuchKind(ClusterError):
    """The API server does not have this kind, or not yet."""

    def __init__(self, gvk: Gvk) -> None:
        super().__init__(f'no matches for kind "{gvk.kind}" in version "{gvk.api_version}"')


class Resource(NamedTuple):
    """Where a kind is served. plural: as in the path."""

    gvk: Gvk
    plural: str
    namespaced: bool

    def path(self, namespace: str = "", name: str = "") -> str:
        """The path of the collection or of one object; a namespaced one without namespace is in `default`."""
        path = f"/apis/{self.gvk.api_version}" if self.gvk.group else f"/api/{self.gvk.version}"
        if self.namespaced:
            path += f"/namespaces/{namespace or 'default'}"
        return f"{path}/{self.plural}" + (f"/{name}" if name else "")


class Discovery:
    """The kinds of one API server, read once and again when a kind is missing. Safe for threads."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._lock = threading.Lock()
        self._resources: dict[Gvk, Resource] = {}
        self._custom: dict[tuple[str, str], bool] = {}

    def refresh(self) -> None:
        """Asks the server again. Raises ApiError, Unreachable."""
        found: dict[Gvk, Resource] = {}
        for path in ("/api", "/apis"):
            for group in self._client.request("GET", path, accept=_AGGREGATED).get("items", ()):
                found |= _resources_of(group)
        with self._lock:
            self._resources = found

    def find(self, gvk: Gvk) -> Resource:
        """Where the kind is served; asks the server again before it raises NoSuchKind."""
        if gvk not in self._resources:
            self.refresh()
        try:
            return self._resources[gvk]
        except KeyError:
            raise NoSuchKind(gvk) from None

    def has(self, gvk: Gvk) -> bool:
        """Whether the kind was there when the server was last asked."""
        return gvk in self._resources

    def kinds(self) -> list[Gvk]:
        """Every kind that was there when the server was last asked."""
        return sorted(self._resources)

    def server_version(self) -> str:
        """As in "v1.36.3". Raises ApiError, Unreachable."""
        return str(self._client.request("GET", "/version")["gitVersion"])

    def remember(self, crd: Mapping[str, Any]) -> None:
        """Notes a definition that the program is about to make, so that its kind's scope is known already."""
        with self._lock:
            self._custom[defined_by(crd)] = text_in(crd, "spec", "scope") == "Namespaced"

    def is_namespaced(self, gvk: Gvk, beside: Iterable[Mapping[str, Any]] = ()) -> bool | None:
        """Whether objects of the kind live in namespaces; None when nobody knows. beside: manifests to look in too."""
        built_in = built_in_scope(gvk)
        if built_in is not None:
            return built_in
        for obj in beside:
            if is_crd(obj) and defined_by(obj) == gvk[::2]:
                return text_in(obj, "spec", "scope") == "Namespaced"
        custom = self._custom.get(gvk[::2])
        if custom is not None:
            return custom
        resource = self._resources.get(gvk)
        return resource.namespaced if resource is not None else None


def _resources_of(group: Mapping[str, Any]) -> dict[Gvk, Resource]:
    found = {}
    name = text_in(group, "metadata", "name")
    for version in group.get("versions", ()):
        for resource in version.get("resources", ()):
            kind = resource.get("responseKind", {}).get("kind", "")
            gvk = Gvk(name, version["version"], kind)
            found[gvk] = Resource(gvk, resource["resource"], resource.get("scope") == "Namespaced")
    return found


def built_in_scope(gvk: Gvk) -> bool | None:
    """Whether a kind of Kubernetes itself lives in namespaces; None for other kinds: those the API server knows."""
    return gvk.kind not in _CLUSTER_WIDE if is_built_in(gvk.api_version, gvk.kind) else None
