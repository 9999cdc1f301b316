"""An index of secret fingerprints, and its search: time grows with the bytes searched, not with the secrets.

A hash table has every window of `WIDTH` bytes of every fingerprint. A text is cut into back-to-back blocks of that
width, from its beginning and again from half a block on, with one look-up per block. Any fragment of at least `WIDTH *
3 / 2 - 1` bytes contains a whole block at some offset. Each hit is checked byte by byte, so chance collisions are never
reported.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import repeat
from typing import Final, Literal, NamedTuple

from ..decoders.layers import letters
from ..leaf.public_structure import is_public
from ..leaf.randomness import is_random, is_scrambled
from ..secrets.fingerprints import Whole

WIDTH: Final = 8
SHORT_WIDTH: Final = 4
LEAST_FRAGMENT: Final = 2 * WIDTH - 1
"""Fewest bytes in a row of a long fingerprint that count as that secret: 15."""
LEAST_PIECE: Final = WIDTH + WIDTH // 2 - 1
"""Fewest bytes of a shorter piece that counts, alone or with others: 11."""
LEAST_SHARE: Final = 0.3
"""Least share of a fingerprint in such a piece."""
MOST_SHARED: Final = 0.5
"""Share of a fingerprint in pieces that are public by themselves, such as words and the middle of ids of one form.
Other secrets of the kind have them too, so a smaller share shows nothing."""
LONGEST_SHARED: Final = 64
LEAST_SIGNS: Final = 2
"""Fewest signs in such a piece: a single word may occur by chance."""
LEAST_SHORT: Final = 8
LEAST_VARIETY: Final = 4
"""Fewest different bytes that distinguish secrets: zeros are in every archive."""
MOST_CANDIDATES: Final = 16
"""Most fingerprints of one window. Further ones begin alike, and differ in other windows."""
_PHASES: Final = {WIDTH: (0, WIDTH // 2), SHORT_WIDTH: (0,)}
"""The offsets of a text's blocks."""
_ALPHANUMERIC: Final = re.compile(rb"[A-Za-z0-9]")


class Hit(NamedTuple):
    """A found fingerprint: its number, its place in the text, its length in bytes."""

    origin: int
    start: int
    length: int


@dataclass
class Index:
    """Fingerprints by window. `origins` names their sources; hits refer to it by position."""

    origins: list[str] = field(default_factory=list)
    _fingerprints: list[tuple[bytes, int]] = field(default_factory=list)
    _known: dict[bytes, bool] = field(default_factory=dict)
    _spelled: dict[int, tuple[bytes, list[int]]] = field(default_factory=dict)
    """A fingerprint's letters and digits alone, by its place: those, and the place of each in it."""
    _windows: dict[int, dict[int, list[tuple[int, int]]]] = field(default_factory=lambda: {WIDTH: {}, SHORT_WIDTH: {}})

    def __len__(self) -> int:
        return len(self._fingerprints)

    @property
    def fingerprints(self) -> list[bytes]:
        return list(self._known)

    def add(self, fingerprints: Iterable[bytes], origin: str) -> None:
        """Adds fingerprints that came from `origin`. A fingerprint keeps its first origin."""
        number = -1
        for fingerprint in fingerprints:
            whole = isinstance(fingerprint, Whole)
            known = self._known.get(fingerprint)
            if (
                len(fingerprint) < LEAST_SHORT
                or len(set(fingerprint)) < LEAST_VARIETY
                or (known is not None and known <= whole)
            ):
                continue
            if number < 0:
                number = len(self.origins)
                self.origins.append(origin)
            self._known[fingerprint] = whole
            self._insert(fingerprint, number)
            if not whole and (alone := _letters_alone(fingerprint)):
                kept = [found.start() for found in _ALPHANUMERIC.finditer(fingerprint)]
                self._spelled[len(self._fingerprints)] = fingerprint, kept
                self._insert(alone, number)

    def _insert(self, fingerprint: bytes, number: int) -> None:
        self._fingerprints.append((fingerprint, number))
        width = WIDTH if len(fingerprint) >= LEAST_FRAGMENT else SHORT_WIDTH
        windows, place = self._windows[width], len(self._fingerprints) - 1
        blocks = map(_NUMBERS[width].unpack_from, repeat(fingerprint), range(len(fingerprint) - width + 1))
        for offset, (block,) in enumerate(blocks):
            candidates = windows.setdefault(block, [])
            if len(candidates) < MOST_CANDIDATES:
                candidates.append((place, offset))

    def search(self, text: bytes) -> Iterator[Hit]:
        """Every fingerprint, or fragment of one, in the text; one hit per place."""
        for width, windows in self._windows.items():
            pieces: dict[int, dict[int, Hit]] = {}
            found: list[Hit] = []
            for phase in _PHASES[width] if windows else ():
                if len(text) < width + phase:
                    continue
                blocks = _blocks(text, phase, width)
                if windows.keys().isdisjoint(blocks):
                    continue
                places = (phase + number * width for number, block in enumerate(blocks) if block in windows)
                for place in _outside(places, found):
                    if hit := self._check(text, place, width, pieces):
                        found.append(hit)
                        yield hit
            for place, several in pieces.items():
                if self._are_enough(place, several):
                    yield from several.values()

    def _check(self, text: bytes, position: int, width: int, pieces: dict[int, dict[int, Hit]]) -> Hit | None:
        """The longest fingerprint with this window at this place. A piece too short for a hit, and yet no chance, goes
        to `pieces`, by its fingerprint and its place there."""
        found: Hit | None = None
        for place, offset in self._windows[width][_NUMBERS[width].unpack_from(text, position)[0]]:
            fingerprint, origin = self._fingerprints[place]
            before = _common(text[max(0, position - offset) : position][::-1], fingerprint[:offset][::-1])
            after = _common(text[position : position + len(fingerprint) - offset], fingerprint[offset:])
            hit = Hit(origin, position - before, before + after)
            whole = isinstance(fingerprint, Whole)
            needed = LEAST_FRAGMENT if width == WIDTH and not whole else len(fingerprint)
            piece, common = hit.length < needed, fingerprint[offset - before : offset + after]
            if len(set(common)) < LEAST_VARIETY:
                continue
            if piece and (whole or not _is_piece(common, fingerprint)):
                continue
            shared = not piece and self._is_shared(place, offset - before, hit.length)
            if shared or ((piece or whole) and not _stands_alone(text, hit.start, hit.length)):
                if shared or piece:
                    pieces.setdefault(place, {})[offset - before] = hit
                continue
            if found is None or hit.length > found.length:
                found = hit
        return found

    def _are_enough(self, place: int, pieces: Mapping[int, Hit]) -> bool:
        odd = [hit.length for at, hit in pieces.items() if not self._is_shared(place, at, hit.length)]
        together = sum(hit.length for hit in pieces.values())
        return sum(odd) >= LEAST_FRAGMENT or together >= MOST_SHARED * len(self._fingerprints[place][0])

    def _is_shared(self, place: int, start: int, length: int) -> bool:
        """True for a small part of a fingerprint that others of the same kind share: words, or short groups joined by
        signs."""
        fingerprint, _ = self._fingerprints[place]
        if length > LONGEST_SHARED or length >= MOST_SHARED * len(fingerprint):
            return False
        end = start + length
        if place in self._spelled:
            fingerprint, kept = self._spelled[place]
            start, end = kept[start], kept[end - 1] + 1
        piece = fingerprint[start:end]
        return len(_ALPHANUMERIC.sub(b"", piece)) >= LEAST_SIGNS and is_public(piece)


