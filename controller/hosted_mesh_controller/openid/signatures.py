"""Signed tokens (JWS in compact form) and public keys (JWK), read and verified by PyJWT. Asymmetric algorithms alone.

A key fits one family of algorithms, and an algorithm one family of keys: a public key is never the secret of an HMAC.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from cryptography.exceptions import UnsupportedAlgorithm
from jwt import PyJWK, PyJWS, PyJWTError

from hosted_mesh_controller.openid.algorithm import Algorithm
from hosted_mesh_controller.openid.strict_json import read_object

_JWS: Final = PyJWS(list(Algorithm))
_MOST_KEYS: Final = 100
Key = Mapping[Algorithm, PyJWK]
"""One public key, by each algorithm that it may verify."""
Keys = Mapping[tuple[str, str], Key]
"""Keys by id and family."""


@dataclass(frozen=True)
class Signed:
    """A token and its parts. Nothing of it is true before its signature is verified."""

    header: Mapping[str, Any]
    claims: Mapping[str, Any]
    text: str


def has_form(text: str) -> bool:
    """Whether a text could be a signed token."""
    return text.count(".") == 2


def parsed(text: str) -> Signed:
    """The parts of a token. Raises: ValueError."""
    if "=" in text:  # PyJWT accepts padding after a signature: one token would have two texts.
        raise ValueError("base64url")
    try:
        found = _JWS.decode_complete(text, options={"verify_signature": False})
    except PyJWTError:
        raise ValueError("token") from None
    return Signed(found["header"], read_object(found["payload"]), text)


def is_signed(token: Signed, key: Key, algorithm: Algorithm) -> bool:
    """Whether the key's owner signed the token by this algorithm."""
    if algorithm not in key:
        return False
    try:
        _JWS.decode_complete(token.text, key[algorithm], [algorithm])
    except (PyJWTError, ValueError, UnsupportedAlgorithm):
        return False
    return True


def public_keys(document: Mapping[str, Any]) -> Keys:
    """The usable keys of a key set. Keys of encryption, of other kinds and too short ones are left out.

    Raises: ValueError.
    """
    found = document.get("keys")
    if not isinstance(found, list) or len(found) > _MOST_KEYS:
        raise ValueError("keys")
    made: dict[tuple[str, str], Key] = {}
    for one in found:
        if not isinstance(one, dict) or not _is_of_signatures(one):
            continue
        family = "RSA" if one.get("kty") == "RSA" else one.get("crv")
        of_family = (algorithm for algorithm in Algorithm if algorithm.family == family)
        key = {algorithm: public for algorithm in of_family if (public := _read(one, algorithm))}
        if key and made.setdefault((one["kid"], str(family)), key) is not key:
            raise ValueError("kid")
    return made


def _is_of_signatures(jwk: Mapping[str, Any]) -> bool:
    """Whether a key has an id and is for signatures: PyJWT reads neither `use` nor `key_ops`."""
    identifier, operations = jwk.get("kid"), jwk.get("key_ops", ["verify"])
    is_for_them = jwk.get("use", "sig") == "sig" and isinstance(operations, list) and "verify" in operations
    # A key set with a private part has lost it.
    return isinstance(identifier, str) and identifier != "" and is_for_them and "d" not in jwk


def _read(jwk: dict[str, Any], algorithm: Algorithm) -> PyJWK | None:
    """A key for one algorithm; None if it is for another one, or not usable."""
    if jwk.get("alg") not in (None, algorithm):
        return None
    try:
        key = PyJWK(jwk, algorithm)
    except (PyJWTError, UnsupportedAlgorithm):  # The second one: of an OpenSSL that lacks an algorithm.
        return None
    return None if key.Algorithm.check_key_length(key.key) else key
