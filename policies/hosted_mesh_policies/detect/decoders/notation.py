"""Notations of text: folded lines, escapes, entities, URL-encoding, wide letters, concatenated texts."""

from __future__ import annotations

import html
import re
import urllib.parse
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from .text import PRINTABLE, Decoder, values_with

_FOLDS: Final = b" \t\r\n\"',\\|>"
_FOLD = re.compile(rb"[ \t\r\n\"',\\|>]")
_COMMENT = re.compile(rb"(?<![^\s\0])(?:#|//|;|--(?=[ \t]))[^\n\0\1]*")
"""To a line's end, in the forms of scripts, settings and SQL. No comment continues in another value."""


def folding(data: bytes) -> Iterator[bytes]:
    """A text without line breaks, indents and list quotes; then also without comments."""
    folded = values_with(data, _FOLD.search)
    squeezed = _squeezed(folded)
    if len(squeezed) < len(folded):
        yield squeezed
    if b"\n" in folded and _COMMENT.search(folded):
        yield _squeezed(_COMMENT.sub(b"", values_with(folded, _COMMENT.search)))


def _squeezed(text: bytes) -> bytes:
    return text.replace(b"\\r", b"").replace(b"\\n", b"").translate(None, _FOLDS)


_SUM: Final = rb"\s*(?:[+.&~]|\|\||\.\.|<>|<<)\s*"
_JOINT = re.compile(
    rb"[\"'`]" + _SUM + rb"[\"'`]"  # concatenated texts
    rb"|<(?<=[\w+/]<)/?[A-Za-z][^<>\0]{0,80}>(?:</?[A-Za-z][^<>\0]{0,80}>){0,3}(?=[\w+/])"  # a tag inside of a word
)
_JOINTS = re.compile(
    rb"([\"'`])[\w+/=-]{1,80}\1" + _SUM + rb"\1[\w+/=-]{1,80}\1" + _SUM + rb"\1[\w+/=-]"
    rb"|<(?<=[\w+/]<)(?:/?[A-Za-z][^<>\0]{0,80}><?){1,4}(?<=>)[\w+/=-]{1,80}</?[A-Za-z][^<>\0]{0,80}>"
)
"""Several of them in a row."""
_ESCAPE = re.compile(rb"\\(u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|x[0-9a-fA-F]{2}|[0-3][0-7]{2}|\r?\n[ \t]*|.)", re.DOTALL)
_NAMED: Final = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"b": b"\b", b"f": b"\f", b"0": b"\0", b"e": b"\x1b"}


def _one_escape(found: re.Match[bytes]) -> bytes:
    code = found.group(1)
    if code[:1] in b"uU" and len(code) > 1:
        number = int(code[1:], 16)
        return chr(number).encode("utf-8", "surrogatepass") if number < 0x110000 else found.group()
    if code[:1] == b"x" and len(code) == 3:
        return bytes([int(code[1:], 16)])
    if len(code) == 3 and code.isdigit():
        return bytes([int(code, 8)])
    if code.strip() == b"":
        return b""
    return _NAMED.get(code, code)


_WIDE = re.compile(rb"(?:[\t\n\r\x20-\x7e]\0){8,}|(?:\0[\t\n\r\x20-\x7e]){8,}")
_ZERO_OR_LETTER: Final = bytes(0 if byte == 0 else 77 if byte in PRINTABLE else 1 for byte in range(256))


def wide(data: bytes) -> Iterator[bytes]:
    if data.count(0) < 8:
        return
    shape = data.translate(_ZERO_OR_LETTER)
    if b"M\0\0\0" * 4 in shape:
        yield data.translate(None, b"\0")
    elif b"M\0" * 7 in shape:
        for found in _WIDE.finditer(data):
            yield found.group().translate(None, b"\0")


def _in_place(pattern: re.Pattern[bytes], decode: Callable[[bytes], bytes], *signs: bytes) -> Decoder:
    """Decodes the matches of `pattern` in values that contain one of `signs`."""

    def decoder(data: bytes) -> Iterator[bytes]:
        if any(sign in data for sign in signs) and pattern.search(data):
            yield decode(values_with(data, pattern.search))

    return decoder


def _of_entities(text: bytes) -> bytes:
    return html.unescape(text.decode("latin-1")).encode("utf-8", "surrogatepass")


joints = _in_place(_JOINTS, partial(_JOINT.sub, b""), b'"', b"'", b"`", b"<")
url_encoding = _in_place(re.compile(rb"%[0-9a-fA-F]{2}"), urllib.parse.unquote_to_bytes, b"%")
escapes = _in_place(re.compile(rb"\\"), partial(_ESCAPE.sub, _one_escape), b"\\")
entities = _in_place(re.compile(rb"&(?:#\d+|#x[0-9a-fA-F]+|amp|lt|gt|quot|apos);"), _of_entities, b"&")
