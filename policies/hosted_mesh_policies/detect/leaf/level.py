"""Classifies one value, by its content and its name: public, secret, or undecided.

A value is public by its structure or name, and secret by its name or by its randomness. Any other value is undecided:
it is searched for as a whole, never by a part.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from enum import IntEnum
from typing import Final

from ..keys.der import is_public_der
from .names import is_identifiers_name, is_secrets_name, names_issuer, names_public_half
from .public_structure import is_public, without_public
from .randomness import is_random


class Level(IntEnum):
    """The lattice: a value made from several has their highest level."""

    PUBLIC = 0
    MAYBE = 1
    SECRET = 2


LEAST_SECRET: Final = 8
"""A shorter value is found by chance: "admin", "5432"."""

_WITH_LOGIN: Final = re.compile(r"[@?]")
_HOSTS_KEYS: Final = re.compile(
    r"(?:\s*(?:#[^\n]*|\S+ (?:ssh|ecdsa|sk)-\S+ [A-Za-z0-9+/]{40,}={0,2}[ \w@.-]*)(?:\n|$))+"
)
"""Lines of `known_hosts`, for any kind of key."""
_HOST: Final = re.compile(r"(?:[a-z0-9-]{1,63}\.){2,}[a-z]{2,16}\.?(?::\d{1,5})?")
"""Of three labels and more, one of them possibly random from a cloud."""


def level_of(value: bytes, name: str = "", names: Collection[str] = ()) -> Level:
    """The level of one whole value of a control plane's Secret. `name` is its key's name."""
    text = value.decode("utf-8", "replace")
    if (text in names and not is_random(text)) or not without_public(value).strip() or is_public_der(value):
        return Level.PUBLIC
    if is_secrets_name(name):
        return Level.SECRET
    if names_public_half(name) and _HOSTS_KEYS.fullmatch(text):
        return Level.PUBLIC
    one_word = not any(letter.isspace() for letter in text)
    shown = "://" not in text or (names_issuer(name) and not _WITH_LOGIN.search(text))
    if is_identifiers_name(name) and one_word and shown:
        return Level.PUBLIC
    if _HOST.fullmatch(text) or is_public(value, names):
        return Level.PUBLIC
    return Level.SECRET if is_random(text) or b"\0" in value or not text.isprintable() else Level.MAYBE
