"""YAML manifests as Kubernetes objects, read as Kubernetes' own tools read them, and which needs which."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

import yaml

from sandbox.plugins.kubernetes.api_server.discovery import Discovery
from sandbox.plugins.kubernetes.objects import (
    Object,
    annotation,
    defined_by,
    gvk_of,
    is_crd,
    name_of,
    namespace_of,
    set_in,
)
from sandbox.plugins.protocol.errors import NotImplementedHere, ProviderError

_REFUSED_ANNOTATIONS: Final = ("config.kubernetes.io/depends-on", "config.kubernetes.io/apply-time-mutation")
_LONGEST: Final = 100  # characters of an object that an error message shows


class _Loader(yaml.CSafeLoader):
    """YAML 1.1 as Go's library understands it: no dates, no base-60 numbers, but 1e3 and 0o17 are numbers."""


def _resolvers() -> dict[str | None, list[tuple[str, re.Pattern[str]]]]:
    kept = ("tag:yaml.org,2002:bool", "tag:yaml.org,2002:null", "tag:yaml.org,2002:merge", "tag:yaml.org,2002:value")
    return {
        first: [(tag, pattern) for tag, pattern in pairs if tag in kept]
        for first, pairs in yaml.CSafeLoader.yaml_implicit_resolvers.items()
    }


_Loader.yaml_implicit_resolvers = _resolvers()
_INTEGER: Final = re.compile(r"^[-+]?(0b[01_]+|0o?[0-7_]+|0x[0-9a-fA-F_]+|0|[1-9][0-9_]*)$")
_FLOAT: Final = re.compile(r"^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$")
_Loader.add_implicit_resolver("tag:yaml.org,2002:int", _INTEGER, list("-+0123456789"))
_Loader.add_implicit_resolver("tag:yaml.org,2002:float", _FLOAT, list("-+.0123456789"))


def _integer(loader: Any, node: Any) -> int:
    text = loader.construct_scalar(node).replace("_", "")
    sign, digits = (-1, text[1:]) if text[0] == "-" else (1, text.lstrip("+"))
    if re.fullmatch(r"0[0-7]+", digits):
        return sign * int(digits, 8)
    return sign * int(digits, 0)


def _float(loader: Any, node: Any) -> float:
    return float(loader.construct_scalar(node))


_Loader.add_constructor("tag:yaml.org,2002:int", _integer)
_Loader.add_constructor("tag:yaml.org,2002:float", _float)


def parse(text: str) -> list[Object]:
    """The objects of a stream of YAML documents; empty documents are left out. Raises ProviderError."""
    try:
        # The loader is a SafeLoader: it makes plain values only.
        documents = list(yaml.load_all(text, Loader=_Loader))
    except yaml.YAMLError as error:
        raise ProviderError(f"decoding YAML: {error}") from None
    objects = [document for document in documents if document]
    for obj in objects:
        if not isinstance(obj, dict):
            raise ProviderError(f"decoding YAML: an object was expected, not {_shown(obj)}")
    return objects


def expanded(objects: Iterable[Object]) -> list[Object]:
    """The objects with the items of lists in place of the lists, all the way down."""
    result: list[Object] = []
    for obj in objects:
        items = obj.get("items")
        result += expanded(items) if isinstance(items, list) else [obj]
    return result


def placed(objects: Sequence[Object], namespace: str, discovery: Discovery) -> list[Object]:
    """The objects, lists expanded, with the namespace where a namespaced one has none. Raises ProviderError."""
    found = expanded(objects)
    for obj in found:
        gvk = gvk_of(obj)
        if not gvk.kind or not gvk.version:
            raise ProviderError(f"Kubernetes resources require a kind and apiVersion: `{_shown(obj)}`")
        if not name_of(obj):
            raise ProviderError(f"Kubernetes resources require a .metadata.name: `{_shown(obj)}`")
        obj["apiVersion"] = gvk.api_version
        if not namespace_of(obj) and discovery.is_namespaced(gvk, found):
            set_in(obj, namespace, "metadata", "namespace")
    return found


def dependencies(objects: Sequence[Object]) -> dict[int, set[int]]:
    """For each object the indexes of those it depends on: its definition, its namespace. Raises NotImplementedHere."""
    definitions = {defined_by(obj): index for index, obj in enumerate(objects) if is_crd(obj)}
    namespaces = {name_of(obj): index for index, obj in enumerate(objects) if gvk_of(obj)[::2] == ("", "Namespace")}
    found = {}
    for index, obj in enumerate(objects):
        for refused in _REFUSED_ANNOTATIONS:
            if annotation(obj, refused):
                raise NotImplementedHere(f"the annotation {refused}")
        needed = {definitions.get(gvk_of(obj)[::2]), namespaces.get(namespace_of(obj))}
        found[index] = {one for one in needed if one is not None and one != index}
    return found


def _shown(obj: Any) -> str:
    text = json.dumps(obj, default=str)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
