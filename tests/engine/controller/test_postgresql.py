"""The store on a real PostgreSQL server: its rules are those of SQLite, and the URL is a secret."""

from __future__ import annotations

import fcntl
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml
from hosted_mesh_controller.settings import Settings
from hosted_mesh_controller.store import executors, orders
from hosted_mesh_controller.store.database import Database, StoreVersionError
from hosted_mesh_controller.store.orders import LostExecutorError
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from tests.engine.controller.service import PROGRAM
from tests.support.postgresql import USER, PostgreSql
from tests.unit.controller.service import Service, documents

Config = dict[str, Any]


@pytest.fixture
def name(database_server: PostgreSql) -> str:
    return database_server.new_database()


@pytest.fixture
def file(database_server: PostgreSql, name: str, tmp_path: Path) -> Path:
    """The file with the URL, as a Secret mounts it."""
    (tmp_path / "url").write_text(f"{database_server.url(name)}\n")
    return tmp_path / "url"


@pytest.fixture
def store(file: Path) -> Database:
    return Database(Settings.model_validate({**EMPTY, "databaseFile": str(file)}).database_url)


EMPTY = {"data": "/nowhere", "program": "/nowhere", "passphraseFile": "/nowhere", "tenants": {}}


def test_orders_at_the_same_moment_get_one_turn_each(file: Path, tmp_path: Path) -> None:
    """Turns are counted from the rows: two writers at a time would give the same turn twice."""
    service = Service.make(tmp_path, databaseFile=str(file))
    with ThreadPoolExecutor(8) as pool:
        made = list(
            pool.map(
                lambda number: service.ordered("acme", "meshes", documents("meshes", "acme", f"m-{number}"))["id"],
                range(16),
            )
        )
    tags = dict(orders.unfinished(service.database))
    assert sorted(tags[one] for one in made) == list(range(1, 17))
    entries = service.call("provider", "GET", "/v1/audit").json()["items"]
    assert len({one["operation"] for one in entries}) == 16


def test_a_reader_sees_one_moment_and_writes_nothing(store: Database) -> None:
    with store.reading() as connection:
        before = connection.execute(text("SELECT count(*) FROM executors")).scalar_one()
        executors.join(store, "one")
        assert connection.execute(text("SELECT count(*) FROM executors")).scalar_one() == before
        with pytest.raises(DBAPIError, match="read-only"):
            connection.execute(text("DELETE FROM executors"))


@pytest.mark.parametrize("command", ["UPDATE audit SET act = 'x'", "DELETE FROM audit", "TRUNCATE audit"])
def test_the_audit_log_is_append_only(store: Database, command: str) -> None:
    with pytest.raises(DBAPIError, match="append-only"), store.writing() as connection:
        connection.execute(text(command))


def test_many_processes_may_make_the_tables_at_once(file: Path) -> None:
    url = Settings.model_validate({**EMPTY, "databaseFile": str(file)}).database_url
    with ThreadPoolExecutor(6) as pool:
        made = list(pool.map(lambda _: Database(url), range(6)))
    with made[0].writing() as connection:
        assert connection.execute(text("SELECT version FROM store")).scalar_one() == 1
        connection.execute(text("UPDATE store SET version = 2"))
    with pytest.raises(StoreVersionError, match="tables of version 2"):
        Database(url)


def test_a_call_continues_after_a_restart_of_the_server(database_server: PostgreSql, store: Database) -> None:
    executors.join(store, "one")
    database_server.stop()
    again = threading.Timer(2, database_server.start)
    again.start()
    with pytest.raises(DBAPIError):
        executors.sign(store, "one", 60)
    assert store.patiently(lambda: executors.sign(store, "one", 60), 60) == ["one"]
    again.join()
    # An error of the call itself is no reason to wait.
    with pytest.raises(DBAPIError), store.writing() as connection:
        store.patiently(lambda: connection.execute(text("SELECT 1 FROM nothing")), 60)


def test_a_silent_executor_is_lost_and_begins_nothing(store: Database, file: Path, tmp_path: Path) -> None:
    for one in ("first", "second"):
        executors.join(store, one)
    assert executors.sign(store, "second", 60) == ["first", "second"]
    with store.writing() as connection:
        connection.execute(text("UPDATE executors SET seen = seen - 61 WHERE id = 'first'"))
    assert executors.sign(store, "second", 60) == ["second"]
    assert executors.sign(store, "first", 60) == ["second"]

    service = Service.make(tmp_path, databaseFile=str(file))
    order = service.ordered("acme", "meshes", documents("meshes", "acme"))["id"]
    with pytest.raises(LostExecutorError):
        orders.start(service.database, order, "first")
    begun = orders.start(service.database, order, "second")
    again = orders.start(service.database, order, "second")
    assert begun
    assert again
    outcome = orders.Outcome(orders.State.FAILED, {}, "late")
    assert not orders.finish(service.database, order, outcome, begun.attempts)
    assert orders.finish(service.database, order, outcome, again.attempts)


