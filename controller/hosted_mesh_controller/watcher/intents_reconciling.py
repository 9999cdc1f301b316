"""Orders the intents of meshes by the TrafficIntents of a cluster, and returns the changes of these resources.

All resources of a mesh are parts of one object, which one stack carries out. The database has each accepted part: so a
refused edit leaves the mesh as it was, and one resource's removal leaves the others' intents.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pulumi_hosted_mesh import InvalidInputError
from sqlalchemy import Connection, Row

from hosted_mesh_controller.documents import Documents
from hosted_mesh_controller.json_logs import facts
from hosted_mesh_controller.settings import Settings, Watch
from hosted_mesh_controller.store import orders, parts
from hosted_mesh_controller.store.database import Database
from hosted_mesh_controller.store.orders import Key
from hosted_mesh_controller.times import moment
from hosted_mesh_controller.vocabulary import ObjectState
from hosted_mesh_controller.watcher.intents_documents import (
    INTENTS,
    NoMeshError,
    accepted,
    merged,
    mesh_as_ordered,
    mesh_of,
    part_of,
)
from hosted_mesh_controller.watcher.intents_status import intents_status
from hosted_mesh_controller.watcher.names import FINALIZER
from hosted_mesh_controller.watcher.reconciling import (
    REFUSAL_PAUSE,
    Change,
    Resource,
    ResourceReconciler,
    caller,
    change_of_finalizers,
    change_of_status,
    name_of,
    problems_now,
    rests,
)
from hosted_mesh_controller.work.placing import place, place_removal, queue_placed
from hosted_mesh_controller.work.queue import Queue

LOG: Final = logging.getLogger(__name__)
WAIT_PAUSE: Final = 5.0  # seconds until a mesh that is not ready is looked at again
Rows = Mapping[str, Row[Any]]


@dataclass(frozen=True)
class _Wait:
    generation: int
    time: float
    reason: str


class IntentsReconciler(ResourceReconciler):
    """The orders of all clusters' TrafficIntents."""

    def __init__(self, settings: Settings, database: Database, queue: Queue) -> None:
        super().__init__(settings, database, queue)
        self._waits: dict[str, _Wait] = {}

    def _looked(self, cluster: str, resources: Sequence[Resource], now: float) -> list[Change]:
        rows = self._rows(cluster)
        wanted = [one for one in resources if self._is_due(one, rows.get(name_of(one)), now)]
        keys = self._stale(cluster, rows, now)
        if wanted or keys or self._has_ended(rows) or rows.keys() - {name_of(one) for one in resources}:
            self._order(cluster, wanted, resources, keys, now)
            rows = self._rows(cluster)
        found = [self._change(one, rows.get(name_of(one)), now) for one in resources]
        return [one for one in found if one]

    def _rows(self, cluster: str) -> dict[str, Row[Any]]:
        with self._database.reading() as connection:
            return parts.of_cluster(connection, cluster)

    def _is_due(self, resource: Resource, row: Row[Any] | None, now: float) -> bool:
        """Whether a resource's part is to be accepted, or to leave."""
        metadata = resource["metadata"]
        if FINALIZER not in metadata.get("finalizers", ()) or (row is not None and row.state == ObjectState.DELETING):
            return False
        if "deletionTimestamp" in metadata:
            self._refusals.pop(metadata["uid"], None)
            return row is not None and not row.leaving
        if (
            row is not None
            and not row.leaving
            and (row.uid, row.generation) == (metadata["uid"], metadata["generation"])
        ):
            return False
        for found, pause in ((self._refusals, REFUSAL_PAUSE), (self._waits, WAIT_PAUSE)):
            before = found.get(metadata["uid"])
            if before is not None and before.generation == metadata["generation"] and now - before.time < pause:
                return False
        return True

    def _stale(self, cluster: str, rows: Rows, now: float) -> set[Key]:
        """Objects whose order failed, or whose mesh has changed since."""
        found = set()
        with self._database.reading() as connection:
            for key in {Key(one.tenant, one.kind, one.name) for one in rows.values() if one.uid}:
                row = next(one for one in rows.values() if (one.tenant, one.kind, one.name) == key.parts)
                failed = row.state == ObjectState.FAILED and not rests(row, now, self._returned.get(cluster, 0.0))
                mesh = orders.find(connection, Key(key.tenant, "meshes", json.loads(row.facts)["mesh"]))
                is_new = mesh is not None and mesh.ready_generation > row.base and mesh.state != ObjectState.DELETING
                if failed or (is_new and row.state != ObjectState.DELETING):
                    found.add(key)
        return found

    @staticmethod
    def _has_ended(rows: Rows) -> bool:
        """Whether a part has left."""
        return any(_has_left(one) for one in rows.values())

    def _order(
        self, cluster: str, wanted: Sequence[Resource], resources: Sequence[Resource], keys: set[Key], now: float
    ) -> None:
        """Accepts parts, lets others go, and places one order for each object, in one transaction."""
        watch = self._watch(cluster)
        with self._database.writing() as connection:
            self._tidy(connection, cluster, resources)
            touched = dict.fromkeys(keys)
            for one in sorted(
                wanted, key=lambda each: (each["metadata"].get("creationTimestamp") or "", name_of(each))
            ):
                if key := self._accept(connection, cluster, watch, one, now):
                    touched[key] = None
            placed = [made for key in touched if (made := self._place(connection, cluster, watch, key))]
        for identifier in placed:
            queue_placed(self._database, self._queue, identifier)

    def _tidy(self, connection: Connection, cluster: str, resources: Sequence[Resource]) -> None:
        """Removes parts that have left, and notes resources that went without the finalizer."""
        present = {name_of(one) for one in resources}
        for name, row in parts.of_cluster(connection, cluster).items():
            if _has_left(row):
                parts.remove_left(connection, cluster, name)
            elif row.uid and name not in present and not row.leaving:
                # Its removal could be a mistake: the intents stay, and a resource of this name takes them back.
                parts.release(connection, cluster, name)
                LOG.warning("resource is gone, its intents stay", extra=facts(cluster=cluster, name=name))

    def _accept(self, connection: Connection, cluster: str, watch: Watch, resource: Resource, now: float) -> Key | None:
        """The object that changes with this resource."""
        metadata, name = resource["metadata"], name_of(resource)
        self._waits.pop(metadata["uid"], None)
        row = parts.find(connection, cluster, name)
        if "deletionTimestamp" in metadata:
            parts.leave(connection, cluster, name)
            return Key(row.tenant, row.kind, row.name) if row is not None else None
        try:
            key, part = accepted(connection, self._settings, cluster, watch, resource)
        except NoMeshError as reason:
            self._waits[metadata["uid"]] = _Wait(metadata["generation"], now, str(reason))
            return None
        except InvalidInputError as error:
            self._refuse(cluster, resource, tuple(error.problems), now)
            return None
        existing = orders.find(connection, key)
        if existing is not None and existing.state == ObjectState.DELETING:
            return None
        self._refusals.pop(metadata["uid"], None)
        parts.save(connection, key, part)
        LOG.info("resource accepted", extra=facts(cluster=cluster, name=name, object=key.name))
        return key

    def _place(self, connection: Connection, cluster: str, watch: Watch, key: Key) -> str | None:
        """Places the order of an object's present parts; its removal if the last one leaves."""
        rows, by = parts.of_key(connection, key), caller(cluster, watch.tenant)
        row = orders.find(connection, key)
        staying = [part_of(one) for one in rows if not one.leaving]
        before: Documents = json.loads(row.documents) if row is not None else {}
        if not staying:
            if row is None or row.state == ObjectState.DELETING:
                return None
            parts.mark_ordered(connection, key, row.generation + 1, rows[0].base)
            return place_removal(connection, by, key, row.generation, before)
        try:
            mesh = mesh_of(connection, self._settings, watch, cluster, staying[0].facts["mesh"])
        except (NoMeshError, InvalidInputError):
            # The mesh goes: the facts of the last order still lead to its objects.
            mesh = mesh_as_ordered(before, staying)
        documents = merged(mesh, [one for one in staying if one.cluster in mesh.members])
        is_new = any(not one.ordered for one in rows)
        if documents == before and not is_new and row is not None and row.state != ObjectState.FAILED:
            parts.mark_ordered(connection, key, row.generation, mesh.generation)
            return None
        identifier, generation = place(connection, self._settings, by, INTENTS, key, documents, before)
        parts.mark_ordered(connection, key, generation, mesh.generation)
        LOG.info("intents ordered", extra=facts(cluster=cluster, name=key.name, operation=identifier))
        return identifier

    def _change(self, resource: Resource, row: Row[Any] | None, now: float) -> Change | None:
        if change := change_of_finalizers(resource, is_gone=row is None):
            return change
        metadata = resource["metadata"]
        if FINALIZER not in metadata.get("finalizers", ()):
            return None
        problems, wait = problems_now(self._refusals, resource), self._waits.get(metadata["uid"])
        waiting = wait.reason if wait else ""
        return change_of_status(resource, intents_status(resource, row, problems, waiting, moment(now)))


def _has_left(row: Row[Any]) -> bool:
    """Whether the clusters have an order without a part."""
    return bool(row.leaving and row.ordered and row.ready_generation >= row.ordered)
