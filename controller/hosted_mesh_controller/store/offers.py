"""Offers of federated meshes: the Services that they export by labels, as looks found them and as runs had them.

A run of a mesh's stack has offers beside those of its order. A Service that comes is the exporter's first and its
importers' after that; one that goes leaves in the other order. So a caller never has a route to a gateway without it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, Table, delete, func, insert, select, update

from hosted_mesh_controller.store.tables import objects, offers, operations
from hosted_mesh_controller.vocabulary import Action, KindName, ObjectState, State

Documents = Mapping[str, Any]
Services = dict[str, Any]  # by host
WAIT: Final = 600.0
"""Seconds that an exporter keeps a Service that went for importers whose runs fail."""
PAUSE: Final = 300.0
"""Seconds between two runs with the same offers, if the first one fails."""
_PREVIEWS: Final = tuple(str(action) for action in Action if action.previews)


@dataclass(frozen=True)
class Member:
    """One mesh's part of a federation, from its documents."""

    name: str
    federation: str
    mesh: str
    domain: str
    selects: bool
    given: frozenset[str]

    @property
    def is_read(self) -> bool:
        """Whether its Services are read: its exports select by labels, and its order gives no offer of its own."""
        return self.selects and self.mesh not in self.given


def member(name: str, documents: Documents) -> Member:
    """A mesh's part of a federation. name: of the object."""
    federation, mesh = documents["federation"], documents["member"]["mesh"]
    exports = [export for peer in federation["peers"] if peer["mesh"] == mesh for export in peer.get("exports") or ()]
    given = frozenset(one["mesh"] for one in documents.get("offers") or ())
    selects = any(export.get("service") is None for export in exports)
    return Member(name, federation["name"], mesh, federation["domain"], selects, given)


def exporters(connection: Connection) -> list[tuple[str, Member, Documents]]:
    """Tenant, part and documents of each mesh whose Services are read."""
    rows = connection.execute(select(objects).where(*_living()))
    found = [(row.tenant, documents := json.loads(row.documents), member(row.name, documents)) for row in rows]
    return [(tenant, one, documents) for tenant, documents, one in found if one.is_read]


def record(connection: Connection, tenant: str, found: Member, services: Iterable[Any], now: float) -> bool:
    """Records a look at a mesh's Services; returns whether they changed."""
    own = [offers.c.tenant == tenant, offers.c.name == found.name]
    values = {"domain": found.domain, "services": json.dumps(list(services), sort_keys=True)}
    before = connection.execute(select(offers).where(*own)).one_or_none()
    if before is None:
        connection.execute(insert(offers).values(tenant=tenant, name=found.name, changed=now, **values))
    elif (before.domain, before.services) != (values["domain"], values["services"]):
        connection.execute(update(offers).where(*own).values(changed=now, **values))
    else:
        return False
    return True


def forget(connection: Connection, tenant: str, name: str) -> None:
    """Forgets a mesh that left."""
    connection.execute(delete(offers).where(offers.c.tenant == tenant, offers.c.name == name))


def filled(connection: Connection, tenant: str, documents: Documents) -> dict[str, Any]:
    """The documents of a run: those of the order with the offers that it does not give."""
    federation, mesh = documents["federation"]["name"], documents["member"]["mesh"]
    meshes = _Meshes(connection, tenant)
    own = meshes.one(tenant, member(f"{federation}-{mesh}", documents), documents)
    others = [one for one in meshes.of(federation) if one.member.mesh != mesh]
    return _filled(own, [own, *others], time.time())


def behind(connection: Connection) -> dict[tuple[str, str], float]:
    """Tenant and name of the objects whose last run had other offers than a run would have now, and since when."""
    now, everything = time.time(), _Meshes(connection)
    failed = everything.failed_follows()
    found: dict[tuple[str, str], float] = {}
    for group in everything.groups():
        for one in group:
            wanted = _filled(one, group, now).get("offers", [])
            if one.applied is None or wanted == one.applied.get("offers", []):
                continue
            ended, tried = failed.get((one.tenant, one.member.name), (0.0, None))
            if tried != wanted or now - ended >= PAUSE:
                found[one.tenant, one.member.name] = max((each.changed for each in group), default=now)
    return found


@dataclass(frozen=True)
class _Mesh:
    """A mesh of a federation. found: Services of the last look. applied: documents of its last successful run."""

    tenant: str
    member: Member
    documents: Documents
    found: Services
    changed: float
    applied: Documents | None

    def applied_services(self, mesh: str) -> Services:
        """The Services of a mesh that the last successful run had."""
        given = (self.applied or {}).get("offers") or ()
        return {one["host"]: one for offer in given if offer["mesh"] == mesh for one in offer.get("services") or ()}


