"""Public keys and certificates made by a program: recognised by structure, and verified against their keys."""

from __future__ import annotations

import base64
import hashlib
import re
from typing import Any, Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding

from ..runner.secrets import keys
from ..runner.secrets.generator import SecretGenerator
from ..runner.values import substitution

_PEM: Final = re.compile(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----(?:\n|\\n)?", re.DOTALL)
_BASE64: Final = re.compile(r"[A-Za-z0-9+/]{200,}={0,2}")
_OWN_IDENTIFIERS: Final = (x509.SubjectKeyIdentifier, x509.AuthorityKeyIdentifier)


class PublicFacts:
    """The facts that follow from public keys. Equal facts have one canonical text."""

    def __init__(self, generator: SecretGenerator) -> None:
        self.size = generator.size
        self.names: dict[bytes, str] = {}
        self.public: list[Any] = []
        self.texts: dict[str, str] = {}
        for source, texts in generator.by_source():
            for text in texts:
                for found in keys.privates_in(text):
                    try:
                        self._add(source, keys.private_of(found).public_key())
                    except keys.UnusableKeyError:
                        continue
        self._named = substitution(self.texts)

    def _add(self, source: str, public: Any) -> None:
        der = keys.spki(public)
        if der in self.names:
            return
        self.names[der] = source
        self.public.append(public)
        for form, text in encodings(public).items():
            self.texts[text] = f"<{form} of {source}>"
            self.texts[text.replace("\n", "\\n")] = f"<{form} of {source}>"

    def canonical(self, text: Any, depth: int = 0) -> Any:
        """The text with each public fact replaced by its name: the fact and its key."""
        if not isinstance(text, str):
            return text
        text = _PEM.sub(lambda found: self._certificate(found.group()), text)
        text = self._named(text)
        if depth < 2:
            text = _BASE64.sub(lambda found: self._inside(found.group(), depth), text)
        return text

    def _inside(self, encoded: str, depth: int) -> str:
        try:
            inner = base64.b64decode(encoded, validate=True)
            text = inner.decode()
        except ValueError:
            return self._der(inner, encoded) if encoded.startswith("MII") else encoded
        found = self.canonical(text, depth + 1)
        return f"<base64 of {found}>" if found != text else encoded

    def _der(self, der: bytes, encoded: str) -> str:
        try:
            pem = x509.load_der_x509_certificate(der).public_bytes(Encoding.PEM).decode()
        except ValueError:
            return encoded
        found = self._certificate(pem)
        return f"<DER of {found}>" if found != pem else encoded

    def _certificate(self, pem: str) -> str:
        """A certificate's own facts, if generated keys are its key and its signer's; else unchanged."""
        try:
            parsed = x509.load_pem_x509_certificate(pem.replace("\\n", "\n").encode())
            subject = self.names[keys.spki(parsed.public_key())]
        except (ValueError, KeyError, UnsupportedAlgorithm):
            return pem
        signer = next((self.names[keys.spki(key)] for key in self.public if _signed(parsed, key)), None)
        if signer is None:
            return pem
        rest = [repr(one) for one in parsed.extensions if not isinstance(one.value, _OWN_IDENTIFIERS)]
        life = (parsed.not_valid_before_utc, parsed.not_valid_after_utc)
        facts = (parsed.subject, parsed.issuer, parsed.serial_number, *life)
        return f"<certificate of {subject} by {signer}: {facts} {rest}>"


def _signed(certificate: x509.Certificate, public: Any) -> bool:
    algorithm: Any = certificate.signature_hash_algorithm
    padding: Any = certificate.signature_algorithm_parameters
    body, signature = certificate.tbs_certificate_bytes, certificate.signature
    try:
        if isinstance(public, rsa.RSAPublicKey):
            public.verify(signature, body, padding, algorithm)
        elif isinstance(public, ec.EllipticCurvePublicKey):
            public.verify(signature, body, ec.ECDSA(algorithm))
        else:
            public.verify(signature, body)
    except (InvalidSignature, TypeError, ValueError, AttributeError, UnsupportedAlgorithm):
        return False
    return True


def encodings(public: Any) -> dict[str, str]:
    """The usual encodings of a public key, and its usual digests."""
    der, texts = keys.spki(public), keys.public_texts(public)
    pem, line = texts["publicKeyPem"], texts["publicKeyOpenssh"]
    found = {
        "public key": pem,
        "public key without its last line break": pem.strip(),
        "public key's DER": base64.b64encode(der).decode(),
        "public key's hex": der.hex(),
        "public key's SHA-256": hashlib.sha256(der).hexdigest(),
        "public key's pin": base64.b64encode(hashlib.sha256(der).digest()).decode(),
        "PEM's SHA-256": hashlib.sha256(pem.encode()).hexdigest(),
    }
    if line:
        digest = texts["publicKeyFingerprintSha256"].removeprefix("SHA256:")
        found |= {"SSH public key": line.split()[1], "SSH fingerprint": digest}
    numbers: dict[str, int] = {}
    if isinstance(public, rsa.RSAPublicKey):
        numbers = {"n": public.public_numbers().n}
    elif isinstance(public, ec.EllipticCurvePublicKey):
        numbers = {"x": public.public_numbers().x, "y": public.public_numbers().y}
    size = (public.key_size + 7) // 8 if numbers else 0
    for name, number in numbers.items():
        found[f"JWK's {name}"] = base64.urlsafe_b64encode(number.to_bytes(size, "big")).rstrip(b"=").decode()
    return {form: text for form, text in found.items() if len(text) > 16}
