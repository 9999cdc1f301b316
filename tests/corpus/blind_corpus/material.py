"""What an owner's secrets are made of: anything by its name, the same for one owner and seed, another for another seed.

So a program can be run twice with other secrets of one owner and the same of all others.
"""

from __future__ import annotations

import base64
import datetime
import functools
import hashlib
import json
import string
from collections.abc import Sequence

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key

from tests.corpus import literals

LOWER = string.ascii_lowercase + string.digits
LETTERS = string.ascii_letters + string.digits
BEGIN = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
P256 = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551  # the group's order
PKCS8, TRADITIONAL = serialization.PrivateFormat.PKCS8, serialization.PrivateFormat.TraditionalOpenSSL
PEM, DER = serialization.Encoding.PEM, serialization.Encoding.DER


@functools.cache
def _rsa(label: str) -> RSAPrivateKey:
    del label
    return generate_private_key(65537, 2048)


@functools.cache
def _certificate(label: str, subject: str, issuer: str, authority: bool, names: tuple[str, ...]) -> str:
    owner = label.rpartition("/")[0]
    key, signer = _ec(f"{owner}/{subject}"), _ec(f"{owner}/{issuer}")

    def named(text: str) -> x509.Name:
        return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text)])

    made = (
        x509.CertificateBuilder()
        .subject_name(named(subject))
        .issuer_name(named(issuer))
        .public_key(key.public_key())
        .serial_number(int.from_bytes(hashlib.sha256(label.encode()).digest()[:8]))
        .not_valid_before(BEGIN)
        .not_valid_after(BEGIN + datetime.timedelta(days=365))
        .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name) for name in names]), critical=False)
        .sign(signer, hashes.SHA256())
    )
    return made.public_bytes(PEM).decode()


@functools.cache
def _ec(label: str) -> ec.EllipticCurvePrivateKey:
    return ec.derive_private_key(int.from_bytes(hashlib.shake_256(label.encode()).digest(40)) % P256, ec.SECP256R1())


class Material:
    """One owner's secrets. `given` keeps each one that was asked for: what must not be found elsewhere."""

    def __init__(self, owner: str, seed: int) -> None:
        self.label = f"{owner}/{seed}"
        self.given: list[str] = []

    def _give(self, text: str, *parts: str) -> str:
        self.given += [text, *parts]
        return text

    def raw(self, name: str, length: int = 32) -> bytes:
        """Random bytes, such as an AES key. What is found elsewhere is looked for as hex."""
        found = hashlib.shake_256(f"{self.label}/{name}".encode()).digest(length)
        self._give(found.hex())
        return found

    def opaque(self, name: str, length: int = 28, alphabet: str = LOWER) -> str:
        """A password or token without a form."""
        drawn = hashlib.shake_256(f"{self.label}/{name}".encode()).digest(length)
        return self._give("".join(alphabet[byte % len(alphabet)] for byte in drawn))

    def public(self, name: str, length: int = 16) -> str:
        """Hexadecimal digits that are nobody's secret: an id, a digest."""
        return hashlib.shake_256(f"public/{name}".encode()).hexdigest(length)

    def key(self, name: str, form: serialization.PrivateFormat = PKCS8) -> str:
        """A P-256 private key in PEM."""
        return self._give(self._private(name, PEM, form).decode(), self._scalar(name))

    def key_der(self, name: str, form: serialization.PrivateFormat = PKCS8) -> bytes:
        self._give(self._scalar(name))
        return self._private(name, DER, form)

    def rsa(self, name: str) -> str:
        found = _rsa(f"{self.label}/{name}")
        return self._give(found.private_bytes(PEM, TRADITIONAL, serialization.NoEncryption()).decode())

    def ec(self, name: str) -> ec.EllipticCurvePrivateKey:
        self._give(self._scalar(name))
        return _ec(f"{self.label}/{name}")

    def _scalar(self, name: str) -> str:
        return f"{_ec(f'{self.label}/{name}').private_numbers().private_value:064x}"

    def _private(self, name: str, encoding: serialization.Encoding, form: serialization.PrivateFormat) -> bytes:
        return _ec(f"{self.label}/{name}").private_bytes(encoding, form, serialization.NoEncryption())

    def public_key(self, name: str) -> str:
        found = _ec(f"{self.label}/{name}").public_key()
        return found.public_bytes(PEM, serialization.PublicFormat.SubjectPublicKeyInfo).decode()

    def public_ssh(self, name: str) -> str:
        found = _ec(f"{self.label}/{name}").public_key()
        return found.public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH).decode()

    def jwk(self, name: str, *, private: bool) -> dict[str, str]:
        numbers = _ec(f"{self.label}/{name}").private_numbers()

        def number(value: int) -> str:
            return base64.urlsafe_b64encode(value.to_bytes(32)).rstrip(b"=").decode()

        public = {"kty": "EC", "crv": "P-256", "x": number(numbers.public_numbers.x), "kid": name}
        public["y"] = number(numbers.public_numbers.y)
        return {**public, "d": self._give(number(numbers.private_value))} if private else public

    def certificate(self, name: str, issuer: str = "", *, authority: bool = False, names: Sequence[str] = ()) -> str:
        """A certificate for the key of that name; self-signed without an issuer."""
        names = tuple(names) or (f"{name}.example.com",)
        return _certificate(f"{self.label}/{name}", name, issuer or name, authority, names)

    def jwt(self, name: str, **claims: object) -> str:
        body = {"iss": "https://kubernetes.default.svc", "sub": f"system:serviceaccount:mesh:{name}", **claims}
        parts = [json.dumps(part).encode() for part in ({"alg": "RS256", "kid": "k"}, body)]
        signature = hashlib.shake_256(f"{self.label}/{name}".encode()).digest(64)
        dotted = b".".join(base64.urlsafe_b64encode(part).rstrip(b"=") for part in (*parts, signature)).decode()
        return self._give(dotted, dotted.rpartition(".")[2])

    def kubeconfig(self, name: str, server: str) -> str:
        """A kubeconfig with a bearer token."""
        return literals.kubeconfig(server, self.opaque(f"{name}-token", 40, LETTERS))
