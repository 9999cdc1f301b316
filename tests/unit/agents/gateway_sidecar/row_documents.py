"""Rows and settings of the shared gateway for tests."""

from __future__ import annotations

import json
from typing import Any

SETTINGS: dict[str, Any] = {
    "selector": "hosted-mesh.io/gateway-host=true",
    "zones": ["mesh.test"],
    "listeners": {"443": 8443},
    "clusterDomain": "cluster.local",
    "proxies": [],
    "connections": 1000,
    "handshakeSeconds": 5,
}
PLAIN: dict[str, Any] = {
    "version": 1,
    "mesh": "shop",
    "revision": "default",
    "routes": {"443": "xds"},
    "sourceRanges": ["203.0.113.0/24"],
    "connections": 10,
    "newConnectionsPerSecond": 5,
}


def row(host: str = "istiod.shop.mesh.test", **changes: Any) -> dict[str, Any]:
    """A ConfigMap; None removes a field."""
    given = {key: value for key, value in {**PLAIN, **changes}.items() if value is not None}
    return {"metadata": {"name": host}, "data": {"row": json.dumps(given)}}


ROWS = {name: row(f"{name}.mesh.test", mesh=name) for name in "abc"}
