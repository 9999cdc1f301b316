"""The value detector: finds control-plane secrets in data, in any wrapping.

One pass over the data's decodings serves two detectors: it looks up the fingerprints, and notes work for the shape
detector.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from hosted_mesh_plan.tree import Path

from ..decoders.layers import views
from ..search.index import Index, in_letters
from ..search.tree_text import Text
from ..shape.shapes import may_hold_shape


class Match(NamedTuple):
    """A secret found: its property, its origin, its layers."""

    path: Path
    origin: str
    layers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Inspection:
    """The result of one pass over a text. `shapely`: its parts are worth `shapes`."""

    matches: tuple[Match, ...] = ()
    shapely: bool = False


def inspect(text: Text, index: Index, *, look_for_shapes: bool = True) -> Inspection:
    """Every property that holds a control-plane secret or a fragment of one. Raises TooMuchError (see `layers`)."""
    found: dict[tuple[Path, int], Match] = {}
    inner: set[int] = set()
    shapely = False
    for view in views(text.buffer):
        for hit in index.search(view.data):
            if view.layers:
                inner.add(hit.origin)
            else:
                path = text.path_at(hit.start)
                found.setdefault((path, hit.origin), Match(path, index.origins[hit.origin], ()))
        exact = {origin for _, origin in found}
        inner |= {hit.origin for hit in in_letters(view.data, index)} - exact
        shapely = shapely or (look_for_shapes and may_hold_shape(view.data))
    if inner:
        for match, number in _under_layers(text, index, inner):
            found.setdefault((match.path, number), match)
    return Inspection(tuple(_most_exact(found.values())), shapely)


SEPARATORS: Final = "separators"
"""The layer of a secret with only its letters and digits in one piece."""


def _most_exact(found: Collection[Match]) -> Iterator[Match]:
    """Matches without those on a whole whose part matches the same secret: joined siblings repeat the find of one."""
    wholes = {(match.path[:depth], match.origin) for match in found for depth in range(len(match.path))}
    yield from (match for match in found if (match.path, match.origin) not in wholes)


def _under_layers(text: Text, index: Index, wanted: set[int]) -> list[tuple[Match, int]]:
    """A hit under layers has no offset in the buffer, so each property is searched again. This costs only after a
    find."""
    found: list[tuple[Match, int]] = []
    unplaced = set(wanted)
    for path, data in text.parts():
        for view in views(data):
            for layers, hits in (
                (view.layers, index.search(view.data)),
                ((*view.layers, SEPARATORS), in_letters(view.data, index)),
            ):
                for hit in hits:
                    if hit.origin in wanted:
                        unplaced.discard(hit.origin)
                        found.append((Match(path, index.origins[hit.origin], layers), hit.origin))
    found += [(Match((), index.origins[number], ("several properties",)), number) for number in unplaced]
    return found
