"""A PostgreSQL server of a test's own, on a free port of this machine, with a password."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from sandbox.toolchain import Tools
from tests.support.ports import free_port
from tests.support.waiting import eventually

USER = "controller"


@dataclass
class PostgreSql:
    """One server, which a test may stop and start again. folder: of its data and log."""

    folder: Path
    tools: Tools
    password: str = field(default_factory=lambda: secrets.token_urlsafe(18))
    port: int = 0
    process: subprocess.Popen[bytes] | None = None

    def create(self) -> None:
        self.folder.mkdir()
        (self.folder / "password").write_text(self.password)
        options = ["--auth=scram-sha-256", f"--pwfile={self.folder / 'password'}", f"--username={USER}"]
        command = [*self._user(), str(self.tools["initdb"]), f"--pgdata={self.folder / 'data'}", "--no-sync", *options]
        done = subprocess.run([*command, "--no-locale", "--encoding=UTF8"], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        self.port = free_port()
        self.start()

    def start(self) -> None:
        settings = {"listen_addresses": "127.0.0.1", "unix_socket_directories": "", "fsync": "off"}
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        command = [
            *self._user(),
            str(self.tools["postgres"]),
            "-D",
            str(self.folder / "data"),
            "-p",
            str(self.port),
            *options,
        ]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        eventually(self._answers, seconds=60)

    def stop(self) -> None:
        """Ends it at once, and each connection with it."""
        assert self.process
        self.process.send_signal(signal.SIGINT)
        self.process.wait(60)

    def url(self, name: str, *, password: bool = True) -> str:
        """The URL of a database."""
        own = f":{self.password}" if password else ""
        return f"postgresql://{USER}{own}@127.0.0.1:{self.port}/{name}"

    def new_database(self) -> str:
        """The name of a new, empty database."""
        name = f"d{secrets.token_hex(6)}"
        self.run("postgres", f"CREATE DATABASE {name}")
        return name

    def run(self, name: str, command: str) -> None:
        """A statement outside of a transaction."""
        with psycopg.connect(self.url(name), autocommit=True) as connection:
            connection.execute(command.encode())

    def rows(self, name: str, query: str) -> list[tuple[object, ...]]:
        with psycopg.connect(self.url(name)) as connection:
            return connection.execute(query.encode()).fetchall()

    def _answers(self) -> bool:
        assert self.process
        assert self.process.poll() is None, (self.folder / "log").read_text()
        try:
            self.run("postgres", "SELECT 1")
        except psycopg.OperationalError:
            return False
        return True

    def _user(self) -> list[str]:
        """The server refuses root: in a namespace of its own root has another number."""
        return ["unshare", "--user", "--map-user=1000", "--map-group=1000"] if os.geteuid() == 0 else []
