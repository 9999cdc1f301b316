"""Credentials by what they are called: a value that looks random under a name such as `db_password`.

In trees (`{"adminPassword": ...}`, `{"name": "API_TOKEN", "value": ...}`) and in texts of any format in which a value
follows its name: YAML, JSON, TOML, ini, dotenv, headers, connection strings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ..plan.tree import Leaf, Path, Tree, at, leaves
from .leaves import is_random, is_scrambled, without_public
from .names import is_credentials_name

LEAST: Final = 16
MOST: Final = 512
_ASSIGNED: Final = re.compile(
    rb"(?<![\w.-])([A-Za-z_][\w.-]{1,60})[\"']?(?:\s?[:=]>?[ \t]*|[ \t]+)(?:base64:|pass:)?[\"']?"
    rb"([^\s\"'`,;&<>(){}\[\]|\\]{16,512})(?![\w(\[{])"
)
_WORDS: Final = (b"pass", b"pwd", b"secret", b"token", b"credential", b"key", b"psk", b"hmac", b"auth")
_PAIRS: Final = ("name", "key", "header")
_NO_VALUE: Final = re.compile(
    r"^[\[<{$*/@!%~]|^(?:xxxx|redacted|changeme|example|your[-_]|placeholder|enc[\[(]|vault:|ref\+|arn:|projects/|sha\d+[:-])"
    r"|^(?:pk_|phc_|pub[0-9a-f]{32}$|v\d:)|://|\.svc\b|EXAMPLE(?:KEY)?$|_ME_|\$\{|\{\{|\}",
    re.IGNORECASE,
)
"""References, templates, ciphertext, placeholders; keys that services make to be shown."""


def looks_secret(text: str) -> bool:
    """True for a value that nobody would remember, and that is no reference to one."""
    if not LEAST <= len(text) <= MOST or any(letter.isspace() for letter in text) or _NO_VALUE.search(text):
        return False
    rest = without_public(text.encode("utf-8", "surrogatepass")).decode("utf-8", "replace")
    return len(rest) >= LEAST and (is_random(rest) or is_scrambled(rest))


def in_text(data: bytes) -> Iterator[bytes]:
    """The credentials in a text that are called so."""
    lower = data.lower()
    if not any(word in lower for word in _WORDS):
        return
    for found in _ASSIGNED.finditer(data):
        if is_credentials_name(found[1].decode()) and looks_secret(found[2].decode("utf-8", "replace")):
            yield found[2]


def in_tree(tree: Tree) -> Iterator[tuple[Path, str]]:
    """The credentials of a tree that are called so, with their places. What is marked secret is not among them."""
    for leaf in leaves(tree):
        if not leaf.secret and is_called_secret(tree, leaf):
            yield leaf.path, leaf.value


def is_called_secret(tree: Tree, leaf: Leaf) -> bool:
    """True for a text that looks like a credential and is called one."""
    if not isinstance(leaf.value, str) or len(leaf.value) < LEAST:
        return False
    return is_credentials_name(_name(tree, leaf.path)) and looks_secret(leaf.value)


def _name(tree: Tree, path: Path) -> str:
    """What a leaf is called: by its key, by the name beside its value, and of `key` and `value` by what is above."""
    names = [step for step in path if isinstance(step, str)]
    if not names or names[-1] not in {"key", "value"}:
        return names[-1] if names else ""
    beside = [at(tree, *path[:-1], key) for key in _PAIRS] if path[-1] == "value" else []
    return next((one for one in beside if isinstance(one, str)), ".".join(names[-2:]))
