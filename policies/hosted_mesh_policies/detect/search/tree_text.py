"""A tree's text: one buffer to search, and the way back from a hit to the property that holds it.

Searching one buffer per resource instead of one value at a time keeps the cost at the bytes searched. Short values
that sit side by side (list items, a map's values, one field of each list item) are also laid end to end, because a
secret cut into pieces shorter than a fingerprint's window is still the secret.
"""

from __future__ import annotations

import base64
import binascii
import re
from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from typing import Final

from ...plan.model import IN_SECRET, Resource
from ...plan.tree import UNKNOWN, Leaf, Path, Tree, leaves
from ..decoders.text import GAP
from ..keys.keystores import MOST_PASSWORDS, Rounds, opened
from ..leaf.content import as_bytes, from_base64

OPENED: Final = "(opened)"
"""Ends the path of a key that was found in a keystore, with a certificate of it that is no authority's."""
OPENED_ALONE: Final = "(opened alone)"
"""The same of one without such a certificate."""
LONGEST_PIECE: Final = 64
"""Values longer than this are found on their own; only shorter ones, words apart, are laid end to end."""
MOST_GROUP_LEVELS: Final = 4
"""How far above a value its siblings are looked for: `containers[].env[].value` needs two."""
_CLOSED: Final = (b"MI", b"/u3+7", b"\xfe\xed\xfe\xed", b"-----BEGIN ENCRYPTED")
_CLOSED_IN_BASE64: Final = (b"TUl", b"L3Uz", b"LS0tLS1CRUdJTiBFTkNSWVBU")
"""The same in base64 once more, as a Secret's `data` have what is text already."""
_FOR_PASSWORDS: Final = re.compile(r"pass|pwd|pin\b|secret", re.IGNORECASE)
_URL_ALPHABET: Final = bytes.maketrans(b"-_", b"+/")
LONGEST_PLAIN_KEY: Final = 8


@dataclass
class Text:
    """The text of a tree. `pieces` are (start in buffer, path); `unknown` are the paths not known yet."""

    buffer: bytes = b""
    pieces: list[tuple[int, Path]] = field(default_factory=list)
    unknown: list[Leaf] = field(default_factory=list)

    def path_at(self, offset: int) -> Path:
        """The property whose text covers an offset in the buffer."""
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
    """The text of what a resource asks for, its own name included."""
    return text_of(resource.asked, also=((("(the resource's name)",), resource.name),))


def text_of(tree: Tree, *, also: tuple[tuple[Path, str], ...] = ()) -> Text:
    """The text of a tree: values, keys long enough to hide something, short siblings end to end.

    `also` adds (path, text) pairs that are not in the tree: a resource's name.
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
                members.sort(key=lambda member: _natural(member[0]))  # the wire keeps no order of a map's keys
            chunks.append((path, b"".join(data for _, data in members)))
            if decoded := _decoded_apart([data for _, data in members]):
                chunks.append((path, decoded))
    chunks += _opened(chunks)
    start = 0
    for path, data in chunks:
        found.pieces.append((start, path))
        start += len(data) + len(GAP)
    found.buffer = GAP.join(data for _, data in chunks)
    return found


def _opened(chunks: list[tuple[Path, bytes]]) -> list[tuple[Path, bytes]]:
    """The keys in keystores and encrypted keys that a default password, or one that stands beside them, opens. Tried
    are first what is called a password and stands nearest, each as it is and out of base64."""
    wrapped = [(path, from_base64(data)) for path, data in chunks if data.startswith(_CLOSED_IN_BASE64)]
    together = (*chunks, *wrapped)
    closed = [(path, data) for path, data in together if len(data) > LONGEST_PIECE and data.startswith(_CLOSED)]
    short = [(path, data) for path, data in chunks if 4 <= len(data) <= LONGEST_PIECE] if closed else []
    values = [(path, data) for path, data in short if not path or data != as_bytes(path[-1])]
    values.sort(key=lambda value: not (value[0] and _FOR_PASSWORDS.search(str(value[0][-1]))))
    beside: dict[Path, dict[bytes, None]] = defaultdict(dict)
    for path, data in values:
        plain = from_base64(data)
        for among in (_parent(path), ()):
            beside[among].update(dict.fromkeys((data, plain, plain.rstrip(b"\r\n"))))
    first = {among: list(islice(texts, MOST_PASSWORDS)) for among, texts in beside.items()}
    tried = ((path, data, [*first.get(_parent(path), ()), *first.get((), ())]) for path, data in closed)
    rounds = Rounds()
    return [
        ((*path, OPENED if is_kept else OPENED_ALONE), key)
        for path, data, passwords in tried
        for key, is_kept in opened(data, passwords, rounds)
    ]


def _parent(path: Path) -> Path:
    """Of a value; of a Secret's `data` and `stringData` the same, for its readers have them together."""
    return ("data",) if path[:1] in IN_SECRET else path[:-1]


def _decoded_apart(pieces: list[bytes]) -> bytes:
    """Siblings of which each is encoded by itself, decoded and then joined; empty when they are not."""
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
    """Sorts part2 before part10, so that pieces in numbered keys come in their order."""
    return [((key, ""),) if isinstance(key, int) else _parts(key) for key in path]


@lru_cache(maxsize=4096)
def _parts(key: str) -> tuple[tuple[int, str], ...]:
    return tuple((int(part), "") if part.isdigit() else (-1, part) for part in _DIGITS.split(key))
