"""The words of `allowedUses` and their bits and identifiers in a certificate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID

_KEY_USES: Final = (
    "digital_signature",
    "content_commitment",
    "key_encipherment",
    "data_encipherment",
    "key_agreement",
    "key_cert_sign",
    "crl_sign",
    "encipher_only",
    "decipher_only",
)
# Words that differ from those of the library.
_LIBRARY_WORD: Final = {"cert_signing": "key_cert_sign", "crl_signing": "crl_sign"}

_EXTENDED: Final = {
    "any_extended": ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE,
    "server_auth": ExtendedKeyUsageOID.SERVER_AUTH,
    "client_auth": ExtendedKeyUsageOID.CLIENT_AUTH,
    "code_signing": ExtendedKeyUsageOID.CODE_SIGNING,
    "email_protection": ExtendedKeyUsageOID.EMAIL_PROTECTION,
    "timestamping": ExtendedKeyUsageOID.TIME_STAMPING,
    "ocsp_signing": ExtendedKeyUsageOID.OCSP_SIGNING,
}

WORDS: Final = tuple(
    sorted([*(word for word in _KEY_USES if word not in _LIBRARY_WORD.values()), *_LIBRARY_WORD, *_EXTENDED])
)


def key_usage(words: Sequence[str]) -> x509.KeyUsage | None:
    """The key usage extension, None when no word needs one."""
    wanted = {_LIBRARY_WORD.get(word, word) for word in words} & set(_KEY_USES)
    if not wanted:
        return None
    if wanted & {"encipher_only", "decipher_only"} and "key_agreement" not in wanted:
        wanted.add("key_agreement")  # Without it the two mean nothing (RFC 5280), and the library rejects them.
    return x509.KeyUsage(**{use: use in wanted for use in _KEY_USES})


def extended_key_usage(words: Sequence[str]) -> x509.ExtendedKeyUsage | None:
    """The extended key usage extension, in the order of the words, None when no word needs one."""
    wanted = [_EXTENDED[word] for word in words if word in _EXTENDED]
    return x509.ExtendedKeyUsage(wanted) if wanted else None
