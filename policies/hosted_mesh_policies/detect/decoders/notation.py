"""How texts are written down: folded lines, escapes, entities, quoted-printable, wide letters, texts put together."""

from __future__ import annotations

import binascii
import html
import re
import urllib.parse
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from .text import PRINTABLE, Decoder, printable, values_with

_FOLDS: Final = b" \t\r\n\"',\\|>"
_FOLD = re.compile(rb"[ \t\r\n\"',\\|>]")
_COMMENT = re.compile(rb"(?<![^\s\0])(?:#|//|;|--(?=[ \t]))[^\n\0\1]*")
"""To a line's end, as scripts, settings and SQL have them. No comment goes on into another value."""


def folding(data: bytes) -> Iterator[bytes]:
    """What a text holds when its line breaks, indents and list quotes are taken out; then without its comments too."""
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
    rb"[\"'`]" + _SUM + rb"[\"'`]"  # texts that a program puts together
    rb"|<(?<=[\w+/]<)/?[A-Za-z][^<>\0]{0,80}>(?:</?[A-Za-z][^<>\0]{0,80}>){0,3}(?=[\w+/])"  # a tag inside of a word
)
_JOINTS = re.compile(
    rb"([\"'`])[\w+/=-]{1,80}\1" + _SUM + rb"\1[\w+/=-]{1,80}\1" + _SUM + rb"\1[\w+/=-]"
    rb"|<(?<=[\w+/]<)(?:/?[A-Za-z][^<>\0]{0,80}><?){1,4}(?<=>)[\w+/=-]{1,80}</?[A-Za-z][^<>\0]{0,80}>"
)
"""Several of them in a row."""
_UNSEEN = re.compile(rb"\xc2\xad|\xe2\x80[\x8b-\x8f]|\xe2\x81[\xa0-\xa4]|\xef\xbb\xbf")


def invisible(data: bytes) -> Iterator[bytes]:
    """What a text holds without letters that nobody sees: soft hyphens, joiners, marks of the byte order."""
    if _UNSEEN.search(data):
        seen = _UNSEEN.sub(b"", values_with(data, _UNSEEN.search))
        if printable(seen) is seen:  # in what is no text they are there by chance
            yield seen


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


_HEX_ESCAPE = re.compile(rb"\\([0-9a-fA-F]{2}) ?")
"""In LDAP and CSS."""
_DECIMAL_ESCAPE = re.compile(rb"\\(\d{2,3})")
"""In Lua and zone files."""


def _decimal_escape(found: re.Match[bytes]) -> bytes:
    return bytes([min(int(found[1]), 255)])


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
    """Decodes what stands between other text, in the values where `pattern` finds it; one of `signs` must be there."""

    def decoder(data: bytes) -> Iterator[bytes]:
        if any(sign in data for sign in signs) and pattern.search(data):
            yield decode(values_with(data, pattern.search))

    return decoder


def _of_entities(text: bytes) -> bytes:
    return html.unescape(text.decode("latin-1")).encode("utf-8", "surrogatepass")


_QUOTED = re.compile(
    rb"=(?:\r?\n|3D|[0-9A-F]{2}=[0-9A-F]{2}|20[A-Za-z]+=20"
    rb"|(?<=\w=)(?:0[9A]|2[1-7]|3[C-F]|40|5[B-F]|60|7[B-E]|[89A-F][0-9A-F])(?=\w))"
)
"""A line's end, the sign itself, several bytes, a word between two blanks, a letter that is no digit nor letter:
`timeout=12` is none of them. All begin with the sign: what an expression begins with is looked for much faster."""
_UTF_7 = re.compile(rb"\+-?A[A-H][A-Za-z0-9+/]")
"""Letters of ASCII, in UTF-7 once or twice. A plus alone, `+-`, is left as it is: it is in every other expression."""


def _of_utf_7(text: bytes) -> bytes:
    return text.decode("utf-7", "ignore").encode("utf-8", "surrogatepass")


joints = _in_place(_JOINTS, partial(_JOINT.sub, b""), b'"', b"'", b"`", b"<")
url_encoding = _in_place(re.compile(rb"%[0-9a-fA-F]{2}"), urllib.parse.unquote_to_bytes, b"%")
escapes = _in_place(re.compile(rb"\\"), partial(_ESCAPE.sub, _one_escape), b"\\")
hex_escapes = _in_place(_HEX_ESCAPE, partial(_HEX_ESCAPE.sub, lambda found: bytes([int(found[1], 16)])), b"\\")
decimal_escapes = _in_place(_DECIMAL_ESCAPE, partial(_DECIMAL_ESCAPE.sub, _decimal_escape), b"\\")
entities = _in_place(re.compile(rb"&(?:#\d+|#x[0-9a-fA-F]+|amp|lt|gt|quot|apos);"), _of_entities, b"&")
quoted_printable = _in_place(_QUOTED, binascii.a2b_qp, b"=")
utf_7 = _in_place(_UTF_7, _of_utf_7, b"+A", b"+-A")
