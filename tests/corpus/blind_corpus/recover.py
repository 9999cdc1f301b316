"""Getting a secret back out of what was sent to a user: the proof that a case is a leak and not only looks like one."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import yaml

Leaves = Mapping[str, bytes]
"""Everything that was sent, by place: `<resource>.<path>`; Secret data as it is behind its base64."""
Recover = Callable[[Leaves], bytes]
Undo = Callable[[bytes], bytes]


def as_written(leaves: Leaves) -> bytes:
    """The secret stands there in plain."""
    return b"\n".join([*leaves.values(), *(place.encode() for place in leaves)])


def each(*undo: Undo) -> Recover:
    """The secret is behind these, outermost first, in one of the leaves."""

    def recover(leaves: Leaves) -> bytes:
        found = []
        for leaf in leaves.values():
            try:
                text = leaf
                for step in undo:
                    text = step(text)
            except Exception:
                continue
            found.append(text)
        return b"\n".join(found)

    return recover


def pieces(*places: str, undo: Undo = lambda text: text) -> Recover:
    """The secret is the leaves at these ends of places, one after the other."""

    def recover(leaves: Leaves) -> bytes:
        return b"".join(undo(leaf) for end in places for place, leaf in leaves.items() if place.endswith(end))

    return recover


def after(start: bytes, undo: Undo | None = None) -> Undo:
    """What stands behind a text, up to white space or a quote."""

    def step(text: bytes) -> bytes:
        found = re.split(rb"[\s\"'&;,]", text.split(start, 1)[1])[0]
        return undo(found) if undo else found

    return step


def unpadded(text: bytes) -> bytes:
    return base64.urlsafe_b64decode(text.strip() + b"=" * (-len(text.strip()) % 4))


def texts(tree: Any) -> Iterable[str]:
    """All strings of a tree, in order."""
    if isinstance(tree, Mapping):
        for key, value in tree.items():
            yield str(key)
            yield from texts(value)
    elif isinstance(tree, list | tuple):
        for value in tree:
            yield from texts(value)
    else:
        yield str(tree)


def strings_of_json(data: bytes) -> bytes:
    return "\n".join(texts(json.loads(data))).encode()


def strings_of_yaml(data: bytes) -> bytes:
    return "\n".join(texts(yaml.safe_load(data))).encode()
