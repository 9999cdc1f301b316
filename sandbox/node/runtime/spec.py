"""The launcher's input, computed as data first, so that tests can check a container's surroundings.

Standard library only.
"""

from dataclasses import dataclass
from typing import Literal

MountKind = Literal["directory", "file", "symlink", "bind", "tmpfs", "proc"]


@dataclass(frozen=True)
class Mount:
    """One step of building the root directory, done in order.

    source: the bound path, the symlink's target, or the file's text. mode: of a new directory or file (default 0755,
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
    """uid and gid None: keep the node's own (the one mapped id of a rootless node).

    capabilities: the bounding set by number; a process other than root's holds none of them (as in containers).
    """

    uid: int | None
    gid: int | None
    groups: tuple[int, ...]
    capabilities: tuple[int, ...]
    no_new_privileges: bool


@dataclass(frozen=True)
class RuntimeSpec:
    """Starts a container (``join_pid`` None) or a further process in the container with the init ``join_pid``.

    terminal: standard input is a terminal, which becomes the process's own.
    """

    argv: tuple[str, ...]
    environment: dict[str, str]
    working_directory: str
    identity: Identity
    hostname: str = ""
    staging: str = ""
    mounts: tuple[Mount, ...] = ()
    read_only_root: bool = False
    join_pid: int | None = None
    terminal: bool = False
