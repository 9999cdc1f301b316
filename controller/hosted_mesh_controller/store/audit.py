"""The audit log: who changed which fields of which object, and when; no values."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

from sqlalchemy import Connection, insert, select

from hosted_mesh_controller.store.tables import audit, subjects
from hosted_mesh_controller.store.tokens import Caller


def record(
    connection: Connection,
    by: Caller,
    tenant: str | None,
    act: str,
    thing: str,
    operation: str | None,
    before: Any = None,
    after: Any = None,
) -> None:
    """Adds an entry, in the transaction of its act. before, after: documents, for the paths of changed fields."""
    _note_identity(connection, by)
    row = {"time": time.time(), "token": by.token, "role": str(by.role), "tenant": tenant, "act": act}
    row |= {"object": thing, "operation": operation, "changed": json.dumps(sorted(changed_fields(before, after)))}
    connection.execute(insert(audit).values(row))


def _note_identity(connection: Connection, by: Caller) -> None:
    """Adds the user of an issuer to the table of users. A writer is alone, so nobody adds the same row meanwhile."""
    if by.identity is None or connection.execute(select(subjects.c.id).where(subjects.c.id == by.token)).first():
        return
    connection.execute(insert(subjects).values(id=by.token, issuer=by.identity.issuer, subject=by.identity.subject))


def changed_fields(before: Any, after: Any, path: str = "") -> Iterator[str]:
    """Paths of the fields that differ."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in before.keys() | after.keys():
            deeper = f"{path}.{key}" if path else str(key)
            yield from changed_fields(before.get(key), after.get(key), deeper)
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for at, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from changed_fields(one, other, f"{path}[{at}]")
    elif before != after:
        yield path or "(all)"
