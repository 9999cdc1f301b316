"""Credentials by the name beside them: in trees, and in files of any grammar with names.

A value counts if it is concrete: random letters and digits, and no template, reference, path, hash, ciphertext or
example.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from hosted_mesh_plan.tree import Path, Tree, at, leaves

from ..leaf.names import names_credential, names_credentials
from ..leaf.placeholders import is_example
from ..leaf.public_structure import without_public
from ..leaf.randomness import SEGMENTS, is_random, is_scrambled

LEAST, MOST = 8, 256
"""Longer values are ciphertext or a document: RSA with 2048 bits has 344 letters."""
LEAST_AFTER_BLANK: Final = 16
_NOT_THE_VALUE: Final = re.compile(
    r"^(?:[/~.]|\$(?:\{|\(|[A-Za-z_][A-Za-z0-9_]*$)|@[A-Za-z]+[.@]|\*|projects/)"  # a path or reference
    r"|^(?:pk[_.]|pub[0-9a-f]|phc_|age1)"  # public by design
    r"|^(?:\$[0-9a-z-]{1,16}\$|\{[A-Z0-9]+\}|(?i:sha\d+|md5|scram-sha-256|pbkdf2\w*|argon2\w*)[:$-])"  # a hash
    r"|^(?:ENC[\[(]|\{cipher\}|vault:|secure:|v1:|\(\(|AQICAH|U2FsdGVkX1)"  # ciphertext
    r"|[a-z]://|^(?:arn|op|ref\+\w+|ssm|file|env|secret|aws|gcp|k8s):|\$\{|\{\{|\$\(|%\(|%%|<%|EXAMPLE(?:KEY)?$"
    r"|(.)\1{6}|(?i:redacted|change[-_]?me|placeholder|your[-_]|replace[-_]?me|[-_]here$|secretsmanager|\.\.\.$)"
)


def is_not_the_value(value: str) -> bool:
    """True for a reference to a credential, its hash or ciphertext, or a placeholder."""
    return bool(_NOT_THE_VALUE.search(value))


_MADE_SUFFIX: Final = re.compile(r"(?<=[a-z0-9])(?:-[a-z0-9]{5,10}){1,2}$")
_OBJECTS_NAME: Final = re.compile(r"[a-z0-9]+(?:[.-][a-z0-9]+)+")
_CODE: Final = re.compile(r"^[A-Za-z_][\w.]*[(\[]|^\^|\[\^|a-z|A-Z|0-9|\\[wdsS]|\)\$$|^\(|^\[.*\]$")
LONGEST_SEGMENTS: Final = 4
"""Letters per step between words or digits, above which a value is a name in a program."""
LONGEST_BEFORE: Final = 512


@lru_cache(maxsize=4096)
def is_concrete(value: str) -> bool:
    """True for a value that can only be a credential, under a credential's name."""
    if not LEAST <= len(value) <= MOST or not value.isprintable() or " " in value or is_not_the_value(value):
        return False
    if is_example(value.encode()):
        return False
    if (inner := _decoded(value)) is not None:
        return is_concrete(inner)
    if _CODE.search(value) or not without_public(value.encode()).strip():
        return False
    if _OBJECTS_NAME.fullmatch(value) and not is_random(_MADE_SUFFIX.sub("", value)):
        return False  # a former hash
    segments = SEGMENTS.findall(value)
    if not value.islower() and len(segments) > 1 and sum(map(len, segments)) >= LONGEST_SEGMENTS * len(segments):
        return False
    return is_random(value) or is_scrambled(value)


def _decoded(value: str) -> str | None:
    try:
        found = base64.b64decode(value, validate=True).decode("ascii")
    except ValueError:
        return None
    return found if found.strip().isprintable() else None


_LOGIN: Final = re.compile(r"([A-Za-z][\w-]{2,15})[ \t]+(\S+)")


def _without_scheme(value: str) -> str:
    """The part after `Bearer` or `Basic` in a header; of a login in base64 the password."""
    found = _LOGIN.fullmatch(value.strip())
    if found is None:
        return value
    if found[1].lower() != "basic":
        return found[2]
    return (_decoded(found[2]) or "").partition(":")[2]


_WRAPPERS: Final = frozenset(
    {"value", "Value", "literal", "inline_string", "inline_bytes", "inlineString", "inlineBytes", "plaintext", "raw"}
)
_NAMES_BESIDE: Final = ("name", "key", "header", "variable", "envName")
_DIGEST: Final = re.compile(r"[0-9a-f]{32,64}")


