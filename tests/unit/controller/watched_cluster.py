"""A watched cluster's custom resources, for tests without an API server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hosted_mesh_controller.watcher.reconciling import Change, Reconciler

from tests.unit.controller.service import Service

Config = dict[str, Any]
SPEC: Config = {"revisions": [{"host": "istiod.shop.example.com", "exposure": {"sourceRanges": ["203.0.113.0/24"]}}]}


class Cluster:
    """Resources as an API server has them after the controller's changes."""

    def __init__(self, service: Service, name: str = "north") -> None:
        self.service, self.name = service, name
        self.reconciler = Reconciler(service.settings, service.database, service.queue)
        self.resources: dict[str, Config] = {}
        self.events: list[tuple[str, str]] = []
        self.now = 1_000_000.0

    def apply(self, name: str = "shop", spec: Config | None = None, uid: str = "uid-1") -> Config:
        old = self.resources.get(name)
        generation = old["metadata"]["generation"] + 1 if old else 1
        metadata = {"name": name, "uid": uid, "generation": generation, "resourceVersion": "1"}
        kept = {"finalizers": old["metadata"].get("finalizers", []), "status": old.get("status")} if old else {}
        made = {"metadata": {**metadata, "finalizers": kept.get("finalizers", [])}, "spec": spec or SPEC}
        self.resources[name] = made | ({"status": kept["status"]} if kept.get("status") else {})
        return self.settle(name)

    def delete(self, name: str = "shop") -> None:
        self.resources[name]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        self.settle(name)

    def settle(self, name: str = "shop") -> Config:
        """Looks until nothing changes; the resource, or nothing once it is gone."""
        for _ in range(10):
            changes = self.reconciler.look(self.name, list(self.resources.values()), self.now)
            for change in changes:
                self._write(change)
            if not changes:
                return self.resources.get(name, {})
        raise AssertionError("it does not settle")

    def _write(self, change: Change) -> None:
        name = change.resource["metadata"]["name"]
        resource = self.resources[name]
        if change.finalizers is not None:
            resource["metadata"]["finalizers"] = list(change.finalizers)
            if not change.finalizers and "deletionTimestamp" in resource["metadata"]:
                del self.resources[name]
        if change.status is not None:
            merged = {**resource.get("status", {}), **change.status}
            resource["status"] = {key: one for key, one in merged.items() if one is not None}
        self.events += [(one.kind, one.reason) for one in change.events]


def condition(resource: Config, kind: str) -> tuple[str, str]:
    (found,) = [one for one in resource["status"]["conditions"] if one["type"] == kind]
    return found["status"], found["reason"]


def nodes(schema: Config, path: str = "") -> Iterator[tuple[str, Config]]:
    yield path, schema
    for name, one in schema.get("properties", {}).items():
        yield from nodes(one, f"{path}.{name}")
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield from nodes(schema[key], f"{path}[]")
