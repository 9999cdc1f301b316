"""The plan of the bridge: the providers of each edge, and its domains there. Pure functions.

The plan separates edges, from documents only. On one server a zone that is not shared has one edge, and an edge's zone
has one provider. A zone below it of another edge or provider is excluded. So two publishers never claim one name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from pulumi_hosted_mesh.dns.servers import Server, one_server, servers
from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.dns import DnsBridge, DnsProvider, Edge
from pulumi_hosted_mesh.spec.dns_fields import EDGE
from pulumi_hosted_mesh.vocabulary import CONTROL_PLANE_RECORDS

SOURCE = "the DNS bridge's document"
# Letters of any script: external-dns compares names in Unicode, also those in the form xn--.
_LABEL = r"[-_\p{L}\p{N}\p{M}]+"


@dataclass(frozen=True)
class Pair:
    """One edge that publishes by one provider: one external-dns.

    include: its permitted domains. exclude: domains below them that belong to other edges or the control plane.
    own: True for the publisher of the program's own records in the control plane's cluster. Its edge is a placeholder.
    """

    edge: Edge
    provider: DnsProvider
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    own: bool = False

    @property
    def name(self) -> str:
        """Unique among pairs."""
        return f"{self.edge.name}-{self.provider.id}"

    def admits(self, name: str) -> bool:
        """Whether a name lies in the pair's domains."""
        return _in(name, self.include) and not _in(name, self.exclude)


@dataclass(frozen=True)
class Claim:
    """The zones of one edge at one provider, before others' are excluded. where: the provider's field. on: servers."""

    where: str
    edge: Edge
    provider: DnsProvider
    zones: tuple[str, ...]
    on: frozenset[Server]

    def meets(self, other: Claim) -> bool:
        """Whether both are written to one server."""
        return not self.on.isdisjoint(other.on)

    def shares(self, zone: str) -> bool:
        """Whether all of the provider's entries for a zone are shared."""
        entries = [one for one in self.provider.zones if one.name.replace(EDGE, self.edge.name) == zone]
        return all(one.shared for one in entries)


@dataclass(frozen=True)
class Plan:
    """All pairs of the bridge.

    pairs: of edges. own: of the control plane, for the program's own records.
    """

    pairs: tuple[Pair, ...]
    own: tuple[Pair, ...]

    @classmethod
    def of(cls, bridge: DnsBridge) -> Self:
        """The plan of a document. Raises: InvalidInputError, as `pairs` does."""
        return cls(tuple(pairs(bridge)), tuple(own_pairs(bridge)))

    @property
    def edges(self) -> dict[str, Edge]:
        """Edges with a provider, by name."""
        return {pair.edge.name: pair.edge for pair in self.pairs}

    @property
    def providers(self) -> dict[str, DnsProvider]:
        """Providers of the pairs, by id."""
        return {pair.provider.id: pair.provider for pair in (*self.pairs, *self.own)}

    @property
    def zones(self) -> dict[str, list[str]]:
        """Permitted domains of each edge, by its name."""
        return {edge: sorted({zone for pair in self.pairs_of(edge) for zone in pair.include}) for edge in self.edges}

    def pairs_of(self, edge: str) -> list[Pair]:
        """Pairs of an edge. edge: its name."""
        return [pair for pair in self.pairs if pair.edge.name == edge]


def pairs(bridge: DnsBridge) -> list[Pair]:
    """All pairs of edges, in the documents' order.

    Raises: InvalidInputError for a zone of two edges that is not shared, of two providers with one server, or of an
    edge and the control plane.
    """
    problems = list[Problem]()
    reserved = {zone for provider in bridge.providers for zone in provider.control_plane_zones}
    claims = list[Claim]()
    for position, provider in enumerate(bridge.providers):
        where = f"providers[{position}]"
        edges = [edge for edge in bridge.edges if edge.publishes and provider.serves(edge)]
        problems += _claimed_twice(where, provider, {edge.name: zones_of(provider, edge) for edge in edges})
        problems += _reserved(where, provider, edges, reserved)
        on = servers(provider)
        mine = [Claim(where, edge, provider, zones_of(provider, edge), on) for edge in edges]
        problems += _claimed_elsewhere(mine, claims)
        claims += mine
    problems += _reserved_twice(bridge.providers)
    found = [Pair(one.edge, one.provider, one.zones, _cut(one, claims, reserved)) for one in claims]
    if reserved and any(edge.name == CONTROL_PLANE_RECORDS for edge in bridge.edges):
        rule = f"has one called {CONTROL_PLANE_RECORDS}, which owns the records in controlPlaneZones"
        problems.append(Problem("edges", rule, "Rename the edge"))
    names = [pair.name for pair in (*found, *own_pairs(bridge))]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        rule = f"makes two objects called {twice[0]}, from an edge's name and a provider's id"
        problems.append(Problem("edges", rule, "Rename the edge or the provider"))
    if problems:
        raise InvalidInputError(problems, SOURCE)
    return found


def own_pairs(bridge: DnsBridge) -> list[Pair]:
    """One pair for each provider of the program's own records."""
    placeholder = Edge(name=CONTROL_PLANE_RECORDS)
    claims = [
        Claim("", placeholder, provider, tuple(sorted(set(provider.control_plane_zones))), servers(provider))
        for provider in bridge.providers
        if provider.control_plane_zones
    ]
    return [Pair(placeholder, one.provider, one.zones, _cut(one, claims, ()), own=True) for one in claims]


