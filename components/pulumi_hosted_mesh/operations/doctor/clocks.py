"""Clocks of the API servers and of this machine: they decide the validity of certificates and tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from itertools import combinations
from typing import Final

from pulumi_hosted_mesh.clusters.api_server import ApiServer
from pulumi_hosted_mesh.operations.verdict import Verdict

# istiod begins its certificates two minutes before now (security/pkg/pki/util, ClockSkewGracePeriod).
LIMIT: Final = timedelta(minutes=1)
HALF_A_SECOND: Final = timedelta(seconds=0.5)
FIX: Final = "See `timedatectl` on that machine, and `chronyc tracking` where chrony keeps its time"
Clock = Callable[[], datetime]


def now_here() -> datetime:
    """UTC by this machine."""
    return datetime.now(UTC)


def ahead(api: ApiServer, clock: Clock = now_here) -> timedelta:
    """Lead of an API server's clock over this machine's, to about a second. Raises: UnreachableError."""
    before = clock()
    there = api.clock() + HALF_A_SECOND  # the header leaves out fractions
    return there - (before + (clock() - before) / 2)


def clocks(found: Mapping[str, timedelta]) -> Iterator[Verdict]:
    """found: lead of each API server's clock over this machine's."""
    off = {place: by for place, by in found.items() if abs(by) > LIMIT}
    spread = max(found.values()) - min(found.values()) if found else timedelta(0)
    if len(found) > 1 and off.keys() == found.keys() and spread <= LIMIT:
        seen = f"the API servers agree, and are {_difference(next(iter(found.values())))} it"
        yield Verdict("clock of this machine", "clock-skew", seen, f"{FIX}. This check judges certificates by it")
        return
    for place, by in off.items():
        yield Verdict(f"clock of the API server of the {place}", "clock-skew", f"{_difference(by)} this machine's", FIX)
    apart = [
        (one, other)
        for one, other in combinations(found, 2)
        if not {one, other} & off.keys() and abs(found[one] - found[other]) > LIMIT
    ]
    for one, other in apart:
        check = f"clocks of the API servers of the {one} and the {other}"
        seen = f"the first is {_difference(found[one] - found[other])} the second"
        yield Verdict(check, "clock-skew", seen, FIX)
    if found and not off and not apart:
        most = max(abs(by) for by in found.values())
        yield Verdict("clocks", None, f"{', '.join(found)}: within {most.total_seconds():.0f} s of this machine's")


def _difference(by: timedelta) -> str:
    seconds = by.total_seconds()
    return f"{abs(seconds):.0f} s {'ahead of' if seconds > 0 else 'behind'}"
