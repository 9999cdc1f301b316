"""What a JSON web token says in plain: its claims."""

from __future__ import annotations

import base64
import json
from typing import Any, Final

_OF_PAGES: Final = {"iss": "supabase", "role": "anon"}
"""The key by which every visitor of a page asks Supabase, whose rules say what nobody in particular may see."""

_OF_SEEDS: Final = "ed25519-nkey"
"""By what NATS' own tools sign; a login service's token for NATS is a login by itself."""


def claims_in(payload: bytes) -> dict[str, Any]:
    """The claims in a token's middle part, or what its first part says. Empty for what is none."""
    try:
        claims = json.loads(base64.urlsafe_b64decode(payload + b"=" * (-len(payload) % 4)))
    except (ValueError, RecursionError):
        return {}
    return claims if isinstance(claims, dict) else {}


def opens_nothing(header: bytes, claims: dict[str, Any]) -> bool:
    """True for a token that is no login: one that each visitor of a page has, and one of NATS that says who somebody is
    who has to sign with a seed besides (unless it says that its bearer need not). `header` is the token's first part.
    """
    if claims.items() >= _OF_PAGES.items():
        return True
    nats = claims.get("nats")
    return claims_in(header).get("alg") == _OF_SEEDS and isinstance(nats, dict) and not nats.get("bearer_token")
