"""Which process is meant, for certain, whatever has become of its pid since."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel


class Identity(BaseModel, extra="forbid", frozen=True):
    """One process for certain: a pid alone may have been given to another process since.

    pid: as seen from the host. start: clock ticks after boot (/proc/PID/stat). boot: the kernel's boot id.
    """

    pid: int
    start: int
    boot: str

    @classmethod
    def of(cls, pid: int) -> Identity:
        """Raises OSError when there is no such process."""
        return cls(pid=pid, start=_start_time(pid), boot=_boot_id())

    def alive(self) -> bool:
        """True while that very process runs; a zombie, or another process with its pid, is not it."""
        try:
            return self.boot == _boot_id() and self.start == _start_time(self.pid) and _status(self.pid) != "Z"
        except OSError:
            return False


def _stat_fields(pid: int) -> list[str]:
    # The second field, the program's name, may hold spaces and brackets: count from its last bracket.
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def _status(pid: int) -> str:
    return _stat_fields(pid)[0]


def _start_time(pid: int) -> int:
    return int(_stat_fields(pid)[19])


def _boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
