"""The user's token: its form and claims. istiod then has it reviewed by the user's API server."""

from __future__ import annotations

import base64
import json
import re
import time
from collections.abc import Iterable
from typing import Any, Final

from .refusals import Reason, RefusedError

AUDIENCE: Final = "istio-ca"
"""istioctl requests this audience (istioctl/pkg/xds/client.go), and istiod requires it."""
_TOKEN: Final = re.compile(r"[\w-]+\.[\w-]+\.[\w-]+", re.ASCII)
_SUBJECT: Final = re.compile(r"system:serviceaccount:([^:]+):[^:]+")


def bearer(metadata: Iterable[tuple[str, Any]]) -> str:
    """The token of a request. Raises: RefusedError."""
    found = [str(value) for key, value in metadata if key == "authorization"]
    if len(found) != 1 or not found[0].startswith("Bearer "):
        raise RefusedError(Reason.UNAUTHENTICATED, "a ServiceAccount's token is required: leave out --cert-dir")
    token = found[0].removeprefix("Bearer ")
    if not _TOKEN.fullmatch(token):
        raise RefusedError(Reason.UNAUTHENTICATED, "the token is not a ServiceAccount's token")
    return token


def require_claims(token: str, namespace: str, *, now: float | None = None) -> None:
    """Rejects a token by its own claims, before a review. This proves nothing: the review does.

    namespace: the mesh's. istiod admits only its ServiceAccounts to the state of all proxies.

    Raises: RefusedError.
    """
    claims = _claims(token)
    audiences = claims.get("aud")
    if AUDIENCE not in (audiences if isinstance(audiences, list) else [audiences]):
        raise RefusedError(Reason.UNAUTHENTICATED, f"the token has no audience {AUDIENCE}")
    expires = claims.get("exp")
    if not isinstance(expires, int | float) or expires <= (time.time() if now is None else now):
        raise RefusedError(Reason.UNAUTHENTICATED, "the token has expired")
    subject = _SUBJECT.fullmatch(str(claims.get("sub")))
    if subject is None or subject[1] != namespace:
        text = f"the token is not of a ServiceAccount in {namespace}: add --istioNamespace {namespace}"
        raise RefusedError(Reason.PERMISSION_DENIED, text)


def _claims(token: str) -> dict[str, Any]:
    part = token.split(".")[1]
    try:
        found = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise RefusedError(Reason.UNAUTHENTICATED, "the token is not a ServiceAccount's token")
    return found
