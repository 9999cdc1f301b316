"""Private keys: made, read from PEM, and written in each output form of the tls provider."""

from __future__ import annotations

import base64
import hashlib
from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from sandbox.plugins.bridged.resources import Values
from sandbox.plugins.protocol.errors import ProviderError

PrivateKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey
PublicKey = rsa.RSAPublicKey | ec.EllipticCurvePublicKey | ed25519.Ed25519PublicKey

CURVES: Final[dict[str, ec.EllipticCurve]] = {
    "P224": ec.SECP224R1(),
    "P256": ec.SECP256R1(),
    "P384": ec.SECP384R1(),
    "P521": ec.SECP521R1(),
}
_LEAST_BITS: Final = 1024
ALGORITHMS: Final = ("RSA", "ECDSA", "ED25519")


def generate(algorithm: str, *, rsa_bits: int, curve: str) -> PrivateKey:
    """A new key. rsa_bits counts for RSA only, curve (a key of CURVES) for ECDSA only. Raises ProviderError."""
    if algorithm == "RSA":
        if rsa_bits < _LEAST_BITS:
            raise ProviderError(f"rsaBits: a key of {rsa_bits} bits is not safe; {_LEAST_BITS} are the least")
        return rsa.generate_private_key(public_exponent=65537, key_size=rsa_bits)
    if algorithm == "ECDSA":
        return ec.generate_private_key(CURVES[curve])
    return ed25519.Ed25519PrivateKey.generate()


def load(pem: str) -> PrivateKey:
    """The key in a PEM text. Raises ProviderError, without the text, when there is none of a supported kind."""
    try:
        key = load_pem_private_key(pem.encode(), password=None)
    except (ValueError, TypeError):
        raise ProviderError("the private key is not an unencrypted PEM private key") from None
    if not isinstance(key, PrivateKey):
        raise ProviderError("the private key is neither RSA, ECDSA nor ED25519")
    return key


def algorithm_of(key: PrivateKey) -> str:
    """One of ALGORITHMS."""
    if isinstance(key, rsa.RSAPrivateKey):
        return "RSA"
    return "ECDSA" if isinstance(key, ec.EllipticCurvePrivateKey) else "ED25519"


def create(inputs: Values) -> tuple[str, dict[str, Any]]:
    """The outputs of a PrivateKey resource. The id is the SHA-1 of the public key."""
    key = generate(inputs["algorithm"], rsa_bits=inputs["rsaBits"], curve=inputs["ecdsaCurve"])
    public = key.public_key()
    encoded = public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    traditional = PrivateFormat.PKCS8 if algorithm_of(key) == "ED25519" else PrivateFormat.TraditionalOpenSSL
    # The official plug-in trims white space around the bytes before it hashes them.
    identity = hashlib.sha1(encoded.strip()).hexdigest()  # noqa: S324 - an identifier, not a signature
    return identity, {
        "privateKeyPem": _private(key, traditional),
        "privateKeyPemPkcs8": _private(key, PrivateFormat.PKCS8),
        "publicKeyPem": public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode(),
        **_openssh(key, public),
    }


def _private(key: PrivateKey, form: PrivateFormat) -> str:
    return key.private_bytes(Encoding.PEM, form, NoEncryption()).decode()


def _openssh(key: PrivateKey, public: PublicKey) -> dict[str, str]:
    """The key's SSH forms; empty texts for the one curve that SSH lacks."""
    if isinstance(key, ec.EllipticCurvePrivateKey) and isinstance(key.curve, ec.SECP224R1):
        names = ("privateKeyOpenssh", "publicKeyOpenssh", "publicKeyFingerprintMd5", "publicKeyFingerprintSha256")
        return dict.fromkeys(names, "")
    line = public.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    blob = base64.b64decode(line.split(b" ")[1])
    md5 = hashlib.md5(blob).hexdigest()  # noqa: S324 - OpenSSH's old fingerprint is MD5 by definition
    sha256 = base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip("=")
    return {
        "privateKeyOpenssh": _private(key, PrivateFormat.OpenSSH),
        "publicKeyOpenssh": line.decode() + "\n",
        "publicKeyFingerprintMd5": ":".join(md5[i : i + 2] for i in range(0, len(md5), 2)),
        "publicKeyFingerprintSha256": f"SHA256:{sha256}",
    }
