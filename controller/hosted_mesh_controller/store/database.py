"""The database behind the tables: SQLite in a file, or PostgreSQL by URL."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

from sqlalchemy import Connection, Engine, create_engine, event, insert, make_url, select, text
from sqlalchemy.exc import DBAPIError

from hosted_mesh_controller.store.tables import METADATA, store

Result = TypeVar("Result")
_WAIT: Final = 30  # seconds for another writer
_VERSION: Final = 1
"""Version of the tables. A change of a table that exists requires a new one, and its conversion here."""
_WRITER: Final = 0x686D63
"""Key of PostgreSQL's advisory lock that a writer holds."""
_PATIENCE: Final = 0.5  # seconds between two attempts while a server is away
_REFUSAL: Final = "the audit log is append-only"


class StoreVersionError(Exception):
    """A store that another version of the controller has made."""


class Database:
    """Transactions over the tables. url: SQLAlchemy's. Raises: StoreVersionError.

    The rules are the same in SQLite and PostgreSQL: one writer at a time, from the beginning of its transaction, and a
    reader sees one moment.
    """

    def __init__(self, url: str) -> None:
        self._engine = _engine(url)
        with self.writing() as connection:
            METADATA.create_all(connection)
            _protect_audit(connection)
            found = connection.execute(select(store.c.version)).scalar()
            if found is None:
                connection.execute(insert(store).values(version=_VERSION))
            elif found != _VERSION:
                raise StoreVersionError(
                    f"the database has tables of version {found}, and this controller requires {_VERSION}. "
                    "Install the controller that made them"
                )

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that changes nothing."""
        with self._engine.connect().execution_options(**self._snapshot) as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that writes."""
        with self._engine.connect().execution_options(writes=True) as connection, connection.begin():
            if self.is_server:
                connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _WRITER})
            yield connection

    @property
    def is_server(self) -> bool:
        """Whether this is PostgreSQL."""
        return self._engine.dialect.name != "sqlite"

    @property
    def _snapshot(self) -> dict[str, Any]:
        if not self.is_server:
            return {}
        return {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}

    def patiently(self, call: Callable[[], Result], seconds: float) -> Result:
        """Repeats a call whose connection is lost, such as by a restart of the server, for so many seconds.

        call: has the same effect when it runs twice. Raises: the last error.
        """
        end = time.monotonic() + (seconds if self.is_server else 0)
        while True:
            try:
                return call()
            except DBAPIError as error:
                if not _is_away(error) or time.monotonic() >= end:
                    raise
            time.sleep(_PATIENCE)

    def close(self) -> None:
        """Closes all connections."""
        self._engine.dispose()


def _engine(url: str) -> Engine:
    found = make_url(url)
    if found.get_backend_name() != "sqlite":
        waits = {"connect_timeout": 10, "tcp_user_timeout": 20_000, "keepalives_idle": 5, "keepalives_interval": 5}
        # Parameters have documents: an error's text, and so a log, has none of them.
        return create_engine(found, pool_pre_ping=True, hide_parameters=True, connect_args=waits)
    file = Path(str(found.database))
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    os.close(os.open(file, os.O_CREAT | os.O_RDWR, 0o600))
    engine = create_engine(found, connect_args={"timeout": _WAIT})

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # the driver begins no transaction by itself
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get("writes")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _is_away(error: DBAPIError) -> bool:
    """Whether the server was not reached, or ends. Codes of class 57P are of a server that starts or stops."""
    code = getattr(error.orig, "sqlstate", None)
    return error.connection_invalidated or code is None or code.startswith(("57P", "08"))


def _protect_audit(connection: Connection) -> None:
    """The audit log admits new entries only."""
    if connection.dialect.name == "sqlite":
        for command in ("UPDATE", "DELETE"):
            connection.exec_driver_sql(
                f"CREATE TRIGGER IF NOT EXISTS audit_{command.lower()} BEFORE {command} ON audit "
                f"BEGIN SELECT RAISE(ABORT, '{_REFUSAL}'); END"
            )
        return
    connection.exec_driver_sql(
        "CREATE OR REPLACE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql "
        f"AS $$BEGIN RAISE EXCEPTION '{_REFUSAL}'; END$$"
    )
    connection.exec_driver_sql(
        "CREATE OR REPLACE TRIGGER audit_change BEFORE UPDATE OR DELETE OR TRUNCATE ON audit "
        "EXECUTE FUNCTION refuse_audit_change()"
    )
