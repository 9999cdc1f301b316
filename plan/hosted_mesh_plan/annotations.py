"""Annotations by which a resource is declassified, the data plane's own, or accepted. Each needs a reason."""

from __future__ import annotations

from typing import Final

from . import vocabulary
from .model import Resource
from .tree import at

LEAST_REASON: Final = 8
"""Fewest characters of a reason. The `<reason>` of a message is no reason."""


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
    """True if the resource accepts a policy's verdict with a reason."""
    return policy in _with_reasons(resource, vocabulary.ACCEPT_ANNOTATION)


def issued_logins(resource: Resource) -> frozenset[str]:
    """The resources, as `Type:name`, that a Secret declares as logins issued to its tenant: `RobotAccount:shop-pull:
    pulls the tenant's images; ...`."""
    value = at(resource.body, "metadata", "annotations", vocabulary.ISSUED_LOGIN_ANNOTATION)
    entries = [entry.strip().partition(": ") for entry in value.split(";")] if isinstance(value, str) else []
    return frozenset(what.strip() for what, _, reason in entries if what.strip() and _is_reason(reason))


def _with_reasons(resource: Resource, annotation: str) -> frozenset[str]:
    value = at(resource.body, "metadata", "annotations", annotation)
    entries = [entry.partition(":") for entry in value.split(";")] if isinstance(value, str) else []
    return frozenset(what.strip() for what, _, reason in entries if what.strip() and _is_reason(reason))
