"""Real key pairs and certificates with real signatures, so that a program's derived values are right."""

from __future__ import annotations

import base64
import datetime
import hashlib
import ipaddress
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

PrivateKey = Any
"""Of RSA, of an elliptic curve, or Ed25519."""
IN_PEM: Final = re.compile(r"-----BEGIN ([A-Z0-9 ]*)PRIVATE KEY-----.*?-----END \1PRIVATE KEY-----\n?", re.DOTALL)
CURVES: Final[Mapping[str, ec.EllipticCurve]] = {
    "P224": ec.SECP224R1(),
    "P256": ec.SECP256R1(),
    "P384": ec.SECP384R1(),
    "P521": ec.SECP521R1(),
}


class UnusableKeyError(Exception):
    """An unparsable key or request of a certificate. The message never contains it."""


def generate(algorithm: str = "ECDSA", curve: str = "P256", bits: int = 2048) -> PrivateKey:
    """A key as of tls.PrivateKey. Raises: UnusableKeyError for algorithms outside of that resource's."""
    if algorithm == "RSA":
        return rsa.generate_private_key(65537, bits)
    if algorithm == "ED25519":
        return ed25519.Ed25519PrivateKey.generate()
    if algorithm == "ECDSA" and curve in CURVES:
        return ec.generate_private_key(CURVES[curve])
    raise UnusableKeyError("algorithm must be RSA, ECDSA or ED25519, and ecdsaCurve P224, P256, P384 or P521")


def like(key: PrivateKey) -> PrivateKey:
    """A fresh key of the same algorithm and size."""
    if isinstance(key, rsa.RSAPrivateKey):
        return rsa.generate_private_key(65537, key.key_size)
    if isinstance(key, ec.EllipticCurvePrivateKey):
        return ec.generate_private_key(key.curve)
    return ed25519.Ed25519PrivateKey.generate()


def private_texts(key: PrivateKey) -> dict[str, str]:
    """The private outputs of tls.PrivateKey. Like the plug-in, in the traditional form for RSA and ECDSA keys."""
    traditional = (
        PrivateFormat.PKCS8 if isinstance(key, ed25519.Ed25519PrivateKey) else PrivateFormat.TraditionalOpenSSL
    )
    forms = {"privateKeyPem": traditional, "privateKeyPemPkcs8": PrivateFormat.PKCS8}
    texts = {name: key.private_bytes(Encoding.PEM, form, NoEncryption()).decode() for name, form in forms.items()}
    try:
        texts["privateKeyOpenssh"] = key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()).decode()
    except (ValueError, UnsupportedAlgorithm):
        texts["privateKeyOpenssh"] = ""  # P224 has none
    return texts


def privates_in(text: str) -> list[str]:
    """The private keys in PEM of a text."""
    return [found.group() for found in IN_PEM.finditer(text)]


def public_texts(public: Any) -> dict[str, str]:
    """The public outputs of tls.PrivateKey, for the public half of its key."""
    pem = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    texts = {
        "publicKeyPem": pem,
        "publicKeyOpenssh": "",
        "publicKeyFingerprintMd5": "",
        "publicKeyFingerprintSha256": "",
    }
    try:
        line = public.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()
    except (ValueError, UnsupportedAlgorithm):
        return texts
    blob = base64.b64decode(line.split()[1])
    sha = base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip("=")
    md5 = hashlib.md5(blob, usedforsecurity=False).hexdigest()
    md5 = ":".join(md5[i : i + 2] for i in range(0, 32, 2))
    return {
        **texts,
        "publicKeyOpenssh": line + "\n",
        "publicKeyFingerprintMd5": md5,
        "publicKeyFingerprintSha256": f"SHA256:{sha}",
    }


def spki(public: Any) -> bytes:
    """A public key as DER, which identifies it."""
    found: bytes = public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return found


