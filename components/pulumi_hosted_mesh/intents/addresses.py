"""Stable virtual addresses of external hosts, for protocols without a host name in their bytes. Pure."""

from __future__ import annotations

import hashlib
import ipaddress
from collections.abc import Iterable
from typing import Final

# Istio itself allocates from 240.240.0.0/16 and 2001:2::/48.
IPV4: Final = ipaddress.ip_network("241.0.0.0/8")
IPV6: Final = ipaddress.ip_network("fd68:6d::/64")
SIZE: Final = 2**24 - 2


def addresses_of(hosts: Iterable[str]) -> dict[str, tuple[str, str]]:
    """IPv4 and IPv6 by host: from a hash, and the next free one where two hosts have one hash."""
    taken: set[int] = set()
    found = {}
    for host in sorted({*hosts}):
        number = int.from_bytes(hashlib.sha256(host.encode()).digest()[:8], "big") % SIZE
        while number in taken:
            number = (number + 1) % SIZE
        taken.add(number)
        found[host] = (str(IPV4[number + 1]), str(IPV6[number + 1]))
    return found
