"""base64, base32, base85, hex and uuencode: bytes in letters of an alphabet, at any alignment inside of other text."""

from __future__ import annotations

import base64
import binascii
import contextlib
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Final

from .text import BETWEEN, HEX_DIGITS, runs

LEAST_BASE64: Final = 11
"""Letters of a base64 text of the shortest fingerprint."""
_BASE64 = re.compile(rb"[A-Za-z0-9+/]{11,}")
_PADDED_APART = re.compile(rb"(?<![A-Za-z0-9+/])(?:[A-Za-z0-9+/]{2,}={1,2}){2,}[A-Za-z0-9+/]*")
"""Pieces of which each was encoded and padded by itself, end to end."""
_UNDER_A_PATH = re.compile(rb"/{0,2}(?:[a-z0-9+]+/){1,8}(?=([A-Za-z0-9+/]{11,}))")
"""Where a run begins with a path, what stands at its end: a slash is a letter of base64 as well."""
_URL_ALPHABET = bytes.maketrans(b"-_", b"+/")
_ENCODED_BETWEEN: Final = binascii.b2a_base64(BETWEEN, newline=False)
_FILL: Final = (b"", b"", b"AA", b"A")
"""By the letters that are over after whole groups of four: what makes the last group whole. One letter is no byte."""


def from_base64(data: bytes) -> Iterator[bytes]:
    """Each run of letters at each alignment. All runs are decoded in one call: one call for each costs three times as
    much."""
    data = data.translate(_URL_ALPHABET)
    for padded in _PADDED_APART.findall(data) if b"=" in data else ():
        yield b"".join(_whole_quads(piece) for piece in padded.split(b"=") if piece)
    found = dict.fromkeys(_BASE64.findall(data))
    paths = [_UNDER_A_PATH.match(run) for run in found if b"/" in run]
    runs = list(found | dict.fromkeys(path[1] for path in paths if path))
    for shift in range(4):
        runs = [run for run in runs if len(run) >= LEAST_BASE64 + shift]
        over = [(len(run) - shift) % 4 for run in runs]
        whole = [run[shift : len(run) - (left == 1)] + _FILL[left] for run, left in zip(runs, over, strict=True)]
        pieces = binascii.a2b_base64(_ENCODED_BETWEEN.join(whole)).split(BETWEEN)
        if len(pieces) == len(over):
            yield BETWEEN.join(
                [piece[: left - 4] if left > 1 else piece for piece, left in zip(pieces, over, strict=True)]
            )
        else:  # the separator was in a piece by chance
            yield BETWEEN.join(_whole_quads(run[shift:]) for run in runs)


def whole_base64(text: bytes) -> bytes:
    """What a text holds that is base64 as a whole, in either alphabet, with or without padding. ValueError for a length
    that is none."""
    standard = text.rstrip(b"=").translate(_URL_ALPHABET)
    return base64.b64decode(standard + b"=" * (-len(standard) % 4))


def _whole_quads(run: bytes) -> bytes:
    run = run[: len(run) - (len(run) % 4 == 1)]
    return binascii.a2b_base64(run + b"=" * (-len(run) % 4))


_HEX_FORMS: Final = (
    (runs(HEX_DIGITS, b"M" * 16), re.compile(rb"[0-9a-fA-F]{16,}"), b" "),
    (runs(HEX_DIGITS, b"MM:MM:MM:MM"), re.compile(rb"(?:[0-9a-fA-F]{2}:){7,}[0-9a-fA-F]{2}"), b":"),
    (runs(HEX_DIGITS, b"\\xMM\\xMM"), re.compile(rb"(?:\\x[0-9a-fA-F]{2}){4,}"), b"\\x"),
)
"""Whether it is worth looking, how it looks, and the sign between the digits, if there is one."""


def from_hex(data: bytes) -> Iterator[bytes]:
    runs = [run.replace(sign, b"") for has, form, sign in _HEX_FORMS if has(data) for run in form.findall(data)]
    for shift in (0, 1) if runs else ():
        yield BETWEEN.join(binascii.unhexlify(run[shift : len(run) - (len(run) - shift) % 2]) for run in runs)


