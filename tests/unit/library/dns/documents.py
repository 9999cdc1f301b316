"""Documents of the DNS bridge."""

from __future__ import annotations

import copy
from typing import Any

COREDNS = {"id": "inner", "type": "coredns", "coredns": {"endpoints": ["https://etcd.dns.test:2379"]}}
RFC2136 = {
    "id": "outer",
    "type": "rfc2136",
    "rfc2136": {"host": "ns1.example.com", "serverZones": ["example.com"], "tsigKeyName": "bridge"},
}
POWERDNS = {"id": "power", "type": "powerdns", "powerdns": {"url": "https://ns1.example.com:8081"}}


def provider(base: dict[str, Any] = COREDNS, **fields: Any) -> dict[str, Any]:
    return {**copy.deepcopy(base), "zones": [{"name": "{edge}.example.com"}], **fields}


def document(*providers: dict[str, Any], edges: tuple[str, ...] = ("north", "south"), **fields: Any) -> dict[str, Any]:
    found = [{"name": name, "labels": {"region": name}} for name in edges]
    return {"edges": found, "providers": list(providers or [provider()]), **fields}
