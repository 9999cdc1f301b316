"""Callers and their rights: bearer tokens, roles, tenants, limits of requests."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection
from http import HTTPStatus
from typing import Annotated, Final

from fastapi import Depends, Path, Request

from hosted_mesh_controller.api.errors import ApiError, not_found
from hosted_mesh_controller.settings import Settings
from hosted_mesh_controller.store.database import Database
from hosted_mesh_controller.store.tokens import Caller, caller_of
from hosted_mesh_controller.vocabulary import Role
from hosted_mesh_controller.work.queue import Queue

_BURST: Final = 10  # seconds of requests at once
_MOST_BUCKETS: Final = 10_000


class Services:
    """Everything behind the routes of one application."""

    def __init__(self, settings: Settings, database: Database, queue: Queue) -> None:
        self.settings, self.database, self.queue = settings, database, queue
        self.limiter = Limiter(settings.requests_per_second)


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
    found = caller_of(has.database, text.strip()) if scheme.lower() == "bearer" else None
    if found is None or found.role is Role.ADMISSION:
        headers = {"WWW-Authenticate": "Bearer"}
        raise ApiError(HTTPStatus.UNAUTHORIZED, "requires a valid token: Authorization: Bearer TOKEN", headers=headers)
    if not has.limiter.admit(found.token):
        raise ApiError(HTTPStatus.TOO_MANY_REQUESTS, "too many requests for this token", headers={"Retry-After": "1"})
    return found


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
    _require(by, Role.PROVIDER, Role.TENANT)


def require_role(by: Caller, roles: Collection[Role], kind: str) -> None:
    """Rejects roles that may not order a kind."""
    if by.role not in roles:
        names = " or ".join(sorted(roles))
        raise ApiError(HTTPStatus.FORBIDDEN, f"orders of {kind} require a token with role {names}")


def _require(by: Caller, *roles: Role) -> None:
    if by.role not in roles:
        raise ApiError(HTTPStatus.FORBIDDEN, f"requires a token with role {' or '.join(roles)}")
