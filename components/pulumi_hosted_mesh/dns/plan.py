"""Which edge publishes by which provider, and in which domains. Pure functions.

The boundary between edges is made here, from documents alone: a zone that is not shared has one edge, and a zone of
another edge below one's own is cut out. So no name can be claimed by two edges at runtime, whatever they write.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.dns import DnsBridge, DnsProvider, Edge
from pulumi_hosted_mesh.spec.dns_fields import EDGE
from pulumi_hosted_mesh.vocabulary import CONTROL_PLANE_RECORDS

SOURCE = "the DNS bridge's document"
# Letters of any script: external-dns compares names in Unicode, also those that are written as xn--.
_LABEL = r"[-_\p{L}\p{N}\p{M}]+"


@dataclass(frozen=True)
class Pair:
    """One edge that publishes by one provider: one external-dns.

    include: domains in which it may. exclude: domains below them that are other edges', or the control plane's.
    own: it publishes what the program itself wrote, in the control plane's cluster; the edge is then none.
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
        """Whether a name lies in the edge's domains."""
        return _in(name, self.include) and not _in(name, self.exclude)


@dataclass(frozen=True)
class Plan:
    """All that the bridge runs.

    pairs: of edges. own: those of the control plane, by which the program publishes records of its own.
    """

    pairs: tuple[Pair, ...]
    own: tuple[Pair, ...]

    @classmethod
    def of(cls, bridge: DnsBridge) -> Self:
        """The plan of a document. Raises: InvalidInputError, as `pairs` does."""
        return cls(tuple(pairs(bridge)), tuple(own_pairs(bridge)))

    @property
    def edges(self) -> dict[str, Edge]:
        """Those that publish by some provider, by name."""
        return {pair.edge.name: pair.edge for pair in self.pairs}

    @property
    def providers(self) -> dict[str, DnsProvider]:
        """Those by which something is published, by id."""
        return {pair.provider.id: pair.provider for pair in (*self.pairs, *self.own)}

    @property
    def zones(self) -> dict[str, list[str]]:
        """Domains in which each edge may publish, by its name."""
        return {edge: sorted({zone for pair in self.pairs_of(edge) for zone in pair.include}) for edge in self.edges}

    def pairs_of(self, edge: str) -> list[Pair]:
        """An edge's. edge: its name."""
        return [pair for pair in self.pairs if pair.edge.name == edge]


def pairs(bridge: DnsBridge) -> list[Pair]:
    """All pairs of edges, in the documents' order.

    Raises: InvalidInputError for a zone of two edges that is not shared, or of an edge and the control plane.
    """
    found, problems = list[Pair](), list[Problem]()
    reserved = {zone for provider in bridge.providers for zone in provider.control_plane_zones}
    for position, provider in enumerate(bridge.providers):
        edges = [edge for edge in bridge.edges if edge.publishes and selects(provider.selector, edge.labels)]
        zones = {edge.name: zones_of(provider, edge) for edge in edges}
        problems += _claimed_twice(f"providers[{position}]", provider, zones)
        problems += _reserved(f"providers[{position}]", provider, edges, reserved)
        for edge in edges:
            own = zones[edge.name]
            others = {zone for name, theirs in zones.items() if name != edge.name for zone in theirs} - set(own)
            others |= reserved
            cut = tuple(sorted(zone for zone in others if _in(zone, own)))
            found.append(Pair(edge, provider, own, cut))
    if reserved and any(edge.name == CONTROL_PLANE_RECORDS for edge in bridge.edges):
        rule = f"has one called {CONTROL_PLANE_RECORDS}, which owns the records in controlPlaneZones"
        problems.append(Problem("edges", rule, "Rename the edge"))
    names = [pair.name for pair in (*found, *own_pairs(bridge))]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        rule = f"makes two objects called {twice[0]}, of an edge's name and a provider's id"
        problems.append(Problem("edges", rule, "Rename the edge or the provider"))
    if problems:
        raise InvalidInputError(problems, SOURCE)
    return found


