"""Which values of a resource are secrets, by its type and by the marks on its values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ...plan.model import SECRET_DATA, Resource
from ...plan.tree import Path, Tree, at, leaves
from ..leaf.content import as_bytes, held
from ..leaf.names import is_secrets_name
from ..leaf.public_structure import is_public
from ..leaf.randomness import is_random
from .named_credentials import named_in_text, named_in_tree
from .resource_types import ALL_SECRET_TYPES, KEY_TYPE, is_clouds_secret, keeps_status

LEAST_CALLED: Final = 16
"""Letters of a value that its name alone says to be secret: shorter ones may be in others' texts by chance."""


def secret_leaves(resource: Resource, tree: Tree) -> Iterator[tuple[Path, bytes]]:
    """The secret values in a resource's inputs or outputs, with their places: marked ones, a Secret's data, a private
    key, a password, what a cloud's resource of secrets calls so. Public halves and password hashes, which are there to
    be shown, are not among them, nor is what the Kubernetes plug-in keeps for itself (`__inputs`): it repeats the
    inputs."""
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
    """What stands in plain in an object that is no Secret and is called a credential: in its fields, in its texts."""
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
    """True for a Secret whose data its cluster makes: the program asks for none."""
    return resource.kind == "Secret" and not any(at(resource.asked, key) for key in SECRET_DATA)
