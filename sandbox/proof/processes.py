"""Running programs as the kernel tells of them: arguments, environment, mounts and connections from /proc."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Process:
    """A live process on this machine; `pid` as seen from outside the sandbox."""

    pid: int
    argv: tuple[str, ...]
    env: Mapping[str, str]

    @property
    def root(self) -> Path:
        """The process's own root directory, mounts included."""
        return Path(f"/proc/{self.pid}/root")

    def mount_points(self) -> set[str]:
        lines = Path(f"/proc/{self.pid}/mountinfo").read_text().splitlines()
        return {line.split()[4] for line in lines}

    def established(self) -> Iterator[tuple[str, int]]:
        """Remote address and port of each established TCP connection in the process's network namespace."""
        for line in Path(f"/proc/{self.pid}/net/tcp").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "01":  # TCP_ESTABLISHED
                address, port = fields[2].split(":")
                yield socket.inet_ntoa(bytes.fromhex(address)[::-1]), int(port, 16)
        for line in Path(f"/proc/{self.pid}/net/tcp6").read_text().splitlines()[1:]:
            fields = line.split()
            address, port = fields[2].split(":")
            if fields[3] == "01" and address.startswith("0000000000000000FFFF0000"):  # IPv4 on an IPv6 socket
                yield socket.inet_ntoa(bytes.fromhex(address[24:])[::-1]), int(port, 16)


def find(program: str, env: Mapping[str, str]) -> list[Process]:
    """All processes whose first argument ends in `program` and whose environment holds every pair of `env`."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            argv = (entry / "cmdline").read_bytes().rstrip(b"\0").decode(errors="replace").split("\0")
            if not argv[0].endswith(program):
                continue
            pairs = (entry / "environ").read_bytes().decode(errors="replace").split("\0")
        except OSError:  # it has ended, or belongs to somebody else
            continue
        environ = dict(pair.split("=", 1) for pair in pairs if "=" in pair)
        if all(environ.get(name) == value for name, value in env.items()):
            found.append(Process(int(entry.name), tuple(argv), environ))
    return found
