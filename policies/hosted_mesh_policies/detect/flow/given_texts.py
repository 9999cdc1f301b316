"""The texts that resources give to a property, and a value's rest without them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from hosted_mesh_plan.model import IN_SECRET, Resource
from hosted_mesh_plan.tree import UNKNOWN, leaves

from ..decoders.layers import views
from ..decoders.text import TooMuchError
from ..leaf.content import as_bytes, held
from ..leaf.names import is_secrets_name
from ..leaf.public_structure import is_public
from ..secrets.fingerprints import digests

LEAST_TEXT: Final = 6
"""Fewest bytes of a recognised text. Shorter ones are ports, flags and regions, which are public."""
MOST_TEXTS: Final = 2000


@dataclass(frozen=True)
class GivenTexts:
    """`texts` are the resources' outputs, longest first. `is_complete` is False if the engine hides the outputs of one:
    another stack, or a Secret's data from its cluster."""

    texts: tuple[bytes, ...]
    is_complete: bool

    @classmethod
    def of(cls, sources: Iterable[Resource], *, waits: bool = False) -> GivenTexts:
        """waits: true if the property has unknown values, so that the others come from sources with values."""
        found: dict[bytes, None] = {}
        complete = True
        for source in sources:
            complete = complete and (_is_shown(source) or (waits and not source.read_only))
            found.update(dict.fromkeys(_outputs(source)))
        longest = sorted(found, key=len, reverse=True)[:MOST_TEXTS]
        return cls(tuple(longest), complete)

    def rest_of(self, value: bytes, names: frozenset[str]) -> Iterator[bytes]:
        """The parts of a value outside of the texts: the value itself if it has none of them, in any wrapping. Nothing
        if the rest is public, or if the value is a text's digest."""
        if value in digests(self.texts):
            return
        try:
            for view in views(value):  # the outermost with a match: deeper ones are in the rest as well
                rest = view.data
                for text in self.texts:
                    rest = rest.replace(text, b"")
                if rest != view.data:
                    if not is_public(rest, names):
                        yield rest
                    return
        except TooMuchError:
            pass
        yield value


def _is_shown(source: Resource) -> bool:
    if source.kind != "Secret" or not source.outputs:
        return source.outputs is not None
    return any(leaf.path[:1] in IN_SECRET for leaf in leaves(source.outputs))


def _outputs(source: Resource) -> Iterator[bytes]:
    """A resource's outputs. A credential that repeats an input may be the program's."""
    asked = {leaf.path for leaf in leaves(source.inputs if source.inputs is not None else {})}
    for leaf in leaves(source.outputs if source.outputs is not None else {}):
        named = any(is_secrets_name(key) for key in leaf.path if isinstance(key, str))
        if leaf.value is UNKNOWN or (leaf.path in asked and not leaf.secret and named):
            continue
        text = held(leaf) if source.kind == "Secret" and leaf.path[:1] in IN_SECRET else as_bytes(leaf.value)
        if len(text) >= LEAST_TEXT:
            yield text