def private_of(text: Any) -> PrivateKey:
    """A private key from PEM. Raises: UnusableKeyError."""
    try:
        data = str(text).encode()
        if b"OPENSSH" in data:
            return serialization.load_ssh_private_key(data, None)
        return serialization.load_pem_private_key(data, None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise UnusableKeyError("is not a private key in PEM") from None


def _algorithm(key: PrivateKey) -> Any:
    return None if isinstance(key, ed25519.Ed25519PrivateKey) else hashes.SHA256()


_ATTRIBUTES: Final = {
    "commonName": x509.NameOID.COMMON_NAME,
    "organization": x509.NameOID.ORGANIZATION_NAME,
    "organizationalUnit": x509.NameOID.ORGANIZATIONAL_UNIT_NAME,
    "country": x509.NameOID.COUNTRY_NAME,
    "locality": x509.NameOID.LOCALITY_NAME,
    "province": x509.NameOID.STATE_OR_PROVINCE_NAME,
    "serialNumber": x509.NameOID.SERIAL_NUMBER,
}


def _subject(given: Any) -> x509.Name:
    fields = given if isinstance(given, Mapping) else {}
    given_ones = ((oid, fields[key]) for key, oid in _ATTRIBUTES.items() if fields.get(key))
    return x509.Name([x509.NameAttribute(oid, str(value)) for oid, value in given_ones])


def _names(inputs: Mapping[str, Any]) -> list[x509.GeneralName]:
    def all_of(key: str) -> Iterable[str]:
        return [str(one) for one in inputs.get(key) or ()]

    return [
        *map(x509.DNSName, all_of("dnsNames")),
        *(x509.IPAddress(ipaddress.ip_address(one)) for one in all_of("ipAddresses")),
        *map(x509.UniformResourceIdentifier, all_of("uris")),
    ]


def request(inputs: Mapping[str, Any], key: PrivateKey) -> str:
    """A certificate request as of tls.CertRequest."""
    builder = x509.CertificateSigningRequestBuilder().subject_name(_subject(inputs.get("subject")))
    if names := _names(inputs):
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return builder.sign(key, _algorithm(key)).public_bytes(Encoding.PEM).decode()


def parsed_request(text: Any) -> x509.CertificateSigningRequest:
    """Raises: UnusableKeyError."""
    try:
        return x509.load_pem_x509_csr(str(text).encode())
    except ValueError:
        raise UnusableKeyError("is not a certificate request in PEM") from None


def certificate(
    inputs: Mapping[str, Any],
    signer: PrivateKey,
    now: datetime.datetime,
    serial: int,
    *,
    asked: x509.CertificateSigningRequest | None = None,
    authority: str | None = None,
) -> str:
    """A certificate as of tls.SelfSignedCert, or of tls.LocallySignedCert if a request and an authority are given."""
    subject = asked.subject if asked else _subject(inputs.get("subject"))
    issuer = subject
    if authority is not None:
        try:
            issuer = x509.load_pem_x509_certificate(str(authority).encode()).subject
        except ValueError:
            raise UnusableKeyError("caCertPem is not a certificate in PEM") from None
    public = asked.public_key() if asked else signer.public_key()
    hours = float(inputs.get("validityPeriodHours") or 24)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public)
        .serial_number(serial)
        .not_valid_before(now)
        .not_valid_after(now + datetime.timedelta(hours=min(hours, 24 * 365 * 100)))
        .add_extension(x509.BasicConstraints(ca=bool(inputs.get("isCaCertificate")), path_length=None), critical=True)
    )
    names = _names(inputs)
    if asked:
        for extension in asked.extensions:
            if isinstance(extension.value, x509.SubjectAlternativeName):
                names = list(extension.value)
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    if inputs.get("isCaCertificate") or inputs.get("setSubjectKeyId"):
        builder = builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
    if authority is not None:
        identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key())
        builder = builder.add_extension(identifier, critical=False)
    return builder.sign(signer, _algorithm(signer)).public_bytes(Encoding.PEM).decode()
