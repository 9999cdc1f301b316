"""What a JSON web token says in plain: its claims."""

from __future__ import annotations

import base64
import json
from typing import Any, Final

_OF_PAGES: Final = {"iss": "supabase", "role": "anon"}
"""The key by which every visitor of a page asks Supabase, whose rules say what nobody in particular may see."""


def claims_in(payload: bytes) -> dict[str, Any]:
    """The claims in a token's middle part. Empty for what is none."""
    try:
        claims = json.loads(base64.urlsafe_b64decode(payload + b"=" * (-len(payload) % 4)))
    except (ValueError, RecursionError):
        return {}
    return claims if isinstance(claims, dict) else {}


def opens_nothing(claims: dict[str, Any]) -> bool:
    """True for a token that is no login: one that each visitor of a page has, and who somebody is in NATS, who has to
    sign with a seed besides (unless it says that its bearer need not)."""
    nats = claims.get("nats")
    return claims.items() >= _OF_PAGES.items() or (
        isinstance(nats, dict) and "type" in nats and not nats.get("bearer_token")
    )
