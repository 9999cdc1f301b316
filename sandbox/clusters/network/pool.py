"""Load-balancer addresses of Services. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

Key = tuple[str, str]  # namespace, name


@dataclass(frozen=True)
class Balanced:
    """A Service of type LoadBalancer. address: of its status, None without. wanted: spec.loadBalancerIP."""

    key: Key
    address: str | None = None
    wanted: str | None = None
    names: tuple[str, ...] = ()


def assign(pool: Sequence[str], services: Iterable[Balanced]) -> dict[Key, str]:
    """Address of each Service. A Service waits without one while the pool is empty or its wanted address is taken.

    A Service with an address of the pool keeps it (in a conflict the older one: callers give the oldest first). Then
    Services with a wanted address get it; the others get the lowest free one.
    """
    listed = list(services)
    free = dict.fromkeys(pool)
    given: dict[Key, str] = {}

    def give(service: Balanced, address: str | None) -> None:
        if address in free and service.key not in given:
            del free[address]
            given[service.key] = address

    for service in listed:
        if service.wanted in (None, service.address):
            give(service, service.address)
    for service in listed:
        if service.wanted:
            give(service, service.wanted)
    for service in listed:
        if not service.wanted:
            give(service, next(iter(free), None))
    return given


def records(services: Iterable[Balanced], addresses: dict[Key, str]) -> dict[str, str]:
    """Host names to addresses; a name claimed by two Services stays with the first."""
    found: dict[str, str] = {}
    for service in services:
        for name in service.names:
            if service.key in addresses:
                found.setdefault(name, addresses[service.key])
    return found
