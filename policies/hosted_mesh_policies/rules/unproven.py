"""Before a write the engine does not show a value's sources, so the preview's evidence decides."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from hosted_mesh_plan import vocabulary
from hosted_mesh_plan.annotations import declassified, is_annotated
from hosted_mesh_plan.model import Resource
from hosted_mesh_plan.tree import Leaf, is_covered, leaves, show

from ..detect.flow.expected_contents import pinned_in_record
from ..detect.leaf.content import as_bytes, held
from ..detect.leaf.level import Level, level_of
from ..detect.leaf.names import is_identifiers_name, names_digest_of_public
from ..detect.leaf.public_structure import is_bare_digest, is_public
from ..detect.secrets.resource_types import makes_what_opens
from ..evaluation.context import Context
from ..evaluation.finding import Severity
from ..evaluation.rule import Place, Rule

ALLOW: Final = "allow"
REFUSE_SECRETS: Final = "refuse-secrets"
REFUSE_ALL: Final = "refuse-all"
NOT_AWAITED: Final = "is not the public fact, or the public half of a key, that the preview waited for"

LEADS_ELSEWHERE: Final = (
    "does not lead to its own cluster, which its preview showed, and objects of the control plane depend on it"
)


def check(context: Context, resource: Resource) -> Iterator[Place]:
    """Marked values without a proven owner, and values that the preview did not show. Dependencies are unknown before a
    write, and a secret's first use may be this one, so neither flow nor value can judge it."""
    stack, mode, evidence = context.stack, context.settings.without_preview, context.evidence
    if not stack.partial or stack.preview:
        return
    if context.owners.leads_elsewhere_now(resource):
        yield "spec.credentials", LEADS_ELSEWHERE
    if not context.owners.is_given_away(resource):
        yield from _in_account(context, resource)
        return
    if evidence is None and mode == REFUSE_ALL:
        yield "", "is written without a preview"
    if evidence is None and mode != REFUSE_SECRETS:
        return
    if is_annotated(resource, vocabulary.DATA_PLANE_OWNED_ANNOTATION):
        return
    allowed = declassified(resource) | (evidence.paths.get(resource.urn, frozenset()) if evidence else frozenset())
    why = "this run had no preview to prove its owner" if evidence is None else "its preview did not prove its owner"
    told = [(leaf, f"a secret, and {why}") for leaf in leaves(resource.asked) if leaf.secret]
    if evidence is None:
        told += [(leaf, f"looks like a secret, and {why}") for leaf in leaves(resource.asked) if _looks_secret(leaf)]
    if evidence is not None:
        seen = "showed another value here" if resource.urn in evidence.shown else "never showed this object"
        told += [(leaf, f"is no public fact by its form, and the preview {seen}") for leaf in evidence.news(resource)]
        halves = evidence.awaited.get(resource.urn, frozenset())
        told += [(leaf, NOT_AWAITED) for leaf in leaves(resource.asked) if is_covered(show(leaf.path), halves)]
    for leaf, what in told:
        if leaf.path and context.owners.is_deployers_login(resource, str(leaf.path[0])):
            continue
        data = held(leaf) if resource.kind == "Secret" else as_bytes(leaf.value)
        public = is_public(data, stack.names)
        if what is NOT_AWAITED and (digest := _expected_digest(resource, leaf, data)):
            public = not leaf.secret and (public or is_bare_digest(digest))  # derived public values have no mark
        if data and not public and not is_covered(show(leaf.path), allowed):
            yield context.show(leaf.path), what


def _in_account(context: Context, resource: Resource) -> Iterator[Place]:
    """Marked outputs of the control plane's clouds that a preview waited for, in an unclassified account."""
    waited = context.evidence.awaited.get(resource.urn, frozenset()) if context.evidence else frozenset()
    for leaf in leaves(resource.asked) if waited and context.owners.is_in_unclassified_account(resource) else ():
        if leaf.secret and is_covered(show(leaf.path), waited) and not makes_what_opens(resource, leaf.path):
            yield context.show(leaf.path), "a secret, and its preview did not prove its owner"


LONGEST_DRAWN: Final = 128
_HEX: Final = re.compile(r"(?:[0-9a-f]{2})+|(?:[0-9A-F]{2})+")


def _looks_secret(leaf: Leaf) -> bool:
    """True for an unmarked random value that is no digest, in a place of free text: a ConfigMap's data, a variable. In
    other fields random text counts as an id or a name."""
    if leaf.secret or not isinstance(leaf.value, str) or len(leaf.value) > LONGEST_DRAWN or not leaf.path:
        return False
    name, text = str(leaf.path[-1]), leaf.value
    free = leaf.path[0] == "data" or name == "value"
    drawn = not any(map(str.isspace, text)) and not _HEX.fullmatch(text)
    known_as = name if is_identifiers_name(name) else ""
    return free and drawn and level_of(text.encode(), known_as) is Level.SECRET


def _expected_digest(resource: Resource, leaf: Leaf, data: bytes) -> bytes:
    """The possible digest in a place of public keys' digests: under their names, and in DNS."""
    named = any(names_digest_of_public(key) for key in leaf.path if isinstance(key, str))
    return pinned_in_record(resource, data) or (data if named else b"")


SCHEMA: Final[dict[str, dict[str, Any]]] = {
    "withoutPreview": {
        "type": "string",
        "enum": [REFUSE_SECRETS, REFUSE_ALL, ALLOW],
        "default": REFUSE_SECRETS,
        "description": "Writes to a data plane that an update without preview rejects: secrets not declared as the "
        "data plane's own, every object, or none.",
    }
}
UNPROVEN = Rule(
    name="secrets-of-unproven-owner-are-not-written",
    title="Secrets of unproven owner are not written",
    description="A secret is written to a data plane only if a preview proved its owner, and a value that no preview "
    "showed only if its form is public. Without a preview, declare a secret as the data plane's own.",
    cure="Run the update with its preview, or with the evidence of an earlier one. Make objects outside of "
    "apply. If the secret is the data plane's, declare that on the resource: annotation "
    f'{vocabulary.DATA_PLANE_OWNED_ANNOTATION}: "<reason>".',
    severity=Severity.CRITICAL,
    page="timing",
    check=check,
    rests_on_owner=True,
    schema=SCHEMA,
)
