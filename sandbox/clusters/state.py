"""The state directory: all files of a running sandbox, and its supervisor's identity.

<state>/kubeconfig                 a context for each cluster, for people
<state>/clusters/                  the clusters' own; `down` removes it
    lock, settings.json, plan.json, supervisor.json, processes.json
    logs/<process>.log
    dns/                           Corefiles and records
    <cluster>/                     certificates, keys, kubeconfigs
    <cluster>/etcd/                the cluster's data
    <cluster>/<node>/              a node agent's own
"""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import BaseModel, ValidationError

from sandbox.clusters.supervisor.identity import Identity
from sandbox.clusters.topology import Topology

Mode = Literal["root", "rootless"]
Phase = Literal["waiting", "starting", "ready", "done", "backing off", "failed", "stopping", "stopped"]
_M = TypeVar("_M", bound=BaseModel)


class Supervisor(BaseModel, extra="ignore", frozen=True):
    """The running sandbox: its PID 1, as recorded by the launcher before any other process starts.

    started: Unix time. uid_range: rootless only; more than one user is mapped. refused: better modes that the machine
    forbids. Read leniently: another version of this program may have written it, and that sandbox still runs.
    """

    identity: Identity
    mode: Mode
    nodes: bool
    started: float = 0.0
    uid_range: bool = False
    refused: list[str] = []


class Settings(BaseModel, extra="forbid", frozen=True):
    """Settings that survive a restart of the sandbox. ports: on the host's 127.0.0.1, by cluster."""

    topology: Topology
    ports: dict[str, int]


class ProcessStatus(BaseModel, extra="forbid", frozen=True):
    """One process of the sandbox.

    pid: inside the sandbox. since: Unix time of the phase. restarts: total. failures: consecutive, without a minute of
    life between them. last_exit: in words.
    """

    name: str
    phase: Phase
    since: float
    pid: int | None = None
    restarts: int = 0
    failures: int = 0
    last_exit: str | None = None


class Processes(BaseModel, extra="forbid", frozen=True):
    """The supervisor's latest report."""

    processes: list[ProcessStatus]


class Layout:
    """Paths in one state directory. Reading them creates no files."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.kubeconfig = root / "kubeconfig"
        self.own = root / "clusters"
        self.lock = self.own / "lock"
        self.settings = self.own / "settings.json"
        self.plan = self.own / "plan.json"
        self.supervisor = self.own / "supervisor.json"
        self.processes = self.own / "processes.json"
        self.dns = self.own / "dns"

    def log(self, process: str) -> Path:
        return self.own / "logs" / f"{process}.log"

    def cluster(self, name: str) -> Path:
        return self.own / name

    def make(self) -> None:
        """Makes the directories, readable by their owner only."""
        for path in (self.root, self.own, self.own / "logs", self.dns):
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.own.chmod(0o700)


def write(path: Path, content: BaseModel | bytes | str) -> None:
    """Replaces a file atomically (a reader sees the old or the new one), mode 0600."""
    data = content.model_dump_json(indent=1) if isinstance(content, BaseModel) else content
    temporary = path.with_name(f".{path.name}.{threading.get_native_id()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data.encode() if isinstance(data, str) else data)
    temporary.replace(path)


def read(path: Path, model: type[_M]) -> _M | None:
    """None when the file is missing or malformed (cut short by a full disk, or of another version)."""
    try:
        return model.model_validate_json(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError, ValidationError):
        return None


def settings(layout: Layout) -> Settings:
    """The settings. Raises OSError when a running sandbox has lost them."""
    found = read(layout.settings, Settings)
    if found is None:
        raise OSError(f"{layout.settings} is missing or unreadable: run `down`, then `up`")
    return found


def running(layout: Layout) -> Supervisor | None:
    """The supervisor of this state directory, if it is alive."""
    found = read(layout.supervisor, Supervisor)
    return found if found and found.identity.alive() else None
