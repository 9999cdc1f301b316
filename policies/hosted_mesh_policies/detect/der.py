"""The private numbers inside a private key, read with a reader of DER that is just large enough for that.

Only the private numbers make good fingerprints: a key file also holds the public half, which certificates repeat.
Covers PKCS#1, PKCS#8 (RSA, EC, Ed25519, X25519), SEC1 and OpenSSH's own format; an encrypted PKCS#8 yields its
ciphertext.
"""

from __future__ import annotations

import struct
from typing import Final

SEQUENCE: Final = 0x30
INTEGER: Final = 0x02
OCTETS: Final = 0x04
LEAST_BYTES: Final = 16
"""A private number shorter than this belongs to no key in use."""

Element = tuple[int, bytes]


def elements(data: bytes) -> list[Element]:
    """The (tag, content) pairs that `data` consists of. ValueError when it is not DER."""
    found: list[Element] = []
    position = 0
    while position < len(data):
        if position + 2 > len(data):
            raise ValueError("cut short")
        tag, length = data[position], data[position + 1]
        position += 2
        if length & 0x80:
            size = length & 0x7F
            if not 1 <= size <= 4 or position + size > len(data):
                raise ValueError("bad length")
            length = int.from_bytes(data[position : position + size], "big")
            position += size
        if position + length > len(data):
            raise ValueError("cut short")
        found.append((tag, data[position : position + length]))
        position += length
    return found


def private_numbers(der: bytes) -> list[bytes]:
    """The private numbers of a DER private key, without leading zeros. Empty when `der` is anything else."""
    try:
        return [n for n in _numbers(_first(der)) if len(n) >= LEAST_BYTES]
    except (ValueError, IndexError):
        return []


def _first(der: bytes) -> bytes:
    """The outer sequence of a key; bytes after it (a decoder's leftovers) are ignored."""
    if len(der) < 16 or der[0] != SEQUENCE:
        raise ValueError("not a sequence")
    length, start = der[1], 2
    if length & 0x80:
        start += length & 0x7F
        length = int.from_bytes(der[2:start], "big")
    return der[start : start + length]


def _numbers(body: bytes) -> list[bytes]:
    parts = elements(body)
    tags = [tag for tag, _ in parts]
    if tags[:9] == [INTEGER] * 9:  # PKCS#1: version, n, e, d, p, q, ...
        return [parts[i][1].lstrip(b"\0") for i in (3, 4, 5)]
    if tags[:2] == [INTEGER, OCTETS]:  # SEC1: version 1, private, [curve], [public]
        return [parts[1][1]]
    if tags[:3] == [INTEGER, SEQUENCE, OCTETS]:  # PKCS#8: version, algorithm, key
        inner = parts[2][1]
        if inner[:1] == bytes([OCTETS]):  # Ed25519, X25519
            return [elements(inner)[0][1]]
        return _numbers(_first(inner))
    if tags == [SEQUENCE, OCTETS] and elements(parts[0][1])[0][0] == 0x06:  # encrypted PKCS#8
        return [parts[1][1]] if len(parts[1][1]) >= 40 else []
    return []


def openssh_numbers(blob: bytes) -> list[bytes]:
    """The private numbers of an `openssh-key-v1` blob; its whole private section when that is encrypted."""
    magic = b"openssh-key-v1\0"
    if not blob.startswith(magic):
        return []
    try:
        cipher, _kdf, _options = (fields := _strings(blob[len(magic) :], 3))[:3]
        rest = blob[len(magic) + sum(len(f) + 4 for f in fields) + 4 :]
        public, private = _strings(rest, 2)
        if cipher != b"none":
            return [private]
        values = _strings(private[8:], 99)[1:]  # two check numbers and the type come first
        halves = [v[:32] if len(v) == 64 and v[32:] in public else v for v in values]  # Ed25519 repeats its public half
        return [v.lstrip(b"\0") for v in halves if len(v) >= LEAST_BYTES and v.lstrip(b"\0") not in public][:6]
    except (struct.error, IndexError, ValueError):
        return []


def _strings(data: bytes, most: int) -> list[bytes]:
    """Up to `most` length-prefixed strings; stops at the padding behind the last one."""
    found: list[bytes] = []
    position = 0
    while len(found) < most and position + 4 <= len(data):
        (length,) = struct.unpack(">I", data[position : position + 4])
        if position + 4 + length > len(data):
            break
        found.append(data[position + 4 : position + 4 + length])
        position += 4 + length
    return found


def is_certificate_authority(der: bytes) -> bool:
    """True when a certificate's basic constraints say CA (RFC 5280, 4.2.1.9)."""
    at = der.find(b"\x06\x03\x55\x1d\x13")
    return at >= 0 and b"\x01\x01\xff" in der[at + 5 :][:14].removeprefix(b"\x01\x01\xff")
