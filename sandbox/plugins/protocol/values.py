"""Pulumi's property values as Python values, and back.

Objects, lists, strings, booleans, numbers and None are themselves; whole numbers are int, although the wire has only
floats. What Python has no word for: `Secret`, `UNKNOWN`. Assets, archives and resources are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from sandbox.plugins.protocol.errors import NotImplementedHere

# The engine's marks for the kinds of values that JSON has no word for.
_SIGNATURE: Final = "4dabf18193072939515e22adb298388d"
_SECRET: Final = "1b47061264138c4ac30d75fd1eb44270"  # noqa: S105 - the mark of one, not one
_REFUSED: Final = {
    "c44067f5952c0a294b673a41bacd8c17": "assets",
    "0def7320c3a5731c473e5ecbe6d01bc7": "archives",
    "5cf8f73096256a8f31e491e813e4eb8e": "resources",
}
# The engine has one word per type for "not known yet"; what it stands for does not matter to a provider.
_UNKNOWN_STRING: Final = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"  # also what is sent
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
    """The type of `UNKNOWN`: a value that is known only after something else was made."""

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
    return {key: read(value) for key, value in struct.fields.items()}


def read(value: Any) -> Any:
    """A google.protobuf.Value as a Python value."""
    kind = value.WhichOneof("kind")
    if kind == "string_value":
        text = value.string_value
        return UNKNOWN if text in _UNKNOWNS else text
    if kind == "struct_value":
        fields = value.struct_value.fields
        if _SIGNATURE in fields:
            return _read_special(fields)
        return {key: read(item) for key, item in fields.items()}
    if kind == "list_value":
        return [read(item) for item in value.list_value.values]
    if kind == "number_value":
        number = value.number_value
        return int(number) if number.is_integer() else number
    if kind == "bool_value":
        return value.bool_value
    return None


def _read_special(fields: Mapping[str, Any]) -> Any:
    signature = fields[_SIGNATURE].string_value
    if signature == _SECRET:
        return Secret(read(fields["value"]))
    if signature in _REFUSED:
        raise NotImplementedHere(f"{_REFUSED[signature]} among property values")
    raise ValueError(f"a property value has the signature {signature}, which this stand-in does not know")


def write_struct(values: Mapping[str, Any], struct: Any) -> Any:
    """Writes a dict into an empty google.protobuf.Struct and returns the Struct; an empty dict counts as set."""
    struct.SetInParent()
    fields = struct.fields
    for key, item in values.items():
        write(item, fields[key])
    return struct


def write(item: Any, value: Any) -> None:
    """Writes a Python value into an empty google.protobuf.Value."""
    if isinstance(item, str):
        value.string_value = item
    elif isinstance(item, bool):
        value.bool_value = item
    elif isinstance(item, int | float):
        value.number_value = item
    elif item is None:
        value.null_value = 0
    elif item is UNKNOWN:
        value.string_value = _UNKNOWN_STRING
    elif isinstance(item, Secret):
        write({_SIGNATURE: _SECRET, "value": item.value}, value)
    elif isinstance(item, Mapping):
        write_struct(item, value.struct_value)
    elif isinstance(item, list | tuple):
        value.list_value.SetInParent()
        values = value.list_value.values
        for element in item:
            write(element, values.add())
    else:
        raise TypeError(f"cannot send a {type(item).__name__} to the engine")


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
    """Whether something in the value is not known yet."""
    return _any(item, lambda leaf: leaf is UNKNOWN)


def _any(item: Any, test: Callable[[Any], bool]) -> bool:
    if isinstance(item, dict):
        return any(_any(value, test) for value in item.values())
    if isinstance(item, list):
        return any(_any(value, test) for value in item)
    if test(item):
        return True
    return isinstance(item, Secret) and _any(item.value, test)
