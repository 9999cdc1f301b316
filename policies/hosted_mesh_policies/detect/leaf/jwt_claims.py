"""The plain claims of a JSON web token."""

from __future__ import annotations

import base64
import json
from typing import Any, Final

_OF_PAGES: Final = {"iss": "supabase", "role": "anon"}
"""The public key of a Supabase page: Supabase's rules limit the visitors' rights."""

_OF_SEEDS: Final = "ed25519-nkey"
"""The algorithm of NATS' own tools. A login service's token for NATS is a login by itself."""


def claims_in(payload: bytes) -> dict[str, Any]:
    """The claims in a token's middle part, or the fields of its first part. Empty for other texts."""
    try:
        claims = json.loads(base64.urlsafe_b64decode(payload + b"=" * (-len(payload) % 4)))
    except (ValueError, RecursionError):
        return {}
    return claims if isinstance(claims, dict) else {}


def opens_nothing(header: bytes, claims: dict[str, Any]) -> bool:
    """True for a token that is no login: a page's public key, and a NATS token that needs a signature by a seed
    besides. `header` is the token's first part."""
    if claims.items() >= _OF_PAGES.items():
        return True
    nats = claims.get("nats")
    return claims_in(header).get("alg") == _OF_SEEDS and isinstance(nats, dict) and not nats.get("bearer_token")
