"""Documents of the shared gateway and of meshes behind it, for tests."""

from __future__ import annotations

from typing import Any

from tests.unit.library.documents import document

GATEWAY: dict[str, Any] = {"zones": ["meshes.example.com"], "openToAll": True}
HOOKS = {"host": "hooks.demo.meshes.example.com", "sourceRanges": ["198.51.100.7/32"]}
EXPOSURE: dict[str, Any] = {"kind": "gateway", "sourceRanges": ["203.0.113.0/24"], "webhooks": HOOKS}
FACTS: dict[str, Any] = {"namespace": "hosted-mesh-gateway", "zones": ["meshes.example.com"], "ports": [443]}


def behind(changes: dict[str, Any] | None = None, **exposure: Any) -> dict[str, Any]:
    """A mesh's document; its revision uses the gateway. exposure: changed fields, None removes one."""
    made = {key: value for key, value in {**EXPOSURE, **exposure}.items() if value is not None}
    host = {"revisions.0.host": "istiod.demo.meshes.example.com", "revisions.0.exposure": made}
    return document({**host, **(changes or {})})
