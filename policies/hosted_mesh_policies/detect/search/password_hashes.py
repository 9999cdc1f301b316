"""Hashes that log in like the password that they are made of: PostgreSQL's `md5...`, and the digest of HTTP (HA1).

Both are made of the password and of what stands beside the hash, so a known password can be tried.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Iterable, Iterator
from typing import Final

_HASH: Final = re.compile(rb"(?:md5|:)([0-9a-f]{32})(?![0-9a-f])")
_BEFORE: Final = re.compile(rb"([^\s:\"']{1,64}:[^:\n\"']{1,64}:)$")
_WORD: Final = re.compile(rb"[\w.@-]{1,63}")
LONGEST_LINE: Final = 512
LONGEST_PASSWORD: Final = 128
MOST_TRIED: Final = 256
"""Hashes of one text, each with a name that may have gone into it."""


def logins(text: bytes) -> Iterator[tuple[int, bytes, bytes, bytes]]:
    """Where such hashes are: place, what goes before the password, what goes after it, the hash."""
    return itertools.islice(_logins(text), MOST_TRIED)


def _logins(text: bytes) -> Iterator[tuple[int, bytes, bytes, bytes]]:
    for found in _HASH.finditer(text):
        start = text.rfind(b"\n", max(0, found.start() - LONGEST_LINE), found.start()) + 1
        line = text[max(start, found.start() - LONGEST_LINE) : found.start() + 1]
        if found.group().startswith(b"md5"):
            for name in dict.fromkeys(_WORD.findall(line[:-1])):
                yield found.start(), b"", name, found[1]
        elif beside := _BEFORE.search(line):
            yield found.start(), beside[1], b"", found[1]


def opened_by(text: bytes, passwords: Iterable[tuple[bytes, int]]) -> Iterator[tuple[int, int]]:
    """The places in a text where a known password's hash is, each with the password's number."""
    tried = list(logins(text)) if _HASH.search(text) else []
    for password, number in passwords if tried else ():
        if len(password) <= LONGEST_PASSWORD:
            for place, before, after, found in tried:
                made = hashlib.md5(before + password + after, usedforsecurity=False)
                if made.hexdigest().encode() == found:
                    yield place, number
