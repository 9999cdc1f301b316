"""The facts of a preview for the following update (made by `pack.preview_evidence`)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field
from typing import NamedTuple

from .carriers import ProviderConfig
from .model import Resource
from .tree import UNKNOWN, Leaf, is_covered, leaves, show


class Shown(NamedTuple):
    """One object in a preview: a salted hash of its plain values, and the paths of its unknown values."""

    digest: str
    unknown: tuple[str, ...]


@dataclass(frozen=True)
class Evidence:
    """`paths`: per URN, the properties without control-plane secrets. `data_planes`: URNs with secrets of the data
    plane's own sources only. `foreign`: per URN of the control plane, the values from resources without control-plane
    secrets. `shown`: the data planes' objects in the preview. `awaited`: per URN, the properties that wait for the
    public half of a control plane's key, and must have a public form. `authorities`: URNs of Secrets with an authority
    made for their data plane alone. `opens_own`: per URN, the properties with credentials of the data plane's own, by
    their section of the configuration or by their sources. `at_home`: configurations by which the control plane's
    operators write to their own cluster."""

    paths: Mapping[str, frozenset[str]] = field(default_factory=dict)
    data_planes: frozenset[str] = frozenset()
    foreign: Mapping[str, frozenset[str]] = field(default_factory=dict)
    shown: Mapping[str, Shown] = field(default_factory=dict)
    awaited: Mapping[str, frozenset[str]] = field(default_factory=dict)
    authorities: frozenset[str] = frozenset()
    opens_own: Mapping[str, frozenset[str]] = field(default_factory=dict)
    at_home: frozenset[ProviderConfig] = frozenset()
    issued: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Per URN, the values that are nothing but logins issued to a tenant."""
    salt: str = ""

    def show(self, resource: Resource) -> Shown:
        """The shown part of an object."""
        unknown = tuple(show(leaf.path) for leaf in leaves(resource.asked) if leaf.value is UNKNOWN)
        return Shown(self._digest(resource, unknown), unknown)

    def news(self, resource: Resource) -> list[Leaf]:
        """The values that are unmarked, and were not unknown in the preview, of an object that the preview did not show
        or showed with other values."""
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
