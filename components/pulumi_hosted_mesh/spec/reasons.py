"""A reason in a document, for an action that is rejected without one."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import AfterValidator

from pulumi_hosted_mesh.problems import RuleBrokenError

LEAST_WORDS: Final = 3


def reason(value: str) -> str:
    """One line of words."""
    if len(value.split()) < LEAST_WORDS or not value.isprintable():
        rule = f"must be the reason, one line of {LEAST_WORDS} words or more"
        raise RuleBrokenError(rule, "Write it like: the data plane's cluster is gone")
    return value


Reason = Annotated[str, AfterValidator(reason)]
