"""The owner of each secret and its way through the stack, by dependencies."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

from hosted_mesh_plan.clusters import Role
from hosted_mesh_plan.model import Resource, Stack
from hosted_mesh_plan.owners import CONTROL_PLANE, Owners

from ..leaf.level import Level
from ..secrets.resource_secrets import is_minted
from ..secrets.resource_types import CERTIFICATE_TYPES, KEY_TYPE, is_random
from .expected_contents import is_private_half
from .property_levels import PropertyFlows

UNCLASSIFIED: Final = "a cluster with no declared owner"
"""The owner of a generated secret in a Secret of such a cluster: it may be the control plane's."""


class Hop(NamedTuple):
    """One step of a path: a resource, and the next resource's property that uses it."""

    urn: str
    property: str


@dataclass(frozen=True)
class TaintGraph:
    """The graph of a whole stack's resources, followed from each source."""

    stack: Stack
    owners: Owners
    uses: PropertyFlows

    @cached_property
    def owned(self) -> frozenset[str]:
        """URNs of the control plane's sources, and of the resources that pass their secrets on."""
        return frozenset(self.owned_by)

    @cached_property
    def owned_by(self) -> Mapping[str, Resource]:
        """By URN of the control plane's resources, the owner's resource: itself, or a holder of its secret. Holders
        with a declared owner come first."""
        return self._owned(self.stack.by_urn)

    @cached_property
    def in_accounts(self) -> frozenset[str]:
        """URNs of resources in unclassified accounts."""
        return frozenset(urn for urn, r in self.stack.by_urn.items() if self.owners.is_in_unclassified_account(r))

    @cached_property
    def owned_elsewhere(self) -> frozenset[str]:
        """The same without unclassified accounts: a secret of such an account alone is no leak into it."""
        return frozenset(self._owned(self.stack.by_urn.keys() - self.in_accounts)) if self.in_accounts else self.owned

    @cached_property
    def login_keepers(self) -> frozenset[str]:
        """URNs of the control plane's Secrets that are annotated as keepers of shared logins."""
        return frozenset(one.urn for one in self.stack.resources if self.owners.keeps_logins(one))

    def is_owned_but(self, urn: str, is_keeper: Callable[[Resource], bool]) -> bool:
        """True if a resource is the control plane's by more than Secrets that satisfy `is_keeper`. They own neither
        passwords nor their reads of each other; their other readers do."""
        if urn not in self.owned or self.owners.maker(self.stack.by_urn[urn]) == CONTROL_PLANE:
            return urn in self.owned
        todo, seen = [urn], {urn}
        while todo:
            source = self.stack.by_urn[todo.pop()]
            for getter in self._getters.get(source.urn, ()):
                kept = is_keeper(getter)
                owner = self.owners.maker(getter)
                if owner == CONTROL_PLANE and not (kept and (is_random(source) or is_keeper(source))):
                    return True
                if (owner is None or kept) and getter.urn not in seen:
                    seen.add(getter.urn)
                    todo.append(getter.urn)
        return False

    @cached_property
    def _getters(self) -> Mapping[str, list[Resource]]:
        """By URN of a source, the receivers of its secret that do not give it away."""
        found: dict[str, list[Resource]] = {}
        for resource in self.stack.by_urn.values():
            if not self.owners.is_given_away(resource):
                for source in self._secrets_into(resource):
                    found.setdefault(source.urn, []).append(resource)
        return found

    def _owned(self, by: Iterable[str]) -> dict[str, Resource]:
        """The control plane's resources, each with its owner. by: possible owners."""
        may_make, everything = set(by), self.stack.by_urn.values()
        makers = [one for one in everything if one.urn in may_make and self.owners.maker(one) == CONTROL_PLANE]
        found: dict[str, Resource] = {}
        for maker in sorted(makers, key=self.owners.is_assumed_maker):
            todo = [maker]
            while todo:
                resource = todo.pop()
                if resource.urn in found:
                    continue
                found[resource.urn] = maker
                if resource.urn not in may_make or self.owners.is_given_away(resource):
                    continue  # its provider's outputs may be the control plane's, but not its inputs
                todo += (one for one in self._secrets_into(resource) if self.owners.maker(one) is None)
        return found

    def _secrets_into(self, resource: Resource) -> Iterator[Resource]:
        """The resources with secrets that this one receives; for a certificate of a control-plane key also its
        signer."""
        for name in resource.sources:
            for source in self.stack.sources_of(resource, name):
                if self._gives_away(resource, name, source):
                    yield source
        if resource.type == KEY_TYPE or resource.type in CERTIFICATE_TYPES:
            yield from self._signers_of(resource)

    def _gives_away(self, resource: Resource, name: str, source: Resource) -> bool:
        """As `level`, but an unknown value made from a key, outside of Secrets, counts as its public half. Keys are
        kept in Secrets or beside certificates, and a data plane's public key in the control plane must not make the key
        the control plane's."""
        if source.type == KEY_TYPE and (unknown := self.uses.use(resource, name).unknown) and resource.is_kubernetes:
            return resource.kind == "Secret" or any(is_private_half(resource, place) for place in unknown)
        return self.uses.level(resource, name, source) is Level.SECRET

    def _signers_of(self, key: Resource) -> Iterator[Resource]:
        """The signers of a key's certificates: a signer's key could make this key's identity."""
        for request, _ in self.takers_by_source.get(key.urn, ()):
            for certificate, name in self.takers_by_source.get(request.urn, ()):
                if {request.type, certificate.type} <= CERTIFICATE_TYPES and name == "certRequestPem":
                    yield from self.stack.sources_of(certificate, "caPrivateKeyPem")

    @cached_property
    def takers_by_source(self) -> Mapping[str, list[tuple[Resource, str]]]:
        """Per source, the resources that depend on it and by which property."""
        found: dict[str, list[tuple[Resource, str]]] = {}
        for resource in self.stack.resources:
            for name, urns in resource.sources.items():
                for urn in dict.fromkeys(urns):
                    found.setdefault(urn, []).append((resource, name))
        return found

    @cached_property
    def tainted(self) -> Mapping[str, Hop | None]:
        """Resources that hold or may hold a control-plane secret, each with the step before it: sources, and receivers
        on either side. Given-away resources are excluded: a path ends there."""
        return self._spread(self._beginnings(self.owned))

    @cached_property
    def tainted_by_shown(self) -> Mapping[str, Hop | None]:
        """The same without resources that the stack only reads."""
        return self._spread(urn for urn in self._beginnings(self.owned) if not self.stack.by_urn[urn].read_only)

    @cached_property
    def tainted_elsewhere(self) -> Mapping[str, Hop | None]:
        return self._spread(self._beginnings(self.owned_elsewhere))

    @cached_property
    def kept_as_logins(self) -> frozenset[str]:
        """URNs of passwords that are the control plane's only by such Secrets."""
        keepers = self.login_keepers
        if not keepers:
            return frozenset()
        return frozenset(urn for urn in self.owned if not self.is_owned_but(urn, lambda one: one.urn in keepers))

    @cached_property
    def logins(self) -> Mapping[str, Mapping[str, Hop | None]]:
        """By URN of their sources, the resources that hold or may hold such logins."""
        return {urn: self._spread([urn]) for urn in self._beginnings(self.kept_as_logins)}

    @cached_property
    def logins_in(self) -> Mapping[str, list[str]]:
        """Per resource, the URNs of the logins that it holds or may hold."""
        found: dict[str, list[str]] = {}
        for login, tainted in self.logins.items():
            for urn in tainted:
                found.setdefault(urn, []).append(login)
        return found

    @cached_property
    def tainted_but_logins(self) -> Mapping[str, Hop | None]:
        """As `tainted`, without such logins."""
        begun = (urn for urn in self._beginnings(self.owned) if urn not in self.logins)
        return self._spread(begun) if self.logins else self.tainted

    def _beginnings(self, owned: Set[str]) -> Iterator[str]:
        providers = self.owners.clusters.providers
        for urn, resource in self.stack.by_urn.items():
            if urn in owned and (self.uses.is_source(resource) or urn in providers):
                yield urn

    @cached_property
    def neighbours(self) -> Mapping[str, Mapping[str, Hop | None]]:
        """The same per data plane, for the credentials that its cluster makes, and for generated secrets of undeclared
        clusters."""
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
                found[taker.urn] = Hop(source.urn, name)  # a Secret shows its sources
        return found
