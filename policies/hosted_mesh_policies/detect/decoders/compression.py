"""Compressed streams: gzip, zlib, bzip2, xz, zip; whole or cut short."""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from .text import BETWEEN, TooMuchError

MOST_UNPACKED: Final = 64 * 1024 * 1024
"""Most bytes of an unpacked value. A larger value is rejected unread."""
_Step = Callable[[bytes, int], bytes]
MOST_LZMA_MEMORY: Final = 128 * 1024 * 1024


def _bz2() -> _Step:
    return bz2.BZ2Decompressor().decompress


_STREAMS: Final[tuple[tuple[bytes, bool, Callable[[], _Step]], ...]] = (
    (b"\x1f\x8b\x08", True, lambda: zlib.decompressobj(wbits=31).decompress),
    (b"BZh", False, _bz2),
    (b"\xfd7zXZ\0", True, lambda: lzma.LZMADecompressor(memlimit=MOST_LZMA_MEMORY).decompress),
)
"""Magic bytes; true if they are searched for anywhere, false if only at a piece's beginning; the decoder."""
COMPRESSED: Final = (b"\x1f\x8b\x08", b"\xfd7zXZ\0", b"BZh9")
"""Magic bytes that identify a compressed value alone."""
_ZIP: Final = b"PK\3\4"
_ZIP_METHODS: Final[dict[int, Callable[[], _Step]]] = {
    8: lambda: zlib.decompressobj(wbits=-15).decompress,
    12: _bz2,
}
MOST_STREAMS: Final = 1024
"""Most compressed streams to open in one value; more is refused."""
LEAST_PACKED: Final = 10
_ZLIB: Final = frozenset(byte for byte in range(256) if byte & 0x8F == 8)
"""First bytes of a zlib header."""


def packed(data: bytes) -> Iterator[bytes]:
    pieces = _pieces(data)
    for opened, (step, start) in enumerate(_streams(data, pieces)):
        if opened >= MOST_STREAMS:
            raise TooMuchError
        yield from _inflate(step, data, start)


def _pieces(data: bytes) -> list[tuple[int, bytes]]:
    """The pieces that are long enough for a stream, each with its place."""
    found, start = [], 0
    for piece in data.split(BETWEEN):
        if len(piece) >= LEAST_PACKED:
            found.append((start, piece))
        start += len(piece) + len(BETWEEN)
    return found


def compressed(data: bytes) -> Iterator[bytes]:
    """The content of a value that is one compressed stream. Raises TooMuchError."""
    for magic, _, opener in _STREAMS:
        if data.startswith(magic):
            yield from _inflate(opener(), data, 0)


def _streams(data: bytes, pieces: Sequence[tuple[int, bytes]]) -> Iterator[tuple[_Step, int]]:
    for magic, anywhere, opener in _STREAMS:
        starts = _places(data, magic) if anywhere else [start for start, piece in pieces if piece.startswith(magic)]
        yield from ((opener(), start) for start in starts)
    for start, piece in pieces:
        first = piece[0]
        if first in _ZLIB and int.from_bytes(piece[:2], "big") % 31 == 0:
            yield zlib.decompressobj().decompress, start
    for start in _places(data, _ZIP):
        method, name, extra = (int.from_bytes(data[start + at : start + at + 2], "little") for at in (8, 26, 28))
        if method in _ZIP_METHODS:
            yield _ZIP_METHODS[method](), start + 30 + name + extra


def _places(data: bytes, magic: bytes) -> Iterator[int]:
    start = data.find(magic)
    while start >= 0:
        yield start
        start = data.find(magic, start + 1)


def _inflate(step: _Step, data: bytes, start: int) -> Iterator[bytes]:
    """Unpacks in small steps, so that a truncated stream yields its part."""
    pieces: list[bytes] = []
    total = 0
    try:
        for place in range(start, len(data), 4096):
            piece = step(data[place : place + 4096], MOST_UNPACKED + 1 - total)
            total += len(piece)
            pieces.append(piece)
            if total > MOST_UNPACKED:
                raise TooMuchError
    except (zlib.error, OSError, EOFError, lzma.LZMAError, ValueError, MemoryError):
        pass
    if total:
        yield b"".join(pieces)
