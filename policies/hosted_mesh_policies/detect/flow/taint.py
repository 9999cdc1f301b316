"""Whose a secret is, and where it goes: the control plane's, or a data plane's, by what depends on what."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

from ...plan.clusters import Role
from ...plan.model import Resource, Stack
from ...plan.owners import CONTROL_PLANE, Owners
from ..leaf.level import Level
from ..secrets.resource_secrets import is_minted
from ..secrets.resource_types import CERTIFICATE_TYPES, KEY_TYPE
from .expected_contents import is_private_half
from .property_levels import Uses

UNCLASSIFIED: Final = "a cluster that nobody classified"
"""The owner of what is generated, and is in a Secret of such a cluster: it may be the control plane's."""


class Hop(NamedTuple):
    """One step of a path: a resource, and the property of the next one that uses it."""

    urn: str
    property: str


@dataclass(frozen=True)
class Spread:
    """The graph of a whole stack's resources, followed from each source."""

    stack: Stack
    owners: Owners
    uses: Uses

    @cached_property
    def owned(self) -> frozenset[str]:
        """URNs of the sources, and of what their secrets passed through, that are the control plane's."""
        return frozenset(self._owned(self.stack.by_urn))

    @cached_property
    def in_accounts(self) -> frozenset[str]:
        """URNs of what is in accounts that nobody classified."""
        return frozenset(urn for urn, r in self.stack.by_urn.items() if self.owners.is_in_unclassified_account(r))

    @cached_property
    def owned_elsewhere(self) -> frozenset[str]:
        """The same by all but accounts that nobody classified: what only such an account has is no leak into it."""
        return frozenset(self._owned(self.stack.by_urn.keys() - self.in_accounts)) if self.in_accounts else self.owned

    def _owned(self, by: Iterable[str]) -> set[str]:
        makers = set(by)
        found = {urn for urn in self.stack.by_urn if urn in makers and self._is_control_planes(urn)}
        todo = list(found)
        while todo:
            resource = self.stack.by_urn[todo.pop()]
            if resource.urn not in makers or self.owners.is_given_away(resource):
                continue  # what its provider makes may be the control plane's, but not what it is given
            for source in self._secrets_into(resource):
                if source.urn not in found and self.owners.maker(source) is None:
                    found.add(source.urn)
                    todo.append(source.urn)
        return found

    def _is_control_planes(self, urn: str) -> bool:
        return self.owners.maker(self.stack.by_urn[urn]) == CONTROL_PLANE

    def _secrets_into(self, resource: Resource) -> Iterator[Resource]:
        """The resources whose secrets this one gets; for a certificate on a control-plane key, its signer too."""
        for name in resource.sources:
            for source in self.stack.sources_of(resource, name):
                if self._gives_away(resource, name, source):
                    yield source
        if resource.type == KEY_TYPE or resource.type in CERTIFICATE_TYPES:
            yield from self._signers_of(resource)

    def _gives_away(self, resource: Resource, name: str, source: Resource) -> bool:
        """As `level`, but where nothing is known yet a key in an object that is no Secret is its public half: people
        keep keys in Secrets, or beside their certificates, and the data plane's public key in the control plane must
        not make the key the control plane's.
        """
        if source.type == KEY_TYPE and (unknown := self.uses.use(resource, name).unknown) and resource.is_kubernetes:
            return resource.kind == "Secret" or any(is_private_half(resource, place) for place in unknown)
        return self.uses.level(resource, name, source) is Level.SECRET

    def _signers_of(self, key: Resource) -> Iterator[Resource]:
        """Who signs the certificates of a key: with that signer's key, anybody could make this one's identity."""
        for request, _ in self.takers_by_source.get(key.urn, ()):
            for certificate, name in self.takers_by_source.get(request.urn, ()):
                if {request.type, certificate.type} <= CERTIFICATE_TYPES and name == "certRequestPem":
                    yield from self.stack.sources_of(certificate, "caPrivateKeyPem")

    @cached_property
    def takers_by_source(self) -> Mapping[str, list[tuple[Resource, str]]]:
        """Per source, what depends on it and by which property."""
        found: dict[str, list[tuple[Resource, str]]] = {}
        for resource in self.stack.resources:
            for name, urns in resource.sources.items():
                for urn in dict.fromkeys(urns):
                    found.setdefault(urn, []).append((resource, name))
        return found

    @cached_property
    def tainted(self) -> Mapping[str, Hop | None]:
        """What holds or may hold a control-plane secret, each with the step before it: the sources, and what takes one
        in, on whichever side it is. Not what is given away: that is where the path ends."""
        return self._spread(self._beginnings(self.owned))

    @cached_property
    def tainted_by_shown(self) -> Mapping[str, Hop | None]:
        """The same without what the stack only reads."""
        return self._spread(urn for urn in self._beginnings(self.owned) if not self.stack.by_urn[urn].read_only)

    @cached_property
    def tainted_elsewhere(self) -> Mapping[str, Hop | None]:
        return self._spread(self._beginnings(self.owned_elsewhere))

    def _beginnings(self, owned: frozenset[str]) -> Iterator[str]:
        providers = self.owners.clusters.providers
        for urn, resource in self.stack.by_urn.items():
            if urn in owned and (self.uses.is_source(resource) or urn in providers):
                yield urn

    @cached_property
    def neighbours(self) -> Mapping[str, Mapping[str, Hop | None]]:
        """The same per data plane, for the credentials that its cluster makes; and for generated secrets that a cluster
        has of which nobody says whose it is."""
        minted: dict[str, list[str]] = {}
        for resource in self.stack.resources:
            place = self.owners.place(resource) if is_minted(resource) else None
            if place not in {None, CONTROL_PLANE}:
                minted.setdefault(str(place), []).append(resource.urn)
            if resource.kind == "Secret" and self.owners.clusters.role(resource) is Role.UNCLASSIFIED:
                nobodys = (one.urn for one in self._secrets_into(resource) if self.owners.maker(one) is None)
                minted.setdefault(UNCLASSIFIED, []).extend(urn for urn in nobodys if urn not in self.owned)
        return {place: self._spread(urns) for place, urns in minted.items()}

    @cached_property
    def neighbours_of(self) -> Mapping[str, list[str]]:
        """Per resource, the data planes whose credentials it holds or may hold."""
        found: dict[str, list[str]] = {}
        for owner, tainted in self.neighbours.items():
            for urn in tainted:
                found.setdefault(urn, []).append(owner)
        return found

    def _spread(self, sources: Iterable[str]) -> dict[str, Hop | None]:
        found: dict[str, Hop | None] = dict.fromkeys(sources)
        todo = deque(found)
        while todo:
            source = self.stack.by_urn[todo.popleft()]
            for taker, name in self.takers_by_source.get(source.urn, ()):
                ends = self.owners.is_given_away(taker) and self.owners.clusters.role(taker) is not None
                if found.get(taker.urn) is not None or ends or self.uses.level(taker, name, source) is Level.PUBLIC:
                    continue
                if taker.urn not in found:
                    todo.append(taker.urn)
                found[taker.urn] = Hop(source.urn, name)  # a keeper of secrets tells where it has them from
        return found
