"""One search of many texts: clears those without a control-plane secret and without a credential's shape.

Most of a search's cost is per search, not per byte, and nearly all resources are clean. So texts are joined and
searched together; after any find or failure each is inspected alone (`inspection`), and only that decides. A joint
search finds every hit of single ones: decoders work on runs of letters or whole values, and the separators belong to no
run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from ..decoders.layers import letters, views
from ..decoders.text import BETWEEN, TooMuchError, printable
from ..search.index import Index
from ..shape.shapes import may_hold_shape

TOGETHER: Final = 16 * 1024
"""Bytes searched together; more are hardly faster, and one find costs a search of each."""


class ShapeFoundError(Exception):
    """A text has the look of a credential."""


def cleared(texts: Iterable[tuple[str, bytes]], index: Index) -> frozenset[str]:
    """The names of the texts without a find. A binary text is never cleared: decoders treat it differently."""
    named, clean = dict(texts), set[bytes]()
    for batch in _batches(named.values()):
        if _is_clean(batch, index):
            clean.update(batch)
    return frozenset(name for name, text in named.items() if text in clean)


def _batches(texts: Iterable[bytes]) -> Iterator[list[bytes]]:
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


def _reading(batch: Iterable[bytes]) -> Iterator[bytes]:
    """All readings of the texts, and their letters and digits alone. Raises ShapeFoundError, TooMuchError."""
    for view in views(BETWEEN.join(batch)):
        if may_hold_shape(view.data):
            raise ShapeFoundError
        yield view.data
        yield from letters(view.data)


def _is_clean(batch: Iterable[bytes], index: Index) -> bool:
    try:
        return not any(any(index.search(said)) for said in _reading(batch))
    except (ShapeFoundError, TooMuchError):
        return False
