"""The sidecar's settings, as `sidecar_config` in the library's tenancy/manifests.py writes them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self


@dataclass(frozen=True)
class Settings:
    """selector: label selector of the rows. zones: domains of permitted hosts. listeners: Envoy's port by public port.

    cluster_domain: of the control plane's cluster. proxies: ranges of load balancers that send a PROXY header; empty
    without them. connections: limit of open connections of this Envoy. handshake_seconds: limit for the first bytes of
    a connection.
    """

    selector: str
    zones: tuple[str, ...]
    listeners: Mapping[int, int]
    cluster_domain: str
    proxies: tuple[str, ...]
    connections: int
    handshake_seconds: int

    @classmethod
    def read(cls, path: Path) -> Self:
        return cls.of(json.loads(path.read_text(encoding="utf-8")))

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        return cls(
            selector=given["selector"],
            zones=tuple(given["zones"]),
            listeners={int(port): int(inner) for port, inner in given["listeners"].items()},
            cluster_domain=given["clusterDomain"],
            proxies=tuple(given["proxies"]),
            connections=int(given["connections"]),
            handshake_seconds=int(given["handshakeSeconds"]),
        )