_ACME: Final = "acme.cert-manager.io/"
"""cert-manager's group of objects with public tokens: `Challenge`, `Order`."""


def named_in_tree(tree: Tree) -> Iterator[Path]:
    """The values under or beside such a name."""
    if str(at(tree, "apiVersion")).startswith(_ACME):
        return
    for leaf in leaves(tree):
        if leaf.path and isinstance(leaf.value, str) and LEAST <= len(leaf.value) <= MOST:
            keys = [key for key in leaf.path if isinstance(key, str)]
            if not keys or "encryptedData" in keys or ("annotations" in keys and _DIGEST.fullmatch(leaf.value)):
                continue
            if is_named(tree, leaf.path, keys) and is_concrete(_without_scheme(leaf.value)):
                yield leaf.path


def is_named(tree: Tree, path: Path, keys: list[str]) -> bool:
    """True for a place below or beside a credential's name. keys: the names on the way there."""
    if isinstance(path[-1], int) and path[-1] > 0:
        before = at(tree, *path[:-1], path[-1] - 1)
        if isinstance(before, str) and before.startswith("-") and names_credential(before):
            return True
    if path[-1] == "value":
        beside = [at(tree, *path[:-1], key) for key in _NAMES_BESIDE]
        named = [name for name in beside if isinstance(name, str)]
        if named:
            return any(map(names_credential, named))
    while len(keys) > 1 and keys[-1] in _WRAPPERS:
        keys = keys[:-1]
    if len(keys) > 1 and keys[-1] == "key" and names_credential(f"{keys[-2]}.key"):
        return True  # api: {key: ...}
    return names_credential(keys[-1]) or (len(keys) > 1 and names_credentials(keys[-2]) and keys[-1] != "name")


_VALUE: Final = rb"(?=(?:\"{1,3}([^\"\s]{8,257})|'{1,3}([^'\s]{8,257})|([^\s\"',;&<>]{8,257})))"
_SIGN: Final = rb"(?:[ \t]{0,8}(:=|=>|[:=>])[ \t]{0,8}|[ \t]{1,8})"
_WRAPPED: Final = rb"(?:[{\n]\s{0,40}[\"']?(?:value|literal|plaintext|raw)[\"']?[ \t]{0,4}:[ \t]{0,4})?"
"""In JSON and YAML, `"dnsToken": {"value": "..."}`."""
_WORDS: Final = (
    b"pass",
    b"pwd",
    b"psk",
    b"secret",
    b"token",
    b"key",
    b"credential",
    b"hmac",
    b"encrypt",
    b"-team",
    b"bindpw",
    b"rootpw",
)
_BESIDE: Final = {
    **{word: re.compile(word + rb"[\w.-]{0,24}[\"'\]]{0,2}" + _SIGN + _WRAPPED + _VALUE) for word in _WORDS},
    b"authorization": re.compile(rb"authorization[\"']?" + _SIGN + rb"[\"']?(?:[a-z][\w-]{2,15}[ \t]{1,8})?" + _VALUE),
}
"""By the word in a name: the rest of the name, a sign between, the value. Much faster than one expression for all."""
_PAIR: Final = re.compile(
    rb"(?:name|key|header)[\"']?\s{0,8}[:=]\s{0,8}[\"']?([\w./-]{3,64})[\"']?\s{0,8},?\s{0,24}"
    rb"[\"']?value[\"']?\s{0,8}[:=]\s{0,8}" + _VALUE
)
_COMMANDS: Final = (b"login", b"mysql", b"mariadb", b"sshpass", b"pass:", b"redis-cli", b"curl")
_COMMAND: Final = re.compile(
    rb"(?:(?<![\w-])(?:docker|podman|nerdctl|helm|skopeo|buildah|crane|oras)\s[^\n]{0,80}"
    rb"\blogin(?=\s)[^\n]{0,160}?\s-p[ =]?"
    rb"|(?<![\w-])(?:mysql|mariadb)[a-z-]{0,8}(?=\s)[^\n]{0,160}?\s-p|(?<![\w-])sshpass\s+-p\s?"
    rb"|\s-pass(?:in|out)?\s+[\"']?pass:|(?<![\w-])redis-cli(?=\s)[^\n]{0,160}?\s-a\s+"
    rb"|(?<![\w-])curl(?=\s)[^\n]{0,160}?\s(?:-[a-zA-Z]{0,4}u|--user)[ =]?[\"']?[^\s:\"']{1,64}:)" + _VALUE
)
"""Commands with a password in an option of one letter."""
_LOGINS: Final = (
    (b"@", re.compile(rb"(?<![\w/.])[\w.-]{1,64}[:/]([^/@:\s\"'()]{8,256})@(?:[a-z]+\(|[\w-]+\.[\w.-]+[:/])")),
    (b":", re.compile(rb"(?m)^[\w.*-]+:(?:\d+|\*):[\w.*-]+:[\w.*-]+:([^\s:]{8,256})$")),
    (b":", re.compile(rb"(?m)^\[?[\w-]+(?:\.[\w-]+)+\]?:\d+[ \t]+[^\s:]{1,64}:([^\s:]{8,256})$")),
)
"""A telltale sign and the pattern: an address that is no URL (`app:...@tcp(db:3306)/`), a line of `.pgpass`, one of
Postfix. The name is the user's."""
_CALLED: Final = re.compile(rb"\(\s*([\"'])([\w.-]{2,64})\1\s*,\s*([\"'])([^\"'\n]{8,256})\3")
"""A name and its value as arguments of a function: `define('DB_PASSWORD', '...')`."""
_NO_NAME: Final = re.compile(rb"[^\w./-]")
LONGEST_NAME: Final = 64


