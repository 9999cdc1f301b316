"""Property trees in the engine's protocol: reads and writes their secret marks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from google.protobuf import json_format, struct_pb2
from hosted_mesh_plan.decode import OUTPUT, SECRET, SIGNATURE
from hosted_mesh_plan.tree import Path

RESOURCE: Final = "5cf8f73096256a8f31e491e813e4eb8e"
UNKNOWN: Final = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
"""The SDKs' sign for an unknown text."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """One value of a tree: text, number, boolean or null; an empty list or mapping counts as one too."""

    value: Any
    secret: bool


def tree_of(struct: struct_pb2.Struct) -> dict[str, Any]:
    """A message as dictionaries and lists; marks stay in the protocol's form."""
    found: dict[str, Any] = json_format.MessageToDict(struct)
    return found


def struct_of(tree: Mapping[str, Any]) -> struct_pb2.Struct:
    return json_format.ParseDict(dict(tree), struct_pb2.Struct())


def secret(value: Any) -> Any:
    """A value marked secret."""
    return value if isinstance(value, dict) and value.get(SIGNATURE) == SECRET else {SIGNATURE: SECRET, "value": value}


def plain(value: Any) -> Any:
    """A tree without marks; a reference to a resource is its URN."""
    if isinstance(value, dict):
        kind = value.get(SIGNATURE)
        if kind in {SECRET, OUTPUT}:
            return plain(value.get("value"))
        if kind == RESOURCE:
            return value.get("urn", "")
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, list):
        return [plain(one) for one in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def answered(value: Any) -> Any:
    """A tree of inputs as providers repeat it: a reference to a resource becomes its id."""
    if isinstance(value, dict):
        if value.get(SIGNATURE) == RESOURCE:
            return value.get("id") or value.get("urn", "")
        return {key: answered(one) for key, one in value.items()}
    return [answered(one) for one in value] if isinstance(value, list) else value


def leaves(value: Any, path: Path = (), *, marked: bool = False) -> Iterator[tuple[Path, Leaf]]:
    """Every leaf with its path."""
    if isinstance(value, dict):
        kind = value.get(SIGNATURE)
        if kind in {SECRET, OUTPUT}:
            yield from leaves(value.get("value"), path, marked=marked or kind == SECRET or bool(value.get("secret")))
        elif kind == RESOURCE:
            yield path, Leaf(value.get("urn", ""), marked)
        elif not value:
            yield path, Leaf({}, marked)
        else:
            for key, one in value.items():
                yield from leaves(one, (*path, key), marked=marked)
    elif isinstance(value, list):
        if not value:
            yield path, Leaf([], marked)
        for place, one in enumerate(value):
            yield from leaves(one, (*path, place), marked=marked)
    else:
        yield path, Leaf(value, marked)


def show(path: Path) -> str:
    """A path as text: `data["tls.key"]`, `env[0].value`."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif step.replace("_", "").replace("-", "").isalnum():
            text += f".{step}" if text else step
        else:
            text += f'["{step}"]'
    return text


def substitution(instead: Mapping[str, str]) -> Callable[[str], str]:
    """Replaces texts inside a text: of two that begin at one place, the longer one."""
    longest = sorted(filter(None, instead), key=len, reverse=True)
    if not longest:
        return str
    found = re.compile("|".join(map(re.escape, longest)))
    return lambda text: found.sub(lambda one: instead[one.group()], text)
