"""Istio's string matches of AuthorizationPolicies, and paths as Envoy compares them. Pure."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote

UNRESERVED: Final = re.compile(r"%(2[dDeE]|3[0-9]|4[1-9a-fA-F]|5[0-9aAfF]|6[1-9a-fA-F]|7[0-9aAeE])")
KEPT: Final = "/%:?@!$&'()*+,;=[]~"
"""Characters that Envoy leaves in a path, besides letters, digits, `-`, `.` and `_`."""


def matches(pattern: str, value: str) -> bool:
    """Whether a value matches `*`, `prefix*`, `*suffix` or an exact string."""
    if pattern == "*":
        return bool(value)
    if pattern.endswith("*"):
        return value.startswith(pattern[:-1])
    if pattern.startswith("*"):
        return value.endswith(pattern[1:])
    return pattern == value


def covers(pattern: str, other: str) -> bool:
    """Whether each value of one pattern matches another."""
    if pattern == "*" or pattern == other:
        return True
    if pattern.endswith("*"):
        return other.rstrip("*").startswith(pattern[:-1]) if other.endswith("*") else matches(pattern, other)
    return False


def normalized(path: str) -> str:
    """The path that Envoy compares, by Istio's default normalization: without query, dot segments and needless escapes.

    Slashes are not merged, and `%2F` stays: both are Istio's default.
    """
    bare = re.split(r"[?#]", path, maxsplit=1)[0].replace("\\", "/")
    bare = quote(UNRESERVED.sub(lambda found: chr(int(found[1], 16)), bare), safe=KEPT)
    kept = list[str]()
    segments = bare.split("/")[1:]
    for at, segment in enumerate(segments):
        dots = segment.partition(";")[0]
        if dots == "..":
            kept = kept[:-1]
        elif dots != ".":
            kept.append(segment)
        if dots in (".", "..") and at == len(segments) - 1:
            kept.append("")
    return "/" + "/".join(kept)
