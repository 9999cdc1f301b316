"""The namespaces of a wave: a share of them, by a hash of their names. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from math import ceil

WHOLE = 100


@dataclass(frozen=True)
class MovingNamespace:
    """A namespace with injection by a mesh. label: the label that chooses its revision, `istio.io/rev=prod`.

    revision: its new Pods'. origin: the label before its move; None for one that was not moved.
    """

    name: str
    label: str
    revision: str
    origin: str | None = None


def place(namespace: str) -> str:
    """A namespace's place among all. It depends on its name alone, so it stays the same at each wave."""
    return hashlib.sha256(namespace.encode()).hexdigest()


def chosen(names: Collection[str], percent: int) -> list[str]:
    """The first namespaces by their places: of 100 percent all, of any other share at least one."""
    number = ceil(len(names) * percent / WHOLE)
    return sorted(names, key=place)[:number]


def wave(namespaces: Iterable[MovingNamespace], revision: str, percent: int) -> list[MovingNamespace]:
    """The namespaces that a wave moves to a revision. Those with it already count, and stay."""
    there: Mapping[str, MovingNamespace] = {one.name: one for one in namespaces}
    wanted = (there[name] for name in chosen(there, percent))
    return [one for one in wanted if one.revision != revision]
