"""What a JSON web token says in plain: its claims."""

from __future__ import annotations

import base64
import json
from typing import Any


def claims_in(payload: bytes) -> dict[str, Any]:
    """The claims in a token's middle part. Empty for what is none."""
    try:
        claims = json.loads(base64.urlsafe_b64decode(payload + b"=" * (-len(payload) % 4)))
    except (ValueError, RecursionError):
        return {}
    return claims if isinstance(claims, dict) else {}
