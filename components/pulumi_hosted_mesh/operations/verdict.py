"""The result of a check of a running mesh: the finding and, for a failure, the fix."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pulumi_hosted_mesh.problems import visible


@dataclass(frozen=True)
class Verdict:
    """One line of a report.

    check: the subject. cause: stable identifier of the fault, such as `time-out`; None without one. seen: the finding,
    without a secret. fix: instruction; empty without a fault. notice: True for a fault that breaks nothing.
    """

    check: str
    cause: str | None
    seen: str
    fix: str = ""
    notice: bool = False

    @property
    def ok(self) -> bool:
        """Whether the check passed or is a notice."""
        return self.cause is None or self.notice

    def __str__(self) -> str:
        check, seen = visible(self.check), visible(self.seen)
        if self.cause is None:
            return f"ok      {check}: {seen}"
        return f"{'notice' if self.notice else 'FAILED'}  {check}: {self.cause}: {seen}\n        {visible(self.fix)}"


def few(names: Sequence[str], most: int = 3) -> str:
    """The first names, and an ellipsis if there are more."""
    return f"{', '.join(names[:most])}{', ...' if names[most:] else ''}"


def report(verdicts: Iterable[Verdict]) -> dict[str, Any]:
    """Verdicts as JSON content: `{"ok": bool, "checks": [{"check", "ok", "notice", "cause", "seen", "fix"}]}`."""
    found = list(verdicts)
    return {"ok": all(one.ok for one in found), "checks": [{**asdict(one), "ok": one.ok} for one in found]}
