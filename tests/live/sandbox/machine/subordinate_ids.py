"""Gives the tests' ordinary user an account and subordinate ids, where the tests are root's. Nothing is installed.

The account stands in a copy of /etc that only this user's commands see. Maps are made by newuidmap and newgidmap as
always, but those are programs that ask this process: a copy with root's rights need not lie about on the machine.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import socket
import stat
import struct
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from tests.live.sandbox.machine.ordinary_user import PROGRAMS, SUBORDINATES, OrdinaryUser, Shown, uids_in_use

NAME = "ordinary"
# Each run of the tests takes one of these, well above the accounts of most machines.
_RANGES = [range(first, first + SUBORDINATES) for first in range(1_000_000, 100_000_000, SUBORDINATES)]
# The first folder of programs that everything of a sandbox is run with, and empty on most machines.
FOLDER = Path("/usr/local/sbin")
_MAPS = {"newuidmap": "uid_map", "newgidmap": "gid_map"}


@contextmanager
def with_subordinates(user: OrdinaryUser) -> Iterator[OrdinaryUser]:
    """The same user with an account and 65536 subordinate ids; one who has them, or runs the tests, as they are."""
    if user.show is None:
        yield user
        return
    user = replace(user, subordinates=_unused_ids())
    etc, programs, place = user.place / "etc", user.place / "programs", user.place / "maps"
    _copy_etc(etc, user)
    programs.mkdir(mode=0o755)
    for name in _MAPS:
        command = f"{Path(sys.executable).resolve()} -I {PROGRAMS / 'ask_for_map.py'} {place} {name}"
        (programs / name).write_text(f'#!/bin/sh\nexec {command} "$@"\n')
        (programs / name).chmod(0o755)
    shown: tuple[Shown, ...] = ((Path("/etc"), etc, True), (FOLDER, programs, True))
    with _maps_at(place, user):
        yield replace(user, show=(*(user.show or ()), *shown))


def _unused_ids() -> range:
    """A range of which no process has an id: what runs with one later is this run's, also beside another run."""
    taken = uids_in_use()
    return secrets.choice([ids for ids in _RANGES if not any(uid in ids for uid in taken)])


def _copy_etc(target: Path, user: OrdinaryUser) -> None:
    """What everybody may read of /etc, with one account more."""

    def closed(folder: str, names: list[str]) -> list[str]:
        modes = {name: (Path(folder) / name).lstat().st_mode for name in names}
        kinds = (stat.S_ISREG, stat.S_ISDIR, stat.S_ISLNK)
        return [name for name, mode in modes.items() if not mode & 0o004 or not any(kind(mode) for kind in kinds)]

    shutil.copytree("/etc", target, symlinks=True, ignore=closed)
    with (target / "passwd").open("a") as accounts:
        accounts.write(f"{NAME}:x:{user.uid}:{user.uid}::/nonexistent:/bin/sh\n")
    for table in ("subuid", "subgid"):
        (target / table).write_text(f"{NAME}:{user.subordinates.start}:{SUBORDINATES}\n")


@contextmanager
def _maps_at(path: Path, user: OrdinaryUser) -> Iterator[None]:
    """Answers the programs at a socket as long as the body runs."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        os.chown(path, user.uid, user.uid)
        listener.listen()
        thread = threading.Thread(target=_answer, args=(listener, user), daemon=True)
        thread.start()
        try:
            yield
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


def _answer(listener: socket.socket, user: OrdinaryUser) -> None:
    """Says nothing when the map is made, else why not."""
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        with connection:
            try:
                _map(connection, user)
            except (OSError, ValueError) as error:
                connection.sendall(str(error).encode())


def _map(connection: socket.socket, user: OrdinaryUser) -> None:
    """As the real ones do: the caller's own id, and the caller's subordinate ones. Raises OSError, ValueError."""
    peer = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[1]
    name, pid, *numbers = json.loads(connection.makefile().read())
    rows = [tuple(map(int, numbers[index : index + 3])) for index in range(0, len(numbers), 3)]
    for _, outside, count in rows:
        own = (outside, count) == (user.uid, 1)
        subordinate = outside in user.subordinates and outside + count - 1 in user.subordinates
        if peer != user.uid or not (own or subordinate):
            raise ValueError(f"user {peer} may not map {count} ids from {outside}")
    Path(f"/proc/{int(pid)}/{_MAPS[name]}").write_text("".join(f"{a} {b} {c}\n" for a, b, c in rows))
