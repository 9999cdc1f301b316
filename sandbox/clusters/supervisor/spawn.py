"""Starts a sandbox's PID 1 in namespaces of its own: `python -m sandbox.clusters.supervisor.spawn STATE [--nodes]`.

A separate program, because forking needs a process without threads. It tries each mode of this machine, best first,
and prints the reason for each failure. It records the supervisor before the supervisor acts, so `down` finds
everything after a killed launch.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from sandbox import kernel
from sandbox.clusters.state import Layout, Mode, Supervisor, write
from sandbox.clusters.supervisor import uid_maps
from sandbox.clusters.supervisor.identity import Identity

NOT_ALLOWED = 3  # exit code: the machine refused every mode; the reasons are on standard error


@dataclass(frozen=True)
class Way:
    """One way of making the namespaces."""

    mode: Mode
    uid_range: bool

    def __str__(self) -> str:
        return self.mode + (" with a range of users" if self.uid_range else "")


def ways() -> list[Way]:
    """The modes to try on this machine, best first."""
    found = [Way("root", uid_range=False)] if os.geteuid() == 0 else []
    if uid_maps.has_range():
        found.append(Way("rootless", uid_range=True))
    return [*found, Way("rootless", uid_range=False)]


def enter(way: Way, layout: Layout) -> tuple[int, socket.socket]:
    """Forks a process that is PID 1 of new namespaces and waits.

    Returns its pid as seen from here, and a socket: a byte sent there lets it continue, closing it makes it end.
    Raises OSError when the kernel refuses.
    """
    ours, theirs = socket.socketpair()
    maker = os.fork()
    if maker == 0:
        ours.close()
        _make(way, theirs, layout)
    theirs.close()
    try:
        answer = ours.recv(4096).decode()
        if answer == "map me":
            (uid_maps.map_range if way.uid_range else uid_maps.map_single)(maker)
            ours.sendall(b"mapped")
            answer = ours.recv(4096).decode()
        if not answer.isdigit():
            raise OSError(answer or "it ended without a message")
    except BaseException:
        ours.close()
        raise
    finally:
        os.waitpid(maker, 0)
    return int(answer), ours


def _make(way: Way, launcher: socket.socket, layout: Layout) -> NoReturn:
    """In the forked maker: makes the namespaces, forks PID 1, sends its pid."""
    try:
        if way.mode == "rootless":
            kernel.unshare(kernel.CLONE_NEWUSER, "user")
            launcher.sendall(b"map me")
            if launcher.recv(16) != b"mapped":
                os._exit(1)  # the launcher has the reason
            os.setresgid(0, 0, 0)
            os.setresuid(0, 0, 0)
        kernel.unshare(kernel.ALL_NAMESPACES, "mount, network and process")
        first = os.fork()
        if first == 0:
            _become_supervisor(launcher, layout)
        launcher.sendall(str(first).encode())
    except OSError as error:
        with suppress(OSError):  # the launcher has ended
            launcher.sendall(str(error).encode())
    os._exit(0)


def _become_supervisor(launcher: socket.socket, layout: Layout) -> NoReturn:
    """In PID 1: waits for the launcher, then own mounts, own /proc, and the supervisor's program."""
    os.setsid()
    try:
        if not launcher.recv(1):
            os._exit(1)
        log = os.open(layout.log("supervisor"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(log, sys.stdout.fileno())
        os.dup2(log, sys.stderr.fileno())
        kernel.mount("none", "/", flags=kernel.MS_REC | kernel.MS_PRIVATE)
        try:
            kernel.mount("proc", "/proc", "proc", kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC)
        except OSError as error:
            # Containers that mask parts of /proc forbid a fresh one. The old one shows the same processes by other
            # pids.
            print(f"{error}; continuing with the /proc of the outside", file=sys.stderr, flush=True)
        os.execv(sys.executable, [sys.executable, "-m", "sandbox.clusters.supervisor", str(layout.root)])  # noqa: S606
    except OSError as error:
        print(error, file=sys.stderr, flush=True)
    os._exit(1)


def main(layout: Layout, *, nodes: bool) -> int:
    """Returns the exit code of the launch."""
    refused = []
    for way in ways():
        try:
            pid, gate = enter(way, layout)
        except OSError as error:
            refused.append(f"{way}: {error}")
            continue
        record = Supervisor(
            identity=Identity.of(pid),
            mode=way.mode,
            nodes=nodes,
            started=time.time(),
            uid_range=way.uid_range,
            refused=refused,
        )
        write(layout.supervisor, record)
        gate.sendall(b"!")
        return 0
    print("\n".join(refused), file=sys.stderr)
    return NOT_ALLOWED


if __name__ == "__main__":
    sys.exit(main(Layout(Path(sys.argv[1])), nodes=sys.argv[2:] == ["--nodes"]))
