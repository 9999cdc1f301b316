"""An index of secret fingerprints, and the search for them: time grows with the bytes searched, not with the secrets.

Every window of `WIDTH` bytes of every fingerprint goes into a hash table. A text is cut into back-to-back blocks of the
same width, from its beginning and again from half a block on, and each block is looked up once; any fragment of a
fingerprint of at least `WIDTH * 3 / 2 - 1` bytes contains a whole block at some offset. A hit is then checked byte by
byte, so chance collisions are never reported.
"""

from __future__ import annotations

import codecs
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
from .password_hashes import opened_by

WIDTH: Final = 8
SHORT_WIDTH: Final = 4
LEAST_FRAGMENT: Final = 2 * WIDTH - 1
"""Fewest bytes in a row of a long fingerprint that count as that secret: 15."""
LEAST_PIECE: Final = WIDTH + WIDTH // 2 - 1
"""Fewest bytes of a piece that is found although it is no such fragment, if it stands alone or others do too: 11."""
LEAST_SHARE: Final = 0.3
"""Of a fingerprint, in such a piece."""
MOST_SHARED: Final = 0.5
"""Of a fingerprint, in pieces that are public by themselves, as words are and the middle of ids of one form: others of
the same kind have them too, so less than that tells nothing."""
LONGEST_SHARED: Final = 64
LEAST_SIGNS: Final = 2
"""In such a piece: a single word may be letters by chance."""
LEAST_SHORT: Final = 8
LEAST_VARIETY: Final = 4
"""Fewest different bytes of what tells one secret from another: zeros are in every archive."""
MOST_CANDIDATES: Final = 16
"""Fingerprints that one window stands for; more of them begin alike, and differ in other windows."""
_PHASES: Final = {WIDTH: (0, WIDTH // 2), SHORT_WIDTH: (0,)}
"""Where a text's blocks begin."""
_ALPHANUMERIC: Final = re.compile(rb"[A-Za-z0-9]")


class Hit(NamedTuple):
    """A fingerprint found: whose it is, where in the text, how many bytes."""

    origin: int
    start: int
    length: int


@dataclass
class Index:
    """Fingerprints by window. `origins` names where each came from; hits refer to it by position."""

    origins: list[str] = field(default_factory=list)
    _fingerprints: list[tuple[bytes, int]] = field(default_factory=list)
    _known: dict[bytes, bool] = field(default_factory=dict)
    _spelled: dict[int, tuple[bytes, list[int]]] = field(default_factory=dict)
    """Of a fingerprint's letters and digits alone, by their place: the fingerprint, and where in it each of them is."""
    _windows: dict[int, dict[int, list[tuple[int, int]]]] = field(default_factory=lambda: {WIDTH: {}, SHORT_WIDTH: {}})

    def __len__(self) -> int:
        return len(self._fingerprints)

    @property
    def fingerprints(self) -> list[bytes]:
        return list(self._known)

    def add(self, fingerprints: Iterable[bytes], origin: str) -> None:
        """Adds fingerprints that came from `origin`. One that is known already keeps its first origin."""
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
            if not whole and len(fingerprint) >= LEAST_FRAGMENT and fingerprint.isascii():
                for alike in disguises(fingerprint):
                    self._insert(alike, number)
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
        """Every fingerprint, or fragment of one, in the text, and what logs in like it; one hit per place."""
        for place, number in opened_by(text, self._fingerprints):
            yield Hit(number, place, LEAST_FRAGMENT)
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
        """The longest of the fingerprints that have this window and are here. A piece that is too short for a hit by
        itself, and yet no chance, is kept in `pieces`, by its fingerprint and its place in that."""
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
        """Whether pieces of a fingerprint, by their places in it, are it together."""
        odd = [hit.length for at, hit in pieces.items() if not self._is_shared(place, at, hit.length)]
        together = sum(hit.length for hit in pieces.values())
        return sum(odd) >= LEAST_FRAGMENT or together >= MOST_SHARED * len(self._fingerprints[place][0])

    def _is_shared(self, place: int, start: int, length: int) -> bool:
        """True for a small part of a fingerprint that others of the same kind have too: words, or short groups, with
        signs between them."""
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
    """What is found in a view's letters and digits alone."""
    for alone in letters(data) if len(index) else ():
        yield from index.search(alone)


def _outside(places: Iterator[int], found: list[Hit]) -> Iterator[int]:
    """The places, in their order, where nothing was found yet. What is found meanwhile is added at the end."""
    number, end = 0, 0
    for place in places:
        while number < len(found) and found[number].start <= place:
            end = max(end, found[number].start + found[number].length)
            number += 1
        if place >= end:
            yield place


def _letters_alone(fingerprint: bytes) -> bytes:
    """A password's letters and digits, for texts of which only these are looked at; empty where they are too few."""
    if not fingerprint.isascii() or fingerprint.isalnum():
        return b""
    alone = b"".join(_ALPHANUMERIC.findall(fingerprint))
    if len(alone) >= LEAST_FRAGMENT:
        return alone
    shown = alone.decode()
    return alone if len(alone) >= LEAST_PIECE and (is_random(shown) or is_scrambled(shown)) else b""


def _is_piece(piece: bytes, fingerprint: bytes) -> bool:
    """True for the half of a password: long enough, compared with the whole too, and nothing that people write."""
    if len(piece) < LEAST_PIECE or len(piece) < LEAST_SHARE * len(fingerprint):
        return False
    text = piece.decode("latin-1")
    return not text.isascii() or is_random(text) or is_scrambled(text)


def disguises(text: bytes) -> tuple[bytes, ...]:
    """What one step that needs no key makes of a text: rot13, EBCDIC, backwards, small and capital letters swapped."""
    shown = text.decode("ascii")
    return codecs.encode(shown, "rot13").encode(), shown.encode("cp037"), text[::-1], text.swapcase()


_FORMATS: Final[dict[int, Literal["Q", "I"]]] = {WIDTH: "Q", SHORT_WIDTH: "I"}
_NUMBERS: Final = {width: struct.Struct(letter) for width, letter in _FORMATS.items()}


_PART_OF_MORE: Final = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./")


def _stands_alone(text: bytes, start: int, length: int) -> bool:
    """True where no letter, digit or joint goes on before or after, and no sentence: what is looked for whole may be a
    word."""
    before, after = text[max(0, start - 1) : start], text[start + length : start + length + 1]
    if (before and before[0] in _PART_OF_MORE) or (after and after[0] in _PART_OF_MORE):
        return False
    return not (after == b" " and before == b" " and text[max(0, start - 2) : start - 1].isalpha())


def _blocks(text: bytes, start: int, width: int) -> list[int]:
    """The text's whole blocks from a place on as numbers, made in one step in C."""
    end = start + (len(text) - start) // width * width
    return memoryview(text)[start:end].cast(_FORMATS[width]).tolist()


def _common(one: bytes, other: bytes) -> int:
    """Length of the common beginning."""
    most = min(len(one), len(other))
    if one[:most] == other[:most]:
        return most
    return next(i for i in range(most) if one[i] != other[i])
