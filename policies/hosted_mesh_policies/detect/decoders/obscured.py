"""What looks encrypted and anybody can read: the key is in the tool's source, or stands beside it.

rclone's `pass = ...`, WebSphere's `{xor}...`, and Fernet with its key in the same text.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Final

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from .alphabets import whole_base64

_RCLONE: Final = re.compile(
    rb"pass(?:word2?)?[\"']?[ \t]*[:=][ \t]*[\"']?([A-Za-z0-9_-]{22,})(?![\w=-])", re.IGNORECASE
)
_RCLONES_KEY: Final = bytes.fromhex("9c935b48730a554d6bfd7c63c886a92bd390198eb8128afbf4de162b8b95f638")
"""Of rclone's `fs/config/obscure`, the same in every copy of it."""
_XOR: Final = re.compile(rb"\{xor\}([A-Za-z0-9+/]{4,}={0,2})")
_XORS_BYTE: Final = ord("_")
_FERNET: Final = re.compile(rb"(?<![\w-])gAAAAA[\w-]{90,}={0,2}", re.ASCII)
_FERNETS_KEY: Final = re.compile(rb"(?<![\w-])[\w-]{43}=(?![\w=-])", re.ASCII)
MOST_TRIED: Final = 64
"""Pairs of a key and what it may open."""


def plain(text: bytes) -> Iterator[bytes]:
    """What such values say."""
    if b"{xor}" in text:
        for found in _XOR.findall(text):
            yield bytes(byte ^ _XORS_BYTE for byte in _decoded(found))
    if b"ass" in text or b"ASS" in text:
        for found in _RCLONE.findall(text):
            yield from _of_rclone(_decoded(found))
    if b"gAAAAA" in text:
        pairs = itertools.product(dict.fromkeys(_FERNETS_KEY.findall(text)), dict.fromkeys(_FERNET.findall(text)))
        for key, token in itertools.islice(pairs, MOST_TRIED):
            try:
                yield Fernet(key).decrypt(token)
            except InvalidToken:
                continue


def _of_rclone(data: bytes) -> Iterator[bytes]:
    """Sixteen bytes to start with, then AES in counter mode. Of anything else comes no text."""
    if len(data) > algorithms.AES.block_size // 8:
        start, rest = data[:16], data[16:]
        made = Cipher(algorithms.AES(_RCLONES_KEY), modes.CTR(start)).decryptor().update(rest)
        if made.isascii() and made.decode("ascii").isprintable():
            yield made


def _decoded(text: bytes) -> bytes:
    try:
        return whole_base64(text)
    except ValueError:
        return b""
