"""Where two copies of a federation's document disagree. Pure.

Each owner may have a copy. Callers get 403 or 503 where exporter and importer run different ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pulumi_hosted_mesh.problems import Problem
from pulumi_hosted_mesh.spec.federation import Federation

FIX = "Make the copies the same; the owner of the mesh decides on its peer's part"


def disagreements(first: Federation, second: Federation, copy: str) -> list[Problem]:
    """The fields of the first document that differ in the second, by peer. copy: the second's name in messages."""
    one, other = (document.model_dump(mode="json", by_alias=True) for document in (first, second))
    return [Problem(field, rule, FIX) for field, rule in _different("", one, other, copy)]


def _different(path: str, one: Any, other: Any, copy: str) -> Iterator[tuple[str, str]]:
    is_list = isinstance(one, list) and isinstance(other, list)
    named = [_named(one), _named(other)] if is_list else [one, other]
    if all(isinstance(part, dict) for part in named):
        one, other = named
        for key in sorted({*one, *other}):
            field = f".{key}" if path else key
            yield from _part(f"{path}[{key}]" if is_list else f"{path}{field}", key, one, other, copy)
    elif one != other:
        yield path, f"differs from {copy}"


def _part(path: str, key: str, one: dict[str, Any], other: dict[str, Any], copy: str) -> Iterator[tuple[str, str]]:
    if key not in other:
        yield path, f"is missing in {copy}"
    elif key not in one:
        yield path, f"is only in {copy}"
    else:
        yield from _different(path, one[key], other[key], copy)


def _named(parts: list[Any]) -> dict[str, Any] | None:
    """The parts by their mesh or name; None for a list of other parts."""
    for key in ("mesh", "name"):
        if parts and all(isinstance(one, dict) and key in one for one in parts):
            return {str(one[key]): one for one in parts}
    return {} if not parts else None
