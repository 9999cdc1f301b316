"""Keystores: PKCS#12 and Java's own. A PKCS#12 keystore without keys is public."""

from __future__ import annotations

from typing import Final

from .der import is_keystore

_KEY_BAGS: Final = (
    bytes.fromhex("060b2a864886f70d010c0a0101"),
    bytes.fromhex("060b2a864886f70d010c0a0102"),
    bytes.fromhex("060b2a864886f70d010c0a0105"),  # any secret
)
_ENCRYPTED: Final = bytes.fromhex("06092a864886f70d010706")
_JAVA: Final = b"\xfe\xed\xfe\xed"
_JAVA_PROTECTED: Final = bytes.fromhex("060a2b060104012a02110101")


def has_key(data: bytes) -> bool:
    """True for a keystore that shows a private key."""
    return (is_keystore(data) and any(bag in data for bag in _KEY_BAGS)) or (
        data.startswith(_JAVA) and _JAVA_PROTECTED in data
    )


def is_trust_store(data: bytes) -> bool:
    """True for a readable keystore with certificates only."""
    return is_keystore(data) and not any(one in data for one in (*_KEY_BAGS, _ENCRYPTED))
