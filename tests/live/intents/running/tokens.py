"""Tokens of an issuer of the tests' own, and its public keys as a document names them."""

from __future__ import annotations

import base64
import json
import time
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

KEY_ID = "tests"


def _text(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def _number(value: int) -> str:
    return _text(value.to_bytes((value.bit_length() + 7) // 8, "big"))


class Issuer:
    """Signs tokens with a key that is made once."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._key = rsa.generate_private_key(public_exponent=65537, key_size=2048)

    @property
    def jwks(self) -> str:
        """The public key, as a JSON Web Key Set."""
        numbers = self._key.public_key().public_numbers()
        key = {"kty": "RSA", "kid": KEY_ID, "alg": "RS256", "n": _number(numbers.n), "e": _number(numbers.e)}
        return json.dumps({"keys": [key]})

    def token(self, **claims: Any) -> str:
        """A signed token for an hour."""
        head = {"alg": "RS256", "kid": KEY_ID, "typ": "JWT"}
        body = {"iss": self.name, "exp": int(time.time()) + 3600, **claims}
        text = ".".join(_text(json.dumps(one).encode()) for one in (head, body))
        signature = self._key.sign(text.encode(), padding.PKCS1v15(), hashes.SHA256())
        return f"{text}.{_text(signature)}"
