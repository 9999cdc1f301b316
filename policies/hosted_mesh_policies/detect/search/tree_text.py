"""A tree's text: one buffer to search, and the property of each hit.

One buffer per resource keeps the cost at the bytes searched. Short values side by side (list items, a map's values, one
field of each list item) are also joined. A secret cut into pieces shorter than a fingerprint's window is still the
secret.
"""

from __future__ import annotations

import base64
import binascii
import re
from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from hosted_mesh_plan.model import Resource
from hosted_mesh_plan.tree import UNKNOWN, Leaf, Path, Tree, leaves

from ..decoders.text import GAP
from ..leaf.content import as_bytes

LONGEST_PIECE: Final = 64
"""Longer values are found alone; only shorter ones, words excluded, are joined."""
MOST_GROUP_LEVELS: Final = 4
"""Levels above a value for its siblings: `containers[].env[].value` needs two."""
_URL_ALPHABET: Final = bytes.maketrans(b"-_", b"+/")
LONGEST_PLAIN_KEY: Final = 8


@dataclass
class Text:
    """The text of a tree. `pieces` are (start in buffer, path); `unknown` are the paths of unknown values."""

    buffer: bytes = b""
    pieces: list[tuple[int, Path]] = field(default_factory=list)
    unknown: list[Leaf] = field(default_factory=list)

    def path_at(self, offset: int) -> Path:
        """The property at an offset of the buffer."""
        number = bisect_right(self.pieces, offset, key=lambda piece: piece[0]) - 1
        return self.pieces[max(number, 0)][1]

    def parts(self) -> list[tuple[Path, bytes]]:
        """Each property's own text."""
        if not self.pieces:
            return []
        ends = [start for start, _ in self.pieces[1:]] + [len(self.buffer) + len(GAP)]
        return [
            (path, self.buffer[start : end - len(GAP)]) for (start, path), end in zip(self.pieces, ends, strict=True)
        ]


def asked_text(resource: Resource) -> Text:
    """The text of a resource's inputs and of its own name."""
    return text_of(resource.asked, also=((("(the resource's name)",), resource.name),))


def text_of(tree: Tree, *, also: tuple[tuple[Path, str], ...] = ()) -> Text:
    """The text of a tree: values, keys of sufficient length, short siblings joined.

    `also` adds (path, text) pairs from outside of the tree: a resource's name.
    """
    found = Text()
    chunks: list[tuple[Path, bytes]] = [(path, as_bytes(text)) for path, text in also]
    groups: dict[tuple[Path, Path], list[tuple[Path, bytes]]] = defaultdict(list)
    numbers: dict[Path, list[int]] = defaultdict(list)
    keys: set[tuple[int, str]] = set()
    parents: set[Path] = set()
    for leaf in leaves(tree):
        parent = leaf.path[:-1]
        for depth in range(len(parent) if parent in parents else 0, len(leaf.path)):
            key = leaf.path[depth]
            if isinstance(key, str) and len(key) >= LONGEST_PLAIN_KEY and (depth, key) not in keys:
                keys.add((depth, key))
                chunks.append((leaf.path[: depth + 1], key.encode("utf-8", "surrogatepass")))
        parents.add(parent)
        if leaf.value is UNKNOWN:
            found.unknown.append(leaf)
            continue
        if isinstance(leaf.value, int) and not isinstance(leaf.value, bool) and 0 <= leaf.value < 256:
            numbers[leaf.path[:-1]].append(leaf.value)
        if data := as_bytes(leaf.value):
            chunks.append((leaf.path, data))
            if len(data) <= LONGEST_PIECE and b" " not in data.strip():
                for up in range(1, min(MOST_GROUP_LEVELS, len(leaf.path)) + 1):
                    groups[(leaf.path[:-up], leaf.path[len(leaf.path) - up + 1 :])].append((leaf.path, data))
    chunks += [(path, bytes(values)) for path, values in numbers.items() if len(values) >= 12]
    for (path, _), members in groups.items():
        if len(members) > 1:
            if any(isinstance(key, str) and key[-1:].isdigit() for key in members[-1][0]):
                members.sort(key=lambda member: _natural(member[0]))  # the wire has no order of a map's keys
            chunks.append((path, b"".join(data for _, data in members)))
            if decoded := _decoded_apart([data for _, data in members]):
                chunks.append((path, decoded))
    start = 0
    for path, data in chunks:
        found.pieces.append((start, path))
        start += len(data) + len(GAP)
    found.buffer = GAP.join(data for _, data in chunks)
    return found


def _decoded_apart(pieces: list[bytes]) -> bytes:
    """Siblings that are encoded one by one, decoded and joined; else empty."""
    for decode in (binascii.unhexlify, _whole_base64):
        try:
            return b"".join(decode(piece) for piece in pieces)
        except ValueError:
            continue
    return b""


def _whole_base64(piece: bytes) -> bytes:
    return base64.b64decode(piece.translate(_URL_ALPHABET) + b"=" * (-len(piece) % 4), validate=True)


_DIGITS = re.compile(r"(\d+)")


def _natural(path: Path) -> list[tuple[tuple[int, str], ...]]:
    """Sorts part2 before part10, so that numbered pieces are in order."""
    return [((key, ""),) if isinstance(key, int) else _parts(key) for key in path]


@lru_cache(maxsize=4096)
def _parts(key: str) -> tuple[tuple[int, str], ...]:
    return tuple((int(part), "") if part.isdigit() else (-1, part) for part in _DIGITS.split(key))
