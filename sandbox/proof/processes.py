"""Running programs by /proc: arguments, environment, mounts and connections.

The reader may be another user than the program's: a function of the caller reads files that only their owner may read.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

Read = Callable[[Path], bytes]  # raises FileNotFoundError, and OSError


@dataclass(frozen=True)
class Process:
    """A live process on this machine; `pid` as seen from outside the sandbox. read: reads files of its user's."""

    pid: int
    argv: tuple[str, ...]
    env: Mapping[str, str]
    read: Read = field(default=Path.read_bytes, repr=False)

    def file(self, path: str) -> bytes | None:
        """A file as the process sees it, mounts included; None without one. Raises OSError if access is denied."""
        try:
            return self.read(Path(f"/proc/{self.pid}/root") / path.lstrip("/"))
        except FileNotFoundError:
            return None

    def mount_points(self) -> set[str]:
        return {line.split()[4] for line in self._lines("mountinfo")}

    def established(self) -> Iterator[tuple[str, int]]:
        """Remote address and port of each established TCP connection in the process's network namespace."""
        for table, before in (("net/tcp", ""), ("net/tcp6", "0000000000000000FFFF0000")):  # IPv4 on an IPv6 socket
            for line in self._lines(table)[1:]:
                fields = line.split()
                address, port = fields[2].split(":")
                if fields[3] == "01" and address.startswith(before):  # TCP_ESTABLISHED
                    yield socket.inet_ntoa(bytes.fromhex(address.removeprefix(before))[::-1]), int(port, 16)

    def _lines(self, name: str) -> list[str]:
        return self.read(Path(f"/proc/{self.pid}/{name}")).decode().splitlines()


def find(program: str, env: Mapping[str, str], read: Read = Path.read_bytes) -> list[Process]:
    """All processes with a first argument that ends in `program` and an environment with every pair of `env`."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            argv = (entry / "cmdline").read_bytes().rstrip(b"\0").decode(errors="replace").split("\0")
            if not argv[0].endswith(program):
                continue
            pairs = read(entry / "environ").decode(errors="replace").split("\0")
        except OSError:  # it has ended, or belongs to another user
            continue
        environ = dict(pair.split("=", 1) for pair in pairs if "=" in pair)
        if all(environ.get(name) == value for name, value in env.items()):
            found.append(Process(int(entry.name), tuple(argv), environ, read))
    return found
