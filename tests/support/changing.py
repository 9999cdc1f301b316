"""Changes to a cluster's objects for the time of a block, reverted at its end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from copy import deepcopy
from typing import Any

from lightkube import Client
from lightkube.types import PatchType


@contextmanager
def created(client: Client, *objects: Any, **how: Any) -> Iterator[None]:
    """Objects for the time of a block. how: options of their deletion."""
    with ExitStack() as made:
        for one in objects:
            client.create(one)
            made.callback(client.delete, type(one), one.metadata.name, namespace=one.metadata.namespace, **how)
        yield


@contextmanager
def deleted(client: Client, objects: Iterable[Any]) -> Iterator[None]:
    """Deletes objects for the time of a block and creates them again. There is at least one."""
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
    """An object of the whole cluster, changed by `change`, and reverted at the end."""
    other = deepcopy(original)
    change(other)
    client.replace(other)
    try:
        yield
    finally:
        current = client.get(type(original), original.metadata.name)
        original.metadata.resourceVersion = current.metadata.resourceVersion
        client.replace(original)
