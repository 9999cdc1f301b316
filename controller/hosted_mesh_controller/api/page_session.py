"""Forms of the page, and their protection against another site that makes a browser send them.

A browser sends the password of HTTP Basic with each request, also with one that another site causes. So each POST
requires an `Origin` of this service, a cookie that browsers withhold from other sites, and a proof from this page. The
proof is an HMAC of the cookie, the path and the version of the object, with the caller's token as key: it serves one
act of one caller in one browser. Each executor computes it again, so no store has it.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from http import HTTPStatus
from typing import Final
from urllib.parse import parse_qsl

from fastapi import Request, Response

from hosted_mesh_controller.api.bodies import read_body
from hosted_mesh_controller.api.errors import ApiError

COOKIE: Final = "hosted-mesh-page"
FORM: Final = "application/x-www-form-urlencoded"
PROOF: Final = "proof"
VERSION: Final = "version"
_VALUE: Final = re.compile(r"[A-Za-z0-9_-]{43}")
_MOST_FIELDS: Final = 10
_EXPIRED: Final = "the form is not of this page, or is out of date: open it again"


class Session:
    """A browser with a token. secret: the token as sent."""

    def __init__(self, request: Request, secret: str) -> None:
        self._is_secure = request.url.scheme == "https"
        # Browsers accept the prefix from this very host alone, and over TLS alone.
        self._cookie = f"__Host-{COOKIE}" if self._is_secure else COOKIE
        found = request.cookies.get(self._cookie, "")
        self._is_known = _VALUE.fullmatch(found) is not None
        self._value = found if self._is_known else secrets.token_urlsafe(32)
        self._key = secret.encode()

    def proof(self, path: str, version: str = "") -> str:
        """The proof for a POST to a path, about a version of its object."""
        text = "\n".join(("page", self._value, path, version))
        return hmac.new(self._key, text.encode(), hashlib.sha256).hexdigest()

    def keep(self, response: Response) -> None:
        """Gives a browser that has none the cookie of this session."""
        if not self._is_known:
            response.set_cookie(
                self._cookie, self._value, path="/", secure=self._is_secure, httponly=True, samesite="strict"
            )

    def require(self, path: str, fields: dict[str, str]) -> None:
        """403 for a form without the proof of this session for this path and version."""
        proof = self.proof(path, fields.get(VERSION, ""))
        if not hmac.compare_digest(proof.encode(), fields.get(PROOF, "").encode()):
            raise ApiError(HTTPStatus.FORBIDDEN, _EXPIRED)


def require_own_origin(request: Request) -> None:
    """403 for a request that does not come from a page of this service."""
    own = f"{request.url.scheme}://{request.headers.get('host', '')}"
    site = request.headers.get("sec-fetch-site", "same-origin")
    if request.headers.get("origin") != own or site != "same-origin":
        raise ApiError(HTTPStatus.FORBIDDEN, "the request does not come from this page")


async def read_form(request: Request) -> dict[str, str]:
    """The fields of a form. Two fields of one name are an error."""
    content = await read_body(request, FORM)
    try:
        pairs = parse_qsl(
            content.decode("ascii"),
            keep_blank_values=True,
            strict_parsing=True,
            errors="strict",
            max_num_fields=_MOST_FIELDS,
        )
    except ValueError:
        raise ApiError(HTTPStatus.BAD_REQUEST, "the body is not a valid form") from None
    if len(dict(pairs)) < len(pairs):
        raise ApiError(HTTPStatus.BAD_REQUEST, "the form has two fields of one name")
    return dict(pairs)
