"""The common part of two installations with different bytes: certificates, keys, tokens."""

from __future__ import annotations

import base64
import json
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key


def decoded(data: dict[str, str]) -> dict[str, Any]:
    """The meaning of a Secret's or ConfigMap's values, and the relations between them.

    A certificate becomes its name, issuer, rights and whether the last one beside it signed it. A private key becomes
    its size and the values with its certificate; a kubeconfig itself, with its token's claims.
    """
    texts = {key: base64.b64decode(value).decode() for key, value in data.items()}
    return {key: _value(text, texts) for key, text in texts.items()}


def described(pem: str, root: str) -> list[dict[str, Any]]:
    """The certificates of a PEM bundle. root: PEM of the required signer of the last one."""
    chain = x509.load_pem_x509_certificates(pem.encode())
    issuers = [*chain[1:], x509.load_pem_x509_certificate(root.encode())]
    return [_certificate(one, issuer) for one, issuer in zip(chain, issuers, strict=True)]


def _value(text: str, beside: dict[str, str]) -> Any:
    if "PRIVATE KEY" in text:
        key = load_pem_private_key(text.encode(), None)
        mine = _public(key.public_key())
        owned = [name for name, other in beside.items() if "BEGIN CERT" in other and _first_key(other) == mine]
        return {"key": type(key).__name__, "size": getattr(key, "key_size", 0), "of": owned}
    if "BEGIN CERT" in text:
        return described(text, beside.get("root-cert.pem") or text)
    if text.startswith("eyJ"):
        return _claims(text)
    if text.startswith("{"):
        content = json.loads(text)
        for user in content.get("users", []):
            user["user"]["token"] = _claims(user["user"]["token"])
        return content
    return text


def _certificate(one: x509.Certificate, issuer: x509.Certificate) -> dict[str, Any]:
    one.verify_directly_issued_by(issuer)
    constraints = one.extensions.get_extension_for_class(x509.BasicConstraints).value
    return {
        "subject": one.subject.rfc4514_string(),
        "issuer": one.issuer.rfc4514_string(),
        "authority": constraints.ca,
        "path length": constraints.path_length,
        "days": (one.not_valid_after_utc - one.not_valid_before_utc).days,
        "extensions": sorted(extension.oid.dotted_string for extension in one.extensions),
    }


def _first_key(pem: str) -> bytes:
    return _public(x509.load_pem_x509_certificates(pem.encode())[0].public_key())


def _public(key: Any) -> bytes:
    raw: bytes = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return raw


def _claims(token: str) -> dict[str, Any]:
    """A token's claims about its holder, without those that differ between tokens."""
    body = token.split(".")[1]
    claims = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    return {name: claims[name] for name in ("iss", "sub")}
