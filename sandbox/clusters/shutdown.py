"""Ends a supervisor and removes its files."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

from sandbox.clusters.state import Layout, Supervisor
from sandbox.clusters.supervisor.identity import Identity
from sandbox.errors import SandboxError

_GRACE = 30.0  # seconds for an orderly stop: the stages of the plan, each with its own grace
_KILL_WAIT = 10.0
_POLL = 0.02


def end(supervisor: Supervisor) -> None:
    """Sends SIGTERM for an orderly stop; after 30 s SIGKILL, by which the kernel ends everything at once.

    Raises SandboxError when the process is not this user's.
    """
    identity = supervisor.identity
    for number, patience in ((signal.SIGTERM, _GRACE), (signal.SIGKILL, _KILL_WAIT)):
        _signal(identity, number)
        deadline = time.monotonic() + patience
        while identity.alive() and time.monotonic() < deadline:
            time.sleep(_POLL)


def _signal(identity: Identity, number: int) -> None:
    """Through a pidfd, so that the pid cannot become another process between check and signal."""
    try:
        handle = os.pidfd_open(identity.pid)
    except ProcessLookupError:
        return
    try:
        if identity.alive():
            signal.pidfd_send_signal(handle, number)
    except ProcessLookupError:
        pass
    except PermissionError:
        raise SandboxError(
            f"The sandbox's supervisor (process {identity.pid}) belongs to another user.",
            fix="run this as the user that started it.",
        ) from None
    finally:
        os.close(handle)


def remove(layout: Layout) -> None:
    """Deletes the clusters' files; the state directory too if nothing else is in it. Raises SandboxError."""
    layout.kubeconfig.unlink(missing_ok=True)
    shutil.rmtree(layout.own, ignore_errors=True)
    if layout.own.exists():
        _remove_mapped(layout.own)
    if layout.own.exists():
        raise SandboxError(
            f"{layout.own} cannot be removed.", fix="remove it as the user that started the sandbox, or as root."
        )
    if not any(layout.root.iterdir()):
        layout.root.rmdir()


def _remove_mapped(path: Path) -> None:
    """Removes files of subordinate users, left by Pods of a rootless sandbox; only a user namespace may remove them."""
    subprocess.run(
        ["unshare", "--user", "--map-root-user", "--map-auto", "rm", "-rf", "--", str(path)],
        capture_output=True,
        check=False,
    )
