"""Changes to a cluster's objects for the time of a block, put back at its end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from copy import deepcopy
from typing import Any

from lightkube import Client
from lightkube.types import PatchType


@contextmanager
def created(client: Client, *objects: Any, **how: Any) -> Iterator[None]:
    """Objects that are there and then not. how: they are deleted."""
    with ExitStack() as made:
        for one in objects:
            client.create(one)
            made.callback(client.delete, type(one), one.metadata.name, namespace=one.metadata.namespace, **how)
        yield


@contextmanager
def deleted(client: Client, objects: Iterable[Any]) -> Iterator[None]:
    """Objects that are not there, and then again, made anew. There is at least one."""
    saved = list(objects)
    assert saved
    for one in saved:
        client.delete(type(one), one.metadata.name, namespace=one.metadata.namespace)
    try:
        yield
    finally:
        for one in saved:
            one.metadata.resourceVersion = one.metadata.uid = one.metadata.managedFields = None
            client.create(one)


@contextmanager
def changed(
    client: Client, kind: Any, name: str, change: dict[str, Any], back: dict[str, Any], namespace: str | None = None
) -> Iterator[None]:
    """An object merged with a change, and with another one afterwards. A merge replaces a list."""

    def patch(what: dict[str, Any]) -> None:
        client.patch(kind, name, what, namespace=namespace, patch_type=PatchType.MERGE)

    patch(change)
    try:
        yield
    finally:
        patch(back)


@contextmanager
def replaced(client: Client, original: Any, change: Callable[[Any], object]) -> Iterator[None]:
    """An object of the whole cluster, as `change` makes it, and then as it was."""
    other = deepcopy(original)
    change(other)
    client.replace(other)
    try:
        yield
    finally:
        current = client.get(type(original), original.metadata.name)
        original.metadata.resourceVersion = current.metadata.resourceVersion
        client.replace(original)
