"""Pulumi's property values as Python values, and back.

Objects, lists, strings, booleans, numbers and None are themselves; whole numbers are int, although the wire has only
floats. `Secret` and `UNKNOWN` stand for the engine's marks. Assets, archives and resources are rejected.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from google.protobuf import json_format

from sandbox.plugins.protocol.errors import NotImplementedHere

# The engine's marks for kinds of values that JSON lacks.
_SIGNATURE: Final = "4dabf18193072939515e22adb298388d"
_SECRET: Final = "1b47061264138c4ac30d75fd1eb44270"  # noqa: S105 - the mark of one, not one
_REFUSED: Final = {
    "c44067f5952c0a294b673a41bacd8c17": "assets",
    "0def7320c3a5731c473e5ecbe6d01bc7": "archives",
    "5cf8f73096256a8f31e491e813e4eb8e": "resources",
}
# The engine has one mark per type for an unknown value; a provider needs no distinction.
_UNKNOWN_STRING: Final = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"  # also the one that this module sends
_UNKNOWNS: Final = frozenset(
    {
        _UNKNOWN_STRING,
        "1c4a061d-8072-4f0a-a4cb-0ff528b18fe7",  # bool
        "3eeb2bf0-c639-47a8-9e75-3b44932eb421",  # number
        "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2",  # array
        "030794c1-ac77-496b-92df-f27374a8bd58",  # asset
        "e48ece36-62e2-4504-bad9-02848725956a",  # archive
        "dd056dcd-154b-4c76-9bd3-c8f88648b5ff",  # object
    }
)


class Unknown:
    """The type of `UNKNOWN`: a value of another resource that does not exist yet."""

    def __repr__(self) -> str:
        return "UNKNOWN"

    def __deepcopy__(self, _: object) -> Unknown:
        return self


UNKNOWN: Final = Unknown()


@dataclass(frozen=True)
class Secret:
    """A value that the engine must encrypt in state and mask in output. Its text form never shows the value."""

    value: Any = field(repr=False)


def read_struct(struct: Any) -> dict[str, Any]:
    """A google.protobuf.Struct as a dict."""
    return {name: _read(value) for name, value in json_format.MessageToDict(struct).items()}


def _read(value: Any) -> Any:
    """A JSON value, with the engine's marks among its objects and texts, as a value of this module."""
    if isinstance(value, dict):
        return _read_special(value) if _SIGNATURE in value else {name: _read(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_read(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return UNKNOWN if value in _UNKNOWNS else value


def _read_special(fields: Mapping[str, Any]) -> Any:
    signature = fields[_SIGNATURE]
    if signature == _SECRET:
        return Secret(_read(fields.get("value")))
    if signature in _REFUSED:
        raise NotImplementedHere(f"{_REFUSED[signature]} among property values")
    raise ValueError(f"a property value has the signature {signature}, which this stand-in does not support")


def write_struct(values: Mapping[str, Any], struct: Any) -> Any:
    """Writes a dict into an empty google.protobuf.Struct and returns the Struct; an empty dict counts as set.

    Raises ValueError for a value that is no property value.
    """
    struct.SetInParent()
    struct.update(_written(values))
    return struct


def _written(item: Any) -> Any:
    """The value as JSON, with the engine's marks."""
    if item is UNKNOWN:
        return _UNKNOWN_STRING
    if isinstance(item, Secret):
        return {_SIGNATURE: _SECRET, "value": _written(item.value)}
    if isinstance(item, Mapping):
        return {name: _written(value) for name, value in item.items()}
    return [_written(value) for value in item] if isinstance(item, list | tuple) else item


def plain(item: Any) -> Any:
    """The value without its marks of secrets, all the way down; shares nothing with `item`."""
    if isinstance(item, dict):
        return {key: plain(value) for key, value in item.items()}
    if isinstance(item, list):
        return [plain(value) for value in item]
    if isinstance(item, Secret):
        return plain(item.value)
    return item


def contains_secret(item: Any) -> bool:
    """Whether a secret is anywhere in the value."""
    return _any(item, lambda leaf: isinstance(leaf, Secret))


def contains_unknown(item: Any) -> bool:
    """Whether a part of the value is unknown."""
    return _any(item, lambda leaf: leaf is UNKNOWN)


def _any(item: Any, test: Callable[[Any], bool]) -> bool:
    if isinstance(item, dict):
        return any(_any(value, test) for value in item.values())
    if isinstance(item, list):
        return any(_any(value, test) for value in item)
    if test(item):
        return True
    return isinstance(item, Secret) and _any(item.value, test)
