"""The secret values of a resource, by its type and by marks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hosted_mesh_plan.model import SECRET_DATA, Resource
from hosted_mesh_plan.tree import Path, Tree, at, leaves

from ..leaf.content import as_bytes, held
from ..leaf.names import is_secrets_name
from ..leaf.public_structure import is_public
from ..leaf.randomness import is_random
from .named_credentials import named_in_text, named_in_tree
from .resource_types import ALL_SECRET_TYPES, KEY_TYPE, is_clouds_secret, keeps_status

LEAST_CALLED: Final = 16
"""Fewest letters of a value that is secret by its name alone: shorter ones may occur by chance."""


def secret_leaves(resource: Resource, tree: Tree) -> Iterator[tuple[Path, bytes]]:
    """The secret values of a resource's inputs or outputs, with their places: marked ones, a Secret's data, a private
    key, a password, a cloud's named secret. Excluded: public halves, password hashes, and the Kubernetes plug-in's own
    copy of the inputs (`__inputs`)."""
    of_secret = resource.kind == "Secret"
    in_status = keeps_status(resource)
    of_cloud = is_clouds_secret(resource)
    whole = resource.type in ALL_SECRET_TYPES or resource.type == KEY_TYPE
    yield from _called_secrets(resource, tree)
    for leaf in leaves(tree if tree is not None else {}):
        first = str(leaf.path[0]) if leaf.path else ""
        if "hash" in first.lower() or first.startswith(("public", "__")):
            continue
        if of_secret and first in SECRET_DATA:
            yield leaf.path, held(leaf)
        elif (
            leaf.secret
            or (whole and first in {"result", "base64", "hex"})
            or first.startswith("privateKey")
            or (first == "status" and in_status and _is_secret_status(leaf.path, leaf.value))
            or (of_cloud and is_secrets_name(first) and not is_public(as_bytes(leaf.value)))
        ):
            yield leaf.path, as_bytes(leaf.value)


def _is_plug_ins(path: Path) -> bool:
    return bool(path) and str(path[0]).startswith("__")


def _called_secrets(resource: Resource, tree: Tree) -> Iterator[tuple[Path, bytes]]:
    """Plain values with a credential's name in an object that is no Secret: in its fields, in its texts."""
    if resource.kind == "Secret" or tree is None:
        return
    called = {path for path in named_in_tree(tree) if not _is_plug_ins(path)}
    for leaf in leaves(tree):
        if not isinstance(leaf.value, str) or len(leaf.value) < LEAST_CALLED or _is_plug_ins(leaf.path):
            continue
        data = leaf.value.encode()
        found = [data] if leaf.path in called else [one.encode() for one in named_in_text(data, data.lower())]
        yield from ((leaf.path, one) for one in found if len(one) >= LEAST_CALLED)


def _is_secret_status(path: Path, value: object) -> bool:
    text = value if isinstance(value, str) else ""
    return any(is_secrets_name(str(key)) for key in path[1:]) or is_random(text)


def is_minted(resource: Resource) -> bool:
    """True for a Secret with data from its cluster: the program provides none."""
    return resource.kind == "Secret" and not any(at(resource.asked, key) for key in SECRET_DATA)
