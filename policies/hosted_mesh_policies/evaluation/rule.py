"""A rule, and its guarded run: a failure becomes a verdict."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from hosted_mesh_plan import vocabulary
from hosted_mesh_plan.annotations import is_accepted
from hosted_mesh_plan.model import Resource

from ..detect.decoders.compression import MOST_UNPACKED
from ..detect.decoders.text import TooMuchError
from .context import Context
from .finding import Finding, Severity, Undeclared, Warned

Place = tuple[str, str]
"""(property path, problem)"""
DOCUMENTATION = "https://github.com/hosted-mesh/hosted-mesh/blob/main/docs/policies"


@dataclass(frozen=True)
class Rule:
    """One policy.

    `check` judges one resource alone, so it also runs before each write. `check_stack` judges a whole stack and yields
    (resource, path, problem). `page` is its page in docs/policies, `cure` the fix for a user.
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
    """True if a person may decide: an object annotated with a reason passes."""
    rests_on_owner: bool = False
    """True if a verdict on an undeclared cluster or account rests on that alone."""

    @property
    def remedy(self) -> str:
        """The fix, and the annotation that accepts the verdict."""
        said = f'annotation {vocabulary.ACCEPT_ANNOTATION}: "{self.name}: <reason>"'
        return (
            f"{self.cure} If it is intended, give the reason on the object: {said}." if self.acceptable else self.cure
        )

    @property
    def url(self) -> str:
        return f"{DOCUMENTATION}/{self.page}.md#{self.name}"


def judge(rule: Rule, context: Context) -> list[Finding]:
    """A rule's verdicts on a whole stack."""
    found = [finding for resource in context.stack.resources for finding in judge_resource(rule, context, resource)]
    check = rule.check_stack
    return found if check is None else found + _guarded(rule, context, "", lambda: check(context))


def judge_resource(rule: Rule, context: Context, resource: Resource) -> list[Finding]:
    """A rule's verdicts on one resource alone."""
    check = rule.check
    if check is None:
        return []
    return _guarded(rule, context, resource.urn, lambda: ((resource, *place) for place in check(context, resource)))


def _guarded(
    rule: Rule, context: Context, urn: str, said: Callable[[], Iterable[tuple[Resource, str, str]]]
) -> list[Finding]:
    """A rule's verdicts without accepted ones. A failing rule reports a violation. The exception's text stays out of
    the message, because it may quote a value."""
    found: list[Finding] = []
    try:
        for resource, path, what in said():
            if not (rule.acceptable and is_accepted(resource, rule.name)):
                found.append(_finding(rule, context, resource, path, what))
    except TooMuchError:
        what = f"could not evaluate: it unpacks to more than {MOST_UNPACKED >> 20} MiB"
        found.append(Finding(rule.name, urn, "", what))
    except Exception as problem:
        where = problem.__traceback__
        while where is not None and where.tb_next is not None:
            where = where.tb_next
        line = f" at line {where.tb_lineno} of {where.tb_frame.f_code.co_name}" if where else ""
        found.append(Finding(rule.name, urn, "", f"could not evaluate ({type(problem).__name__}{line})"))
    return found


_SETTING: Final = re.compile(r"(?:control|data)Plane[A-Z]")
INIT: Final = "hosted-mesh-policies init"
"""The command that writes the settings file."""


def _finding(rule: Rule, context: Context, resource: Resource, path: str, what: str) -> Finding:
    """A verdict with its level. Without a declared owner it names the setting and the command."""
    if isinstance(what, Warned):
        return Finding(rule.name, resource.urn, path, str(what), advisory=not context.settings.strict)
    undeclared = rule.rests_on_owner and context.is_undeclared(resource)
    if not (context.is_lenient and (undeclared or isinstance(what, Undeclared))):
        return Finding(rule.name, resource.urn, path, str(what))
    hint = context.how_to_declare(resource) if not _SETTING.search(what) else ""
    hint = f". {hint}" if hint else ""
    why = f"Advisory, because no owner is declared: `{INIT}` writes the settings file, `strict` makes it mandatory"
    return Finding(rule.name, resource.urn, path, f"{what}{hint}. {why}", advisory=True)


def not_known(field_name: str) -> str:
    """The verdict on a field that a plan must show and does not."""
    return f"could not evaluate: {field_name} is unknown before the update; give it a value that a preview can show"
