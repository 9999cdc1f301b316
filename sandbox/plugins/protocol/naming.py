"""Names that the engine does not choose, and how it writes its own."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence

SUFFIX_DIGITS = 8


def unique_name(prefix: str, seed: bytes = b"") -> str:
    """prefix plus 8 hex digits. seed: the engine's, so that a plan and its update agree; empty: random."""
    digest = hashlib.sha256(seed).digest() if seed else os.urandom(SUFFIX_DIGITS)
    return prefix + digest.hex()[:SUFFIX_DIGITS]


def urn_name(urn: str) -> str:
    """urn:pulumi:stack::project::type$type::name -> name (which may hold colons itself)."""
    return urn.split("::", 3)[3]


def urn_type(urn: str) -> str:
    """urn:pulumi:stack::project::parent$type::name -> type."""
    return urn.split("::", 3)[2].rsplit("$", 1)[-1]


def format_path(path: Sequence[str | int]) -> str:
    """A property path, `a.b[0]["c.d"]`: a key is quoted in brackets when it holds a dot, a quote or a bracket."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif re.search(r'[."\[\]]', part):
            escaped = part.replace('"', '\\"')
            text += f'["{escaped}"]'
        else:
            text += f".{part}" if text else part
    return text
