"""Idempotency keys: a repeated request with one key gets the first answer, and orders nothing again."""

from __future__ import annotations

import hashlib
import json
import time
from http import HTTPStatus
from typing import Annotated, Any, Final

from fastapi import Depends, Header, Request, Response
from fastapi.responses import JSONResponse
from pulumi_hosted_mesh import Problem
from sqlalchemy import Connection, delete, insert, select

from hosted_mesh_controller.api.access import By
from hosted_mesh_controller.api.errors import ApiError
from hosted_mesh_controller.store.tables import idempotency_keys

_KEPT: Final = 24 * 3600.0  # seconds


class Repetition:
    """The key of a request, and the answer to an earlier request with it."""

    def __init__(self, request: Request, token: str, key: str | None) -> None:
        self._request, self._token, self._key = request, token, key

    def earlier(self, connection: Connection, body: Any) -> Response | None:
        """The first answer; None for a new key, or no key. Raises: ApiError if the key belongs to another request."""
        if self._key is None:
            return None
        now = time.time()
        connection.execute(delete(idempotency_keys).where(idempotency_keys.c.created < now - _KEPT))
        mine = [idempotency_keys.c.token == self._token, idempotency_keys.c.key == self._key]
        row = connection.execute(select(idempotency_keys).where(*mine)).one_or_none()
        if row is None:
            return None
        if row.request != self._digest(body):
            rule, fix = "was used for another request", "Choose a new key for each order"
            problem = Problem("Idempotency-Key", rule, fix)
            raise ApiError(HTTPStatus.UNPROCESSABLE_ENTITY, "the key cannot be used", [problem])
        headers = {**json.loads(row.headers), "Idempotency-Replayed": "true"}
        return JSONResponse(json.loads(row.body), row.status, headers=headers)

    def keep(self, connection: Connection, body: Any, status: int, content: Any, headers: dict[str, str]) -> None:
        """Keeps the answer, in the transaction of its order."""
        if self._key is None:
            return
        row = {"token": self._token, "key": self._key, "request": self._digest(body), "status": status}
        row |= {"headers": json.dumps(headers), "body": json.dumps(content), "created": time.time()}
        connection.execute(insert(idempotency_keys).values(row))

    def _digest(self, body: Any) -> str:
        url, headers = self._request.url, self._request.headers
        parts = [self._request.method, url.path, url.query, headers.get("if-match"), body]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def repetition(
    request: Request,
    by: By,
    idempotency_key: Annotated[
        str | None, Header(pattern=r"^[!-~]{1,128}$", description="A key of your choice, kept for 24 hours.")
    ] = None,
) -> Repetition:
    """The request's key."""
    return Repetition(request, by.token, idempotency_key)


Repeated = Annotated[Repetition, Depends(repetition)]