_has_base32 = runs(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", b"M" * 16)
_has_base32_hex = runs(b"0123456789ABCDEFGHIJKLMNOPQRSTUV", b"M" * 16)
_BASE32 = re.compile(rb"[A-Z2-7]{16,}|[a-z2-7]{20,}")
_BASE32_HEX = re.compile(rb"[0-9A-V]{16,}")
_TO_HEX_ALPHABET: Final = bytes.maketrans(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567abcdefghijklmnopqrstuvwxyz",
    b"0123456789ABCDEFGHIJKLMNOPQRSTUV0123456789ABCDEFGHIJKLMNOP",
)


def from_base32(data: bytes) -> Iterator[bytes]:
    """Each run of letters at each alignment: a letter that stands before it by chance moves all that follow. As one
    large number a run is decoded once, and moved by bits."""
    runs = [run.translate(_TO_HEX_ALPHABET) for run in _BASE32.findall(data)] if _has_base32(data.upper()) else []
    if _has_base32_hex(data):
        runs += _BASE32_HEX.findall(data)
    numbers = [(5 * len(run), int(run, 32)) for run in runs]
    for shift in range(8) if runs else ():
        yield BETWEEN.join(_octets(number, bits - shift) for bits, number in numbers)


def _octets(number: int, bits: int) -> bytes:
    """The whole bytes among the last bits of a number, from the first of these on."""
    size = bits // 8
    return (number >> bits % 8).to_bytes(size + 1, "big")[-size:]


_BASE85 = re.compile(rb"[0-9A-Za-z!#$%&()*+;<=>?@^_`{|}~-]{15,}")
_ASCII85 = re.compile(rb"[!-uz]{15,}")
_NOT_IN_WORDS: Final = b"!#$%&()*+;<>?@^`{|}~\"',[]\\"
LEAST_ODD: Final = 0.08
"""Share of signs in a text of base85; of its 85 letters 23 are signs."""
LONGEST_UNJUDGED: Final = 128
LONGEST_AT_ANY_START: Final = 4096
_Z85 = re.compile(rb"[0-9A-Za-z.:+=^!/*?&<>()\[\]{}@%$#-]{15,}")
_FROM_Z85: Final = bytes.maketrans(
    b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#",
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~",
)


def _of_z85(data: bytes) -> bytes:
    return base64.b85decode(data.translate(_FROM_Z85))


_BASE85_DECODERS: Final = ((_BASE85, base64.b85decode), (_ASCII85, base64.a85decode), (_Z85, _of_z85))


def from_base85(data: bytes) -> Iterator[bytes]:
    """A short text of it may have no sign at all, or only such as words have too; letters of all sorts tell it then."""
    if not _signs(data) and not _mixed(data):
        return
    for pattern, decode in _BASE85_DECODERS:
        for run in dict.fromkeys(pattern.findall(data)):
            signs = _signs(run)
            if len(run) > LONGEST_UNJUDGED and signs < LEAST_ODD * len(run):
                continue
            if not signs:
                if pattern is not _ASCII85 and _mixed(run):
                    yield from _of_85(decode, run)
                continue
            for shift in range(5 if len(run) <= LONGEST_AT_ANY_START else 1):
                yield from _of_85(decode, run[shift:].removeprefix(b"<~").removesuffix(b"~>"))


def _signs(data: bytes) -> int:
    return len(data) - len(data.translate(None, _NOT_IN_WORDS))


def _mixed(data: bytes) -> bool:
    return not data.islower() and not data.isupper() and len(data) != len(data.translate(None, b"0123456789"))


@lru_cache(maxsize=16 * 1024)  # the readings of a text have most of their runs in common
def _of_85(decode: Callable[[bytes], bytes], whole: bytes) -> tuple[bytes, ...]:
    for end in (len(whole), len(whole) - len(whole) % 5):
        with contextlib.suppress(ValueError):  # not base85, or cut short
            return (decode(whole[:end]),)
    return ()


_UU = re.compile(rb"(?:(?<![!-`])|(?<=[:=\"'/?&#,;(>@]))(?=([!-M])([ -`]{4,60})[ \t]*\r?$)", re.MULTILINE)


_ENDS_OF_LINES: Final = bytes(
    ord("M") if byte in range(0x20, 0x61) else ord("\n") if byte in b"\t\r\n" else 0 for byte in range(256)
)


def from_uu(data: bytes) -> Iterator[bytes]:
    """Lines that begin with the number of their bytes."""
    if b"MMMMM\n" not in data.translate(_ENDS_OF_LINES) + b"\n":
        return
    pieces: dict[int, bytes] = {}
    for found in _UU.finditer(data):
        length = found.group(1)[0] - 32
        line = found.group(2).ljust(-(-length // 3) * 4)
        if -(-length // 3) * 4 <= len(line) <= -(-length // 3) * 4 + 1:
            try:
                pieces.setdefault(found.end(2), binascii.a2b_uu(found.group(1) + line))
            except ValueError:
                continue
    if pieces:
        yield b"".join(pieces.values())
