"""The processes that carry out operations on one PostgreSQL: each writes its time of life, by the database's clock.

One without a sign of life for longer than the settings' time is lost: another one takes its operations over. It has
stopped them itself long before (work/membership.py).
"""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Float, cast, delete, func, insert, select, update

from hosted_mesh_controller.store.database import Database
from hosted_mesh_controller.store.tables import executors

_NOW: Final[ColumnElement[Any]] = cast(func.extract("epoch", func.clock_timestamp()), Float)


def join(database: Database, executor: str) -> None:
    """Adds an executor."""
    with database.writing() as connection:
        connection.execute(insert(executors).values(id=executor, seen=_NOW))


def sign(database: Database, executor: str, seconds: float) -> list[str]:
    """A sign of life; returns the ids of all that live, the oldest first, without this one if it came too late.

    seconds: of life without a sign. Removes the lost ones.
    """
    with database.writing() as connection:
        connection.execute(delete(executors).where(executors.c.seen < _NOW - seconds))
        connection.execute(update(executors).where(executors.c.id == executor).values(seen=_NOW))
        return list(connection.execute(select(executors.c.id).order_by(executors.c.number)).scalars())


def is_live(connection: Connection, executor: str) -> bool:
    """Whether no other executor may have taken over."""
    return connection.execute(select(executors.c.id).where(executors.c.id == executor)).first() is not None


def leave(database: Database, executor: str) -> None:
    """Removes an executor whose operations have stopped."""
    with database.writing() as connection:
        connection.execute(delete(executors).where(executors.c.id == executor))
