"""The owner of a configuration's secret, by its section.

A secret does not show its owner. But a configuration of two owners gives each a section: a namespace (`hub:walKey`,
`shop:walKey`), or a member of one secret object. A section is a data plane's own if

- all of its used secrets go to that data plane;
- it has a counterpart: another section has the same key with another value, in the same object or chart of the control
  plane, and nothing of that section goes anywhere else.

A section named after a package, the project or `shared` has no owner: its secrets belong to a subject.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

from hosted_mesh_plan.clusters import Role
from hosted_mesh_plan.model import Resource, Stack
from hosted_mesh_plan.owners import CONTROL_PLANE, Owners
from hosted_mesh_plan.tree import Path, at, leaves

from ..decoders.layers import views
from ..leaf.content import as_bytes, held
from ..leaf.document import as_document
from ..leaf.level import Level, level_of
from ..search.index import Index
from ..search.tree_text import Text
from ..secrets.fingerprints import fingerprints
from ..shape.credential_forms import Kind
from ..shape.shapes import shapes

HARMLESS: Final = frozenset({Kind.KEY_ID, Kind.NAMED, Kind.ARGUMENT})
"""Acceptable rests of a text without its secrets: an id, and a name with its following text."""


OF_ALL: Final = ("all", "base", "common", "default", "global", "shared")


class Entry(NamedTuple):
    """One secret of the configuration: its section, and its name there."""

    section: str
    name: str


class SectionUse(NamedTuple):
    """A place of a secret: the owner, and the object or chart and its property."""

    place: str
    spot: tuple[str, str, Path]


@dataclass(frozen=True)
class Sections:
    """The sections of one stack's secret configuration, read on first use. `text` gives a resource's text."""

    stack: Stack
    owners: Owners
    text: Callable[[Resource], Text]

    def of_own(self, resource: Resource) -> Iterator[Path]:
        """The places of a data plane's object with credentials of its own sections alone. A cloud key's id is no
        credential by itself. Raises TooMuchError."""
        own = self._own_values.get(self.owners.place(resource) or "", [])
        for leaf in leaves(resource.asked) if own else ():
            rest = data = held(leaf) if resource.kind == "Secret" else as_bytes(leaf.value)
            for value in own:
                rest = rest.replace(value, b"")
            if rest != data and not any(shape.kind not in HARMLESS for shape in shapes(rest)):
                yield leaf.path

    @cached_property
    def _own_values(self) -> dict[str, list[bytes]]:
        """Per data plane the secrets of its sections, longest first."""
        found: dict[str, list[bytes]] = {}
        for value in sorted(self._entries, key=len, reverse=True):
            for place in {self._own[one.section] for one in self._entries[value] if one.section in self._own}:
                found.setdefault(place, []).append(value)
        return found

    @cached_property
    def _entries(self) -> dict[bytes, list[Entry]]:
        found: dict[bytes, list[Entry]] = {}
        for key in sorted(self.stack.secret_config_keys):
            for entry, value in _entries_of(key, self.stack.config.get(key, "")):
                if value:
                    found.setdefault(value, []).append(entry)
        return found

    @cached_property
    def _uses(self) -> dict[Entry, set[SectionUse]]:
        """The places of each entry, in any wrapping. Raises TooMuchError."""
        index, values = Index(), list(self._entries)
        for number, value in enumerate(values):
            index.add(fingerprints(value, certain=True), str(number))
        found: dict[Entry, set[SectionUse]] = {}
        for resource in self.stack.resources if len(index) else ():
            if (place := self._place(resource)) is None:
                continue
            for path, data in self.text(resource).parts():
                hits = {index.origins[hit.origin] for view in views(data) for hit in index.search(view.data)}
                for entry in (entry for number in hits for entry in self._entries[values[int(number)]]):
                    found.setdefault(entry, set()).add(SectionUse(place, (resource.type, _name_of(resource), path)))
        return found

    def _place(self, resource: Resource) -> str | None:
        if resource.urn in self.owners.clusters.providers:
            return self.owners.maker(resource)
        if resource.is_provider:
            return CONTROL_PLANE if self.owners.is_own_account(resource.as_provider) else resource.urn
        return self.owners.place(resource)

    @cached_property
    def _own(self) -> dict[str, str]:
        names = {entry.name: entry for entries in self._entries.values() for entry in entries}
        if not any(entry != names[entry.name] for entries in self._entries.values() for entry in entries):
            return {}  # no two sections have the same key
        places: dict[str, set[str]] = {}
        for entry, uses in self._uses.items():
            places.setdefault(entry.section, set()).update(use.place for use in uses)
        subjects = {*OF_ALL, self.stack.project, *(one.type.split(":")[0] for one in self.stack.resources)}
        data_planes = {
            self.owners.place(one) for one in self.stack.resources if self.owners.clusters.role(one) is Role.DATA_PLANE
        }
        theirs = {section for section, at_ in places.items() if at_ == {CONTROL_PLANE}}
        twins = {
            (entry.name, use.spot) for entry, uses in self._uses.items() if entry.section in theirs for use in uses
        }
        found: dict[str, str] = {}
        for entry, uses in self._uses.items():
            (place, *more) = places[entry.section]
            alone = not more and place in data_planes and entry.section not in subjects
            if alone and any((entry.name, use.spot) in twins for use in uses):
                found[entry.section] = place
        return found


def _name_of(resource: Resource) -> str:
    chart = at(resource.body, "chart")
    return chart if isinstance(chart, str) else resource.object_name


def _entries_of(key: str, value: str) -> Iterator[tuple[Entry, bytes]]:
    """A key's secret; of an object of objects, or a list of them, those of each member."""
    section, _, name = key.rpartition(":")
    tree = as_document(value.encode())
    inner = dict(enumerate(tree)) if isinstance(tree, list) else tree if isinstance(tree, dict) else {}
    if not inner or not all(isinstance(one, dict) for one in inner.values()):
        yield Entry(section, name), value.encode()
        return
    for member, entries in inner.items():
        for leaf in leaves(entries):
            data = as_bytes(leaf.value)
            if leaf.path and level_of(data, str(leaf.path[-1])) is not Level.PUBLIC:
                yield Entry(f"{key}.{member}", ".".join(map(str, leaf.path))), data
