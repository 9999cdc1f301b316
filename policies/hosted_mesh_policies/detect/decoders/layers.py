"""All readings of a value under the standard decoders, layer by layer.

base64 (standard, URL, without padding, at any alignment, folded), base32, hex, gzip, zlib, bzip2, xz, zip (tar needs
nothing), URL-encoding, JSON and YAML escapes, HTML entities, lists of numbers, UTF-16, UTF-32, concatenated texts.
Layers nest in any order. `letters` is the innermost: letters and digits alone. `hosted-mesh prove` finds other
encodings.

The work is linear: a decoded piece is unwrapped further only if it has printable text or a compressed stream. A
decoding at a wrong alignment never has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from . import alphabets, compression, notation, numbers
from .text import BETWEEN, SHORT, Decoder, TooMuchError, printable, values_with

MOST_LAYERS: Final = 24
MOST_WORK: Final = 96
"""Most bytes to read, as a multiple of the value's size (plus `MOST_WORK_EXTRA`)."""
MOST_WORK_EXTRA: Final = 32 * 1024 * 1024


class View(NamedTuple):
    """One reading of a value: its bytes and the decoders, outermost first."""

    data: bytes
    layers: tuple[str, ...]


def views(data: bytes) -> Iterator[View]:
    """The value itself, then each decoded reading. Raises TooMuchError."""
    budget = len(data) * MOST_WORK + MOST_WORK_EXTRA
    seen = {hash(data)}
    todo = [View(data, ())]
    while todo:
        view = todo.pop()
        yield view
        if len(view.layers) >= MOST_LAYERS:
            continue
        short: dict[tuple[str, bool], list[bytes]] = {}
        for name, piece in _decoded(view):
            budget -= len(piece)
            if budget < 0:
                raise TooMuchError
            if len(piece) >= 4 and (key := hash(piece)) not in seen:
                seen.add(key)
                if len(piece) > SHORT:
                    todo.append(View(piece, (*view.layers, name)))
                else:
                    short.setdefault((name, printable(piece) is piece), []).append(piece)
        todo += [View(BETWEEN.join(pieces), (*view.layers, name)) for (name, _), pieces in short.items()]


def _decoded(view: View) -> Iterator[tuple[str, bytes]]:
    text = printable(view.data)
    if text is not view.data:
        for name, decoder in BINARY_DECODERS:
            for piece in decoder(view.data):
                yield name, piece
    if not text:
        return
    for name, decoder in TEXT_DECODERS:
        if not (view.layers and name == view.layers[-1] == "folding"):
            for piece in decoder(text):
                yield name, piece


TEXT_DECODERS: Final[tuple[tuple[str, Decoder], ...]] = (
    ("base64", alphabets.from_base64),
    ("folding", notation.folding),
    ("joints", notation.joints),
    ("hex", alphabets.from_hex),
    ("base32", alphabets.from_base32),
    ("URL-encoding", notation.url_encoding),
    ("escapes", notation.escapes),
    ("entities", notation.entities),
    ("numbers", numbers.from_lists),
    ("compression", compression.packed),  # zlib's first byte is a letter, and a short stream may be mostly printable
    ("UTF-16", notation.wide),  # possibly a small part of much text
)
BINARY_DECODERS: Final[tuple[tuple[str, Decoder], ...]] = (
    ("compression", compression.packed),
    ("UTF-16", notation.wide),
)
_NO_PIECE = re.compile(rb"(?<![\w$])[A-Za-z_][\w.-]{0,40}[\"']?[ \t]*:?=|</?[A-Za-z][^<>\0]{0,80}>")
_NO_LETTER: Final = bytes(
    byte for byte in range(5, 256) if byte not in b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)


def letters(data: bytes) -> Iterator[bytes]:
    """A text's letters and digits alone, value by value; then without tags and assigned names. A secret becomes one
    piece, for any separators and escapes."""
    text = printable(data)
    alone = text.translate(None, _NO_LETTER)
    if len(alone) == len(text):
        return
    yield alone
    if _names_something(text) and (unnamed := _NO_PIECE.sub(b"", values_with(text, _names_something))) != text:
        yield unnamed.translate(None, _NO_LETTER)


def _names_something(text: bytes) -> bool:
    return b"=" in text or b"<" in text
