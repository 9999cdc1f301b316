"""The flow detector: the control plane's secrets, and the foreign resources that they reach.

It needs dependencies and secret marks but no values, so it works at the first preview. Every property has a level of
public, maybe or secret (`leaf.level`): the highest of its values. A value has the highest level of its sources, unless
it is known and public by its structure.

- A *source* is a resource with secrets: a generated key or password, a Secret, a cloud's access key, another stack.
- A generated secret is the control plane's if it flows into the control plane, or signs a certificate for such a key.
  `plan.owners` decides about other secrets.
- A resource that receives a secret may pass it on, on either side: a certificate repeats its key, a ConfigMap, a bucket
  or a chart repeats its input.
"""

from __future__ import annotations

import base64
import hmac
import re
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from hosted_mesh_plan import vocabulary
from hosted_mesh_plan.clusters import Role
from hosted_mesh_plan.model import IN_SECRET, PROVIDER_PREFIX, SECRET_DATA, SECRET_TYPE, Resource, Stack
from hosted_mesh_plan.owners import CLOUDS, CONTROL_PLANE, Owners
from hosted_mesh_plan.tree import UNKNOWN, Leaf, Path, at, leaves

from ..leaf.content import as_bytes, held
from ..leaf.level import LEAST_SECRET, Level
from ..leaf.names import describes, names_credential
from ..leaf.public_structure import is_public
from ..secrets.fingerprints import digests
from ..secrets.resource_secrets import secret_leaves
from ..secrets.resource_types import CERTIFICATE_TYPES, CHART_TYPES, KEY_TYPE, is_random, keeps_status, makes_what_opens
from .given_texts import GivenTexts
from .property_levels import PropertyFlows
from .taint import UNCLASSIFIED, Hop, TaintGraph

_SIGNED: Final = re.compile(rb"(eyJ[\w-]+\.[\w-]+)\.([\w-]{43,86})")
_HMACS: Final = {43: "sha256", 64: "sha384", 86: "sha512"}
"""Algorithms by the length of a token's signature in base64."""


def _has_signed(source: Resource, token: re.Match[bytes]) -> bool:
    """True if a source's secret signed the token: HS256 and its like."""
    kind = _HMACS.get(len(token[2]))
    made = (hmac.digest(secret, token[1], kind) for _, secret in secret_leaves(source, source.outputs) if kind)
    return any(base64.urlsafe_b64encode(one).rstrip(b"=") == token[2] for one in made)


@dataclass(frozen=True, slots=True)
class Leak:
    """A foreign secret that reaches a property. `path` starts at the secret's source; `level` is the certainty, `owner`
    the secret's owner."""

    resource: Resource
    property: str
    places: tuple[Path, ...]
    path: tuple[Hop, ...]
    level: Level
    owner: str


