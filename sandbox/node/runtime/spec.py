"""What the launcher carries out, computed as data first, so that what a container sees can be tested.

Standard library only.
"""

from dataclasses import dataclass
from typing import Literal

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
    """Starts a container (``join_pid`` None) or a further process in the one whose init has that process id.

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