def warnings(bridge: DnsBridge) -> list[Problem]:
    """Valid but probably mistaken: a provider with a selector that matches no edge, and an edge without a provider."""
    found = []
    publishing = [edge for edge in bridge.edges if edge.publishes]
    for position, provider in enumerate(bridge.providers):
        if provider.zones and not any(map(provider.serves, publishing)):
            rule = f"matches no edge, so {provider.id} publishes nothing"
            found.append(Problem(f"providers[{position}].selector", rule, "Correct it, or give an edge its labels"))
    for position, edge in enumerate(bridge.edges):
        if edge.publishes and not any(one.serves(edge) for one in bridge.providers):
            rule = f"no provider selects {edge.name}, so its names are not published"
            found.append(Problem(f"edges[{position}].labels", rule, "Add the labels of a provider's selector"))
    return found


def zones_of(provider: DnsProvider, edge: Edge) -> tuple[str, ...]:
    """The provider's zones, filled in for an edge."""
    return tuple(sorted({zone.name.replace(EDGE, edge.name) for zone in provider.zones}))


def pattern(domains: Iterable[str]) -> str:
    """A regular expression (RE2) for the names in domains: whole names, of the characters that names may have.

    external-dns' own filter compares only a name's end, and some providers write names into text without a check. With
    `x.other.example 60 IN A 192.0.2.1 ;.mine.example` an edge would write another edge's record.
    """
    return rf"^(\*\.)?({_LABEL}\.)*({_alternatives(domains)})$"


def exact_pattern(domains: Iterable[str]) -> str:
    """A regular expression (RE2) for the domains alone."""
    return f"^({_alternatives(domains)})$"


def parents(domains: Iterable[str]) -> list[str]:
    """All domains above: of `a.example.com` these are `example.com` and `com`."""
    labels = [domain.split(".") for domain in domains]
    return sorted({".".join(one[start:]) for one in labels for start in range(1, len(one))})


def _claimed_twice(where: str, provider: DnsProvider, zones: Mapping[str, Sequence[str]]) -> list[Problem]:
    """Problems of zones with two edges, unless all their entries are shared. zones: by name of the edge."""
    problems = []
    for position, zone in enumerate(provider.zones):
        if zone.shared:
            continue
        for name in dict.fromkeys(zone.name.replace(EDGE, edge) for edge in zones):
            claimed = [edge for edge, own in zones.items() if name in own]
            if len(claimed) > 1:
                rule = (
                    f"{name} would be written by the edges {' and '.join(claimed)}, so its names have no single owner"
                )
                fix = f"Select one edge, give each a zone of its own ({EDGE}.<domain>), or set shared: true"
                problems.append(Problem(f"{where}.zones[{position}]", rule, fix))
    return problems


def _claimed_elsewhere(claims: Sequence[Claim], before: Sequence[Claim]) -> list[Problem]:
    """Problems of one provider's zones that an earlier provider with the same server has too.

    One edge's publishers have one owner id. So each of two would delete the records that only the other selects.
    """
    problems = dict[tuple[str, str], Problem]()
    for one in claims:
        for other in before:
            if not one.meets(other):
                continue
            for zone in sorted({*one.zones} & {*other.zones}):
                both = f"{one.provider.id} and {other.provider.id} ({other.where}), which write to one server"
                if one.edge.name == other.edge.name:
                    rule = f"{zone} would be written for edge {one.edge.name} through {both}, so each deletes records"
                    fix = "Merge the two providers, or give each a zone or a server of its own"
                elif not (one.shares(zone) and other.shares(zone)):
                    rule = f"{zone} would be written by the edges {other.edge.name} and {one.edge.name} through {both}"
                    fix = f"Give each edge a zone of its own ({EDGE}.<domain>), or set shared: true at both"
                else:
                    continue
                field = f"{one.where}.zones[{_position(one, zone)}]"
                problems.setdefault((field, zone), Problem(field, rule, fix))
    return list(problems.values())


def _reserved_twice(providers: Sequence[DnsProvider]) -> list[Problem]:
    """Problems of control planes' zones at two providers with one server."""
    problems = []
    for position, one in enumerate(providers):
        for before, other in enumerate(providers[:position]):
            both = sorted({*one.control_plane_zones} & {*other.control_plane_zones})
            if both and one_server(one, other):
                rule = f"has {both[0]}, as providers[{before}], and both write to one server"
                fix = "Remove it from one of them"
                problems.append(Problem(f"providers[{position}].controlPlaneZones", rule, fix))
    return problems


def _cut(claim: Claim, claims: Iterable[Claim], reserved: Iterable[str]) -> tuple[str, ...]:
    """Domains below a claim's zones that another edge, or another provider of the same server, publishes."""
    others = {*reserved}
    for one in claims:
        if one is not claim and one.meets(claim):
            others |= {*one.zones} - {*claim.zones}
    return tuple(sorted(zone for zone in others if _in(zone, claim.zones)))


def _position(claim: Claim, zone: str) -> int:
    names = [one.name.replace(EDGE, claim.edge.name) for one in claim.provider.zones]
    return names.index(zone)


def _reserved(where: str, provider: DnsProvider, edges: Sequence[Edge], reserved: Iterable[str]) -> list[Problem]:
    """Problems of edges' zones inside the control plane's, at any provider: two providers may be the same server."""
    problems = []
    for position, zone in enumerate(provider.zones):
        for name in dict.fromkeys(zone.name.replace(EDGE, edge.name) for edge in edges):
            if _in(name, reserved):
                rule = f"{name} lies in a controlPlaneZones entry, where no edge may publish"
                problems.append(Problem(f"{where}.zones[{position}]", rule, "Give edges another zone"))
    return problems


def _alternatives(domains: Iterable[str]) -> str:
    return "|".join(_unicode(domain).replace(".", r"\.") for domain in sorted(domains))


def _in(name: str, domains: Iterable[str]) -> bool:
    return any(name == domain or name.endswith(f".{domain}") for domain in domains)


def _unicode(domain: str) -> str:
    return domain.encode("ascii").decode("idna")
