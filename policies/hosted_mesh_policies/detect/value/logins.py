"""Shared logins: the control plane keeps one in an annotated Secret."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from hosted_mesh_plan.model import SECRET_DATA, Resource, Stack
from hosted_mesh_plan.tree import Path, show

from ..flow.leaks import Flow
from ..search.index import Index
from ..search.tree_text import Text
from ..secrets.fingerprints import fingerprints
from ..secrets.resource_secrets import secret_leaves
from ..secrets.resource_types import is_random
from ..shape.credential_forms import Kind
from ..shape.shapes import shapes
from .inspection import Match, inspect

NO_LOGINS: Final = frozenset({Kind.PRIVATE_KEY, Kind.CLIENT_KEY, Kind.KUBECONFIG, Kind.SERVICE_ACCOUNT_TOKEN})
"""Each side has one of its own."""


@dataclass(frozen=True)
class Logins:
    """The shared logins of one stack. gathered_from: earlier resources by URN, while the whole is unknown."""

    stack: Stack
    flow: Flow
    text: Callable[[Resource], Text]
    gathered_from: Mapping[str, Resource]

    def are_both_sides(self, resource: Resource, match: Match) -> bool:
        """True for a secret, in a data plane's place of logins, that only such Secrets of the control plane have.
        Raises TooMuchError."""
        name = str(match.path[0]) if match.path else ""
        urn, _, place = match.origin.partition(" ")
        source = self.gathered_from.get(urn) or self.stack.by_urn.get(urn)
        if source is None or not self._is_kept_as_login(source, resource, name):
            return False
        values = {value for path, value in _secrets(source) if show(path) == place}
        return bool(values) and not any(map(self._is_more, values))

    def _is_kept_as_login(self, source: Resource, resource: Resource, name: str) -> bool:
        """True for random text that only such Secrets keep, and for such a Secret without other inputs."""
        if not self.flow.takes_logins(resource, name):
            return False
        if self.flow.has_login(source, resource, name):
            kept = self.stack.sources_of(source, *SECRET_DATA)
            return all(is_random(one) and not self.flow.is_owned_for(one.urn, resource, name) for one in kept)
        return source.urn in self.flow.spread.owned and not self.flow.is_owned_for(source.urn, resource, name)

    def _is_more(self, value: bytes) -> bool:
        """True for a key, and for a secret that the control plane has in another place, marked or not."""
        if any(shape.kind in NO_LOGINS for shape in shapes(value)):
            return True
        index = Index()
        index.add(fingerprints(value, certain=True), "")
        return any(map(self._has(index), self._with_logins))

    @cached_property
    def _with_logins(self) -> tuple[Resource, ...]:
        """Other resources of the control plane with such a login. Raises TooMuchError."""
        index = Index()
        for source in self.stack.resources:
            if source.urn in self.flow.spread.kept_as_logins or self.flow.owners.keeps_logins(source):
                for _, value in _secrets(source):
                    index.add(fingerprints(value, certain=True), "")
        owners = self.flow.owners
        others = (one for one in self.stack.resources if owners.clusters.on_control_plane(one))
        return tuple(filter(self._has(index), (one for one in others if not owners.keeps_logins(one))))

    def _has(self, index: Index) -> Callable[[Resource], bool]:
        return lambda one: bool(inspect(self.text(one), index, look_for_shapes=False).matches)


def _secrets(source: Resource) -> Iterator[tuple[Path, bytes]]:
    return (one for tree in (source.inputs, source.outputs) for one in secret_leaves(source, tree))
