"""Which manifest has to exist before which: namespaces, definitions, and what an annotation names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sandbox.plugins.kubernetes.manifests import label_of
from sandbox.plugins.kubernetes.objects import Object, annotation, gvk_of, is_crd, name_of, namespace_of, text_in
from sandbox.plugins.protocol.errors import NotImplementedHere, ProviderError

_DEPENDS_ON: Final = "config.kubernetes.io/depends-on"
_MUTATION: Final = "config.kubernetes.io/apply-time-mutation"


def dependencies(objects: Sequence[Object]) -> list[list[int]]:
    """For each object the indexes of those it depends on. Raises ProviderError for a reference that leads nowhere."""
    by_label = {label_of(obj): index for index, obj in enumerate(objects)}
    definitions = {
        (text_in(obj, "spec", "group"), text_in(obj, "spec", "names", "kind")): index
        for index, obj in enumerate(objects)
        if is_crd(obj)
    }
    namespaces = {name_of(obj): index for index, obj in enumerate(objects) if gvk_of(obj)[::2] == ("", "Namespace")}
    found = []
    for index, obj in enumerate(objects):
        if annotation(obj, _MUTATION):
            raise NotImplementedHere(f"the annotation {_MUTATION}")
        gvk = gvk_of(obj)
        wanted = {definitions.get((gvk.group, gvk.kind)), namespaces.get(namespace_of(obj))}
        wanted |= {_referenced(text, by_label) for text in _references(obj)}
        found.append(sorted(one for one in wanted if one is not None and one != index))
    return found


def _references(obj: Object) -> list[str]:
    return [part.strip() for part in annotation(obj, _DEPENDS_ON).split(",") if part.strip()]


def _referenced(text: str, by_label: dict[tuple[str, str, str, str], int]) -> int:
    parts = text.split("/")
    if len(parts) == 5 and parts[1] == "namespaces":
        label = (parts[0], parts[3], parts[2], parts[4])
    elif len(parts) == 3:
        label = (parts[0], parts[1], "", parts[2])
    else:
        raise ProviderError(f"{_DEPENDS_ON}: {text!r} is no reference to an object")
    if label not in by_label:
        raise ProviderError(f"{_DEPENDS_ON}: {text!r} is not among the objects")
    return by_label[label]


def in_order(edges: Sequence[Sequence[int]]) -> list[int]:
    """The indexes such that each comes after those that it depends on. Raises ProviderError when they go in circles."""
    order: list[int] = []
    placed: set[int] = set()
    left = list(range(len(edges)))
    while left:
        free = [index for index in left if all(edge in placed for edge in edges[index])]
        if not free:
            raise ProviderError("the objects depend on each other in a circle")
        order += free
        placed |= set(free)
        left = [index for index in left if index not in placed]
    return order