def own_pairs(bridge: DnsBridge) -> list[Pair]:
    """One for each provider by which the program publishes records of its own."""
    nobody = Edge(name=CONTROL_PLANE_RECORDS)
    return [
        Pair(nobody, provider, tuple(sorted(set(provider.control_plane_zones))), (), own=True)
        for provider in bridge.providers
        if provider.control_plane_zones
    ]


def warnings(bridge: DnsBridge) -> list[Problem]:
    """What can be used and is probably not meant: a provider whose selector matches no edge, an edge with none."""
    found = []
    publishing = [edge for edge in bridge.edges if edge.publishes]
    for position, provider in enumerate(bridge.providers):
        if provider.zones and not any(selects(provider.selector, edge.labels) for edge in publishing):
            rule = f"matches no edge, so {provider.id} publishes nothing"
            found.append(Problem(f"providers[{position}].selector", rule, "Correct it, or give an edge its labels"))
    for position, edge in enumerate(bridge.edges):
        if edge.publishes and not any(selects(one.selector, edge.labels) for one in bridge.providers):
            rule = f"no provider selects {edge.name}, so its names are not published"
            found.append(
                Problem(f"edges[{position}].labels", rule, "Give it those that a provider's selector asks for")
            )
    return found


def selects(selector: Mapping[str, str], labels: Mapping[str, str]) -> bool:
    """Whether labels have all that a selector asks for."""
    return selector.items() <= labels.items()


def zones_of(provider: DnsProvider, edge: Edge) -> tuple[str, ...]:
    """The provider's zones as they are for an edge."""
    return tuple(sorted({zone.name.replace(EDGE, edge.name) for zone in provider.zones}))


def pattern(domains: Iterable[str]) -> str:
    """A regular expression (RE2) for the names in domains: whole names, of characters that names have.

    external-dns' own filter looks at a name's end alone, and some providers write names into text as they are: with
    `x.other.example 60 IN A 192.0.2.1 ;.mine.example` an edge would write another's record.
    """
    written = "|".join(_unicode(domain).replace(".", r"\.") for domain in sorted(domains))
    return rf"^(\*\.)?({_LABEL}\.)*({written})$"


def _claimed_twice(where: str, provider: DnsProvider, zones: Mapping[str, Sequence[str]]) -> list[Problem]:
    """A zone of two edges where one of the document's zones behind it is not shared. zones: by name of the edge."""
    problems = []
    for position, zone in enumerate(provider.zones):
        if zone.shared:
            continue
        for name in dict.fromkeys(zone.name.replace(EDGE, edge) for edge in zones):
            claimed = [edge for edge, own in zones.items() if name in own]
            if len(claimed) > 1:
                rule = f"{name} would be written by the edges {' and '.join(claimed)}, so its names had no one owner"
                fix = f"Select one edge, give each a zone of its own ({EDGE}.<domain>), or set shared: true"
                problems.append(Problem(f"{where}.zones[{position}]", rule, fix))
    return problems


def _reserved(where: str, provider: DnsProvider, edges: Sequence[Edge], reserved: Iterable[str]) -> list[Problem]:
    """Zones of edges that are the control plane's, at any provider: two may be the same server."""
    problems = []
    for position, zone in enumerate(provider.zones):
        for name in dict.fromkeys(zone.name.replace(EDGE, edge.name) for edge in edges):
            if _in(name, reserved):
                rule = f"{name} lies in a controlPlaneZones entry, where no edge may publish"
                problems.append(Problem(f"{where}.zones[{position}]", rule, "Give edges another zone"))
    return problems


def _in(name: str, domains: Iterable[str]) -> bool:
    return any(name == domain or name.endswith(f".{domain}") for domain in domains)


def _unicode(domain: str) -> str:
    return domain.encode("ascii").decode("idna")
