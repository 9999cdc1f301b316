"""The identity of a process, which stays unique when the kernel reuses its pid."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel


class Identity(BaseModel, extra="forbid", frozen=True):
    """One process: a pid alone may belong to another process by now.

    pid: as seen from the host. start: clock ticks after boot (/proc/PID/stat). boot: the kernel's boot id.
    """

    pid: int
    start: int
    boot: str

    @classmethod
    def of(cls, pid: int) -> Identity:
        """Raises OSError when there is no such process."""
        return cls(pid=pid, start=_stat(pid)[1], boot=_boot_id())

    def alive(self) -> bool:
        """True while that very process runs; a zombie, or another process with its pid, is not it."""
        try:
            state, start = _stat(self.pid)
            return (self.boot, self.start) == (_boot_id(), start) and state != "Z"
        except OSError:
            return False


def _stat(pid: int) -> tuple[str, int]:
    """State and start of a process."""
    # The second field, the program's name, may hold spaces and brackets: count from its last bracket.
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return fields[0], int(fields[19])


def _boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
