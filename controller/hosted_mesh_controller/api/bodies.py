"""Bodies of requests: JSON of limited size, read within a limited time."""

from __future__ import annotations

import asyncio
import json
from http import HTTPStatus
from typing import Annotated, Any, Final

from fastapi import Depends, Request

from hosted_mesh_controller.api.access import By
from hosted_mesh_controller.api.errors import ApiError

LARGEST: Final = 1024 * 1024
_SLOWEST: Final = 30.0  # seconds
_LONGEST_NAME: Final = 60


async def json_body(request: Request, _by: By) -> Any:
    """The body of an authenticated request."""
    return await read_json(request)


async def read_json(request: Request) -> Any:
    """The body of a request. Its size and its form have limits."""
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        raise ApiError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "requires Content-Type: application/json")
    content = bytearray()
    try:
        async with asyncio.timeout(_SLOWEST):
            async for part in request.stream():
                content += part
                if len(content) > LARGEST:
                    raise ApiError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"the body has more than {LARGEST} bytes")
    except TimeoutError:
        raise ApiError(HTTPStatus.REQUEST_TIMEOUT, "the body did not arrive in time") from None
    try:
        value = json.loads(content, parse_constant=_rejected, object_pairs_hook=_unique)
        # Numbers beyond a float and lone surrogates are no JSON that could be stored and sent again.
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        raise ApiError(HTTPStatus.BAD_REQUEST, "the body is not valid JSON") from None
    return value


Body = Annotated[Any, Depends(json_body)]


def _rejected(name: str) -> None:
    raise ValueError(name)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object. Two members of one name have another meaning for each reader, as in YAML documents."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ApiError(HTTPStatus.BAD_REQUEST, f"the body has two members {name[:_LONGEST_NAME]!r} in one object")
        found[name] = value
    return found
