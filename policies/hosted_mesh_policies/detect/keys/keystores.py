"""Keystores: PKCS#12 and Java's own. What is in one that has no key is public; one that has a key is opened by the
passwords that everybody knows and by those that stand beside it, because whoever gets both has the key."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, Final

from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
    pkcs12,
)

from .der import elements, is_keystore

DEFAULT_PASSWORDS: Final = (b"", b"changeit", b"changeme", b"password", b"notasecret")
"""Java's own, and those of handbooks."""
MOST_PASSWORDS: Final = 16
MOST_BYTES: Final = 256 * 1024
_KEY_BAGS: Final = (
    bytes.fromhex("060b2a864886f70d010c0a0101"),
    bytes.fromhex("060b2a864886f70d010c0a0102"),
    bytes.fromhex("060b2a864886f70d010c0a0105"),  # any secret
)
_ENCRYPTED: Final = bytes.fromhex("06092a864886f70d010706")
_JAVA: Final = b"\xfe\xed\xfe\xed"
_JAVA_PROTECTED: Final = bytes.fromhex("060a2b060104012a02110101")


def has_key(data: bytes) -> bool:
    """True for a keystore that shows that it has a private key."""
    return (is_keystore(data) and any(bag in data for bag in _KEY_BAGS)) or (
        data.startswith(_JAVA) and _JAVA_PROTECTED in data
    )


def is_trust_store(data: bytes) -> bool:
    """True for a keystore that holds certificates only, readable by everybody."""
    return is_keystore(data) and not any(one in data for one in (*_KEY_BAGS, _ENCRYPTED))


def opened(text: bytes, passwords: Collection[bytes]) -> Iterator[bytes]:
    """The private keys, in DER, of a keystore or an encrypted key (as it is or in base64) under any of the passwords or
    the default ones."""
    if len(text) > MOST_BYTES:
        return
    tried = dict.fromkeys([*DEFAULT_PASSWORDS, *passwords])
    some = list(tried)[: len(DEFAULT_PASSWORDS) + MOST_PASSWORDS]
    if b"-----BEGIN ENCRYPTED PRIVATE KEY-----" in text:
        yield from _by_password(lambda password: load_pem_private_key(text, password), filter(None, some))
        return
    data = _decoded(text) if text.startswith((b"MI", b"/u3+7")) else text
    if is_keystore(data):
        yield from _by_password(lambda password: pkcs12.load_pkcs12(data, password or None).key, some)
    elif data.startswith(_JAVA):
        yield from _of_java(data, some)


def _decoded(text: bytes) -> bytes:
    try:
        return base64.b64decode(text)
    except ValueError:
        return b""


def _by_password(load: Callable[[bytes], Any], passwords: Iterable[bytes]) -> Iterator[bytes]:
    """The key, if there is one, behind the first password that fits."""
    for password in passwords:
        try:
            key = load(password)
        except Exception:  # noqa: S112 the library raises many kinds; all mean "not by this password"
            continue
        if key is not None:
            yield key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
        return


def _of_java(data: bytes, passwords: Collection[bytes]) -> Iterator[bytes]:
    """Sun's key protector: the key, by exclusive-or with a stream of SHA-1, between a salt and a checksum."""
    start = data.find(_JAVA_PROTECTED)
    while start >= 0:
        info = data[max(0, start - 10) : start]
        begins = max(info.rfind(b"\x30\x82"), info.rfind(b"\x30\x81"))
        for password in passwords if begins >= 0 else ():
            yield from _unprotected(data[max(0, start - 10) + begins :], password.decode("latin-1").encode("utf-16-be"))
        start = data.find(_JAVA_PROTECTED, start + 1)


def _unprotected(info: bytes, password: bytes) -> Iterator[bytes]:
    try:
        size = info[1] & 0x7F
        length = 2 + size + int.from_bytes(info[2 : 2 + size], "big")
        octets = elements(elements(info[:length])[0][1])[1][1]
    except (ValueError, IndexError):
        return
    salt, hidden, checksum = octets[:20], octets[20:-20], octets[-20:]
    stream, digest = b"", salt
    while len(stream) < len(hidden):
        digest = hashlib.sha1(password + digest, usedforsecurity=False).digest()
        stream += digest
    key = bytes(one ^ other for one, other in zip(hidden, stream, strict=False))
    if hashlib.sha1(password + key, usedforsecurity=False).digest() == checksum:
        yield key
