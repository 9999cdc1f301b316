"""Keystores: PKCS#12 and Java's own. What is in one that has no key is public; one that has a key is opened by the
passwords that everybody knows and by those that stand beside it, because whoever gets both has the key."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
    pkcs12,
)

from .der import elements, is_certificate_authority, is_keystore

DEFAULT_PASSWORDS: Final = (b"", b"changeit", b"changeme", b"password", b"notasecret")
"""Java's own, and those of handbooks."""
MOST_PASSWORDS: Final = 16
MOST_BYTES: Final = 256 * 1024
MOST_ROUNDS: Final = 4_000_000
"""Of deriving keys from passwords, for all stores of an object: two seconds. Most have some ten thousand."""
MOST_ROUNDS_BYTES: Final = 5
"""Of such a number: what is longer is none."""
_KEY_BAGS: Final = (
    bytes.fromhex("060b2a864886f70d010c0a0101"),
    bytes.fromhex("060b2a864886f70d010c0a0102"),
    bytes.fromhex("060b2a864886f70d010c0a0105"),  # any secret
)
_ENCRYPTED_KEY: Final = b"-----BEGIN ENCRYPTED PRIVATE KEY-----"
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


@dataclass
class Rounds:
    """What is left of an object's."""

    left: int = MOST_ROUNDS

    def allowed(self, data: bytes, passwords: list[bytes]) -> list[bytes]:
        """As many passwords as may be tried at a store, or an encrypted key, in DER."""
        cost = max(1, *_rounds(data))
        some = passwords[: self.left // cost]
        self.left -= len(some) * cost
        return some


def _rounds(data: bytes) -> Iterator[int]:
    """Numbers that stand behind a salt: whatever derives a key says so how often."""
    for found in re.finditer(rb"\x04(?=[\x00-\x7f]|\x81)", data):
        at = found.end() + (data[found.end()] == 0x81)
        number = at + 1 + int.from_bytes(data[at : at + 1], "big")
        tag, size = data[number : number + 1], int.from_bytes(data[number + 1 : number + 2], "big")
        if tag == b"\x02" and 0 < size <= MOST_ROUNDS_BYTES:
            yield int.from_bytes(data[number + 2 : number + 2 + size], "big")


class Opened(NamedTuple):
    """A private key, in DER. is_kept: whether a certificate of it that is no authority's is kept with it."""

    key: bytes
    is_kept: bool


def opened(text: bytes, passwords: Collection[bytes], rounds: Rounds) -> Iterator[Opened]:
    """The private keys of a keystore or an encrypted key (as it is or in base64) under any of the passwords or the
    default ones, as far as the rounds reach."""
    if len(text) > MOST_BYTES:
        return
    tried = dict.fromkeys([*DEFAULT_PASSWORDS, *passwords])
    some = list(tried)[: len(DEFAULT_PASSWORDS) + MOST_PASSWORDS]
    if _ENCRYPTED_KEY in text:
        blocks = [_decoded(rest.partition(b"-----END")[0]) for rest in text.split(_ENCRYPTED_KEY)[1:]]
        some = [one for one in rounds.allowed(b"".join(blocks), some) if one]
        yield from _by_password(lambda password: (load_pem_private_key(text, password), None), some)
        return
    data = _decoded(text) if text.startswith((b"MI", b"/u3+7")) else text
    if is_keystore(data):
        yield from _by_password(lambda password: _of_pkcs12(data, password), rounds.allowed(data, some))
    elif data.startswith(_JAVA):
        yield from (Opened(key, _is_no_authoritys(certificate)) for key, certificate in _of_java(data, some))


def _is_no_authoritys(certificate: bytes) -> bool:
    """True for a certificate, in DER, that signs no others."""
    return bool(certificate) and not is_certificate_authority(certificate)


def _of_pkcs12(data: bytes, password: bytes) -> tuple[Any, Any]:
    found = pkcs12.load_pkcs12(data, password or None)
    return found.key, found.cert.certificate if found.cert else None


def _decoded(text: bytes) -> bytes:
    try:
        return base64.b64decode(text)
    except ValueError:
        return b""


def _by_password(load: Callable[[bytes], tuple[Any, Any]], passwords: Iterable[bytes]) -> Iterator[Opened]:
    """The key, if there is one, behind the first password that fits."""
    for password in passwords:
        try:
            key, certificate = load(password)
        except Exception:  # noqa: S112 the library raises many kinds; all mean "not by this password"
            continue
        if key is not None:
            der = key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
            yield Opened(der, _is_no_authoritys(certificate.public_bytes(Encoding.DER) if certificate else b""))
        return


def _of_java(data: bytes, passwords: Collection[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """Keys, each with the certificate of it that the keystore has, or nothing. Sun's key protector: the key, by
    exclusive-or with a stream of SHA-1, between a salt and a checksum. No key stands in another: what claims so would
    be gone through again and again."""
    start = data.find(_JAVA_PROTECTED)
    while start >= 0:
        # A key of elliptic curves is so short that its length is one byte.
        begins = [
            start - 4 - more
            for more, head in ((2, b"\x30\x82"), (1, b"\x30\x81"), (0, b"\x30"))
            if data.startswith(head, start - 4 - more)
        ]
        info = data[begins[0] : begins[0] + _length(data[begins[0] : start])] if begins and begins[0] > 0 else b""
        for password in passwords if info else ():
            for key in _unprotected(info, password.decode("latin-1").encode("utf-16-be")):
                yield key, _java_certificate(data[begins[0] + len(info) :])
        start = data.find(_JAVA_PROTECTED, start + max(len(info) - 6, 1))


def _java_certificate(rest: bytes) -> bytes:
    """The first certificate of a chain, which is the key's: how many there are, the type, a length, and it. The type is
    not there in the first version of the format."""
    if not int.from_bytes(rest[:4], "big"):
        return b""
    kind = int.from_bytes(rest[4:6], "big")
    at = 6 + kind if rest[6 : 6 + kind] == b"X.509" else 4
    size = int.from_bytes(rest[at : at + 4], "big")
    return rest[at + 4 : at + 4 + size]


def _length(info: bytes) -> int:
    """Of what begins with a head in DER, the head included."""
    size = info[1] & 0x7F if info[1] & 0x80 else 0
    return 2 + size + int.from_bytes(info[2 : 2 + size], "big") if size else 2 + info[1]


def _unprotected(info: bytes, password: bytes) -> Iterator[bytes]:
    try:
        octets = elements(elements(info)[0][1])[1][1]
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
