"""A secret under up to four random wrappings, at a random place of a random manifest, is found every time.

HOSTED_MESH_EXAMPLES: how many are tried; `make nightly` tries more, others each time.
"""

from __future__ import annotations

import base64
import os
import string
from typing import Any

import pytest
from hosted_mesh_policies.detect.search.index import Index
from hosted_mesh_policies.detect.search.tree_text import text_of
from hosted_mesh_policies.detect.secrets.fingerprints import fingerprints
from hosted_mesh_policies.detect.shape.credential_forms import Kind
from hosted_mesh_policies.detect.shape.shapes import shapes
from hosted_mesh_policies.detect.value.inspection import inspect
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.corpus.literals import private_key
from tests.corpus.wrappings import WRAPPINGS

SECRETS = st.text(string.ascii_letters + string.digits + "-_./+=!#%&", min_size=18, max_size=60).filter(
    lambda text: len(set(text)) > 8 and list(fingerprints(text.encode(), certain=True)) != []
)
EXAMPLES = int(os.environ.get("HOSTED_MESH_EXAMPLES", "300"))
CHAINED = sorted(WRAPPINGS)
KEYS = st.text(string.ascii_letters, min_size=1, max_size=10)
PLAIN = st.one_of(
    st.booleans(), st.integers(-5, 70000), st.text(string.ascii_lowercase + " -.", max_size=30), st.none()
)
MANIFESTS = st.recursive(
    PLAIN, lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(KEYS, inner, max_size=4)), max_leaves=12
)


def _placed(tree: Any, value: str, choose: Any) -> Any:
    """The tree with the value somewhere in it."""
    if isinstance(tree, dict):
        if not tree or choose(2) == 0:
            return {**tree, "added": value}
        key = sorted(tree)[choose(len(tree))]
        return {**tree, key: _placed(tree[key], value, choose)}
    if isinstance(tree, list) and tree:
        position = choose(len(tree))
        return [*tree[:position], _placed(tree[position], value, choose), *tree[position + 1 :]]
    return value


@settings(max_examples=EXAMPLES)
@given(secret=SECRETS, names=st.lists(st.sampled_from(CHAINED), max_size=4), tree=MANIFESTS, data=st.data())
def test_a_wrapped_secret_is_found_anywhere(secret: str, names: list[str], tree: Any, data: st.DataObject) -> None:
    wrapped = secret.encode()
    for name in names:
        wrapped = WRAPPINGS[name](wrapped)
    manifest = _placed(tree, wrapped.decode("latin-1"), lambda n: data.draw(st.integers(0, n - 1)))
    index = Index()
    index.add(fingerprints(secret.encode(), certain=True), "the secret")
    assert inspect(text_of(manifest), index).matches


@pytest.mark.parametrize("name", WRAPPINGS)
def test_a_private_key_is_seen_by_its_form_under_each_wrapping(name: str) -> None:
    """Whoever made it, and whether or not anything is known of it."""
    assert Kind.PRIVATE_KEY in {shape.kind for shape in shapes(WRAPPINGS[name](private_key("any").encode()))}


@settings(max_examples=200)
@given(tree=MANIFESTS, secrets=st.lists(st.text(string.ascii_uppercase, min_size=18), min_size=1, max_size=20))
def test_nothing_is_found_where_nothing_is(tree: Any, secrets: list[str]) -> None:
    # The manifests hold no capital letters.
    index = Index()
    for secret in secrets:
        index.add(fingerprints(secret.encode(), certain=True), "a secret")
    assert not inspect(text_of(tree), index).matches


SECRET = b"ghjT6543dfghUYTR876kjhgK"


def _found(text: bytes) -> bool:
    index = Index()
    index.add([SECRET], "the secret")
    return bool(inspect(text_of({"value": text.decode("latin-1")}), index).matches)


@pytest.mark.parametrize("size", [3, 4, 5, 6, 7])
@pytest.mark.parametrize("end", [b"\n", b" ", b"  # part\n", b"\n// part\n", b" ; part\n", b" -- part\n"])
def test_a_secret_is_found_in_pieces_each_encoded_by_itself(size: int, end: bytes) -> None:
    pieces = [base64.b64encode(SECRET[at : at + size]) for at in range(0, len(SECRET), size)]
    assert _found(end.join(pieces))
    assert not _found(end.join(pieces[1:-1])[: len(end) + 8])
