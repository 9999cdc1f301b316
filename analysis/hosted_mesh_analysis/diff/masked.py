"""One tree of two runs with different secrets, without any value that depends on a secret."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from hosted_mesh_plan.decode import ARCHIVE, ASSET, OUTPUT, SECRET, SIGNATURE
from hosted_mesh_plan.tree import Path as Keys
from hosted_mesh_plan.tree import show
from hosted_mesh_policies.detect.decoders.text import TooMuchError
from hosted_mesh_policies.detect.shape.shapes import shapes, shapes_in_tree

from ..runner.values import RESOURCE, plain
from .named import holds_named_value, named_values
from .trees import UNNAMED, File, Hidden, Item, Why, hidden_in, is_same
from .versions import Version

LARGEST_FILE: Final = 64 * 1024 * 1024
NOT_OF_A_VERSION: Final = frozenset({".git", ".venv", "__pycache__", "node_modules"})
"""Parts of a working tree that no commit has."""


def settled(value: Any, version: Version) -> Any:
    """A tree with its marks, independent of the version's place: without its folder's path, with files by content.
    Relative paths begin in the version's folder."""
    if isinstance(value, dict):
        if value.get(SIGNATURE) in {ASSET, ARCHIVE}:
            return _read(value, version)
        return {key: settled(one, version) for key, one in value.items()}
    if isinstance(value, list):
        return [settled(one, version) for one in value]
    if isinstance(value, str):
        return without_root(value, version)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def without_root(text: str, version: Version) -> str:
    """A text with one name for the repository's folder in all versions."""
    root = str(version.root)
    return re.sub(rf"(?<![\w.-]){re.escape(root)}(?![\w.-])", "(repository)", text) if root in text else text


def _read(asset: Mapping[str, Any], version: Version) -> Any:
    path = asset.get("path")
    if isinstance(path, str):
        return File(without_root(path, version), _digest(path, version))
    rest = {key: one for key, one in asset.items() if key in {"text", "assets", "uri"}}
    return settled(rest, version)


def assets_in(value: Any) -> Iterator[str]:
    """The paths of the files and folders that the engine would read."""
    if isinstance(value, dict):
        if value.get(SIGNATURE) in {ASSET, ARCHIVE} and isinstance(value.get("path"), str):
            yield value["path"]
        for one in value.values():
            yield from assets_in(one)
    elif isinstance(value, list):
        for one in value:
            yield from assets_in(one)


def _digest(path: str, version: Version) -> str:
    """Of a file's content, or of all files in a folder. Empty outside of the repository, where there is one version."""
    try:
        full = (version.folder / path).resolve()
        if not full.is_relative_to(version.root):
            return ""
        found = hashlib.sha256()
        for file in sorted(full.rglob("*")) if full.is_dir() else [full]:
            if not NOT_OF_A_VERSION.isdisjoint(file.relative_to(full).parts):
                continue
            if file.is_file() and file.stat().st_size <= LARGEST_FILE:
                found.update(f"{file.relative_to(full)}\0{file.stat().st_size}\0".encode())
                found.update(file.read_bytes())
    except OSError:
        return ""
    return found.hexdigest()


def merged(one: Any, other: Any, marked: bool = False) -> Any:
    """One tree of two runs: values that differ or are marked secret are hidden."""
    one, is_marked = _bare(one)
    other, is_marked_too = _bare(other)
    marked = marked or is_marked or is_marked_too
    if isinstance(one, dict) and isinstance(other, dict):
        both = {key: merged(one[key], other[key], marked) for key in one if key in other}
        if one.keys() != other.keys():
            apart = [{key: plain(tree[key]) for key in tree if key not in both} for tree in (one, other)]
            both[UNNAMED] = Hidden(Why.SECRET, apart)
        return both
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return [merged(*pair, marked) for pair in zip(one, other, strict=True)]
    if is_same(one, other) and not (marked and one is not None):
        return one
    return Hidden(Why.SECRET, [plain(one), plain(other)])


def _bare(value: Any) -> tuple[Any, bool]:
    """A value without its mark, and whether it was marked."""
    marked = False
    while isinstance(value, dict) and SIGNATURE in value:
        kind = value[SIGNATURE]
        if kind in {SECRET, OUTPUT}:
            marked = marked or kind == SECRET or bool(value.get("secret"))
            value = value.get("value")
        else:
            value = value.get("urn", "") if kind == RESOURCE else plain(value)
            break
    return value, marked


def differing_in(one: Any, other: Any) -> set[Keys]:
    """The paths of the values that `merged` hides."""
    return {path for path, hidden in hidden_in(merged(one, other)) if not is_same(*hidden.runs)}


def without_credentials(tree: Any) -> Any:
    """A tree with credentials in program texts hidden."""
    shown = _shown_alone(tree)
    found = {*(path for path, _ in shapes_in_tree(shown)), *named_values(shown)}
    return _blanked(tree, found)


def _shown_alone(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {key: _shown_alone(one) for key, one in tree.items()}
    if isinstance(tree, list):
        return [_shown_alone(one) for one in tree]
    return None if isinstance(tree, Hidden) else tree.path if isinstance(tree, File) else tree


def _blanked(tree: Any, paths: set[Keys], path: Keys = ()) -> Any:
    if path in paths and not isinstance(tree, Hidden):
        return Hidden(Why.FORM, tree)
    if isinstance(tree, dict):
        return {key: _blanked(one, paths, (*path, key)) for key, one in tree.items()}
    if isinstance(tree, list):
        return [_blanked(one, paths, (*path, place)) for place, one in enumerate(tree)]
    text = tree.path if isinstance(tree, File) else tree
    return (
        Hidden(Why.FORM, tree) if isinstance(text, str) and (holds_named_value(text) or is_credential(text)) else tree
    )


def is_credential(text: str) -> bool:
    """True for a text with a recognisable credential; also if the search takes too long."""
    try:
        return next(shapes(text.encode(errors="replace")), None) is not None
    except TooMuchError:
        return True


def shown_path(path: Keys) -> str:
    """A path as text. Keys that are long, odd or random, or look like a credential, are `["…"]`."""
    text = ""
    for step in path:
        if isinstance(step, Item):
            name = show((str(step),), hides=is_credential)
            text += f"[{name}]" if not name.startswith("[") else name
        elif step == UNNAMED:
            text += '["…"]'
        else:
            one = show((step,), hides=is_credential)
            text += f".{one}" if text and not one.startswith("[") else one
    return text or "(whole)"
