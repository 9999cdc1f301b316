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
    content = await read_body(request, "application/json")
    try:
        value = json.loads(content, parse_constant=_rejected, object_pairs_hook=_unique)
        require_json(value)
    except (ValueError, RecursionError):
        raise ApiError(HTTPStatus.BAD_REQUEST, "the body is not valid JSON") from None
    return value


def require_json(value: Any) -> str:
    """The JSON text of a value. Numbers beyond a float and lone surrogates could not be stored and sent again.

    Raises: ValueError, RecursionError.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    text.encode()
    return text


async def read_body(request: Request, required_type: str) -> bytes:
    """The bytes of a body with this Content-Type, up to LARGEST."""
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != required_type:
        raise ApiError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"requires Content-Type: {required_type}")
    content = bytearray()
    try:
        async with asyncio.timeout(_SLOWEST):
            async for part in request.stream():
                content += part
                if len(content) > LARGEST:
                    raise ApiError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"the body has more than {LARGEST} bytes")
    except TimeoutError:
        raise ApiError(HTTPStatus.REQUEST_TIMEOUT, "the body did not arrive in time") from None
    return bytes(content)


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
