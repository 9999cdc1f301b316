"""Where a resource goes: to the control plane, to a data plane, or nowhere at all.

A cluster is known by its API server's address, as the policies know it: from what the command is told, then from what
the library's wrappers call their providers. A place that nobody knows is a data plane for what goes there. What an
operator of the control plane's carries elsewhere is in `capture`: it is known once all objects are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

from .. import vocabulary
from ..plan.clusters import KUBECONFIG_KEYS, cluster_of, is_called, names_of, normal_server, owner_of
from ..plan.model import Provider
from ..plan.owners import GENERATORS

NOWHERE: Final = GENERATORS - {vocabulary.PACKAGE}
"""Packages whose resources exist in the stack's state alone. What a component of the library in another language is
given, that component may give on."""


class Side(Enum):
    """Whose place it is. Where nobody says, it is a data plane for what goes there."""

    CONTROL_PLANE = "control plane"
    DATA_PLANE = "data plane"
    UNKNOWN = "unknown, so data plane"


@dataclass(frozen=True)
class Place:
    """Where things go. name: an API server's address, or a package and its provider."""

    side: Side
    name: str


@dataclass(frozen=True)
class Known:
    """What the command was told: addresses of API servers, and providers, as the settings name them."""

    control_plane: tuple[str, ...] = ()
    data_plane: tuple[str, ...] = ()
    tenants: tuple[str, ...] = ()
    """`TENANT=ADDRESS`, of data planes that are one tenant's."""

    def tenant_of(self, server: str) -> str:
        """How the tenant that has a data plane is called as an owner; empty if none is said, or several."""
        return owner_of(self.tenants, {server})

    def side_of(self, *names: str) -> Side | None:
        """The side that one of a place's names has; None if nobody says, or both."""
        found = self._sides(names)
        return found.pop() if len(found) == 1 else None

    def says_both(self, name: str) -> bool:
        """True where what was told contradicts itself."""
        return len(self._sides((name,))) > 1

    def _sides(self, names: Iterable[str]) -> set[Side]:
        return {
            side
            for side, patterns in ((Side.CONTROL_PLANE, self.control_plane), (Side.DATA_PLANE, self.data_plane))
            for pattern in patterns
            for name in names
            if name and (is_called([name], [pattern]) or name == normal_server(pattern))
        }


@dataclass
class Places:
    """The places of one run, filled as its providers are registered."""

    known: Known = Known()
    by_provider: dict[str, Place] = field(default_factory=dict)
    sides: dict[str, Side] = field(default_factory=dict)
    """Whose each provider's place is, by the place's name: it is asked for every value."""

    def add_provider(self, urn: str, package: str, name: str, inputs: Mapping[str, Any]) -> None:
        """Takes a provider in. Two providers of one address are one place, and what one claims holds for both."""
        if folder := inputs.get("renderYamlToDirectory"):  # it writes files, whatever cluster its kubeconfig leads to
            self._lead(urn, Place(Side.UNKNOWN, f"the folder {folder}"))
            return
        server = server_of(inputs)
        said = self.known.side_of(server) or self.known.side_of(*names_of(package, name, urn)) or _claimed(name, inputs)
        if self.known.says_both(server):
            said = Side.UNKNOWN
        here = server or f"{package} ({name})"
        known_already = next(
            (p.side for p in self.by_provider.values() if p.name == here and p.side is not Side.UNKNOWN), None
        )
        place = Place(said or known_already or Side.UNKNOWN, here)
        self._lead(urn, place)
        if said:
            for other, found in self.by_provider.items():
                if found.name == here and found.side is Side.UNKNOWN:
                    self.by_provider[other] = place

    def _lead(self, urn: str, place: Place) -> None:
        self.by_provider[urn] = place
        self.sides[place.name] = place.side

    def side(self, place: Place) -> Side:
        """Whose a place is, by all providers that lead there."""
        return self.sides.get(place.name, place.side)

    def called(self, name: str) -> Place:
        """The place that an operator calls by a name or by its API server's address."""
        return Place(self.known.side_of(name) or self.sides.get(name, Side.UNKNOWN), name)

    def place_of(self, kind: str, provider: str) -> Place | None:
        """Where a custom resource goes; None if nowhere."""
        package = kind.split(":", maxsplit=1)[0]
        if package in NOWHERE:
            return None
        if provider in self.by_provider:
            return self.by_provider[provider]
        names = (f"default_{package}" if package == "kubernetes" else package, *names_of(package, "default", ""))
        return Place(self.known.side_of(*names) or Side.UNKNOWN, default_name(package))


def default_name(package: str) -> str:
    """Of the place to which a package's default provider leads."""
    return f"{package} (default provider)"


def _claimed(name: str, inputs: Mapping[str, Any]) -> Side | None:
    """The role that the library's wrappers give their provider."""
    identifier = str(inputs.get("clusterIdentifier") or "")
    for side, word in ((Side.CONTROL_PLANE, vocabulary.CONTROL_PLANE), (Side.DATA_PLANE, vocabulary.DATA_PLANE)):
        if name == vocabulary.PROVIDER_NAME[word] or identifier.startswith(f"{word}-"):
            return side
    return None


def server_of(inputs: Mapping[str, Any]) -> str:
    """The API server that a provider's settings lead to; empty if they do not say."""
    given = {key: value for key, value in inputs.items() if value or key not in KUBECONFIG_KEYS}
    return cluster_of(Provider("", "", "", given)).server
