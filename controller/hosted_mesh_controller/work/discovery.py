"""Looks for meshes in all clusters, again and again: a process for each look, and records in the database."""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from hosted_mesh_controller import metrics
from hosted_mesh_controller.json_logs import facts
from hosted_mesh_controller.settings import Settings
from hosted_mesh_controller.store import discovery
from hosted_mesh_controller.store.database import Database
from hosted_mesh_controller.store.discovery import Installation
from hosted_mesh_controller.work import looks

LOG: Final = logging.getLogger(__name__)
COMMAND: Final = (sys.executable, "-m", "hosted_mesh_controller.job.discovery")
Answers = Mapping[str, Mapping[str, Any] | None]


class Discoverer:
    """Looks on a schedule. command: of a look's process."""

    def __init__(self, settings: Settings, database: Database, command: Sequence[str] = COMMAND) -> None:
        self._settings, self._database, self._command = settings, database, command

    def start(self) -> None:
        """Looks until the process ends."""
        looks.start("discovery", self._settings.discovery.every_seconds, self.look)

    def look(self) -> None:
        """Looks once at all clusters, and records the result. Raises: an error of the process or the database."""
        clusters = [
            {"name": name, "kubeconfig": one.kubeconfig, "context": one.context}
            for name, one in self._settings.clusters.items()
        ]
        self._record(looks.answer(self._command, clusters))

    def _record(self, answers: Answers) -> None:
        now, names = time.time(), list(self._settings.clusters)
        with self._database.writing() as connection:
            for cluster, answer in answers.items():
                before = {(one.namespace, one.revision) for one in discovery.of_clusters(connection, [cluster])}
                installations = None if answer is None else list(_installations(answer))
                discovery.record(connection, cluster, installations, now)
                after = {(one.namespace, one.revision) for one in discovery.of_clusters(connection, [cluster])}
                if before != after:
                    new, gone = sorted(after - before), sorted(before - after)
                    LOG.info("meshes changed", extra=facts(cluster=cluster, new=new, gone=gone))
            discovery.forget_others(connection, names)


def _installations(answer: Mapping[str, Any]) -> Sequence[Installation]:
    return [
        Installation(mesh["name"], mesh["trust_domain"], mesh["peers"], one)
        for mesh in answer["meshes"]
        for one in mesh["installations"]
    ]


def measure(settings: Settings, database: Database) -> None:
    """Sets the gauges of found meshes."""
    with database.reading() as connection:
        rows = discovery.of_clusters(connection, list(settings.clusters))
        away = discovery.unreadable(connection, list(settings.clusters))
    metrics.UNREADABLE.set(len(away))
    metrics.FOUND.clear()
    for row in rows:
        found = json.loads(row.facts)
        metrics.FOUND.labels(row.role, found["managed_by"], found["version"]).inc()
