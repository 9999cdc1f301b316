"""Bytes as numbers: one large number in some base, lists of small ones, bits."""

from __future__ import annotations

import itertools
import re
import string
from collections.abc import Callable, Iterator
from typing import Final

from .text import BETWEEN, HEX_DIGITS, Decoder, runs

_FROM_BASE58: Final = {byte: n for n, byte in enumerate(b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz")}
MOST_OF_NUMBERS: Final = 64 * 1024
"""Letters of one value to decode: the work grows with the square of a run's length, so that only short ones are."""


def _whole_numbers(
    base: int, longest: int, pattern: re.Pattern[bytes], has: Callable[[bytes], object] = bool
) -> Decoder:
    """Reads runs of letters as whole numbers; another letter before one makes it another number."""

    def decoder(data: bytes) -> Iterator[bytes]:
        left, pieces = MOST_OF_NUMBERS, []
        for run in dict.fromkeys(pattern.findall(data)) if has(data) else ():
            if len(run) <= min(longest, left):
                left -= len(run)
                number = _of_base58(run) if base == 58 else int(run, base)
                pieces.append(number.to_bytes((number.bit_length() + 7) // 8, "big"))
        if pieces:
            yield BETWEEN.join(pieces)

    return decoder


def _of_base58(run: bytes) -> int:
    number = 0
    for byte in run:
        number = number * 58 + _FROM_BASE58[byte]
    return number


_has_letters = runs(string.ascii_letters.encode() + string.digits.encode(), b"M" * 16)
from_base58 = _whole_numbers(58, 512, re.compile(rb"[1-9A-HJ-NP-Za-km-z]{16,}"), _has_letters)
from_base36 = _whole_numbers(
    36, 512, re.compile(rb"(?<![0-9A-Za-z])(?:[0-9a-z]{16,}|[0-9A-Z]{16,})(?![0-9A-Za-z])"), _has_letters
)
from_decimal = _whole_numbers(
    10, 2560, re.compile(rb"(?<![0-9A-Za-z])[0-9]{24,}(?![0-9A-Za-z])"), runs(b"0123456789", b"M" * 24)
)
"""As programs print the numbers of an RSA key. Words and hexadecimal digits look alike."""

_NUMBERS = re.compile(rb"(?:(?:0x|0o|\\x|\\)?[0-9a-fA-F]{1,4}[\s,;:]+){7,}(?:0x|0o|\\x|\\)?[0-9a-fA-F]{1,4}")
_NUMBER = re.compile(rb"[0-9a-fA-F]+(?![0-9a-fA-Fxo])")
_ESCAPED_NUMBERS = re.compile(rb"(?:\\\d{1,3}){8,}")
_BITS = re.compile(rb"[01]{8}(?:[\s,]*[01]{8}){7,}")
_BASES: Final = (10, 16, 8)
_LEAST_NUMBERS: Final = 8
_OF_NUMBERS: Final = HEX_DIGITS + b"xo\\"
_SEPARATED: Final = bytes(ord(" ") if byte in b" \t\n\r\v\f,;:" else 0 for byte in range(256))


def from_lists(data: bytes) -> Iterator[bytes]:
    """Lists of bytes as numbers, and bytes as bits."""
    # Without the digits their separators are next to each other.
    separators = data.translate(_SEPARATED, _OF_NUMBERS)
    runs = _NUMBERS.findall(data) if b" " * (_LEAST_NUMBERS - 1) in separators else []
    if b"\\" in data:  # as Lua has them, in decimal
        runs += _ESCAPED_NUMBERS.findall(data)
    for run in runs:
        words = _NUMBER.findall(run)
        for base in _BASES:
            # What stands around a list may look like one more of it: `value: 48, 49` begins with an `e` for base 16.
            for is_byte, stretch in itertools.groupby(_read(words, base), lambda number: number < 256):
                if is_byte and len(found := bytes(stretch)) >= _LEAST_NUMBERS:
                    yield found
    for run in _BITS.findall(data):
        digits = run.translate(None, b" \t\r\n,")
        yield int(digits, 2).to_bytes(len(digits) // 8, "big")


def _read(words: list[bytes], base: int) -> Iterator[int]:
    """The words' numbers; 256 for what are no digits of this base."""
    for word in words:
        try:
            yield int(word, base)
        except ValueError:
            yield 256
