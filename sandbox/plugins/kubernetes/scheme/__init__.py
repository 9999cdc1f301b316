"""How Go's types spell built-in objects: what the official plug-in does to inputs before it looks at them.

It converts every built-in object to its Go type and back. That drops unknown fields, nulls, and empty values of fields
that are written only when set, and it spells quantities in one way. Inputs that are kept in another spelling would
differ from what the API server returns, in every preview, so the stand-in follows the same table. The table
(types.json) is written by types.go from the types themselves; see there how to renew it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from sandbox.plugins.kubernetes.scheme.quantities import canonical

_DROP: Final = object()


class _Mismatch(Exception):
    """A value that does not fit its Go type; then the official plug-in leaves the whole object alone."""


@lru_cache(maxsize=1)
def table() -> dict[str, Any]:
    """kinds: apiVersion/Kind -> type. types: type -> field -> shape (see `_convert`)."""
    read: dict[str, Any] = json.loads(Path(__file__).with_name("types.json").read_bytes())
    return read


def is_built_in(api_version: str, kind: str) -> bool:
    """Whether Kubernetes itself, not a definition, has the kind; lists do not count. api_version: "core/v1" is "v1"."""
    return _key(api_version, kind) in table()["kinds"] or kind == "CustomResourceDefinition"


def normalized(obj: Mapping[str, Any]) -> dict[str, Any]:
    """The object as its Go type would spell it; unchanged when there is no such type or a value does not fit it."""
    type_name = table()["kinds"].get(_key(str(obj.get("apiVersion")), str(obj.get("kind"))))
    if type_name is None:
        return dict(obj)
    try:
        spelled: dict[str, Any] = _struct(type_name, obj)
    except _Mismatch:
        return dict(obj)
    return spelled


def _key(api_version: str, kind: str) -> str:
    return f"{api_version.removeprefix('core/')}/{kind}"


def _struct(type_name: str, obj: Any) -> dict[str, Any]:
    if not isinstance(obj, Mapping):
        raise _Mismatch
    result = {}
    for name, shape in table()["types"][type_name].items():
        if obj.get(name) is None:
            continue
        value = _convert(shape, obj[name])
        if value is not _DROP:
            result[name] = value
    return result


def _convert(shape: str, value: Any) -> Any:
    """shape: ? optional, [ list of, { map of, . struct, else a plain type."""
    head, rest = shape[0], shape[1:]
    if head == "?":
        converted = _convert(rest, value)
        return _DROP if converted in ("", 0, False) or converted == [] or converted == {} else converted
    if head == ".":
        return _struct(rest, value)
    if head == "[":
        if not isinstance(value, list):
            raise _Mismatch
        return [_convert(rest, item) if item is not None else None for item in value]
    if head == "{":
        if not isinstance(value, Mapping):
            raise _Mismatch
        return {key: _convert(rest, item) if item is not None else None for key, item in value.items()}
    return _plain(shape, value)


def _plain(shape: str, value: Any) -> Any:
    if shape == "quantity":
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise _Mismatch
        try:
            return canonical(str(value))
        except ValueError:
            raise _Mismatch from None
    expected = {"string": str, "bool": bool, "int": int}.get(shape)
    if expected is not None and (not isinstance(value, expected) or (expected is int and isinstance(value, bool))):
        raise _Mismatch
    return value
