"""How the library refuses input: a field, the rule that it breaks, what to do. Never a value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pulumi import RunError


@dataclass(frozen=True)
class Problem:
    """One thing wrong with one field.

    field: path in the document as it is written there, `revisions[0].host` or `memberships[0].gateways[0].name`.
    rule: what the field must be, and in what way it is not. Says nothing of the value: it may hold a secret.
    fix: what to do.
    """

    field: str
    rule: str
    fix: str

    def __str__(self) -> str:
        end = "" if self.fix.endswith("?") else "."
        return f"{self.field}: {self.rule}. {self.fix}{end}"


def visible(text: str) -> str:
    """Text of others on one line, in which what a terminal would obey, or not show, is written as its number."""
    return "".join(one if one.isprintable() else ascii(one)[1:-1] for one in text)


class InvalidInputError(RunError):
    """What was given cannot be used; raised before anything is touched. One line per problem, no stack trace.

    A RunError is what the language host of a Pulumi program prints as one message.

    source: what the fields stand in, as its reader knows it: a file, the document under a key, the command line.
    """

    def __init__(self, problems: Sequence[Problem], source: str) -> None:
        self.problems = tuple(problems)
        self.source = source
        heading = f"{source} cannot be used:" if len(self.problems) > 1 else f"{source} cannot be used,"
        lines = [str(problem) for problem in self.problems]
        super().__init__(f"{heading} {lines[0]}" if len(lines) == 1 else "\n  ".join([heading, *lines]))


class RuleBrokenError(ValueError):
    """Raised by a validator; the document's loader adds the field's path and makes it a `Problem`."""

    def __init__(self, rule: str, fix: str) -> None:
        super().__init__(rule)
        self.rule = rule
        self.fix = fix
