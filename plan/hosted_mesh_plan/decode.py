"""From the engine's wire format to trees (`tree.py`), with secret marks and unknowns kept."""

from __future__ import annotations

import json
import re
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

import yaml
from google.protobuf.struct_pb2 import Struct, Value

from .tree import UNKNOWN, Secret, Tree

SIGNATURE: Final = "4dabf18193072939515e22adb298388d"
SECRET: Final = "1b47061264138c4ac30d75fd1eb44270"  # noqa: S105 a signature of the protocol
ASSET: Final = "c44067f5952c0a294b673a41bacd8c17"
ARCHIVE: Final = "0def7320c3a5731c473e5ecbe6d01bc7"
OUTPUT: Final = "d0e6a833031e9bbcd3f4e8bde6ca49a4"
UNKNOWNS: Final = frozenset(
    {
        "1c4a061d-8072-4f0a-a4cb-0ff528b18fe7",
        "3eeb2bf0-c639-47a8-9e75-3b44932eb421",
        "04da6b54-80e4-46f7-96ec-b56ff0331ba9",
        "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2",
        "030794c1-ac77-496b-92df-f27374a8bd58",
        "e48ece36-62e2-4504-bad9-02848725956a",
        "dd056dcd-154b-4c76-9bd3-c8f88648b5ff",
    }
)
"""The protocol's signs for an unknown value, one per type."""
MASK: Final = "[secret]"
"""The text of `pulumi preview --json` for a secret, with --show-secrets too."""
LARGEST_ASSET: Final = 64 * 1024 * 1024
YAML_LOADER: Final = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
"""For foreign texts: it resolves no numbers, dates, tags or merge keys, some of unbounded cost. Every scalar is a
text."""
UNPARSABLE: Final = (yaml.YAMLError, ValueError, RecursionError)
"""Errors of YAML and JSON parsers: ValueError also for an invalid date and for invalid UTF-8."""
MOST_NESTED: Final = 200
_LEAD = re.compile(rb"^[ \t?:-]{400}", re.MULTILINE)
_OPENING: Final = frozenset(b"{[")
_NO_BRACKETS: Final = bytes(byte for byte in range(256) if byte not in b"{[]}")


def nests_too_deeply(text: bytes) -> bool:
    """True for JSON or YAML nested deeper than a parser's stack: parsers in C have no limit of their own."""
    if _LEAD.search(text):
        return True
    depth = 0
    for byte in text.translate(None, _NO_BRACKETS):
        depth += 1 if byte in _OPENING else -1
        if depth > MOST_NESTED:
            return True
    return False


def from_struct(struct: Struct) -> dict[str, Tree]:
    """A resource's properties, in the order of their names: protobuf's maps have a random order."""
    return {key: from_value(value) for key, value in sorted(struct.fields.items(), key=itemgetter(0))}


def from_value(value: Value) -> Tree:
    """One value. Whole floats become int: the wire has floats only."""
    kind = value.WhichOneof("kind")
    if kind == "string_value":
        return UNKNOWN if value.string_value in UNKNOWNS else value.string_value
    if kind == "struct_value":
        return from_signed(from_struct(value.struct_value))
    if kind == "list_value":
        return [from_value(one) for one in value.list_value.values]
    if kind == "number_value":
        number = value.number_value
        return int(number) if number.is_integer() else number
    if kind == "bool_value":
        return value.bool_value
    return None


def from_plain(data: Any) -> Tree:
    """The same from JSON: a state file, a preview."""
    if isinstance(data, dict):
        return from_signed({key: from_plain(value) for key, value in data.items()})
    if isinstance(data, list):
        return [from_plain(value) for value in data]
    if isinstance(data, str) and data in UNKNOWNS:
        return UNKNOWN
    if data == MASK:
        return Secret(UNKNOWN)
    if isinstance(data, float) and data.is_integer():
        return int(data)
    return data


def from_signed(tree: dict[str, Tree]) -> Tree:
    """The value of a map with the protocol's signature; any other map unchanged."""
    signature = tree.get(SIGNATURE)
    if signature is None:
        return tree
    if signature == SECRET:
        if "value" in tree:
            return Secret(tree["value"])
        if isinstance(tree.get("plaintext"), str):  # an export with its secrets shown
            return Secret(from_plain(json.loads(tree["plaintext"])))
        return Secret(UNKNOWN)  # encrypted in a state file
    if signature == OUTPUT:
        inner = tree.get("value", UNKNOWN)
        return Secret(inner) if tree.get("secret") else inner
    if signature == ASSET:
        return _asset(tree)
    if signature == ARCHIVE:
        return {key: value for key, value in tree.items() if key in {"assets", "path", "uri"}}
    return tree


def _asset(tree: dict[str, Tree]) -> Tree:
    """An asset's content: its text, or the file that it names. A file that cannot be read is unknown."""
    if tree.get("text"):
        return tree["text"]
    path = tree.get("path")
    if isinstance(path, str):
        try:
            file = Path(path)
            return file.read_bytes() if file.stat().st_size <= LARGEST_ASSET else UNKNOWN
        except OSError:
            return UNKNOWN
    return tree.get("uri")
