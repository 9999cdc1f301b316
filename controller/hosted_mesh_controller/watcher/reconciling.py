"""Orders meshes by the HostedMeshes of a cluster, and returns the changes of these resources.

It compares the resources with the database, so a lost event or a restart changes nothing: the next look does the same.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pulumi_hosted_mesh import InvalidInputError, Problem
from sqlalchemy import Row

from hosted_mesh_controller.documents import MESHES
from hosted_mesh_controller.json_logs import facts
from hosted_mesh_controller.settings import Settings, Watch
from hosted_mesh_controller.store import orders, sources
from hosted_mesh_controller.store.database import Database
from hosted_mesh_controller.store.orders import Key
from hosted_mesh_controller.store.tokens import Caller
from hosted_mesh_controller.times import moment
from hosted_mesh_controller.vocabulary import Action, ObjectState, Role
from hosted_mesh_controller.watcher.documents_of import checked_order, problems_of, require_own
from hosted_mesh_controller.watcher.names import FINALIZER
from hosted_mesh_controller.watcher.status import Event, events, status_of
from hosted_mesh_controller.work.placing import place, place_removal, queue_placed
from hosted_mesh_controller.work.queue import Queue

LOG: Final = logging.getLogger(__name__)
Resource = dict[str, Any]
RETRY_PAUSE: Final = 300.0  # seconds until a failed order is repeated
REFUSAL_PAUSE: Final = 60.0  # seconds until a refused resource is checked again: a name may be free by then


@dataclass(frozen=True)
class Change:
    """A change of a resource: its finalizers or its status, and its new events."""

    resource: Resource
    finalizers: tuple[str, ...] | None = None
    status: Mapping[str, Any] | None = None
    events: tuple[Event, ...] = ()


@dataclass(frozen=True)
class Refusal:
    """The problems of a resource's generation, at a time."""

    generation: int
    time: float
    problems: tuple[Problem, ...]


class ResourceReconciler(ABC):
    """The orders of all clusters' resources of a kind."""

    def __init__(self, settings: Settings, database: Database, queue: Queue) -> None:
        self._settings, self._database, self._queue = settings, database, queue
        self._refusals: dict[str, Refusal] = {}
        self._returned: dict[str, float] = {}
        self._lock = threading.Lock()

    def returned(self, cluster: str, now: float | None = None) -> None:
        """Notes that a cluster answers again: orders that failed while it was away are due at once."""
        self._returned[cluster] = time.time() if now is None else now

    def look(self, cluster: str, resources: Sequence[Resource], now: float | None = None) -> list[Change]:
        """Places the orders that the resources require; returns the resources' changes. resources: all of them."""
        # The thread of a watch that was interrupted may still be in it.
        with self._lock:
            return self._looked(cluster, resources, time.time() if now is None else now)

    @abstractmethod
    def _looked(self, cluster: str, resources: Sequence[Resource], now: float) -> list[Change]: ...

    def _refuse(self, cluster: str, resource: Resource, problems: tuple[Problem, ...], now: float) -> None:
        """Notes the problems of a resource's generation, and logs them once."""
        metadata = resource["metadata"]
        before = self._refusals.get(metadata["uid"])
        self._refusals[metadata["uid"]] = Refusal(metadata["generation"], now, problems)
        if before is None or before.problems != problems:
            fields = [one.field for one in problems]
            LOG.warning("resource refused", extra=facts(cluster=cluster, name=name_of(resource), fields=fields))

    def _watch(self, cluster: str) -> Watch:
        watch = self._settings.clusters[cluster].watch
        assert watch is not None
        return watch


