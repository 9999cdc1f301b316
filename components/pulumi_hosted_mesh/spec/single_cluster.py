"""`split: false`: a mesh document for one cluster, which has no fields of the control plane's side. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pydantic.alias_generators import to_camel

from pulumi_hosted_mesh.problems import RuleBrokenError
from pulumi_hosted_mesh.spec.exposure import EXTERNAL
from pulumi_hosted_mesh.vocabulary import DEFAULT_REVISION, namespace_of, suffixed

LEFT_OUT: Final = "Leave it out, or set split: true"
OF_THE_SPLIT: Final = ("access", "webhooks", "chart_values")
"""A member's fields for the split alone. `access` may have KEPT."""
KEPT: Final = "root_certificate_owner"
OVERRIDE: Final = "remove_in_use"
"""The only field of `control_plane` for one cluster."""


def local_host(mesh: str, revision: str) -> str:
    """DNS name of a revision's istiod in the mesh's only cluster."""
    return f"{suffixed('istiod', revision)}.{namespace_of(mesh)}.svc"


def in_one_cluster(document: Mapping[str, Any]) -> dict[str, Any]:
    """A mesh document with `split: false`, not validated, with the revisions' required fields filled in.

    Raises: RuleBrokenError for a second cluster, and for a field without effect.
    """
    found = list(_without_effect(document))
    if found:
        rule = f"split is false, so {' and '.join(found)} would have no effect"
        raise RuleBrokenError(rule, LEFT_OUT)
    members = _given(document, "memberships")
    if isinstance(members, list | tuple) and len(members) > 1:
        rule = f"split is false, but there are {len(members)} memberships, each a cluster of its own"
        raise RuleBrokenError(rule, "Keep one membership, or set split: true")
    revisions, name = _given(document, "revisions"), document.get("name")
    if not isinstance(revisions, list | tuple) or not isinstance(name, str):
        return dict(document)
    return {**document, "revisions": [_inside(one, name) for one in revisions]}


def _inside(revision: Any, mesh: str) -> Any:
    if not isinstance(revision, Mapping):
        return revision
    return {**revision, **_own(mesh, revision)}


def _own(mesh: str, revision: Mapping[str, Any]) -> dict[str, Any]:
    """Values for the fields that the models require. The host is unused, and never resolves (RFC 2606)."""
    name = suffixed("istiod", str(revision.get("name") or DEFAULT_REVISION))
    return {"host": f"{name}.{mesh}.invalid", "exposure": {"kind": EXTERNAL}}


def _without_effect(document: Mapping[str, Any]) -> Iterator[str]:
    """Fields of the document that the single cluster does not use. Fields that `_inside` has set are accepted."""
    if _without(_given(document, "control_plane"), OVERRIDE):
        yield "controlPlane"
    if document.get("tenant") is not None:
        yield "tenant"
    for position, one in _mappings(document, "revisions"):
        for field, value in _own(str(document.get("name")), one).items():
            if one.get(field) not in (None, value):
                yield f"revisions[{position}].{field}"
    for position, one in _mappings(document, "memberships"):
        for field in OF_THE_SPLIT:
            if _without(_given(one, field), KEPT):
                yield f"memberships[{position}].{to_camel(field)}"


def _without(part: Any, field: str) -> Any:
    """A part of the document without a field that has an effect."""
    if not isinstance(part, Mapping):
        return part
    return {key: value for key, value in part.items() if key not in (field, to_camel(field))}


def _mappings(document: Mapping[str, Any], field: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    parts = _given(document, field)
    for position, one in enumerate(parts if isinstance(parts, list | tuple) else ()):
        if isinstance(one, Mapping):
            yield position, one


def _given(part: Mapping[str, Any], field: str) -> Any:
    """A field under its name in YAML or in Python."""
    found = part.get(field)
    return part.get(to_camel(field)) if found is None else found
