"""Observability documents of tests."""

from __future__ import annotations

from typing import Any

from pulumi_hosted_mesh.spec.load import read_document
from pulumi_hosted_mesh.spec.observability import Observability

HOST = "collector.demo.example.com"
COLLECTOR: dict[str, Any] = {
    "host": HOST,
    "image": "registry.example.com/mesh/metrics-collector:0.1.0",
    "exposure": {"sourceRanges": ["203.0.113.0/24"]},
}


def document(collector: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    """A document with collector and Prometheus. collector: changed fields; a value None removes the field."""
    changed = {**COLLECTOR, **(collector or {})}
    own = {key: value for key, value in changed.items() if value is not None}
    return {"mesh": "demo", "collector": own, "prometheus": {"retentionDays": 7}, **fields}


def read(collector: dict[str, Any] | None = None, **fields: Any) -> Observability:
    return read_document(Observability, document(collector, **fields))


DEBUG_HOST = "debug.demo.example.com"
DEBUG_PROXY: dict[str, Any] = {
    "host": DEBUG_HOST,
    "image": "registry.example.com/mesh/debug-proxy:0.1.0",
    "exposure": {"sourceRanges": ["198.51.100.0/24"]},
}


def with_debug_proxy(changed: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    """A document with the debug proxy alone. changed: its fields; a value None removes the field."""
    given = {**DEBUG_PROXY, **(changed or {})}
    return {"mesh": "demo", "debugProxy": {key: value for key, value in given.items() if value is not None}, **fields}
