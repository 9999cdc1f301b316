"""Bytes of a text one by one: as numbers, in hex, escaped, as letters apart, as bits."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from typing import Final

_DIGEST_BYTES: Final = frozenset({16, 20, 28, 32, 48, 64})
_SPELLED: Final[tuple[tuple[re.Pattern[bytes], Callable[[re.Match[bytes]], bool]], ...]] = (
    (
        re.compile(rb"(?<![\w.])\d{1,4}([\s,;.+-]{1,2})(?:\d{1,4}\1){10,}\d{1,4}(?![\w.])"),
        lambda found: _are_bytes(_pieces(found)),
    ),
    (
        re.compile(rb"(?<![\w.])\d{1,3}(?:[ ,;]\d{1,3}){15,}(?![\w.])"),
        lambda found: _are_bytes(re.split(rb"[ ,;]", found.group())),
    ),
    (
        re.compile(
            rb"(?<![\w.])(?:0x)?[0-9A-Fa-f]{2}([\s,;:]{1,2})(?:(?:0x)?[0-9A-Fa-f]{2}\1){10,}(?:0x)?[0-9A-Fa-f]{2}(?!\w)"
        ),
        lambda found: not _is_fingerprint(found),
    ),
    (
        re.compile(rb"(?:%[0-9A-Fa-f]{2}){8,}|(?:=[0-9A-F]{2}(?:=\n)?){8,}"),
        lambda found: not _is_foreign_text(found.group()),
    ),
    (
        re.compile(rb"(?:&#(?:[0-9]{1,3}|[xX][0-9A-Fa-f]{1,4});|\\u[0-9A-Fa-f]{4}|\\x[0-9A-Fa-f]{2}|\\[0-7]{3}){8,}"),
        lambda found: _read(found.group()).isascii(),
    ),
    (
        re.compile(rb"(?<!\w)[A-Za-z0-9]([^A-Za-z0-9.]{1,4})(?:[A-Za-z0-9]\1){10,}[A-Za-z0-9](?!\w)"),
        lambda found: _are_drawn(_pieces(found)),
    ),
    (re.compile(rb"(?:[01]{8}[\s,]{1,2}){7,}[01]{8}"), bool),
)
"""Bytes one by one, as numbers, in hex, escaped (in a URL, a mail, a language or HTML), as letters apart, or as bits.
Each piece is a number or a word, and together they may be anything. Each pattern has a check that rejects similar text.
"""


def is_spelled(value: bytes) -> bool:
    """True for bytes written one by one. Fingerprints in hex with colons, numbers in order, letters that a URL cannot
    have, and flags are none."""
    return any(are_bytes(found) for pattern, are_bytes in _SPELLED for found in pattern.finditer(value))


def _pieces(found: re.Match[bytes]) -> list[bytes]:
    return found.group().split(found[1])


def _is_fingerprint(found: re.Match[bytes]) -> bool:
    """True for a digest's number of bytes, with colons, that are no text."""
    pieces = _pieces(found)
    if found[1] != b":" or len(pieces) not in _DIGEST_BYTES:
        return False
    return not all(32 <= int(one, 16) < 127 for one in pieces)


def _are_bytes(numbers: list[bytes]) -> bool:
    values = [int(one) for one in numbers]
    octal = all(one[:1] == b"0" for one in numbers)
    return values != sorted(values) and all(value <= (377 if octal else 255) for value in values)


def _read(entities: bytes) -> str:
    return html.unescape(entities.decode("unicode_escape"))


def _are_drawn(letters: list[bytes]) -> bool:
    return letters != sorted(letters) and len(set(letters)) > 5 and not b"".join(letters).isdigit()


def _is_foreign_text(escaped: bytes) -> bool:
    try:
        text = bytes.fromhex(re.sub(rb"[%=\n]", b"", escaped).decode()).decode()
    except ValueError:
        return False
    return not text.isascii()
