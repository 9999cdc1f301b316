"""Reasons: in documents for actions that are rejected without one, and in programs for declassification."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import AfterValidator

from pulumi_hosted_mesh.problems import RuleBrokenError
from pulumi_hosted_mesh.spec.fields import Text

LEAST_WORDS: Final = 3
SHORTEST: Final = len("a reason")


def reason(value: str) -> str:
    """One line of words."""
    if len(value.split()) < LEAST_WORDS or not value.isprintable():
        rule = f"must be the reason, one line of {LEAST_WORDS} words or more"
        raise RuleBrokenError(rule, "Write it like: the data plane's cluster is gone")
    return value


def is_for_reviewers(value: str) -> bool:
    """Whether a text is long enough for reviewers. Lines and words are free."""
    return len(value.strip()) >= SHORTEST


def upgrade_reason(value: str) -> str:
    """A reason for reviewers."""
    if not is_for_reviewers(value):
        raise RuleBrokenError("must be a reason for reviewers", "Write why the upgrade is safe")
    return value


Reason = Annotated[str, AfterValidator(reason)]
UpgradeReason = Annotated[Text, AfterValidator(upgrade_reason)]
