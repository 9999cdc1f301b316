"""Encrypts like Pulumi's passphrase provider, for the secret configuration and outputs of a private stack.

AES-256-GCM with a key that PBKDF2 derives from the passphrase: pulumi/pulumi, sdk/go/common/resource/config/crypt.go.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import os
from dataclasses import dataclass, field
from typing import Final

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_ROUNDS: Final = 1_000_000


@dataclass(frozen=True)
class PassphraseCipher:
    """passphrase: as in PULUMI_CONFIG_PASSPHRASE. salt: as in `encryptionsalt`, `v1:<salt>:<a word to check>`."""

    passphrase: str = field(repr=False)
    salt: str

    @functools.cached_property
    def _cipher(self) -> AESGCM:
        salt = base64.b64decode(self.salt.split(":")[1])
        return AESGCM(hashlib.pbkdf2_hmac("sha256", self.passphrase.encode(), salt, _ROUNDS, 32))

    def close(self, text: str) -> str:
        """A text's cipher text, in the form of `secure:`."""
        nonce = os.urandom(12)
        parts = (nonce, self._cipher.encrypt(nonce, text.encode(), None))
        return ":".join(["v1", *(base64.b64encode(part).decode() for part in parts)])

    def open(self, sealed: str) -> str:
        """The decrypted text."""
        _, nonce, cipher = sealed.split(":")
        return self._cipher.decrypt(base64.b64decode(nonce), base64.b64decode(cipher), None).decode()
