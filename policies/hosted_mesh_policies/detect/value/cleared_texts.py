"""One look at many texts: which of them certainly hold no known secret and nothing of a credential's shape?

Most of a look's cost is per look, not per byte, and nearly all resources are clean. So texts are laid end to end and
looked at together; where anything is found, or cannot be unpacked, each of them is inspected by itself
(`inspection`), and only that decides. A look at many finds all that a look at one would: decoders work on runs of
letters or on whole values, and what lies between two texts belongs to no run.

What texts say, in all their decodings, depends on nothing else. So they may be read as they come by, and only the
search has to wait until all secrets are known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from ..decoders.layers import letters, views
from ..decoders.text import BETWEEN, TooMuchError, printable
from ..search.index import Index
from ..shape.shapes import may_hold_shape

TOGETHER: Final = 16 * 1024
"""Bytes that are looked at together; more of them are hardly faster, and one find costs a look at each of them."""


class ShapeFoundError(Exception):
    """Something in a text looks like a credential."""


class Read(NamedTuple):
    """Texts that were read together, and all that they say: nothing of it has a credential's shape."""

    texts: frozenset[bytes]
    said: tuple[bytes, ...]


def cleared(texts: Iterable[tuple[str, bytes]], index: Index, ahead: Sequence[Read] = ()) -> frozenset[str]:
    """The names of the texts with nothing in them. A binary text is never cleared: decoders treat it otherwise.

    ahead: what was read already, of other texts too. A text that it does not clear is read again, without those others.
    """
    named = dict(texts)
    wanted, clean = frozenset(named.values()), set[bytes]()
    for read in ahead:
        if not wanted.isdisjoint(read.texts) and not any(any(index.search(said)) for said in read.said):
            clean |= read.texts
    for batch in batches(text for text in named.values() if text not in clean):
        if _is_clean(batch, index):
            clean.update(batch)
    return frozenset(name for name, text in named.items() if text in clean)


def batches(texts: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Those that may be looked at together, each as soon as it is full."""
    together: list[bytes] = []
    size = 0
    for text in texts:
        if printable(text) is not text:
            continue
        if together and size + len(text) > TOGETHER:
            yield together
            together, size = [], 0
        together.append(text)
        size += len(text)
    if together:
        yield together


def reading(batch: Iterable[bytes]) -> Iterator[bytes]:
    """All that texts say, and the letters and digits of it alone. Raises ShapeFoundError, TooMuchError."""
    for view in views(BETWEEN.join(batch)):
        if may_hold_shape(view.data):
            raise ShapeFoundError
        yield view.data
        yield from letters(view.data)


def _is_clean(batch: Iterable[bytes], index: Index) -> bool:
    try:
        return not any(any(index.search(said)) for said in reading(batch))
    except (ShapeFoundError, TooMuchError):
        return False
