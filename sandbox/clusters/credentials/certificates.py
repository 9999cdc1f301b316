"""Certificate authorities and certificates in memory: X.509 only, without Kubernetes and files.

`cryptography` makes them: it needs no openssl binary, and keys never appear on a command line. A P-256 pair takes a
millisecond, so each start issues all certificates anew and no code watches their expiry.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_AUTHORITY_DAYS = 3650
_LEAF_DAYS = 365
_CLOCK_SKEW = timedelta(minutes=5)  # for a guest with a clock that is slightly behind


@dataclass(frozen=True)
class Pair:
    """A certificate and its private key, both PEM."""

    certificate: bytes
    key: bytes


def token_key() -> bytes:
    """A new RSA-2048 key as PEM, for signing ServiceAccount tokens (RS256, which every verifier supports)."""
    return _pem(rsa.generate_private_key(public_exponent=65537, key_size=2048))


def new_authority(common_name: str) -> Pair:
    """A self-signed certificate authority, valid ten years."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
    usage = x509.KeyUsage(True, False, False, False, False, True, True, False, False)
    certificate = (
        _builder(name, name, key.public_key(), _AUTHORITY_DAYS)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    return Pair(certificate.public_bytes(serialization.Encoding.PEM), _pem(key))


def issue(authority: Pair, common_name: str, *, organizations: Sequence[str] = (), names: Sequence[str] = ()) -> Pair:
    """A certificate for both client and server use, valid a year.

    organizations: the Kubernetes groups of a client. names: host names and IP addresses of a server.
    """
    issuer = x509.load_pem_x509_certificate(authority.certificate)
    signer = serialization.load_pem_private_key(authority.key, password=None)
    assert isinstance(signer, ec.EllipticCurvePrivateKey)
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name(
        [x509.NameAttribute(NameOID.ORGANIZATION_NAME, one) for one in organizations]
        + [x509.NameAttribute(NameOID.COMMON_NAME, common_name)]
    )
    purposes = [ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH]
    builder = (
        _builder(subject, issuer.subject, key.public_key(), _LEAF_DAYS)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage(purposes), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
    )
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName([_san(one) for one in names]), critical=False)
    certificate = builder.sign(signer, hashes.SHA256())
    return Pair(certificate.public_bytes(serialization.Encoding.PEM), _pem(key))


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, days: int
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCK_SKEW)
        .not_valid_after(now + timedelta(days=days))
    )


def _san(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _pem(key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
