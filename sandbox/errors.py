"""The one kind of error for people."""

from __future__ import annotations


class SandboxError(Exception):
    """An error that the user can correct; shown as one block, without a stack trace.

    `what`: the failure, one sentence. `why`: the observation (an exit code, the last lines of a log), possibly several
    lines. `fix`: the next step, an imperative. None of the three ever contains a secret.
    """

    def __init__(self, what: str, *, why: str = "", fix: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.why = why
        self.fix = fix

    def __str__(self) -> str:
        """The whole block: failure, reason and fix, each part on lines of its own."""
        block = [self.what]
        if self.why:
            block += ["  " + line for line in self.why.rstrip().splitlines()]
        if self.fix:
            block += ["To fix it: " + self.fix]
        return "\n".join(block)
