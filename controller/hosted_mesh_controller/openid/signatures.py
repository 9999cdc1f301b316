"""Signed tokens (JWS in compact form, RFC 7515) and public keys (JWK, RFC 7517), by asymmetric algorithms alone.

A key fits one family of algorithms, and an algorithm one family of keys: a public key is never the secret of an HMAC.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa, utils

from hosted_mesh_controller.openid.algorithm import Algorithm

_ENCODED: Final = re.compile(r"[A-Za-z0-9_-]+")
_MOST_KEYS: Final = 100
_SHORTEST_RSA, _LONGEST_RSA = 2048, 8192  # bits
_LARGEST_EXPONENT: Final = 2**32


_CURVES: Final[Mapping[str, ec.EllipticCurve]] = {
    "P-256": ec.SECP256R1(),
    "P-384": ec.SECP384R1(),
    "P-521": ec.SECP521R1(),
}
_HASHES: Final[Mapping[str, hashes.HashAlgorithm]] = {
    "256": hashes.SHA256(),
    "384": hashes.SHA384(),
    "512": hashes.SHA512(),
}
PublicKey = rsa.RSAPublicKey | ec.EllipticCurvePublicKey | ed25519.Ed25519PublicKey


@dataclass(frozen=True)
class Key:
    """A public key for signatures. algorithm: the only one that it is for; None for all of its family."""

    family: str
    public: PublicKey
    algorithm: str | None


Keys = Mapping[tuple[str, str], Key]
"""Keys by id and family."""


@dataclass(frozen=True)
class Signed:
    """A token in its parts. Nothing of it is true before its signature is verified."""

    header: Mapping[str, Any]
    claims: Mapping[str, Any]
    content: bytes
    signature: bytes


def has_form(text: str) -> bool:
    """Whether a text could be a signed token."""
    return text.count(".") == 2


def parsed(text: str) -> Signed:
    """The parts of a token. Raises: ValueError."""
    header, claims, signature = text.split(".")
    return Signed(
        read_object(_decoded(header)),
        read_object(_decoded(claims)),
        f"{header}.{claims}".encode("ascii"),
        _decoded(signature),
    )


def is_signed(token: Signed, key: Key, algorithm: Algorithm) -> bool:
    """Whether the key's owner signed the token by this algorithm."""
    if key.family != algorithm.family or key.algorithm not in (None, str(algorithm)):
        return False
    try:
        _verify(token, key.public, algorithm)
    except (InvalidSignature, ValueError, UnsupportedAlgorithm):
        return False
    return True


def _verify(token: Signed, key: PublicKey, algorithm: Algorithm) -> None:
    """Raises: InvalidSignature, ValueError."""
    if isinstance(key, ed25519.Ed25519PublicKey):
        key.verify(token.signature, token.content)
        return
    digest = _HASHES[algorithm[2:]]
    if isinstance(key, rsa.RSAPublicKey):
        probabilistic = padding.PSS(padding.MGF1(digest), digest.digest_size)
        key.verify(
            token.signature,
            token.content,
            probabilistic if algorithm.startswith("PS") else padding.PKCS1v15(),
            digest,
        )
        return
    size = (key.key_size + 7) // 8
    if len(token.signature) != 2 * size:
        raise InvalidSignature
    numbers = (int.from_bytes(part) for part in (token.signature[:size], token.signature[size:]))
    key.verify(utils.encode_dss_signature(*numbers), token.content, ec.ECDSA(digest))


def public_keys(document: Mapping[str, Any]) -> Keys:
    """The usable keys of a key set. Keys of encryption, of other kinds and too short ones are left out.

    Raises: ValueError.
    """
    found = document.get("keys")
    if not isinstance(found, list) or len(found) > _MOST_KEYS:
        raise ValueError("keys")
    made: dict[tuple[str, str], Key] = {}
    for one in found:
        identifier = one.get("kid") if isinstance(one, dict) else None
        if not isinstance(identifier, str) or not identifier or not _is_of_signatures(one):
            continue
        try:
            family, public = _public(one)
        except (ValueError, UnsupportedAlgorithm):
            continue
        if (identifier, family) in made:
            raise ValueError("kid")
        algorithm = one.get("alg")
        made[identifier, family] = Key(family, public, None if algorithm is None else str(algorithm))
    return made


def _is_of_signatures(key: Mapping[str, Any]) -> bool:
    operations = key.get("key_ops", ["verify"])
    # A key set with a private part has lost it.
    return key.get("use", "sig") == "sig" and isinstance(operations, list) and "verify" in operations and "d" not in key


def _public(key: Mapping[str, Any]) -> tuple[str, PublicKey]:
    """The family and the key. Raises: ValueError."""
    match key.get("kty"), key.get("crv"):
        case "RSA", _:
            modulus, exponent = _number(key.get("n")), _number(key.get("e"))
            is_usable = _SHORTEST_RSA <= modulus.bit_length() <= _LONGEST_RSA and exponent < _LARGEST_EXPONENT
            if not is_usable:
                raise ValueError("n")
            return "RSA", rsa.RSAPublicNumbers(exponent, modulus).public_key()
        case "EC", str(curve) if curve in _CURVES:
            numbers = ec.EllipticCurvePublicNumbers(_number(key.get("x")), _number(key.get("y")), _CURVES[curve])
            return curve, numbers.public_key()
        case "OKP", "Ed25519":
            return "Ed25519", ed25519.Ed25519PublicKey.from_public_bytes(_decoded(key.get("x")))
    raise ValueError("kty")


def _number(text: Any) -> int:
    return int.from_bytes(_decoded(text))


def _decoded(text: Any) -> bytes:
    """Bytes of base64url without padding, in the one form that they have. Raises: ValueError."""
    if not isinstance(text, str) or not _ENCODED.fullmatch(text):
        raise ValueError("base64url")
    found = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    if base64.urlsafe_b64encode(found).rstrip(b"=") != text.encode():
        raise ValueError("base64url")
    return found


def read_object(content: bytes) -> Mapping[str, Any]:
    """A JSON object without repeated members, special numbers and lone surrogates. Raises: ValueError."""
    try:
        found = json.loads(content.decode("utf-8"), parse_constant=_rejected, object_pairs_hook=_unique)
        json.dumps(found, ensure_ascii=False, allow_nan=False).encode()
    except RecursionError:
        raise ValueError("depth") from None
    if not isinstance(found, dict):
        raise ValueError("object")  # noqa: TRY004 (one kind of error for all that a sender can do)
    return found


def _rejected(name: str) -> None:
    raise ValueError(name)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("member")
    return found
