"""What a rule is, and how it is run so that it never ends in silence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .. import vocabulary
from ..detect.decoders.compression import MOST_UNPACKED
from ..detect.decoders.text import TooMuchError
from ..plan.annotations import is_accepted
from ..plan.model import Resource
from .context import Context
from .finding import Finding, Severity

Place = tuple[str, str]
"""(property path, what is wrong there)"""
DOCUMENTATION = "https://github.com/hosted-mesh/hosted-mesh/blob/main/docs/policies"


@dataclass(frozen=True)
class Rule:
    """One policy.

    `check` judges one resource and needs no other, so it also runs before each write. `check_stack` judges a whole
    stack and yields (resource, path, what). `page` is its page in docs/policies, `cure` what a user should do.
    """

    name: str
    title: str
    description: str
    cure: str
    severity: Severity
    page: str
    mandatory: bool = True
    check: Callable[[Context, Resource], Iterable[Place]] | None = None
    check_stack: Callable[[Context], Iterable[tuple[Resource, str, str]]] | None = None
    schema: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    acceptable: bool = False
    """True where a person may decide: an object that says why is passed over."""

    @property
    def remedy(self) -> str:
        """What to do, and how to say that it is meant to be so."""
        said = f'annotation {vocabulary.ACCEPT_ANNOTATION}: "{self.name}: <reason>"'
        return f"{self.cure} If it is meant to be so, say why on the object: {said}." if self.acceptable else self.cure

    def passes_over(self, resource: Resource) -> bool:
        return self.acceptable and is_accepted(resource, self.name)

    @property
    def url(self) -> str:
        return f"{DOCUMENTATION}/{self.page}.md#{self.name}"


def judge(rule: Rule, context: Context) -> list[Finding]:
    """Everything that a rule says about a whole stack."""
    found = [finding for resource in context.stack.resources for finding in judge_resource(rule, context, resource)]
    check = rule.check_stack
    return found if check is None else found + _guarded(rule, "", lambda: check(context))


def judge_resource(rule: Rule, context: Context, resource: Resource) -> list[Finding]:
    """What a rule says about one resource by itself."""
    check = rule.check
    if check is None:
        return []
    return _guarded(rule, resource.urn, lambda: ((resource, *place) for place in check(context, resource)))


def _guarded(rule: Rule, urn: str, said: Callable[[], Iterable[tuple[Resource, str, str]]]) -> list[Finding]:
    """What a rule says, but for what somebody has accepted. A rule that breaks reports that it could not evaluate: a
    violation. The exception's own text stays out of the message, because it may quote a value."""
    found: list[Finding] = []
    try:
        for resource, path, what in said():
            if not rule.passes_over(resource):
                found.append(Finding(rule.name, resource.urn, path, what))
    except TooMuchError:
        what = f"could not evaluate: it unpacks to more than {MOST_UNPACKED >> 20} MiB; nobody can say what is in it"
        found.append(Finding(rule.name, urn, "", what))
    except Exception as problem:
        where = problem.__traceback__
        while where is not None and where.tb_next is not None:
            where = where.tb_next
        line = f" at line {where.tb_lineno} of {where.tb_frame.f_code.co_name}" if where else ""
        found.append(Finding(rule.name, urn, "", f"could not evaluate ({type(problem).__name__}{line})"))
    return found


def not_known(field_name: str) -> str:
    """The verdict on a field that must be reviewable in a plan and is not."""
    return f"could not evaluate: {field_name} is not known before the update; give it a value that a preview can show"
