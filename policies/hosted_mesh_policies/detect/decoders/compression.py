"""Compressed streams: gzip, zlib with any window, raw deflate, bzip2, xz, raw LZMA2, lzma, zip; whole or cut short."""

from __future__ import annotations

import bz2
import lzma
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Final

from .text import BETWEEN, MOST_BINARY, PRINTABLE, SHORT, TooMuchError

MOST_UNPACKED: Final = 64 * 1024 * 1024
"""A value that unpacks to more bytes than this is refused: nobody can say what is in it."""
LEAST_RAW: Final = 8
_Step = Callable[[bytes, int], bytes]
MOST_LZMA_MEMORY: Final = 128 * 1024 * 1024


def _lzma() -> _Step:
    return lzma.LZMADecompressor(memlimit=MOST_LZMA_MEMORY).decompress


def _lzma2(size: int) -> _Step:
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": max(4096, min(size, MOST_UNPACKED))}]
    return lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=filters).decompress


def _lzma2_size(data: bytes) -> int:
    """How much an xz stream without its header and checksums unpacks to; 0 for anything else. It has no magic bytes,
    but each of its chunks tells its size, and so where the next one begins. Its first one needs no other."""
    unpacked, packed, at = 0, False, 0
    while at + 3 <= len(data) and (control := data[at]):
        size = int.from_bytes(data[at + 1 : at + 3], "big") + 1
        if 2 < control < 0x80:
            return 0
        if control <= 2:
            at += 3 + size
        else:
            packed = True
            size += (control & 0x1F) << 16
            at += 5 + (control >= 0xC0) + int.from_bytes(data[at + 3 : at + 5], "big") + 1
        unpacked += size
    return unpacked if packed and data[at : at + 1] == b"\0" else 0


def _bz2() -> _Step:
    return bz2.BZ2Decompressor().decompress


def _zip_lzma() -> _Step:
    decompress = zipfile.LZMADecompressor().decompress  # type: ignore[attr-defined]
    return lambda data, _: bytes(decompress(data))


_STREAMS: Final[tuple[tuple[bytes, bool, Callable[[], _Step]], ...]] = (
    (b"\x1f\x8b\x08", True, lambda: zlib.decompressobj(wbits=31).decompress),
    (b"BZh", False, _bz2),
    (b"\xfd7zXZ\0", True, _lzma),
    (b"\x5d\0\0", False, _lzma),
)
"""Magic bytes; whether they are telling enough to be looked for anywhere, or only where a piece begins; the decoder."""
COMPRESSED: Final = (b"\x1f\x8b\x08", b"\xfd7zXZ\0", b"BZh9")
"""Magic bytes that tell by themselves that a value is compressed."""
_ZIP: Final = b"PK\3\4"
_ZIP_METHODS: Final[dict[int, Callable[[], _Step]]] = {
    8: lambda: zlib.decompressobj(wbits=-15).decompress,
    12: _bz2,
    14: _zip_lzma,
}
MOST_STREAMS: Final = 1024
"""Most compressed streams to open in one value; more is refused."""
MOST_RAW: Final = 16
"""Pieces of a value that are tried as deflate without a header, whatever they begin with: nothing tells it but that it
unpacks. Of further ones those that could be of one block are."""
LEAST_PACKED: Final = 10
_ONE_BLOCK: Final = frozenset(byte for byte in range(256) if byte & 0b111 in {0b011, 0b101})
_ZLIB: Final = frozenset(byte for byte in range(256) if byte & 0x8F == 8)
_LZMA2: Final = frozenset({1, *range(0xE0, 256)})
"""First bytes of deflate in one block, of a header of zlib's, of a first chunk of LZMA2's."""


def packed(data: bytes) -> Iterator[bytes]:
    pieces = _pieces(data)
    for opened, (step, start) in enumerate(_streams(data, pieces)):
        if opened >= MOST_STREAMS:
            raise TooMuchError
        yield from _inflate(step, data, start)
    unpacked = 0
    for number, (_, piece) in enumerate(pieces):
        if number >= MOST_RAW and piece[0] not in _ONE_BLOCK:
            continue
        if len(piece) <= SHORT and not _may_be_deflate(piece):
            continue
        # Text is no deflate: its first bits are those of a block type that there is not, or of none that is useful.
        for plain in _inflate(zlib.decompressobj(wbits=-15).decompress, piece, 0):
            unpacked += len(plain)
            if unpacked > MOST_UNPACKED:
                raise TooMuchError
            if len(plain) >= LEAST_RAW and len(plain.translate(None, PRINTABLE)) <= MOST_BINARY * len(plain):
                yield plain


def _pieces(data: bytes) -> list[tuple[int, bytes]]:
    """The pieces that were decoded apart and are long enough to be a stream, each with its place."""
    found, start = [], 0
    for piece in data.split(BETWEEN):
        if len(piece) >= LEAST_PACKED:
            found.append((start, piece))
        start += len(piece) + len(BETWEEN)
    return found


@lru_cache(maxsize=16 * 1024)
def _may_be_deflate(piece: bytes) -> bool:
    try:
        return bool(zlib.decompressobj(wbits=-15).decompress(piece, LEAST_RAW))
    except zlib.error:
        return False


def compressed(data: bytes) -> Iterator[bytes]:
    """What a value that is one compressed stream unpacks to. Raises TooMuchError."""
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
        if first in _LZMA2 and (size := _lzma2_size(piece)):
            yield _lzma2(size), start
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
    """Unpacked in small steps, so that a stream that is cut short still gives what it holds."""
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
