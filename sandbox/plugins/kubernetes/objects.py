"""Reading Kubernetes objects that are plain dicts: identity, annotations, nested fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from sandbox.plugins.protocol.errors import ProviderError
from sandbox.plugins.protocol.naming import urn_type
from sandbox.plugins.protocol.values import UNKNOWN

Object = dict[str, Any]

AUTONAMED: Final = "pulumi.com/autonamed"
SKIP_AWAIT: Final = "pulumi.com/skipAwait"
WAIT_FOR: Final = "pulumi.com/waitFor"
TIMEOUT_SECONDS: Final = "pulumi.com/timeoutSeconds"
PATCH_FORCE: Final = "pulumi.com/patchForce"
REFUSED_ANNOTATIONS: Final = (
    "pulumi.com/deletionPropagationPolicy",
    "pulumi.com/patchFieldManager",
    "pulumi.com/replaceUnready",
)


class Gvk(NamedTuple):
    """Group ("" for the core group), version and kind."""

    group: str
    version: str
    kind: str

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def __str__(self) -> str:
        return f"{self.api_version}/{self.kind}"


def gvk_of(obj: Mapping[str, Any]) -> Gvk:
    """From apiVersion and kind; empty where they are missing."""
    group, _, version = str(obj.get("apiVersion", "")).rpartition("/")
    return Gvk("" if group == "core" else group, version, str(obj.get("kind", "")))


def gvk_of_urn(urn: str) -> Gvk:
    """From the type token, as in kubernetes:apps/v1:Deployment. Raises ProviderError for tokens that are no kind."""
    parts = urn_type(urn).split(":")
    group, slash, version = parts[1].partition("/") if len(parts) == 3 else ("", "", "")
    if not slash:
        raise ProviderError(f"{urn_type(urn)} does not name a Kubernetes kind (kubernetes:<group>/<version>:<Kind>)")
    return Gvk("" if group == "core" else group, version, parts[2])


def get(obj: Any, *path: str) -> Any:
    """The nested field, None when any step of the path is missing or no object."""
    for key in path:
        if not isinstance(obj, Mapping) or key not in obj:
            return None
        obj = obj[key]
    return obj


def set_in(obj: Object, value: Any, *path: str) -> None:
    """Sets the nested field and makes the objects on the way; does nothing where something on the way is unknown."""
    for key in path[:-1]:
        if obj.get(key) is None:
            obj[key] = {}
        obj = obj[key]
        if not isinstance(obj, dict):
            return
    obj[path[-1]] = value


def remove_in(obj: Any, *path: str) -> None:
    """Removes the nested field if it is there."""
    parent = get(obj, *path[:-1])
    if isinstance(parent, dict):
        parent.pop(path[-1], None)


def text_in(obj: Mapping[str, Any], *path: str) -> str:
    """The nested field if it is a text, else ""."""
    value = get(obj, *path)
    return value if isinstance(value, str) else ""


def name_of(obj: Mapping[str, Any]) -> str:
    return text_in(obj, "metadata", "name")


def namespace_of(obj: Mapping[str, Any]) -> str:
    return text_in(obj, "metadata", "namespace")


def annotation(obj: Mapping[str, Any], key: str) -> str:
    """The annotation's text, "" without it."""
    return text_in(obj, "metadata", "annotations", key)


def is_true(obj: Mapping[str, Any], key: str) -> bool:
    """Whether the annotation is exactly "true"."""
    return annotation(obj, key) == "true"


def has_name(obj: Mapping[str, Any]) -> bool:
    """Whether a name was given, known yet or not."""
    return name_of(obj) != "" or get(obj, "metadata", "name") is UNKNOWN


def qualified_name(obj: Mapping[str, Any]) -> str:
    """namespace/name, or the name of a cluster-wide object: the resource's id."""
    namespace = namespace_of(obj)
    return f"{namespace}/{name_of(obj)}" if namespace else name_of(obj)


def parse_qualified_name(identity: str) -> tuple[str, str]:
    """namespace/name -> (namespace, name); a bare name has the namespace ""."""
    namespace, slash, name = identity.partition("/")
    return (namespace, name.split("/")[0]) if slash else ("", identity)


def is_crd(obj: Mapping[str, Any]) -> bool:
    return gvk_of(obj).group == "apiextensions.k8s.io" and obj.get("kind") == "CustomResourceDefinition"


def defined_by(crd: Mapping[str, Any]) -> tuple[str, str]:
    """Group and kind of the objects of a definition."""
    return text_in(crd, "spec", "group"), text_in(crd, "spec", "names", "kind")


def is_secret(obj: Mapping[str, Any]) -> bool:
    return gvk_of(obj).group == "" and obj.get("kind") == "Secret"


def is_config_map(obj: Mapping[str, Any]) -> bool:
    return gvk_of(obj).group == "" and obj.get("kind") == "ConfigMap"
