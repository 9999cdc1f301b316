"""Callers and their rights: bearer tokens, roles, tenants, limits of requests."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Collection
from http import HTTPStatus
from typing import Annotated, Final

from fastapi import Depends, Path, Request

from hosted_mesh_controller.api.errors import ApiError, not_found
from hosted_mesh_controller.json_logs import facts
from hosted_mesh_controller.openid.key_source import AwayError
from hosted_mesh_controller.openid.signatures import has_form
from hosted_mesh_controller.openid.verifier import Holder, RefusedError, Verifier
from hosted_mesh_controller.settings import Settings
from hosted_mesh_controller.store.database import Database
from hosted_mesh_controller.store.tokens import Caller, caller_of
from hosted_mesh_controller.vocabulary import Role
from hosted_mesh_controller.work.queue import Queue

LOG: Final = logging.getLogger(__name__)
_BURST: Final = 10  # seconds of requests at once
_MOST_BUCKETS: Final = 10_000
_BEARER: Final = {"WWW-Authenticate": "Bearer"}
WRITERS: Final = (Role.PROVIDER, Role.TENANT)


class Services:
    """Everything behind the routes of one application."""

    def __init__(self, settings: Settings, database: Database, queue: Queue) -> None:
        self.settings, self.database, self.queue = settings, database, queue
        self.limiter = Limiter(settings.requests_per_second)
        self.verifier = Verifier(settings.issuers, settings.tenants)


class Limiter:
    """A token bucket for each caller."""

    def __init__(self, per_second: float) -> None:
        self._rate, self._lock = per_second, threading.Lock()
        self._buckets: dict[str, tuple[float, float]] = {}

    def admit(self, caller: str) -> bool:
        """Whether a request of this caller is within its limit."""
        now, most = time.monotonic(), self._rate * _BURST
        with self._lock:
            if len(self._buckets) > _MOST_BUCKETS:
                self._buckets.clear()
            left, then = self._buckets.get(caller, (most, now))
            left = min(most, left + (now - then) * self._rate)
            self._buckets[caller] = (max(left - 1, 0), now)
        return left >= 1


def services_of(request: Request) -> Services:
    """The services of the application."""
    found: Services = request.app.state.services
    return found


Has = Annotated[Services, Depends(services_of)]


def caller(request: Request, has: Has) -> Caller:
    """The holder of the request's token."""
    scheme, _, text = request.headers.get("authorization", "").partition(" ")
    found = _holder(request, has, text.strip()) if scheme.lower() == "bearer" else None
    return admitted(has, found, "requires a valid token: Authorization: Bearer TOKEN", _BEARER)


def admitted(has: Services, found: Caller | None, detail: str, headers: dict[str, str]) -> Caller:
    """The holder of a token, within its limit. detail, headers: of the answer to a request without a valid one."""
    if found is None or found.role is Role.ADMISSION:
        raise ApiError(HTTPStatus.UNAUTHORIZED, detail, headers=headers)
    if not has.limiter.admit(found.token):
        raise ApiError(HTTPStatus.TOO_MANY_REQUESTS, "too many requests for this token", headers={"Retry-After": "1"})
    return found


def _holder(request: Request, has: Services, text: str) -> Caller | None:
    """The holder of one of the controller's own tokens, or of an issuer's."""
    found = caller_of(has.database, text)
    if found is not None or not has_form(text):
        return found
    try:
        holder = has.verifier.read(text)
    except AwayError as error:
        LOG.warning("token not verified", extra=facts(issuer=error.issuer, reason=error.reason))
        detail = "the keys of the token's issuer cannot be read now; try again"
        raise ApiError(HTTPStatus.SERVICE_UNAVAILABLE, detail, headers={"Retry-After": "10"}) from None
    except RefusedError as error:
        LOG.warning("token rejected", extra=facts(issuer=error.issuer, reason=error.reason))
        if error.is_signed:
            raise ApiError(HTTPStatus.UNAUTHORIZED, f"the token {error.reason}", headers=_BEARER) from None
        return None
    return _caller_in(request.path_params.get("tenant"), holder)


def _caller_in(tenant: str | None, holder: Holder) -> Caller:
    """The caller with the role for a path. A user may have roles in several tenants, each for its own paths."""
    roles = holder.roles
    if not roles:
        LOG.warning("token without a grant", extra=facts(issuer=holder.issuer, user=holder.user))
        detail = f"the token is valid, but no grant of issuer {holder.issuer} in the settings is for its user or groups"
        raise ApiError(HTTPStatus.FORBIDDEN, detail)
    place = None if None in roles else tenant if tenant in roles else min(filter(None, roles))
    return Caller(holder.identity.id, roles[place], place, holder.identity)


By = Annotated[Caller, Depends(caller)]
Name = Annotated[str, Path(pattern=r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$", description="Name of the object.")]


def seen_tenant(tenant: Annotated[str, Path(description="Name of the tenant.")], by: By, has: Has) -> str:
    """The tenant of the path. For a token of another tenant it does not exist."""
    if not by.may_see(tenant) or tenant not in has.settings.tenants:
        raise not_found()
    return tenant


Tenant = Annotated[str, Depends(seen_tenant)]


def require_provider(by: By) -> None:
    """Rejects callers other than the provider."""
    _require(by, Role.PROVIDER)


def require_writer(by: By, _seen: Tenant) -> None:
    """Rejects readers, after the tenant: another tenant's path is 404 for them too."""
    _require(by, *WRITERS)


def require_role(by: Caller, roles: Collection[Role], kind: str) -> None:
    """Rejects roles that may not order a kind."""
    if by.role not in roles:
        names = " or ".join(sorted(roles))
        raise ApiError(HTTPStatus.FORBIDDEN, f"orders of {kind} require a token with role {names}")


def _require(by: Caller, *roles: Role) -> None:
    if by.role not in roles:
        raise ApiError(HTTPStatus.FORBIDDEN, f"requires a token with role {' or '.join(roles)}")
