"""What a check of something that runs comes to: what was seen, and where it is not as it should be, what to do next."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pulumi_hosted_mesh.problems import visible


@dataclass(frozen=True)
class Verdict:
    """One line of a report.

    check: what was looked at. cause: a word for what is wrong, `time-out`, which programs may rely on; None if all is
    well. seen: what was observed, without a secret. fix: what to do; empty if all is well. notice: nothing is broken,
    and somebody may want to know.
    """

    check: str
    cause: str | None
    seen: str
    fix: str = ""
    notice: bool = False

    @property
    def ok(self) -> bool:
        """Whether it is as it should be, or does no harm."""
        return self.cause is None or self.notice

    def __str__(self) -> str:
        check, seen = visible(self.check), visible(self.seen)
        if self.cause is None:
            return f"ok      {check}: {seen}"
        return f"{'notice' if self.notice else 'FAILED'}  {check}: {self.cause}: {seen}\n        {visible(self.fix)}"


def few(names: Sequence[str], most: int = 3) -> str:
    """The first names, and that there are more."""
    return f"{', '.join(names[:most])}{', ...' if names[most:] else ''}"


def report(verdicts: Iterable[Verdict]) -> dict[str, Any]:
    """The same for machines: `{"ok": bool, "checks": [{"check", "ok", "notice", "cause", "seen", "fix"}]}`."""
    found = list(verdicts)
    return {"ok": all(one.ok for one in found), "checks": [{**asdict(one), "ok": one.ok} for one in found]}
