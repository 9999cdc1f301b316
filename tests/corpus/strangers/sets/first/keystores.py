"""Java's keystore, written and read by its own rules, and PKCS#12: a key in a form that no PEM parser knows."""

from __future__ import annotations

import base64
import hashlib
import struct

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.serialization import pkcs12

from tests.corpus.strangers.material import Material

PASSWORD = "changeit"  # the default of Java's keytool
_PROTECTED = bytes.fromhex("300e060a2b060104012a021101010500")  # the algorithm's identifier: Sun's key protector


def _stream(password: bytes, salt: bytes, length: int) -> bytes:
    out, digest = b"", salt
    while len(out) < length:
        digest = hashlib.sha1(password + digest).digest()
        out += digest
    return out[:length]


def _length(data: bytes) -> bytes:
    return bytes([len(data)]) if len(data) < 128 else b"\x82" + struct.pack(">H", len(data))


def jks(material: Material, name: str) -> bytes:
    """A keystore with one private key, protected by the default password."""
    password, key = PASSWORD.encode("utf-16-be"), material.key_der(name)
    salt = hashlib.sha1(name.encode()).digest()
    hidden = bytes(a ^ b for a, b in zip(key, _stream(password, salt, len(key)), strict=True))
    octets = salt + hidden + hashlib.sha1(password + key).digest()
    wrapped = b"\x04" + _length(octets) + octets
    info = b"\x30" + _length(_PROTECTED + wrapped) + _PROTECTED + wrapped
    alias = name.encode()
    certificate = x509.load_pem_x509_certificate(material.certificate(name).encode())
    chain = certificate.public_bytes(serialization.Encoding.DER)
    body = struct.pack(">IIIIH", 0xFEEDFEED, 2, 1, 1, len(alias)) + alias + struct.pack(">Q", 0)
    body += struct.pack(">I", len(info)) + info + struct.pack(">IH", 1, 5) + b"X.509" + struct.pack(">I", len(chain))
    body += chain
    return body + hashlib.sha1(password + b"Mighty Aphrodite" + body).digest()


def of_jks(data: bytes) -> bytes:
    """The private number of the key in a keystore, as hexadecimal digits."""
    password = PASSWORD.encode("utf-16-be")
    at = data.index(_PROTECTED) + len(_PROTECTED)
    size, start = (
        (data[at + 1], at + 2) if data[at + 1] < 128 else (struct.unpack(">H", data[at + 2 : at + 4])[0], at + 4)
    )
    octets = data[start : start + size]
    salt, hidden = octets[:20], octets[20:-20]
    return number(bytes(a ^ b for a, b in zip(hidden, _stream(password, salt, len(hidden)), strict=True)))


_MADE: dict[tuple[str, str, str], bytes] = {}
"""A protected file has a random salt; one that is asked for again is the same."""


def p12(material: Material, name: str, password: str = "") -> bytes:
    """A PKCS#12 file with a key and its certificate; unprotected, or protected by a password."""
    material.ec(name)
    label = (material.label, name, password)
    if label not in _MADE:
        _MADE[label] = _p12(material, name, password)
    return _MADE[label]


def _p12(material: Material, name: str, password: str) -> bytes:
    protect = serialization.BestAvailableEncryption(password.encode()) if password else serialization.NoEncryption()
    certificate = x509.load_pem_x509_certificate(material.certificate(name).encode())
    return pkcs12.serialize_key_and_certificates(name.encode(), material.ec(name), certificate, None, protect)


def of_p12(data: bytes, password: str = "") -> bytes:
    key, _, _ = pkcs12.load_key_and_certificates(data, password.encode() or None)
    return f"{key.private_numbers().private_value:064x}".encode()


def number(der: bytes) -> bytes:
    """The private number of a key in DER, as hexadecimal digits."""
    key = serialization.load_der_private_key(der, None)
    return f"{key.private_numbers().private_value:064x}".encode()


def number_of_pem(pem: bytes, password: bytes | None = None) -> bytes:
    key = serialization.load_pem_private_key(pem, password)
    return f"{key.private_numbers().private_value:064x}".encode()


def number_of_jwk(encoded: str) -> bytes:
    return base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).hex().encode()
