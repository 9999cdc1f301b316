"""Shared parts of the decoders: separators of values and pieces, a test for text, a fast precheck."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

Decoder = Callable[[bytes], Iterator[bytes]]
GAP: Final = b"\0\2\0"
"""Separator of the values of one text (`search.tree_text`); in no encoding's alphabet."""
BETWEEN: Final = b"\1\0\3\0\4\0"
"""Separator of decoded pieces. Its end differs from its beginning: after a piece that ends like its beginning it would
be found too early."""
SHORT: Final = 1024
"""Pieces of at most this size, of one decoder, are searched together: a search costs more than such a piece."""
PRINTABLE: Final = bytes(range(0x20, 0x7F)) + b"\t\n\r"
HEX_DIGITS: Final = b"0123456789abcdefABCDEF"


class TooMuchError(Exception):
    """The value unpacks to more than `compression.MOST_UNPACKED` or `layers.MOST_WORK` allow."""


def runs(members: bytes, shape: bytes) -> Callable[[bytes], bool]:
    """A fast "is there a run of ...?": bytes of `members` become M, other bytes of `shape` stay, then one search. Ten
    times faster than a regular expression without a match, the usual case."""
    kept = shape.replace(b"M", b"")
    table = bytes(ord("M") if byte in members else byte if byte in kept else 0 for byte in range(256))
    return lambda data: shape in data.translate(table)


_STRETCH = re.compile(rb"[\t\n\r\x20-\x7e]{8,}")
_has_stretch = runs(PRINTABLE, b"M" * 8)
MOST_BINARY: Final = 0.1
"""Share of unprintable bytes above which only the printable parts are unwrapped further."""


def printable(data: bytes) -> bytes:
    """The data itself if it is text; else only its printable parts, joined by `BETWEEN`. A text at a wrong alignment
    has nearly none, so searches end at once."""
    odd = len(data.translate(None, PRINTABLE))
    if odd <= MOST_BINARY * len(data) or odd - _marks(data) <= MOST_BINARY * len(data):
        return data
    return BETWEEN.join(_STRETCH.findall(data)) if _has_stretch(data) else b""


def _marks(data: bytes) -> int:
    return len(GAP) * data.count(GAP) + len(BETWEEN) * data.count(BETWEEN)


def values_with(data: bytes, concerned: Callable[[bytes], object]) -> bytes:
    """The values of a text that a decoder changes; the others were searched already."""
    return GAP.join(value for value in data.split(GAP) if concerned(value)) if GAP in data else data
