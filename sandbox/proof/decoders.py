"""A search for secrets in whatever wrapping, by the policy pack's own fingerprints and decoders: the one place where
the proof uses the pack."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from hosted_mesh_policies.detect.decoders.layers import views
from hosted_mesh_policies.detect.decoders.text import BETWEEN, TooMuchError
from hosted_mesh_policies.detect.search.index import Index
from hosted_mesh_policies.detect.secrets.fingerprints import fingerprints
from hosted_mesh_policies.detect.secrets.resource_secrets import secret_leaves
from hosted_mesh_policies.scan.sources import from_state


class Search:
    """Finds secrets. names: of objects, which stand in secrets and elsewhere without being any."""

    def __init__(self, names: Collection[str] = ()) -> None:
        self._names = frozenset(names)
        self._index = Index()
        self._public: set[bytes] = set()

    def __len__(self) -> int:
        """How many fingerprints it looks for."""
        return len(self._index)

    def leave_out(self, value: bytes) -> None:
        """What gives power in this value is not looked for, wherever else it stands. Before `add`."""
        self._public |= {bytes(one) for one in fingerprints(value, names=self._names)}

    def add(self, name: str, value: bytes, *, certain: bool = False) -> bool:
        """Whether anything in the value gives power. What does not, a certificate for one, is not looked for.

        certain: all of it does, whatever it looks like.
        """
        found = [one for one in fingerprints(value, certain=certain, names=self._names) if one not in self._public]
        self._index.add(found, name)
        return bool(found)

    def add_bytes(self, name: str, value: bytes) -> None:
        """Looks for these very bytes."""
        self._index.add([value], name)

    def standing_in(self, stored: bytes) -> set[str]:
        """Names of what stands in these bytes as they are."""
        return {self._index.origins[hit.origin] for hit in self._index.search(stored)}

    def find(self, *pieces: bytes) -> set[str]:
        """Names of what stands in these bytes, or in anything that they decode to.

        Raises ValueError for bytes that decode to so much that nobody can say.
        """
        try:
            seen = views(BETWEEN.join(pieces))
            return {self._index.origins[hit.origin] for view in seen for hit in self._index.search(view.data)}
        except TooMuchError:
            raise ValueError("it decodes to more than can be searched") from None


def secrets_of_state(exported: Mapping[str, Any]) -> Iterator[tuple[str, bytes, bool]]:
    """Every secret of an engine's state (read with secrets shown): a name to report it by, the value, and whether it is
    known to be secret as a whole."""
    stack = from_state(exported, "state")
    for resource in stack.resources if stack else ():
        for tree in (resource.inputs, resource.outputs):
            for path, value in secret_leaves(resource, tree):
                place = ".".join(map(str, path))
                yield f"{resource.name}: {place}", value, resource.type.startswith("random:")