def _filled(own: _Mesh, group: Iterable[_Mesh], now: float) -> dict[str, Any]:
    added: dict[str, Any] = {}
    for exporter in group:
        if not exporter.member.is_read or exporter.member.mesh in own.member.given:
            continue
        if exporter.member.mesh == own.member.mesh:
            services = {**_still_imported(exporter, group, now), **exporter.found}
        else:
            ready = exporter.applied_services(exporter.member.mesh)
            services = {host: ready[host] for host in exporter.found if host in ready}
        listed = [services[host] for host in sorted(services)]
        mesh = exporter.member.mesh
        added[mesh] = {"federation": own.member.federation, "mesh": mesh, "services": listed}
    if not added:
        return dict(own.documents)
    given = own.documents.get("offers") or ()
    return {**own.documents, "offers": [*given, *(added[mesh] for mesh in sorted(added))]}


def _still_imported(exporter: _Mesh, group: Iterable[_Mesh], now: float) -> Services:
    """Services that went, for importers that have not run since."""
    if now - exporter.changed >= WAIT:
        return {}
    mesh, own = exporter.member.mesh, exporter.applied_services(exporter.member.mesh)
    others = [one for one in group if one.member.mesh != mesh]
    return {host: own[host] for one in others for host in one.applied_services(mesh) if host in own}


class _Meshes:
    """The meshes of federations with their offers. tenant: only this tenant's, by default all."""

    def __init__(self, connection: Connection, tenant: str | None = None) -> None:
        self._connection, self._tenant = connection, tenant
        rows = connection.execute(select(offers).where(*self._own(offers)))
        self._found = {(row.tenant, row.name): row for row in rows}
        self._applied = {
            (row.tenant, row.name): json.loads(row.documents)
            for row in self._last(operations.c.state == str(State.SUCCEEDED), operations.c.action.not_in(_PREVIEWS))
            if row.action != Action.DESTROY  # of an object that was ordered again, and has not run yet
        }

    def one(self, tenant: str, of: Member, documents: Documents) -> _Mesh:
        """A mesh with these documents."""
        row = self._found.get((tenant, of.name))
        fits = row is not None and row.domain == of.domain
        found = {one["host"]: one for one in json.loads(row.services)} if row is not None and fits else {}
        changed = row.changed if row is not None else 0.0
        return _Mesh(tenant, of, documents, found, changed, self._applied.get((tenant, of.name)))

    def of(self, federation: str) -> list[_Mesh]:
        """The meshes of the tenant's federation."""
        return next((group for group in self.groups() if group[0].member.federation == federation), [])

    def groups(self) -> list[list[_Mesh]]:
        """The meshes by federation."""
        found: dict[tuple[str, str], list[_Mesh]] = {}
        for row in self._connection.execute(select(objects).where(*_living(), *self._own(objects))):
            documents = json.loads(row.documents)
            one = self.one(row.tenant, member(row.name, documents), documents)
            found.setdefault((row.tenant, one.member.federation), []).append(one)
        return list(found.values())

    def failed_follows(self) -> dict[tuple[str, str], tuple[float, Any]]:
        """End and offers of the last `follow` of each object, if it failed."""
        rows = self._last(operations.c.state.in_([str(State.SUCCEEDED), str(State.FAILED)]), _IS_FOLLOW)
        return {
            (row.tenant, row.name): (row.ended, json.loads(row.documents).get("offers", []))
            for row in rows
            if row.state == State.FAILED
        }

    def _last(self, *conditions: Any) -> list[Any]:
        """The last ended operation of each federation's object under these conditions."""
        of_kind = [operations.c.kind == str(KindName.FEDERATIONS), *self._own(operations), *conditions]
        newest = select(operations.c.stack, func.max(operations.c.ended).label("ended")).where(*of_kind)
        last = newest.group_by(operations.c.stack).subquery()
        same = (operations.c.stack == last.c.stack) & (operations.c.ended == last.c.ended)
        return list(self._connection.execute(select(operations).join(last, same).where(*of_kind)))

    def _own(self, table: Table) -> list[Any]:
        return [] if self._tenant is None else [table.c.tenant == self._tenant]


_IS_FOLLOW: Final = operations.c.action == str(Action.FOLLOW)


def _living() -> list[Any]:
    return [objects.c.kind == str(KindName.FEDERATIONS), objects.c.state != str(ObjectState.DELETING)]