@dataclass(frozen=True)
class Flow:
    """The flows of a whole stack: its leaks, and values that are certainly none."""

    stack: Stack
    owners: Owners

    @cached_property
    def uses(self) -> PropertyFlows:
        return PropertyFlows(self.stack, self.owners)

    @cached_property
    def spread(self) -> TaintGraph:
        return TaintGraph(self.stack, self.owners, self.uses)

    def awaited(self, resource: Resource) -> Iterator[Path]:
        """Paths that wait for public halves of the control plane's keys or for facts of its objects' status, where such
        are expected; in an unclassified account, for outputs of its own clouds."""
        in_account = resource.urn in self.spread.in_accounts
        for name in resource.sources:
            for source in self.stack.sources_of(resource, name):
                of_cloud = source.type.split(":")[0] in CLOUDS
                if in_account and of_cloud and source.urn in self.spread.tainted_elsewhere:
                    yield from self.uses.use(resource, name).unknown
                elif source.urn in self.spread.tainted and (source.type == KEY_TYPE or keeps_status(source)):
                    unknown = self.uses.use(resource, name).unknown
                    yield from (one for one in unknown if self.uses.are_facts(resource, source, (one,)))

    @cached_property
    def awaits_secrets(self) -> bool:
        """True while a control-plane secret of this stack is unknown."""
        return any(
            one.urn in self.spread.owned and self.uses.is_source(one) and self.uses.is_new(one)
            for one in self.stack.resources
            if not one.read_only
        )

    def is_data_planes_alone(self, resource: Resource, name: str) -> bool:
        """True if a property's value has sources, and none is a control-plane source: a data plane's token kept by the
        control plane, a random id."""
        sources = self.stack.sources_of(resource, name)
        return bool(sources) and not any(source.urn in self.spread.tainted for source in sources)

    def of_its_own(self, resource: Resource, path: Path, value: bytes) -> Iterator[bytes]:
        """The control plane's own parts of a control-plane resource's secret value.

        Nothing for a resource that is given away: its leak is reported from the source. All of a value, unless its
        property depends on resources without control-plane secrets: then the text that they gave is left out.
        """
        if self.owners.is_given_away(resource):
            return
        given = self._given_by_others(resource, str(path[0]) if path else "")
        if given is None:
            yield value
        elif given.is_complete or any(secret in value for secret in self._secret_configuration):
            yield from given.rest_of(value, self.stack.names)

    def is_all_from_others(self, resource: Resource, leaf: Leaf) -> bool:
        """True for a value fully given, or to be given, by resources without control-plane secrets."""
        if self.owners.is_given_away(resource):
            return True
        if leaf.value is UNKNOWN:
            return bool(leaf.path) and self._given_by_others(resource, str(leaf.path[0])) is not None
        value = held(leaf) if resource.kind == "Secret" else as_bytes(leaf.value)
        return not any(True for _ in self.of_its_own(resource, leaf.path, value))

    def issued_to(self, resource: Resource) -> frozenset[str]:
        """URNs of the logins that a Secret declares as issued to its tenant."""
        if resource.urn not in self._issued:
            self._issued[resource.urn] = self.owners.issued_to(resource)
        return self._issued[resource.urn]

    @cached_property
    def _issued(self) -> dict[str, frozenset[str]]:
        return {}

    def without_issued(self, resource: Resource, value: bytes) -> tuple[bytes, ...]:
        """A Secret's value without logins issued to its tenant: the value itself if it has none."""
        urns = self.issued_to(resource)
        if not urns:
            return (value,)
        return tuple(GivenTexts.of(self.stack.by_urn[urn] for urn in urns).rest_of(value, self.stack.names))

    @cached_property
    def _secret_configuration(self) -> frozenset[bytes]:
        values = (self.stack.config.get(key, "").encode() for key in self.stack.secret_config_keys)
        return frozenset(value for value in values if len(value) >= LEAST_SECRET)

    @cached_property
    def _gifts(self) -> dict[tuple[str, str], GivenTexts | None]:
        return {}

    def _given_by_others(self, resource: Resource, name: str) -> GivenTexts | None:
        """The texts of a property's sources; None without sources, or if one has a control-plane secret. A Secret's
        `stringData` and `data` are one property."""
        names = SECRET_DATA if resource.kind == "Secret" and name in SECRET_DATA else (name,)
        key = resource.urn, names[0]
        if key not in self._gifts:
            used = [one for one in names if one in resource.sources]
            alone = bool(used) and all(self.is_data_planes_alone(resource, one) for one in used)
            alone = alone and not any(self._is_made_for(resource, one) for one in used)
            waits = any(leaf.value is UNKNOWN for one in used for leaf in leaves(at(resource.asked, one)))
            sources = self.stack.sources_of(resource, *used)
            self._gifts[key] = GivenTexts.of(sources, waits=waits) if alone else None
        return self._gifts[key]

    def _is_made_for(self, resource: Resource, name: str) -> bool:
        """True for ownerless random text that a Secret keeps under a credential's name."""
        sources = self.stack.sources_of(resource, name)
        if resource.kind != "Secret" or not all(map(is_random, sources)):
            return False
        kept = leaves(at(resource.asked, name), (name,))  # an unknown property is a leaf itself
        return any(names_credential(str(leaf.path[-1])) for leaf in kept)

    def takes_logins(self, resource: Resource, name: str) -> bool:
        """True for a data plane's place of logins: its Secrets' data, and its charts' values."""
        names = ("values",) if resource.type in CHART_TYPES else SECRET_DATA if resource.type == SECRET_TYPE else ()
        return name in names and self.owners.clusters.role(resource) is Role.DATA_PLANE

    def has_login(self, keeper: Resource, resource: Resource, name: str) -> bool:
        """True if a control-plane Secret's content may be in a place, by its annotation. With a mesh's label it keeps
        no login of another mesh."""
        ours, theirs = (at(one.body, "metadata", "labels", vocabulary.MESH_LABEL) for one in (keeper, resource))
        same = ours is None or theirs is None or ours == theirs
        return same and self.takes_logins(resource, name) and self.owners.keeps_logins(keeper)

    def is_owned_for(self, urn: str, resource: Resource, name: str) -> bool:
        """True for a source that is the control plane's with regard to this property. Shared logins are not."""
        keepers = self.spread.login_keepers if self.takes_logins(resource, name) else ()
        if not keepers:
            return urn in self.spread.owned
        return self.spread.is_owned_but(urn, lambda one: one.urn in keepers and self.has_login(one, resource, name))

    def is_tainted_for(self, urn: str, resource: Resource, name: str) -> bool:
        """The same for resources that hold or may hold a control-plane secret."""
        return any(urn in tainted for tainted in self._tainted_for((urn,), resource, name))

    def _tainted_for(self, urns: Iterable[str], resource: Resource, name: str) -> Iterator[Mapping[str, Hop | None]]:
        """The maps that decide whether some of these sources hold or may hold such a secret."""
        if not self.takes_logins(resource, name):
            yield self.spread.tainted
            return
        yield self.spread.tainted_but_logins
        for login in dict.fromkeys(login for urn in urns for login in self.spread.logins_in.get(urn, ())):
            if self.is_owned_for(login, resource, name):
                yield self.spread.logins[login]

    def is_from_data_plane(self, resource: Resource) -> bool:
        """True if a Secret's data or a chart's values have a source with secrets, and none of the control plane."""
        carried = self.owners.is_on_data_plane(resource) and self.owners.clusters.on_control_plane(resource)
        names = tuple(resource.sources) if carried else ("values",) if resource.type in CHART_TYPES else SECRET_DATA
        fed = [(name, one) for name in names for one in self.stack.sources_of(resource, name)]
        fed = [(name, source) for name, source in fed if self.uses.is_source(source)]
        return bool(fed) and not any(
            self.is_tainted_for(source.urn, resource, name)
            and self.uses.level(resource, name, source) is not Level.PUBLIC
            for name, source in fed
        )

    def made_of_own(self, resource: Resource) -> frozenset[Path]:
        """A chart's values that the update will make from the data plane's own secrets alone. For other objects of a
        data plane except Secrets: the values made from content of a Secret in the same cluster."""
        in_chart = resource.type in CHART_TYPES
        if not in_chart and (resource.kind == "Secret" or self.owners.clusters.role(resource) is not Role.DATA_PLANE):
            return frozenset()
        found = list[Path]()
        for name in ("values",) if in_chart else resource.sources:
            use, every = self.uses.use(resource, name), self.stack.sources_of(resource, name)
            made_of = [one for one in every if self.uses.is_source(one)]
            asked = (self.is_owned_for, self.is_tainted_for)
            if not made_of or any(is_theirs(one.urn, resource, name) for one in every for is_theirs in asked):
                continue
            if in_chart:
                found += use.unknown
            elif use.holds <= {one.urn for one in made_of} and all(self._is_kept_beside(resource, o) for o in made_of):
                found += (*use.unknown, *use.places)
        return frozenset(found)

    def _is_kept_beside(self, resource: Resource, source: Resource) -> bool:
        takers = self.spread.takers_by_source.get(source.urn, ())
        keepers = (source, *(taker for taker, name in takers if name in SECRET_DATA))
        place = self.owners.place(resource)
        return any(one.kind == "Secret" and self.owners.place(one) == place for one in keepers)

    def is_held_by_its_source(self, resource: Resource, path: Path) -> bool:
        """True for a value that a source of its property has as its own secret, or has signed as a token, and no
        control-plane source has."""
        value = as_bytes(at(resource.body, *path))
        sources = self.stack.sources_of(resource, str(path[0]))
        holders = self.uses.found_in(value)
        if not holders and (token := _SIGNED.fullmatch(value)):
            holders = frozenset(one.urn for one in sources if _has_signed(one, token))
        tainted = (self.is_tainted_for(one, resource, str(path[0])) for one in holders)
        return not holders.isdisjoint(one.urn for one in sources) and not any(tainted)

    def is_own_authority(self, resource: Resource) -> bool:
        """True for a Secret with an authority made for its data plane alone: its key and its certificates have no other
        receiver, and no other authority signs it."""
        fed = [one for name in SECRET_DATA for one in self.stack.sources_of(resource, name)]
        keys = [one.urn for one in fed if one.type == KEY_TYPE]
        if not keys or not self.is_from_data_plane(resource):
            return False
        family, todo, place = set(keys), list(keys), self.owners.place(resource)
        while todo:
            for taker, _ in self.spread.takers_by_source.get(todo.pop(), ()):
                if taker.type in CERTIFICATE_TYPES:
                    todo += [taker.urn] if taker.urn not in family else []
                    family.add(taker.urn)
                elif self.owners.place(taker) != place:
                    return False
        return all(one.urn in family for one in fed) and not any(self._is_vouched_for(urn, family) for urn in family)

    def _is_vouched_for(self, urn: str, family: Set[str]) -> bool:
        """True if an authority outside of a family signs the request of one of its keys."""
        certificate = self.stack.by_urn[urn]
        asked, signers = (
            {one.urn for one in self.stack.sources_of(certificate, name)}
            for name in ("certRequestPem", "caPrivateKeyPem")
        )
        return not asked.isdisjoint(family) and not signers <= family

    def leaks(self) -> Iterator[Leak]:
        """Every property of a given-away resource that a secret of the control plane or of another data plane reaches;
        and of a resource in an unclassified account, if the secret comes from elsewhere. A data plane's provider may
        log in with read values of another stack or cluster: mostly the data plane provided them."""
        for resource in self.stack.resources:
            if self.owners.is_given_away(resource):
                place = self.owners.place(resource)
                for name, urns in resource.sources.items():
                    others = {
                        owner for urn in urns for owner in self.spread.neighbours_of.get(urn, ()) if owner != place
                    }
                    if self.owners.clusters.role(resource) is not Role.DATA_PLANE:
                        others.discard(UNCLASSIFIED)
                    holders = [
                        *((CONTROL_PLANE, one) for one in self._tainted_for(urns, resource, name)),
                        *((one, self.spread.neighbours[one]) for one in sorted(others)),
                    ]
                    if leak := next(filter(None, (self._leak(resource, name, *one) for one in holders)), None):
                        yield leak
            elif self.spread.in_accounts and resource.urn in self.spread.in_accounts:
                for name in resource.sources:
                    leak = self._leak(resource, name, CONTROL_PLANE, self.spread.tainted_elsewhere)
                    if leak and not all(makes_what_opens(resource, place) for place in leak.places or ((name,),)):
                        yield leak
            elif self.owners.is_data_planes_login(resource):
                names = [name for name in resource.sources if not describes(name)]
                found = (self._leak(resource, name, CONTROL_PLANE, self.spread.tainted_by_shown) for name in names)
                yield from filter(None, found)

    def is_from_elsewhere(self, origin: str) -> bool:
        """True if a known secret is the control plane's by more than an unclassified account. Before a write the stack
        is unknown."""
        urn = origin.partition(" ")[0]
        kind = urn.split("::")[2].rpartition("$")[2] if urn.startswith("urn:") and urn.count("::") > 2 else ""
        if kind.startswith(PROVIDER_PREFIX) or self.stack.partial:
            return kind.removeprefix(PROVIDER_PREFIX).split(":")[0] not in CLOUDS
        return urn not in self.spread.owned or urn in self.spread.owned_elsewhere

    def unexplained(self) -> Iterator[tuple[Resource, tuple[tuple[Path, bytes], ...]]]:
        """Marked values, with their places, in given-away resources other than Secrets and charts' values, without a
        source. A control-plane secret that the program read or changed looks like this, and so does configuration. A
        chart's objects are marked if any input is, so the flow into the chart is judged instead."""
        for resource in self.stack.resources:
            rendered = any(kind.startswith("kubernetes:") for kind in self.stack.ancestor_types(resource))
            if self.owners.is_given_away(resource) and not rendered:
                asked = resource.asked if isinstance(resource.asked, dict) else {}
                kept = SECRET_DATA if resource.kind == "Secret" else ("values",) if resource.type in CHART_TYPES else ()
                if places := tuple(
                    (leaf.path, as_bytes(leaf.value))
                    for name, tree in asked.items()
                    if name not in kept
                    and not self.owners.is_deployers_login(resource, name)
                    and not any(map(self.uses.is_source, self.stack.sources_of(resource, name)))
                    for leaf in leaves(tree, (name,))
                    if leaf.secret and self._is_unexplained(leaf)
                ):
                    yield resource, places

    def _is_unexplained(self, leaf: Leaf) -> bool:
        data = as_bytes(leaf.value)
        return bool(data) and not is_public(data, self.stack.names) and data not in self._digests

    @cached_property
    def _digests(self) -> frozenset[bytes]:
        """Digests of the data planes' Secrets' inputs: they restart Pods."""
        own: set[bytes] = set()
        for resource in self.stack.resources:
            if resource.kind == "Secret" and self.owners.is_given_away(resource):
                own.update(held(leaf) for leaf in leaves(resource.asked) if leaf.path[:1] in IN_SECRET)
        return digests(own)

    def _leak(self, resource: Resource, name: str, owner: str, tainted: Mapping[str, Hop | None]) -> Leak | None:
        guilty = [
            (level, source)
            for source in self.stack.sources_of(resource, name)
            if source.urn in tainted
            and source.urn not in self.issued_to(resource)
            and (level := self.uses.level(resource, name, source)) is not Level.PUBLIC
        ]
        if not guilty:
            return None
        use = self.uses.use(resource, name)
        # Of several sources report the secret's own, as far as values are known; a certificate only repeats a key.
        level, source = min(
            guilty, key=lambda one: (one[1].urn not in use.holds, one[1].type in CERTIFICATE_TYPES, -one[0])
        )
        places = use.places or use.marked or use.digests or use.unknown or tuple(leaf.path for leaf in use.undecided)
        path = (*self._origin_path(source.urn, tainted), Hop(source.urn, name))
        return Leak(resource, name, places, path, level, owner)

    @staticmethod
    def _origin_path(urn: str, tainted: Mapping[str, Hop | None]) -> tuple[Hop, ...]:
        hops: list[Hop] = []
        seen = {urn}
        while (hop := tainted.get(urn)) is not None and hop.urn not in seen:
            hops.append(hop)
            urn = hop.urn
            seen.add(urn)
        return tuple(hops[::-1])
