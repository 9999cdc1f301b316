"""Errors for rejected input: the field, the broken rule and the fix. They contain no values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pulumi import RunError


@dataclass(frozen=True)
class Problem:
    """One problem of one field.

    field: path as in the document, `revisions[0].host` or `memberships[0].gateways[0].name`.
    rule: the broken rule, as a predicate of the field. It omits the value, which may contain a secret.
    fix: instruction in the imperative.
    """

    field: str
    rule: str
    fix: str

    def __str__(self) -> str:
        end = "" if self.fix.endswith("?") else "."
        return f"{self.field}: {self.rule}. {self.fix}{end}"


def visible(text: str) -> str:
    """Foreign text on one line, with control and invisible characters escaped."""
    return "".join(one if one.isprintable() else ascii(one)[1:-1] for one in text)


class InvalidInputError(RunError):
    """Invalid input, raised before any change. One line per problem, without a stack trace.

    Pulumi's language host prints a RunError as one message.

    source: place of the fields in the user's words: a file, the document under a key, the command line.
    """

    def __init__(self, problems: Sequence[Problem], source: str) -> None:
        self.problems = tuple(problems)
        self.source = source
        heading = f"{source} cannot be used:" if len(self.problems) > 1 else f"{source} cannot be used,"
        lines = [str(problem) for problem in self.problems]
        super().__init__(f"{heading} {lines[0]}" if len(lines) == 1 else "\n  ".join([heading, *lines]))


class RuleBrokenError(ValueError):
    """Raised by a validator. The document's loader adds the field's path and turns it into a `Problem`."""

    def __init__(self, rule: str, fix: str) -> None:
        super().__init__(rule)
        self.rule = rule
        self.fix = fix
