"""Routes of the provider, and those without a tenant's objects: clusters, audit log, health, metrics."""

from __future__ import annotations

import time
from typing import Annotated, Final

from fastapi import APIRouter, Depends, Query, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from sqlalchemy import func, select

from hosted_mesh_controller import metrics
from hosted_mesh_controller.api import rendering
from hosted_mesh_controller.api.access import Has, Tenant, require_provider
from hosted_mesh_controller.api.objects import Limit
from hosted_mesh_controller.settings import Upkeep
from hosted_mesh_controller.store import upkeep
from hosted_mesh_controller.store.tables import audit, objects, operations, subjects
from hosted_mesh_controller.store.upkeep import Facts
from hosted_mesh_controller.views import AuditPage, Cluster, ClusterPage, Health
from hosted_mesh_controller.vocabulary import OPEN
from hosted_mesh_controller.work.discovery import measure
from hosted_mesh_controller.work.upkeep import is_held

router: Final = APIRouter()


@router.get(
    "/v1/tenants/{tenant}/clusters",
    tags=["clusters"],
    summary="List the clusters that documents may name",
    operation_id="list_clusters",
)
def list_clusters(has: Has, tenant: Tenant) -> ClusterPage:
    """The clusters that a tenant's documents may name."""
    found = sorted(has.settings.clusters_of(tenant).items())
    return ClusterPage(items=[Cluster(name=name, side=entry.side) for name, entry in found])


@router.get(
    "/v1/audit",
    tags=["audit"],
    dependencies=[Depends(require_provider)],
    summary="List acts of all tenants (provider)",
    operation_id="list_audit_entries",
)
def list_audit(
    has: Has,
    limit: Limit = 50,
    after: Annotated[int, Query(ge=0, le=2**31 - 1, description="`next` of the page before.")] = 0,
) -> AuditPage:
    """The audit log of all tenants."""
    named = select(audit, subjects.c.issuer, subjects.c.subject)
    named = named.select_from(audit.outerjoin(subjects, audit.c.token == subjects.c.id))
    found = named.where(audit.c.number > after).order_by(audit.c.number).limit(limit + 1)
    with has.database.reading() as connection:
        rows = connection.execute(found).all()
    items = [rendering.audit_entry(row) for row in rows[:limit]]
    return AuditPage(items=items, next=str(items[-1].number) if len(rows) > limit else None)


@router.get("/healthz", tags=["service"], summary="Answers if the database does", operation_id="health")
def health(has: Has) -> Health:
    """Answers if the database does."""
    with has.database.reading() as connection:
        connection.execute(select(1))
    return Health()


@router.get(
    "/metrics",
    tags=["service"],
    summary="Prometheus' text",
    operation_id="metrics",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "Prometheus' text."}},
)
def read_metrics(has: Has) -> Response:
    """Metrics of Prometheus, without names of tenants and objects."""
    with has.database.reading() as connection:
        states = connection.execute(
            select(operations.c.state, func.count()).where(operations.c.state.in_(OPEN)).group_by(operations.c.state)
        ).all()
        kinds = connection.execute(
            select(objects.c.kind, objects.c.state, func.count()).group_by(objects.c.kind, objects.c.state)
        ).all()
        kept = upkeep.facts(connection, of_all=True)
    _measure_upkeep(kept, has.settings.upkeep)
    measure(has.settings, has.database)
    counts = dict.fromkeys(OPEN, 0) | dict(states)
    for state, number in counts.items():
        metrics.OPEN.labels(state).set(number)
    metrics.OBJECTS.clear()
    for kind, state, number in kinds:
        metrics.OBJECTS.labels(kind, state).set(number)
    return Response(generate_latest(), media_type=CONTENT_TYPE_LATEST)


def _measure_upkeep(kept: list[Facts], rules: Upkeep) -> None:
    """Sets the gauges of drift and certificates."""
    now = time.time()
    for gauge in (metrics.DRIFT, metrics.HELD, metrics.CERTIFICATE_END):
        gauge.clear()
    for kind in {one.kind for one in kept}:
        drifted = [one for one in kept if one.kind == kind and one.has_drift]
        metrics.DRIFT.labels(kind).set(len(drifted))
        metrics.HELD.labels(kind).set(sum(is_held(one, rules, now) for one in drifted))
        ends = [end.ends for one in kept if one.kind == kind for end in one.certificates]
        if ends:
            metrics.CERTIFICATE_END.labels(kind).set(min(ends))
