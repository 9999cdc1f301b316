"""JSON of others, which each reader understands alike. PyJWT's own reader takes the last one of repeated members."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


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
