"""Accepted algorithms of signatures. The settings have them, so this module loads no cryptography."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class Algorithm(StrEnum):
    """Algorithms of signatures (RFC 7518, RFC 8037)."""

    RS256 = "RS256"
    RS384 = "RS384"
    RS512 = "RS512"
    PS256 = "PS256"
    PS384 = "PS384"
    PS512 = "PS512"
    ES256 = "ES256"
    ES384 = "ES384"
    ES512 = "ES512"
    ED_DSA = "EdDSA"

    @property
    def family(self) -> str:
        """The family of keys."""
        return _CURVE_OF.get(self, "RSA")


_CURVE_OF: Final[Mapping[str, str]] = {"ES256": "P-256", "ES384": "P-384", "ES512": "P-521", "EdDSA": "Ed25519"}