def in_letters(data: bytes, index: Index) -> Iterator[Hit]:
    """Hits in a view's letters and digits alone."""
    for alone in letters(data) if len(index) else ():
        yield from index.search(alone)


def _outside(places: Iterator[int], found: list[Hit]) -> Iterator[int]:
    """The places, in order, without a hit yet. New hits are appended."""
    number, end = 0, 0
    for place in places:
        while number < len(found) and found[number].start <= place:
            end = max(end, found[number].start + found[number].length)
            number += 1
        if place >= end:
            yield place


def _letters_alone(fingerprint: bytes) -> bytes:
    """A password's letters and digits, for texts reduced to these; empty if too few."""
    if not fingerprint.isascii() or fingerprint.isalnum():
        return b""
    alone = b"".join(_ALPHANUMERIC.findall(fingerprint))
    if len(alone) >= LEAST_FRAGMENT:
        return alone
    shown = alone.decode()
    return alone if len(alone) >= LEAST_PIECE and (is_random(shown) or is_scrambled(shown)) else b""


def _is_piece(piece: bytes, fingerprint: bytes) -> bool:
    """True for half of a password: long enough, absolutely and as a share, and no text that people write."""
    if len(piece) < LEAST_PIECE or len(piece) < LEAST_SHARE * len(fingerprint):
        return False
    text = piece.decode("latin-1")
    return not text.isascii() or is_random(text) or is_scrambled(text)


_FORMATS: Final[dict[int, Literal["Q", "I"]]] = {WIDTH: "Q", SHORT_WIDTH: "I"}
_NUMBERS: Final = {width: struct.Struct(letter) for width, letter in _FORMATS.items()}


_PART_OF_MORE: Final = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./")


def _stands_alone(text: bytes, start: int, length: int) -> bool:
    """True without an adjacent letter, digit, joint or sentence: a fingerprint searched as a whole may be a word."""
    before, after = text[max(0, start - 1) : start], text[start + length : start + length + 1]
    if (before and before[0] in _PART_OF_MORE) or (after and after[0] in _PART_OF_MORE):
        return False
    return not (after == b" " and before == b" " and text[max(0, start - 2) : start - 1].isalpha())


def _blocks(text: bytes, start: int, width: int) -> list[int]:
    """The text's whole blocks from a place on as numbers, in one step in C."""
    end = start + (len(text) - start) // width * width
    return memoryview(text)[start:end].cast(_FORMATS[width]).tolist()


def _common(one: bytes, other: bytes) -> int:
    most = min(len(one), len(other))
    if one[:most] == other[:most]:
        return most
    return next(i for i in range(most) if one[i] != other[i])
