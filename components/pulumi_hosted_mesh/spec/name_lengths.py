"""Limits of names, counted on the names that the library makes of names in documents. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from pulumi_hosted_mesh.problems import RuleBrokenError
from pulumi_hosted_mesh.vocabulary import dns_publisher

LIMITS: Final = {
    "Service": 63,  # DNS label, RFC 1035
    "namespace": 63,
    "label": 63,
    "Helm release": 53,  # helm.sh/helm/v3/pkg/chartutil
    "common name": 64,  # ub-common-name, RFC 5280
    "zone": 253,  # RFC 1035
    "ServiceEntry": 253,  # DNS subdomain, as for each other custom resource
    "VirtualService": 253,
}
ROOT_SUFFIX: Final = " root"
INTERMEDIATE_SUFFIX: Final = " intermediate"


@dataclass(frozen=True)
class MadeName:
    """A name that the library makes. kind: key of `LIMITS`. parts: the names in it, by their fields."""

    kind: str
    name: str
    parts: tuple[tuple[str, str], ...]

    def why_too_long(self) -> tuple[str, str] | None:
        """Rule and fix, with the longest allowed; None for a name that fits."""
        most = LIMITS[self.kind]
        if len(self.name) <= most:
            return None
        length = sum(len(value) for _, value in self.parts)
        longest = length - (len(self.name) - most)
        fields = " and ".join(field for field, _ in self.parts)
        together = " together" if len(self.parts) > 1 else ""
        rule = f"{fields} must have at most {longest} characters{together}, but have {length}: the {self.kind} "
        return f"{rule}{self.name!r} may have {most}", f"Shorten {'one of them' if together else 'it'}"


def require_short_names(names: Iterable[MadeName]) -> None:
    """Raises RuleBrokenError for the name with the largest excess."""
    excessive = [one for one in names if one.why_too_long()]
    if excessive:
        worst = max(excessive, key=lambda one: len(one.name) - LIMITS[one.kind])
        rule, fix = worst.why_too_long() or ("", "")
        raise RuleBrokenError(rule, fix)


def common_names(mesh: str, field: str = "name") -> Iterator[MadeName]:
    """The common names of a mesh's own authorities."""
    for suffix in (ROOT_SUFFIX, INTERMEDIATE_SUFFIX):
        yield MadeName("common name", f"{mesh}{suffix}", ((field, mesh),))


def federated_names(federation: str, host: str, field: str) -> Iterator[MadeName]:
    """The names of objects for a host of a federation. field: of the host."""
    parts = (("name", federation), (field, host))
    yield MadeName("ServiceEntry", f"{federation}-{host}", parts)
    yield MadeName("VirtualService", f"{federation}-{host}-as", parts)


def publisher_names(edge: tuple[str, str], provider: tuple[str, str]) -> Iterator[MadeName]:
    """The names for a publisher of the DNS bridge; the reader's are shorter. edge, provider: the field and its value,
    without a field for a constant."""
    parts = tuple(one for one in (edge, provider) if one[0])
    yield MadeName("label", dns_publisher(edge[1], provider[1]), parts)
