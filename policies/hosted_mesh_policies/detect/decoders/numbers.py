"""Lists of bytes as numbers, in decimal, hexadecimal or octal digits."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Final

from .text import HEX_DIGITS

_NUMBERS = re.compile(rb"(?:(?:0x|0o|\\x|\\)?[0-9a-fA-F]{1,4}[\s,;:]+){7,}(?:0x|0o|\\x|\\)?[0-9a-fA-F]{1,4}")
_NUMBER = re.compile(rb"[0-9a-fA-F]+(?![0-9a-fA-Fxo])")
_BASES: Final = (10, 16, 8)
_LEAST_NUMBERS: Final = 8
_OF_NUMBERS: Final = HEX_DIGITS + b"xo\\"
_SEPARATED: Final = bytes(ord(" ") if byte in b" \t\n\r\v\f,;:" else 0 for byte in range(256))


def from_lists(data: bytes) -> Iterator[bytes]:
    # Without the digits their separators are adjacent.
    separators = data.translate(_SEPARATED, _OF_NUMBERS)
    for run in _NUMBERS.findall(data) if b" " * (_LEAST_NUMBERS - 1) in separators else []:
        words = _NUMBER.findall(run)
        for base in _BASES:
            # Text around a list may look like a number: `value: 48, 49` begins with an `e` for base 16.
            for is_byte, stretch in itertools.groupby(_read(words, base), lambda number: number < 256):
                if is_byte and len(found := bytes(stretch)) >= _LEAST_NUMBERS:
                    yield found


def _read(words: list[bytes], base: int) -> Iterator[int]:
    """The words' numbers; 256 for words without a digit of this base."""
    for word in words:
        try:
            yield int(word, base)
        except ValueError:
            yield 256
