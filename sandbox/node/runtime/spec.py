"""What the launcher is told: one JSON document. Standard library only.

The agent computes all of it; the launcher only carries it out, so that what a container sees can be tested as data.
"""

from dataclasses import dataclass
from typing import Any, Literal

MountKind = Literal["directory", "file", "symlink", "bind", "tmpfs", "proc"]


@dataclass(frozen=True)
class Mount:
    """One step of building the root directory, done in order.

    source: what is bound, the symlink's target, or the file's text. mode: of a new directory or file (default 0755,
    files 0644). data: mount options of a tmpfs. optional: skipped if the source does not exist.
    """

    kind: MountKind
    target: str
    source: str = ""
    mode: int = 0o755
    read_only: bool = False
    data: str = ""
    optional: bool = False


@dataclass(frozen=True)
class Identity:
    """uid and gid None: stay what the node is (the one mapped id of a rootless node).

    capabilities: the bounding set by number; a process that is not root holds none of them (as with containers).
    """

    uid: int | None
    gid: int | None
    groups: tuple[int, ...]
    capabilities: tuple[int, ...]
    no_new_privileges: bool


@dataclass(frozen=True)
class RuntimeSpec:
    """Starts a container (``join_pid`` None) or a further process in the one whose init has that process id."""

    argv: tuple[str, ...]
    environment: dict[str, str]
    working_directory: str
    identity: Identity
    hostname: str = ""
    staging: str = ""
    mounts: tuple[Mount, ...] = ()
    read_only_root: bool = False
    network_fd: int | None = None
    report_fd: int = -1
    join_pid: int | None = None


def from_json(document: dict[str, Any]) -> RuntimeSpec:
    """The inverse of ``dataclasses.asdict``, but that tuples of plain values come back as lists."""
    parts = {
        "mounts": tuple(Mount(**mount) for mount in document["mounts"]),
        "identity": Identity(**document["identity"]),
    }
    return RuntimeSpec(**{**document, **parts})
