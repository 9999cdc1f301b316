"""Values that a report hides because of a credential's name, in any form: words, a UUID.

The policies reject, so below such a name they require random letters. A report only hides: a needless mask costs a
line, a missing one puts a password into a comment.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from hosted_mesh_plan.tree import Path, Tree, leaves
from hosted_mesh_policies.detect.leaf.names import names_credential
from hosted_mesh_policies.detect.leaf.placeholders import is_example, is_reference
from hosted_mesh_policies.detect.leaf.public_structure import UUID
from hosted_mesh_policies.detect.secrets.named_credentials import is_named, is_not_the_value

LONGEST_TEXT: Final = 1024 * 1024
"""A longer text is not read line by line; credentials by form are found nevertheless."""
_MAY_REFER: Final = re.compile(r"(?:secret|credential)s?$|secret[_.-]?key$", re.IGNORECASE)
_HOLDS: Final = re.compile(
    r"(?:client|app|consumer|shared|jwt|webhook|cookie|session|oauth2?|api|auth)[_.-]?secrets?$", re.IGNORECASE
)
_OBJECTS_NAME: Final = re.compile(r"[a-z0-9](?:[a-z0-9./-]{0,251}[a-z0-9])?")
_BESIDE: Final = frozenset({"value", "key"})
_SIMPLE: Final = re.compile(
    r"(?i:true|false|null|none|yes|no|enabled|disabled|required|optional)?|[\d.]{1,5}[a-z]{0,2}"
)

_NAME: Final = r"([A-Za-z][\w./-]{1,63})"
_LINES: Final = re.compile(
    rf"^[ \t]*(?:- +)?(?:export +|set +|--?)?[\"']?{_NAME}[\"']?[ \t]*(?::=|=>|[:=])[ \t]*([^\s\[{{|>&*][^\n]*)$",
    re.MULTILINE,
)
_BLOCK: Final = re.compile(
    rf"^([ \t]*(?:- +)*)[\"']?{_NAME}[\"']?[ \t]*:[ \t]*(?:[!&]\S*[ \t]+)*[|>][\d+-]{{0,2}}[ \t]*(?:#[^\n]*)?\r?$",
    re.MULTILINE,
)
"""The beginning of a block text in YAML: `password: |`, `- token: >2-  # of the shop`."""
_IN_LINES: Final = (
    re.compile(rf"\"{_NAME}\"\s{{0,8}}:\s{{0,8}}\"((?:[^\"\\\n]|\\.){{1,512}})\""),
    re.compile(rf"[?&;]{_NAME}=([^&;\s\"']{{1,512}})"),
    re.compile(rf"(?:name|key|header)[\"']?\s{{0,8}}[:=]\s{{0,8}}[\"']?{_NAME}[\"']?\s{{0,8}},?\s{{0,24}}"
               r"[\"']?value[\"']?\s{0,8}[:=]\s{0,8}[\"']?([^\s\"',}]{1,512})"),
)  # fmt: skip
_HEADERS: Final = re.compile(
    r"(?i:(?:authorization|cookie)[\"']?\s{0,8}[:=]\s{0,8}(?:[|>][\d+-]{0,2}\s{1,64})?[\"']?"
    r"(?:(?:bearer|basic|token)\s{1,8}|[\w.-]{1,64}=))"
    r"([^\s;\"',]{1,512})"
)
_COMMENT: Final = re.compile(r"\s#.*$")


def named_values(tree: Tree) -> Iterator[Path]:
    """The texts below or beside a credential's name."""
    for leaf in leaves(tree):
        keys = [key for key in leaf.path if isinstance(key, str)]
        if not keys or not isinstance(leaf.value, str) or "properties" in keys:  # of a schema
            continue
        in_objects = isinstance(leaf.path[-2:][0], int) and keys[-1] not in _BESIDE  # secrets: [{name: ...}]
        names = keys[-1:] if in_objects else keys
        if is_named(tree, leaf.path, names) and _is_value(leaf.value, keys[-1]):
            yield leaf.path


def holds_named_value(text: str) -> bool:
    """True for a text with such a name and value: in a line, in a block of YAML, as JSON, in an address, in a
    header."""
    if len(text) > LONGEST_TEXT:
        return False
    pairs = [(found[1], _COMMENT.sub("", found[2]).strip(" \t\"',;")) for found in _LINES.finditer(text)]
    pairs += [(found[1], found[2]) for form in _IN_LINES for found in form.finditer(text)]
    if any(names_credential(name) and _is_value(value, name) for name, value in pairs):
        return True
    if any(_is_value(line, name) for name, line in _block_lines(text)):
        return True
    return any(_is_value(found[1], "") for found in _HEADERS.finditer(text))


def _block_lines(text: str) -> Iterator[tuple[str, str]]:
    """The lines of YAML blocks under a credential's name, each with that name; also of nested blocks."""
    for found in _BLOCK.finditer(text):
        if names_credential(found[2]):
            for line in _indented(text, found.end() + 1, len(found[1])):
                yield found[2], line


def _indented(text: str, start: int, column: int) -> Iterator[str]:
    """The non-blank lines from `start` on, to the first at or left of the column."""
    while 0 < start < len(text):
        end = text.find("\n", start)
        line = text[start : end if end >= 0 else len(text)]
        if inner := line.strip():
            if len(line) - len(line.lstrip(" \t")) <= column:
                return
            yield inner
        start = end + 1


def _is_value(text: str, name: str) -> bool:
    """True for a possible credential: no reference to one, no default, no Secret's name."""
    if _SIMPLE.fullmatch(text) or is_not_the_value(text) or is_example(text.encode(errors="replace")):
        return False
    if is_reference(text.encode(errors="replace")):
        return False
    refers = _MAY_REFER.search(name) and not _HOLDS.search(name) and _OBJECTS_NAME.fullmatch(text)
    return not refers or bool(re.fullmatch(UUID.decode(), text))
