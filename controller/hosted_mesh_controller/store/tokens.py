"""Bearer tokens: 256 random bits each, stored as a digest."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from dataclasses import dataclass
from typing import Final

from sqlalchemy import insert, select, update

from hosted_mesh_controller.openid.identity import Identity
from hosted_mesh_controller.store.database import Database
from hosted_mesh_controller.store.tables import tokens
from hosted_mesh_controller.vocabulary import Role

_BEGIN: Final = "hmc"


@dataclass(frozen=True)
class Caller:
    """The holder of a valid token. tenant: None for the provider. identity: of an issuer's token."""

    token: str
    role: Role
    tenant: str | None
    identity: Identity | None = None

    def may_see(self, tenant: str) -> bool:
        """Whether a tenant exists for this caller."""
        return self.tenant is None or self.tenant == tenant


def create_token(database: Database, role: Role, tenant: str | None, seconds: float | None = None) -> tuple[str, str]:
    """A new token: its id, and the text that its holder sends. seconds: its lifetime; None for no end."""
    identifier, secret = secrets.token_hex(8), secrets.token_urlsafe(32)
    now = time.time()
    row = {"id": identifier, "digest": _digest(secret), "role": str(role), "tenant": tenant, "created": now}
    with database.writing() as connection:
        connection.execute(insert(tokens).values(row | {"expires": now + seconds if seconds else None}))
    return identifier, f"{_BEGIN}_{identifier}_{secret}"


def revoke_token(database: Database, identifier: str) -> bool:
    """Ends a token; returns False if there is no valid one of this id."""
    command = update(tokens).where(tokens.c.id == identifier, tokens.c.revoked.is_(None)).values(revoked=time.time())
    with database.writing() as connection:
        return connection.execute(command).rowcount == 1


def caller_of(database: Database, text: str) -> Caller | None:
    """The holder of a token; None if it is unknown, expired or revoked."""
    begin, _, rest = text.partition("_")
    identifier, _, secret = rest.partition("_")
    if begin != _BEGIN or not secret:
        return None
    with database.reading() as connection:
        row = connection.execute(select(tokens).where(tokens.c.id == identifier)).one_or_none()
    if row is None or row.revoked is not None or (row.expires is not None and row.expires <= time.time()):
        return None
    if not hmac.compare_digest(row.digest, _digest(secret)):
        return None
    return Caller(row.id, Role(row.role), row.tenant)


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
