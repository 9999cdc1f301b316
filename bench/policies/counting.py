"""Counts the cases that a tool flags, by the folders of its findings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Score:
    """A tool's result on one form of the corpus. `why_not`: the reason of a missing result."""

    tool: str
    fed: str
    caught: int = 0
    leaks: int = 0
    false_alarms: int = 0
    clean: int = 0
    seconds: float = 0.0
    why_not: str = ""

    @classmethod
    def of(cls, tool: str, fed: str, flagged: Iterable[str], is_leak: Mapping[str, bool], seconds: float) -> Score:
        """From the names of the flagged cases. `is_leak` has every case of the tool's input.

        Raises ValueError for a name outside of its input.
        """
        names = set(flagged)
        if strange := names - is_leak.keys():
            raise ValueError(f"{tool} flags a case outside of its input: {sorted(strange)[0]}")
        leaks = sum(is_leak.values())
        caught = sum(is_leak[name] for name in names)
        return cls(tool, fed, caught, leaks, len(names) - caught, len(is_leak) - leaks, seconds)

    def row(self) -> list[str]:
        if self.why_not:
            return [self.tool, self.fed, "could not be had: " + self.why_not, "", ""]
        return [
            self.tool,
            self.fed,
            f"{self.caught} of {self.leaks}",
            f"{self.false_alarms} of {self.clean}",
            f"{self.seconds:.1f} s",
        ]


def cases_of(files: Iterable[str]) -> set[str]:
    """Each case has a folder of its own: the first part of a file's path."""
    return {name.split("/", 1)[0] for name in files}
