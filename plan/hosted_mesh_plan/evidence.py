"""What a preview shows for the update that follows (made by `pack.preview_evidence`)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field
from typing import NamedTuple

from .carriers import ProviderConfig
from .model import Resource
from .tree import UNKNOWN, Leaf, is_covered, leaves, show


class Shown(NamedTuple):
    """What a preview showed of one object: a salted hash of the values that it knew and that nobody marked, and the
    paths of those that it did not know."""

    digest: str
    unknown: tuple[str, ...]


@dataclass(frozen=True)
class Evidence:
    """`paths`: per URN, the properties whose secrets are not the control plane's. `data_planes`: URNs all of whose
    secrets come from the data plane's own sources. `foreign`: per URN of the control plane, the properties that hold
    only the data plane's. `shown`: what is given away, as the preview showed it. `awaited`: per URN, the properties
    that wait for the public half of a key of the control plane's, and must be public by their form. `authorities`: URNs
    of the Secrets with an authority that was made for their data plane alone. `opens_own`: per URN, the properties
    whose credentials open what is the data plane's own, by their section of the configuration or by what they are made
    of. `at_home`: configurations by which operators of the control plane's write to the cluster that they are in."""

    paths: Mapping[str, frozenset[str]] = field(default_factory=dict)
    data_planes: frozenset[str] = frozenset()
    foreign: Mapping[str, frozenset[str]] = field(default_factory=dict)
    shown: Mapping[str, Shown] = field(default_factory=dict)
    awaited: Mapping[str, frozenset[str]] = field(default_factory=dict)
    authorities: frozenset[str] = frozenset()
    opens_own: Mapping[str, frozenset[str]] = field(default_factory=dict)
    at_home: frozenset[ProviderConfig] = frozenset()
    salt: str = ""

    def show(self, resource: Resource) -> Shown:
        """What there is to be shown of an object."""
        unknown = tuple(show(leaf.path) for leaf in leaves(resource.asked) if leaf.value is UNKNOWN)
        return Shown(self._digest(resource, unknown), unknown)

    def news(self, resource: Resource) -> list[Leaf]:
        """The values that the preview did not show, although they are neither marked nor were unknown then: all of an
        object that it never showed, or that it showed otherwise."""
        shown = self.shown.get(resource.urn)
        if shown is not None and shown.digest == self._digest(resource, shown.unknown):
            return []
        return list(_plain(resource, frozenset(shown.unknown if shown else ())))

    def _digest(self, resource: Resource, unknown: tuple[str, ...]) -> str:
        found = hashlib.sha256(self.salt.encode())
        for leaf in sorted(f"{leaf.path}\0{leaf.value!r}\0" for leaf in _plain(resource, frozenset(unknown))):
            found.update(leaf.encode("utf-8", "surrogatepass"))
        return found.hexdigest()[:32]


def _plain(resource: Resource, unknown: Set[str]) -> Iterator[Leaf]:
    for leaf in leaves(resource.asked):
        if leaf.secret or leaf.value is UNKNOWN or leaf.value is None:
            continue
        if not unknown or not is_covered(show(leaf.path), unknown):
            yield leaf