class Reconciler(ResourceReconciler):
    """The orders of all clusters' HostedMeshes."""

    def _looked(self, cluster: str, resources: Sequence[Resource], now: float) -> list[Change]:
        rows = self._rows(cluster)
        self._release(cluster, rows, resources)
        placed = [self._order(cluster, one, rows.get(name_of(one)), now) for one in resources]
        if any(placed):
            rows = self._rows(cluster)
        found = [self._change(one, rows.get(name_of(one)), now) for one in resources]
        return [one for one in found if one]

    def _rows(self, cluster: str) -> dict[str, Row[Any]]:
        with self._database.reading() as connection:
            return sources.of_cluster(connection, cluster)

    def _order(self, cluster: str, resource: Resource, row: Row[Any] | None, now: float) -> bool:
        """Places the order that a resource requires, if any; returns whether it did."""
        uid, generation = resource["metadata"]["uid"], resource["metadata"]["generation"]
        if "deletionTimestamp" in resource["metadata"]:
            self._refusals.pop(uid, None)
        before = self._refusals.get(uid)
        is_refused = before is not None and before.generation == generation and now - before.time < REFUSAL_PAUSE
        action = due(resource, row, now, self._returned.get(cluster, 0.0))
        if action is None or (action is Action.UP and is_refused):
            return False
        watch = self._watch(cluster)
        try:
            if action is Action.DESTROY:
                assert row is not None
                return self._remove(cluster, Key(row.tenant, row.kind, row.name), row.generation)
            made = self._place(cluster, watch, resource)
        except InvalidInputError as error:
            self._refuse(cluster, resource, problems_of(error), now)
            return True
        self._refusals.pop(uid, None)
        return made

    def _place(self, cluster: str, watch: Watch, resource: Resource) -> bool:
        key, documents = checked_order(self._settings, cluster, watch, resource)
        with self._database.writing() as connection:
            row = orders.find(connection, key)
            require_own(connection, key, cluster)
            if row is not None and row.state == ObjectState.DELETING:
                return False
            before = json.loads(row.documents) if row is not None else {}
            by = caller(cluster, watch.tenant)
            identifier, _generation = place(connection, self._settings, by, MESHES, key, documents, before)
            metadata = resource["metadata"]
            sources.save(connection, key, cluster, metadata["uid"], metadata["generation"])
        queue_placed(self._database, self._queue, identifier)
        LOG.info("resource ordered", extra=facts(cluster=cluster, name=key.name, operation=identifier))
        return True

    def _remove(self, cluster: str, key: Key, generation: int) -> bool:
        with self._database.writing() as connection:
            row = orders.find(connection, key)
            if row is None or row.generation != generation or row.state == ObjectState.DELETING:
                return False
            documents = json.loads(row.documents)
            identifier = place_removal(connection, caller(cluster, key.tenant), key, generation, documents)
        queue_placed(self._database, self._queue, identifier)
        LOG.info("resource's removal ordered", extra=facts(cluster=cluster, name=key.name, operation=identifier))
        return True

    def _release(self, cluster: str, rows: Mapping[str, Row[Any]], resources: Sequence[Resource]) -> None:
        """Leaves a mesh whose resource went without the finalizer: its removal could be a mistake.

        REST can change it then, and a new resource of the same name orders it again.
        """
        present = {name_of(one) for one in resources}
        for name, row in rows.items():
            if row.uid and name not in present and row.state != ObjectState.DELETING:
                with self._database.writing() as connection:
                    sources.release(connection, Key(row.tenant, row.kind, row.name))
                LOG.warning("resource is gone, its mesh stays", extra=facts(cluster=cluster, name=name))

    def _change(self, resource: Resource, row: Row[Any] | None, now: float) -> Change | None:
        if change := change_of_finalizers(resource, is_gone=row is None):
            return change
        if FINALIZER not in resource["metadata"].get("finalizers", ()):
            return None
        problems = problems_now(self._refusals, resource)
        return change_of_status(resource, status_of(resource, row, problems, moment(now)))


def rests(row: Row[Any], now: float, returned: float) -> bool:
    """Whether a failed order is not repeated yet. returned: the time when its cluster answered again, or 0."""
    was_away = (row.started or 0) < returned
    return bool(row.state == ObjectState.FAILED and not was_away and now - (row.ended or 0) < RETRY_PAUSE)


def due(resource: Resource, row: Row[Any] | None, now: float, returned: float = 0.0) -> Action | None:
    """The order that a resource requires: `up`, `destroy` or none. now and returned: seconds since 1970."""
    metadata = resource["metadata"]
    if FINALIZER not in metadata.get("finalizers", ()):
        return None
    has_rest = row is not None and rests(row, now, returned)
    if "deletionTimestamp" in metadata:
        if row is None or row.state == ObjectState.DELETING or (has_rest and row.action == Action.DESTROY):
            return None
        return Action.DESTROY
    if row is None:
        return Action.UP
    if row.state == ObjectState.DELETING:
        return None
    is_ordered = row.uid == metadata["uid"] and row.ordered == metadata["generation"]
    is_failed = row.state == ObjectState.FAILED and not has_rest
    return Action.UP if is_failed or not is_ordered else None


def change_of_finalizers(resource: Resource, *, is_gone: bool) -> Change | None:
    """The change that keeps a resource, or lets it go. is_gone: whether nothing of it is left."""
    metadata = resource["metadata"]
    finalizers = tuple(metadata.get("finalizers", ()))
    if "deletionTimestamp" in metadata:
        kept = tuple(one for one in finalizers if one != FINALIZER)
        return Change(resource, finalizers=kept) if is_gone and kept != finalizers else None
    # First this, then the order: a deletion in between would leave objects that nobody removes.
    return None if FINALIZER in finalizers else Change(resource, finalizers=(*finalizers, FINALIZER))


def change_of_status(resource: Resource, after: Mapping[str, Any]) -> Change | None:
    """The change to this status, with its events; none if the resource has it."""
    before = resource.get("status") or {}
    if after == before:
        return None
    # A merge patch removes a field by null only.
    return Change(resource, status={**dict.fromkeys(before), **after}, events=tuple(events(before, after)))


def problems_now(refusals: Mapping[str, Refusal], resource: Resource) -> tuple[Problem, ...]:
    """The problems of a resource's present generation."""
    refusal = refusals.get(resource["metadata"]["uid"])
    return refusal.problems if refusal and refusal.generation == resource["metadata"]["generation"] else ()


def caller(cluster: str, tenant: str) -> Caller:
    """The caller in the audit log, whose column has 32 characters."""
    return Caller(f"cluster/{cluster}"[:32], Role.TENANT, tenant)


def name_of(resource: Resource) -> str:
    """The name of a resource."""
    name: str = resource["metadata"]["name"]
    return name
