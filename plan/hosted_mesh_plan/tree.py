"""Property values as plain Python data, with two additions.

A tree is a resource's decoded properties: dict, list, str, int, float, bool, None, bytes, and

- `UNKNOWN`, a value that the engine computes later;
- `Secret(tree)`, a value marked as secret by the program or a provider.

Reading an unknown never raises here. In Pulumi's policy SDK it does, and the exception turns a mandatory policy into an
advisory one. See docs/policies/timing.md.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, NamedTuple

Tree = Any
Path = tuple[str | int, ...]
_JOINT = re.compile(r"[.\[]")
MOST_KEY_CHARACTERS: Final = 63
"""Longest key shown; Kubernetes' own limit for the name part of a label."""
LEAST_RANDOM: Final = 16
_KEY = re.compile(r"[\w./() '-]+")
_WORD = re.compile(r"[\w()'-][\w() '-]*")


class Unknown(Enum):
    """The type of `UNKNOWN`; an enumeration, so that a type checker narrows `is`."""

    UNKNOWN = "unknown"

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN: Final = Unknown.UNKNOWN


@dataclass(frozen=True, slots=True, eq=False)
class Secret:
    """A value marked as secret. Never printed."""

    value: Tree

    def __repr__(self) -> str:
        return "Secret(...)"


class Leaf(NamedTuple):
    """One value that is no container: its path, the value, and whether it is inside a `Secret`."""

    path: Path
    value: Any
    secret: bool


def leaves(tree: Tree, path: Path = ()) -> Iterator[Leaf]:
    """Every leaf in document order, without recursion. A container inside itself is not entered again."""
    todo: list[tuple[Path, Tree, bool, tuple[int, ...]]] = [(path, tree, False, ())]
    while todo:
        here, node, secret, inside = todo.pop()
        while isinstance(node, Secret):
            node, secret = node.value, True
        if isinstance(node, dict | list):
            if id(node) in inside:
                continue
            inside = (*inside, id(node))
            items = node.items() if isinstance(node, dict) else enumerate(node)
            todo.extend([((*here, key), child, secret, inside) for key, child in items][::-1])
        else:
            yield Leaf(here, node, secret)


def plain(tree: Tree) -> Tree:
    """The tree without its `Secret` wrappers; unknowns stay."""
    if isinstance(tree, Secret):
        return plain(tree.value)
    if isinstance(tree, dict):
        return {key: plain(value) for key, value in tree.items()}
    if isinstance(tree, list):
        return [plain(value) for value in tree]
    return tree


def at(tree: Tree, *path: str | int, default: Tree = None) -> Tree:
    """The value at a path. `default` if missing; `UNKNOWN` if it, or any container of it, is unknown."""
    for key in path:
        tree = _bare(tree)
        if tree is UNKNOWN:
            return UNKNOWN
        inside: Any = tree if isinstance(tree, dict | list) else {}
        try:
            tree = inside[key]
        except (KeyError, IndexError, TypeError):
            return default
    tree = _bare(tree)
    return default if tree is None else tree


def is_marked(tree: Tree, *keys: str) -> bool:
    """True if the value under these keys of nested mappings, or any container of it, is marked as secret."""
    for key in keys:
        if not isinstance(tree, dict):
            break
        tree = tree.get(key)
    return isinstance(tree, Secret)


def _bare(tree: Tree) -> Tree:
    while isinstance(tree, Secret):
        tree = tree.value
    return tree


def items(tree: Tree, *path: str | int) -> list[Tree]:
    """The list at a path: empty if missing; `[UNKNOWN]` if unknown, so that a loop meets it."""
    found = at(tree, *path)
    if found is UNKNOWN:
        return [UNKNOWN]
    return found if isinstance(found, list) else []


def show(path: Path, *, hides: Callable[[str], bool] = lambda _: False) -> str:
    """A path as text: `spec.ports[0].name`, `metadata.labels["a/b"]`.

    A secret used as a key must not appear in a message: a key that is long, odd, random or matched by `hides` becomes
    `["…"]`.
    """
    text = ""
    for key in path:
        if isinstance(key, int):
            text += f"[{key}]"
        elif len(key) > MOST_KEY_CHARACTERS or not _KEY.fullmatch(key) or _is_random(key) or hides(key):
            text += '["…"]'
        elif _WORD.fullmatch(key):
            text += f".{key}" if text else key
        else:
            text += f'["{key}"]'
    return text or "(whole)"


def is_covered(path: str, declared: Set[str]) -> bool:
    """True if a property, or a container of it, is among the declared paths: `data` and `data.a` cover `data.a`;
    `data.a` does not cover `data.ab`."""
    return path in declared or any(path[: joint.start()] in declared for joint in _JOINT.finditer(path))


def _is_random(key: str) -> bool:
    """True for a long run of mixed letters and digits, as in tokens."""
    runs = [run for run in re.findall(r"[A-Za-z0-9]+", key) if len(run) >= LEAST_RANDOM]
    return any(sum(one.isdigit() != two.isdigit() for one, two in itertools.pairwise(run)) >= 3 for run in runs)
