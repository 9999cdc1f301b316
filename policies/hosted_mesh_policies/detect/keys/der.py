"""Reads the private numbers of a private key, by a minimal reader of DER.

Only private numbers make good fingerprints: a key file also has the public half, which certificates repeat. Covers
PKCS#1, PKCS#8 (RSA, EC, Ed25519, X25519), SEC1 and OpenSSH's format; an encrypted PKCS#8 yields its ciphertext.
"""

from __future__ import annotations

import struct
from typing import Final

SEQUENCE: Final = 0x30
INTEGER: Final = 0x02
OCTETS: Final = 0x04
OPENSSH: Final = b"openssh-key-v1\0"
LEAST_BYTES: Final = 16
"""A shorter private number belongs to no key in use."""

Element = tuple[int, bytes]


def elements(data: bytes) -> list[Element]:
    """The (tag, content) pairs of `data`. ValueError if it is not DER."""
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
    """The private numbers of a DER private key, without leading zeros. Empty for any other `der`."""
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


def _numbers(body: bytes, depth: int = 0) -> list[bytes]:
    parts = elements(body) if depth < 4 else []
    tags = [tag for tag, _ in parts]
    if tags[:9] == [INTEGER] * 9:  # PKCS#1: version, n, e, d, p, q, d mod p-1, d mod q-1, 1/q
        return [parts[i][1].lstrip(b"\0") for i in range(3, 9)]
    if tags[:2] == [INTEGER, OCTETS]:  # SEC1: version 1, private, [curve], [public]
        return [parts[1][1]]
    if tags[:3] == [INTEGER, SEQUENCE, OCTETS]:  # PKCS#8: version, algorithm, key
        inner = parts[2][1]
        if inner[:1] == bytes([OCTETS]):  # Ed25519, X25519
            return [elements(inner)[0][1]]
        return _numbers(_first(inner), depth + 1)
    if tags == [SEQUENCE, OCTETS] and elements(parts[0][1])[0][0] == 0x06:  # encrypted PKCS#8
        return [parts[1][1]] if len(parts[1][1]) >= 40 else []
    return []


def openssh_numbers(blob: bytes) -> list[bytes]:
    """The private numbers of an `openssh-key-v1` blob; its whole private section if encrypted."""
    if not blob.startswith(OPENSSH):
        return []
    try:
        cipher, _kdf, _options = (fields := _strings(blob[len(OPENSSH) :], 3))[:3]
        rest = blob[len(OPENSSH) + sum(len(f) + 4 for f in fields) + 4 :]
        public, private = _strings(rest, 2)
        if cipher != b"none":
            return [private]
        values = _strings(private[8:], 99)[1:]  # two check numbers and the type come first
        halves = [v[:32] if len(v) == 64 and v[32:] in public else v for v in values]  # Ed25519 repeats its public half
        return [v.lstrip(b"\0") for v in halves if len(v) >= LEAST_BYTES and v.lstrip(b"\0") not in public][:6]
    except (struct.error, IndexError, ValueError):
        return []


def _strings(data: bytes, most: int) -> list[bytes]:
    """Up to `most` length-prefixed strings, without the padding behind the last."""
    found: list[bytes] = []
    position = 0
    while len(found) < most and position + 4 <= len(data):
        (length,) = struct.unpack(">I", data[position : position + 4])
        if position + 4 + length > len(data):
            break
        found.append(data[position + 4 : position + 4 + length])
        position += 4 + length
    return found


BIT_STRING: Final = 0x03
OBJECT: Final = 0x06
_PUBLIC_FORMS: Final = (
    [SEQUENCE, SEQUENCE, BIT_STRING],  # a certificate, request or revocation list
    [SEQUENCE, BIT_STRING],  # a public key
    [INTEGER, INTEGER],  # an RSA public key; parameters of Diffie-Hellman
    [OBJECT, 0xA0],  # a bundle of certificates (PKCS#7)
)


def is_public_der(der: bytes) -> bool:
    """True for DER of a public form, with nothing before or after it."""
    if der[:1] not in {b"\x30", b"\x06"}:
        return False
    try:
        ((tag, body),) = elements(der)
        return (tag == OBJECT and len(der) <= 16) or [tag for tag, _ in elements(body)] in _PUBLIC_FORMS
    except ValueError:
        return False


def begins_as_certificates_do(der: bytes) -> bool:
    """True for the beginning of a DER sequence of more than 127 bytes, which no text has."""
    return der[:2] in {b"\x30\x81", b"\x30\x82", b"\x30\x83"}


def is_keystore(der: bytes) -> bool:
    """True for a PKCS#12 keystore: version 3, then an envelope."""
    try:
        parts = elements(_first(der))
    except (ValueError, IndexError):
        return False
    return [tag for tag, _ in parts[:2]] == [INTEGER, SEQUENCE] and parts[0][1] == b"\3"


def public_key_of(der: bytes) -> bytes:
    """The public key of a certificate or request, as its bit string; else empty. For an EC or Ed25519 key that is its
    point; for RSA the sequence of modulus and exponent."""
    try:
        for tag, part in elements(elements(_first(der))[0][1]):
            inner = elements(part) if tag == SEQUENCE else []
            if [kind for kind, _ in inner] == [SEQUENCE, BIT_STRING]:
                return inner[1][1].removeprefix(b"\0")
    except (ValueError, IndexError):
        pass
    return b""


def is_certificate_authority(der: bytes) -> bool:
    """True if a certificate's basic constraints name a CA (RFC 5280, 4.2.1.9)."""
    at = der.find(b"\x06\x03\x55\x1d\x13")
    return at >= 0 and b"\x01\x01\xff" in der[at + 5 :][:14].removeprefix(b"\x01\x01\xff")
