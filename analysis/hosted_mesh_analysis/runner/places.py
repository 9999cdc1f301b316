"""The place of a resource: the control plane, a data plane, or none.

An API server's address identifies a cluster, as in the policies: by the command's arguments, then by the names of the
library's wrappers. An undeclared place counts as a data plane for its resources. `capture` has the destinations of
objects that operators carry: they need all objects.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

from hosted_mesh_plan import vocabulary
from hosted_mesh_plan.clusters import KUBECONFIG_KEYS, cluster_of, is_called, names_of, normal_server, owner_of
from hosted_mesh_plan.model import Provider
from hosted_mesh_plan.owners import GENERATORS

NOWHERE: Final = GENERATORS - {vocabulary.PACKAGE}
"""Packages with resources in the stack's state alone. A remote component of the library may pass its inputs on."""


class Side(Enum):
    """The owner of a place. An undeclared one counts as a data plane for its resources."""

    CONTROL_PLANE = "control plane"
    DATA_PLANE = "data plane"
    UNKNOWN = "unknown, so data plane"


@dataclass(frozen=True)
class Place:
    """A destination. name: an API server's address, or a package and its provider."""

    side: Side
    name: str


@dataclass(frozen=True)
class Known:
    """The declared addresses of API servers, and providers, as in the settings."""

    control_plane: tuple[str, ...] = ()
    data_plane: tuple[str, ...] = ()
    tenants: tuple[str, ...] = ()
    """`TENANT=ADDRESS`, of data planes that are one tenant's."""

    def tenant_of(self, server: str) -> str:
        """The owner's name of a data plane's tenant; empty for none or several."""
        return owner_of(self.tenants, {server})

    def side_of(self, *names: str) -> Side | None:
        """The side of one of a place's names; None if undeclared or contradictory."""
        found = self._sides(names)
        return found.pop() if len(found) == 1 else None

    def says_both(self, name: str) -> bool:
        """True for a contradictory declaration."""
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
    """The owner of each provider's place, by the place's name; cached, since every value needs it."""

    def add_provider(self, urn: str, package: str, name: str, inputs: Mapping[str, Any]) -> None:
        """Adds a provider. Two providers of one address are one place, and the claim of one holds for both."""
        if folder := inputs.get("renderYamlToDirectory"):  # it writes files, for any cluster
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
        """The owner of a place, by all providers that lead there."""
        return self.sides.get(place.name, place.side)

    def called(self, name: str) -> Place:
        """The place of an operator's name or API server address."""
        return Place(self.known.side_of(name) or self.sides.get(name, Side.UNKNOWN), name)

    def place_of(self, kind: str, provider: str) -> Place | None:
        """The place of a custom resource; None for none."""
        package = kind.split(":", maxsplit=1)[0]
        if package in NOWHERE:
            return None
        if provider in self.by_provider:
            return self.by_provider[provider]
        names = (f"default_{package}" if package == "kubernetes" else package, *names_of(package, "default", ""))
        return Place(self.known.side_of(*names) or Side.UNKNOWN, default_name(package))


def default_name(package: str) -> str:
    """The name of the place of a package's default provider."""
    return f"{package} (default provider)"


def _claimed(name: str, inputs: Mapping[str, Any]) -> Side | None:
    identifier = str(inputs.get("clusterIdentifier") or "")
    for side, word in ((Side.CONTROL_PLANE, vocabulary.CONTROL_PLANE), (Side.DATA_PLANE, vocabulary.DATA_PLANE)):
        if name == vocabulary.PROVIDER_NAME[word] or identifier.startswith(f"{word}-"):
            return side
    return None


def server_of(inputs: Mapping[str, Any]) -> str:
    """The API server of a provider's settings; empty if missing."""
    given = {key: value for key, value in inputs.items() if value or key not in KUBECONFIG_KEYS}
    return cluster_of(Provider("", "", "", given)).server
