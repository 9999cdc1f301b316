"""One look at many texts: which of them certainly hold no known secret and nothing of a credential's shape?

Most of a look's cost is per look, not per byte, and nearly all resources are clean. So texts are laid end to end and
looked at together; where anything is found, or cannot be unpacked, each of them is inspected by itself
(`inspection`), and only that decides. A look at many finds all that a look at one would: decoders work on runs of
letters or on whole values, and what lies between two texts belongs to no run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from ..decoders.layers import views
from ..decoders.text import BETWEEN, TooMuchError, printable
from ..search.index import Index, in_letters
from ..shape.shapes import may_hold_shape

TOGETHER: Final = 16 * 1024
"""Bytes that are looked at together; more of them are hardly faster, and one find costs a look at each of them."""


def cleared(texts: Iterable[tuple[str, bytes]], index: Index) -> Iterator[str]:
    """The names of the texts with nothing in them. A binary text is never cleared: decoders treat it otherwise."""
    names: list[str] = []
    together: list[bytes] = []
    size = 0
    for name, text in texts:
        if printable(text) is not text:
            continue
        if together and size + len(text) > TOGETHER:
            yield from names if _is_clean(BETWEEN.join(together), index) else ()
            names, together, size = [], [], 0
        names.append(name)
        together.append(text)
        size += len(text)
    yield from names if _is_clean(BETWEEN.join(together), index) else ()


def _is_clean(text: bytes, index: Index) -> bool:
    try:
        return not any(
            any(index.search(view.data)) or any(in_letters(view.data, index)) or may_hold_shape(view.data)
            for view in views(text)
        )
    except TooMuchError:
        return False
