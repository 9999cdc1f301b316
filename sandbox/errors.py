"""The one kind of error that a person is meant to read."""

from __future__ import annotations


class SandboxError(Exception):
    """Something that the person at the keyboard can understand and act on; shown as one block, without a stack trace.

    what: what did not work, one sentence. why: what was seen (an exit code, the last lines of a log), may be several
    lines. fix: what to do next, an instruction. None of the three ever holds a secret.
    """

    def __init__(self, what: str, *, why: str = "", fix: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.why = why
        self.fix = fix

    def __str__(self) -> str:
        """The whole block: what, why and fix, each part on lines of its own."""
        block = [self.what]
        if self.why:
            block += ["  " + line for line in self.why.rstrip().splitlines()]
        if self.fix:
            block += ["To fix it: " + self.fix]
        return "\n".join(block)