def holds_named(data: bytes, lower: bytes) -> bool:
    """True if a text has such a value. `lower` is the text in small letters."""
    return any(True for _ in named_in_text(data, lower))


def named_in_text(data: bytes, lower: bytes) -> Iterator[str]:
    """Such values of a text: `NAME=value`, `name: value`, `"name": "value"`, `<name>value`, `Name value`,
    `name: X, value: Y`, `docker login -p value`, `f('NAME', 'value')`, and passwords in logins. `lower` is the text in
    small letters."""
    for word, beside in _BESIDE.items():
        if word in lower:
            yield from (_taken(data, found, 2) for found in beside.finditer(lower) if _counts(data, found))
    if b"value" in lower:
        yield from (_taken(data, found, 2) for found in _PAIR.finditer(lower) if _counts_in_pair(data, found))
    for sign, login in _LOGINS:
        if sign in data:
            yield from filter(is_concrete, (found[1].decode("latin-1") for found in login.finditer(data)))
    for found in _CALLED.finditer(data) if b"(" in data else ():
        name, value = found[2].decode("latin-1"), found[4].decode("latin-1")
        if names_credential(name) and is_concrete(value):
            yield value
    if any(word in lower for word in _COMMANDS):
        yield from filter(is_concrete, (_taken(data, found, 1) for found in _COMMAND.finditer(data)))


def _taken(data: bytes, found: re.Match[bytes], first: int) -> str:
    """The value of a match: the first of its groups from `first` on, as in the data."""
    group = next(number for number in range(first, first + 3) if found[number] is not None)
    value = data[found.start(group) : found.end(group)].decode("latin-1")
    return value.rstrip("})]").removeprefix("`").partition("`")[0]


def _counts_in_pair(data: bytes, found: re.Match[bytes]) -> bool:
    name = data[found.start(1) : found.end(1)].decode("latin-1")
    return names_credential(name) and is_concrete(_taken(data, found, 2))


def _counts(data: bytes, found: re.Match[bytes]) -> bool:
    value = _taken(data, found, 2)
    if found[1] is None and found[4] is not None and len(value) < LEAST_AFTER_BLANK:
        return False  # prose
    before = data[max(0, found.start() - LONGEST_NAME) : found.start()]
    name = _NO_NAME.split(before)[-1] + _NO_NAME.split(data[found.start() : found.start(found.lastindex or 0)])[0]
    if name == b"key":
        name = _parent(data[max(0, found.start() - LONGEST_BEFORE) : found.start()]) + b".key"
    return is_concrete(value) and names_credential(name.decode("latin-1"))


_PARENT: Final = re.compile(rb"[\"']?([\w.-]{2,64})[\"']?[ \t]*:[ \t]*(?:\{[^{}]*|\n?)$")


def _parent(before: bytes) -> bytes:
    """The parent of a key of YAML or JSON; `before` is the text before it."""
    lines = before.splitlines(keepends=True) or [b""]
    indent = len(lines[-1].rstrip(b'"'))
    if not lines[-1].strip(b' "'):
        above = (line for line in reversed(lines[:-1]) if line.strip() and len(line) - len(line.lstrip()) < indent)
        before = next(above, b"")
    found = _PARENT.search(before)
    return found[1] if found else b""