def run(tmp_path: Path, command: str, *options: str, **changes: Any) -> subprocess.CompletedProcess[str]:
    tenants: Config = {"acme": {}}
    settings = {**EMPTY, "data": str(tmp_path / "data"), "tenants": tenants, **changes}
    (tmp_path / "settings.yaml").write_text(yaml.safe_dump(settings))
    return subprocess.run(
        [PROGRAM, command, tmp_path / "settings.yaml", *options], capture_output=True, text=True, timeout=240
    )


def test_the_password_is_in_its_file_alone(database_server: PostgreSql, name: str, file: Path, tmp_path: Path) -> None:
    made = run(tmp_path, "token", "--tenant", "acme", databaseFile=str(file))
    assert made.returncode == 0, made.stderr
    refused = run(tmp_path, "token", "--tenant", "acme", database=database_server.url(name))
    assert refused.returncode == 1
    assert "database: has a password, and this file is no place for it" in refused.stderr

    wrong = database_server.url(name).replace(database_server.password, "another-password")
    file.write_text(wrong)
    rejected = run(tmp_path, "token", "--tenant", "acme", databaseFile=str(file))
    assert rejected.returncode == 1
    assert "password authentication failed" in rejected.stderr
    for text_of in (made, refused, rejected):
        assert database_server.password not in text_of.stdout + text_of.stderr
        assert "another-password" not in text_of.stdout + text_of.stderr
    # The server requires it.
    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(database_server.url(name, password=False))


def test_orders_in_sqlite_are_not_left_behind_silently(file: Path, tmp_path: Path) -> None:
    assert run(tmp_path, "token", "--tenant", "acme").returncode == 0
    refused = run(tmp_path, "serve", databaseFile=str(file))
    assert refused.returncode == 1
    assert "controller.sqlite has the orders from before PostgreSQL, and nothing moves them" in refused.stderr


def test_sqlite_has_one_controller(tmp_path: Path) -> None:
    assert run(tmp_path, "token", "--tenant", "acme").returncode == 0
    with (tmp_path / "data/controller.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        refused = run(tmp_path, "serve")
    assert refused.returncode == 1
    assert "another controller runs on this folder. Several controllers require PostgreSQL" in refused.stderr


def test_a_backup_restores_orders_tokens_and_the_audit_log(
    database_server: PostgreSql, name: str, file: Path, tmp_path: Path
) -> None:
    """By the commands of docs/controller.md, without the password in an argument."""
    service = Service.make(tmp_path, databaseFile=str(file))
    order = service.ordered("acme", "meshes", documents("meshes", "acme"))["id"]
    (tmp_path / "pgpass").write_text(f"127.0.0.1:{database_server.port}:*:{USER}:{database_server.password}\n")
    (tmp_path / "pgpass").chmod(0o600)
    environment = {
        "PATH": "/usr/bin:/bin",
        "PGHOST": "127.0.0.1",
        "PGPORT": str(database_server.port),
        "PGUSER": USER,
        "PGPASSFILE": str(tmp_path / "pgpass"),
    }
    dump, new = tmp_path / "controller.dump", database_server.new_database()
    for command in (
        ["pg_dump", "--format=custom", f"--file={dump}", name],
        ["pg_restore", "--exit-on-error", f"--dbname={new}", str(dump)],
    ):
        done = subprocess.run(
            [database_server.tools[command[0]], *command[1:]],
            env=environment,
            capture_output=True,
            text=True,
            timeout=240,
        )
        assert done.returncode == 0, done.stderr
    file.write_text(database_server.url(new))
    restored = Service.make(tmp_path / "restored", databaseFile=str(file))
    restored.tokens["acme"] = service.tokens["acme"]
    assert restored.call("acme", "GET", f"/v1/tenants/acme/operations/{order}").json()["state"] == "queued"
    with pytest.raises(DBAPIError, match="append-only"), restored.database.writing() as connection:
        connection.execute(text("DELETE FROM audit"))
