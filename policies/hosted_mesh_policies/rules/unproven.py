"""Before a write the engine does not say where a value comes from. Its preview did; so it takes the preview's word."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from .. import vocabulary
from ..detect.leaves import is_public
from ..detect.own_secrets import from_base64
from ..plan.model import Resource
from ..plan.tree import leaves, show
from .context import Context
from .finding import Severity
from .ownership import covers, declassified, is_annotated
from .rule import Place, Rule

ALLOW: Final = "allow"
REFUSE_SECRETS: Final = "refuse-secrets"
REFUSE_ALL: Final = "refuse-all"


def check(context: Context, resource: Resource) -> Iterator[Place]:
    """Values marked secret whose owner nothing proves. Dependencies are not known before a write, and a secret's first
    use may be this one, so neither flow nor value can speak yet."""
    stack, mode = context.stack, context.settings.without_preview
    if not stack.partial or stack.preview or not context.owners.is_given_away(resource):
        return
    if context.evidence is None and mode == REFUSE_ALL:
        yield "", "is written without a preview"
    if (context.evidence is None and mode != REFUSE_SECRETS) or is_annotated(
        resource, vocabulary.USER_OWNED_ANNOTATION
    ):
        return
    evidence = context.evidence.paths.get(resource.urn, frozenset()) if context.evidence else frozenset()
    allowed = (*declassified(resource), *evidence)
    why = "a secret, and this run had no preview that could show whose"
    if context.evidence is not None:
        why = "a secret, and its preview could not show whose"
    for leaf in leaves(resource.asked):
        path = show(leaf.path)
        if not leaf.secret or not isinstance(leaf.value, str) or any(covers(one, path) for one in allowed):
            continue
        data = leaf.value.encode("utf-8", "surrogatepass")
        if not is_public(from_base64(data) if resource.kind == "Secret" and leaf.path[0] == "data" else data):
            yield path, why


SCHEMA: Final[dict[str, dict[str, Any]]] = {
    "withoutPreview": {
        "type": "string",
        "enum": [REFUSE_SECRETS, REFUSE_ALL, ALLOW],
        "default": REFUSE_SECRETS,
        "description": "What an update without preview may not write to a user's cluster: secrets that are not said to "
        "be the user's own, anything at all, or neither.",
    }
}
UNPROVEN = Rule(
    name="secrets-of-unproven-owner-are-not-written",
    title="Secrets of unproven owner are not written",
    description="A secret is written to a user's cluster only if the preview of the same run showed whose it is. "
    "Without a preview (--skip-preview, the Automation API) it must be said to be the user's own.",
    cure="Run the update with its preview. If the secret is the user's, say so on the resource: annotation "
    f'{vocabulary.USER_OWNED_ANNOTATION}: "<reason>".',
    severity=Severity.CRITICAL,
    page="timing",
    check=check,
    schema=SCHEMA,
)
