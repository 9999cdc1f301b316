"""What a resource says of itself in annotations: declassified, the data plane's own, accepted. Each with a reason."""

from __future__ import annotations

from typing import Final

from .. import vocabulary
from .model import Resource
from .tree import at

LEAST_REASON: Final = 8
"""A reason of fewer characters is none, and so is the `<reason>` of a message."""


def is_annotated(resource: Resource, annotation: str) -> bool:
    """True when an annotation gives a reason."""
    return _is_reason(at(resource.body, "metadata", "annotations", annotation))


def _is_reason(said: object) -> bool:
    text = said.strip() if isinstance(said, str) else ""
    return len(text) >= LEAST_REASON and not (text.startswith("<") and text.endswith(">"))


def declassified(resource: Resource) -> frozenset[str]:
    """Property paths that the resource declassifies: `data.digest: sha256 of the root key; another.path: reason`. An
    entry without a reason does not count."""
    return _with_reasons(resource, vocabulary.DECLASSIFY_ANNOTATION)


def is_accepted(resource: Resource, policy: str) -> bool:
    """True when the resource says why a policy's verdict on it is accepted."""
    return policy in _with_reasons(resource, vocabulary.ACCEPT_ANNOTATION)


def _with_reasons(resource: Resource, annotation: str) -> frozenset[str]:
    """What has a reason in `what: reason; ...`."""
    value = at(resource.body, "metadata", "annotations", annotation)
    entries = [entry.partition(":") for entry in value.split(";")] if isinstance(value, str) else []
    return frozenset(what.strip() for what, _, reason in entries if what.strip() and _is_reason(reason))
