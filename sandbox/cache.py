"""The user's cache directory: its location, and entries that exactly one of several runs makes.

Standard library only: the bootstrap uses it before any package is installed.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from sandbox.errors import SandboxError
from sandbox.lock import locked


def cache_dir() -> Path:
    """$XDG_CACHE_HOME/hosted-mesh, or ~/.cache/hosted-mesh; made if missing.

    Raises SandboxError when it cannot be written, or when this user has no home directory.
    """
    try:
        home = Path.home()
    except RuntimeError:
        raise SandboxError(
            "This user has no home directory.",
            why=f"there is neither $HOME nor an account of user id {os.getuid()}",
            fix="set HOME to a directory that you can write to.",
        ) from None
    # By the XDG specification a relative path is invalid and ignored.
    xdg = Path(os.environ.get("XDG_CACHE_HOME", ""))
    base = xdg if xdg.is_absolute() else home / ".cache"
    path = base / "hosted-mesh"
    try:
        path.mkdir(parents=True, exist_ok=True)
        usable = os.access(path, os.W_OK | os.X_OK)
    except OSError as error:
        raise _unusable(path, str(error)) from None
    if not usable:
        raise _unusable(path, "it is not writable for this user")
    return path


def _unusable(path: Path, why: str) -> SandboxError:
    return SandboxError(
        f"The cache directory {path} cannot be used.",
        why=why,
        fix="make it writable, or set XDG_CACHE_HOME to a directory that is.",
    )


def content_key(*parts: str | bytes) -> str:
    """A short key (16 hex digits) that changes when any part, or the border between two parts, changes."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()[:16]


def publish(target: Path, build: Callable[[Path], None], *, lock: Path, waiting: Callable[[str], None]) -> bool:
    """Makes the directory `target` by `build(temporary directory)` and one rename, unless it is there.

    So `target` is either whole or absent, whenever a run is killed. Of two runs at once one builds; the other waits
    and uses the result. Returns True if this call built it. Exceptions of `build` pass through and leave no files.
    """
    if target.is_dir():
        return False
    with locked(lock, waiting):
        if target.is_dir():
            return False
        target.parent.mkdir(parents=True, exist_ok=True)
        # Left by killed runs. This process holds the lock, so no other run uses them.
        for stale in target.parent.glob(f".making-{target.name}-*"):
            shutil.rmtree(stale, ignore_errors=True)
        making = Path(tempfile.mkdtemp(prefix=f".making-{target.name}-", dir=target.parent))
        try:
            making.chmod(0o755)
            build(making)
            making.rename(target)
        except BaseException:
            shutil.rmtree(making, ignore_errors=True)
            raise
    return True
