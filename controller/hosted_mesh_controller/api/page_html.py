"""HTML of the pages that read: tenants, objects, operations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from hosted_mesh_controller.api.page_parts import (
    badge,
    changes,
    e,
    link,
    object_path,
    page,
    steps_list,
    table,
    way,
)
from hosted_mesh_controller.views import Operation, OrderedObject

_REFRESH: Final = 5  # seconds between loads of the page of an operation that runs


def tenants(names: Iterable[str]) -> str:
    """The provider's list of tenants."""
    items = "".join(f'<li><a href="/page/tenants/{e(name)}">{e(name)}</a></li>' for name in names)
    return page("Tenants", "", f"<ul>{items}</ul>")


def tenant(
    name: str, shown: Sequence[tuple[OrderedObject, Operation | None]], ran: Sequence[Operation], buttons: str
) -> str:
    """A tenant's objects and operations. buttons: HTML, empty for a reader."""
    head = ("kind", "name", "state", "order", "last preview", "drift", "certificates")
    rows = [_object(one, preview) for one, preview in shown]
    body = buttons + "<h2>Objects</h2>" + (table(head, rows) if rows else "<p>No objects are ordered.</p>")
    columns = ("created", "operation", "object", "state", "changes", "reason")
    body += "<h2>Operations</h2>" + (table(columns, [_ran(one) for one in ran]) if ran else "<p>None yet.</p>")
    return page(f"Meshes of {name}", '<a href="/page">Tenants</a>', body)


def ordered(one: OrderedObject, preview: Operation | None, documents: str, buttons: str) -> str:
    """An object with its documents, as YAML. buttons: HTML, empty for a reader."""
    head = ("kind", "name", "state", "order", "last preview", "drift", "certificates")
    body = table(head, [_object(one, preview)]) + buttons
    body += f'<h2>Documents</h2><pre class="scroll">{e(documents)}</pre>'
    return page(f"{one.kind}/{one.name}", way(one.tenant), body)


def operation(one: Operation, happened: Iterable[Mapping[str, Any]], buttons: str) -> str:
    """An operation with its log. buttons: HTML, empty for a reader."""
    facts = [("state", badge(one.state)), ("attempts", e(one.attempts)), ("created", e(one.created))]
    facts += [(name, e(value)) for name, value in (("started", one.started), ("ended", one.ended)) if value]
    facts += [("changes", changes(one))] if changes(one) else []
    facts += [("reason", e(one.error))] if one.error else []
    body = table(("", ""), facts) + buttons
    if steps := (one.result or {}).get("drift") or (one.result or {}).get("steps"):
        body += f"<h2>{'Drift' if one.action == 'check' else 'Steps'}</h2>{steps_list(steps)}"
    lines = "\n".join(_line(event) for event in happened)
    body += f'<h2>Log</h2><pre class="scroll">{lines or "No events."}</pre>'
    title = f"{one.action} of {one.kind}/{one.name}"
    return page(title, way(one.tenant), body, seconds=None if one.state.ended else _REFRESH)


def _object(one: OrderedObject, preview: Operation | None) -> tuple[str, ...]:
    kept = one.upkeep
    drift = f'<span class="s good">none</span> <small>{e(kept.checked)}</small>' if kept.checked else "not checked"
    if kept.drift:
        drift = steps_list([step.model_dump() for step in kept.drift])
        drift += '<span class="s bad">budget used up</span> ' if kept.held else ""
    if kept.error:
        drift += f" <small>{e(kept.error)}</small>"
    drift += f"{'' if kept.drift else '<br>'}<small>policy: {e(kept.repair)}</small>"
    ends = "<br>".join(f"{e(end.resource)} <small>{e(end.ends[:10])}</small>" for end in kept.certificates)
    ordered = f"{one.ready_generation} of {one.generation}"
    last = f"{link(preview, preview.created)} {badge(preview.state)} {changes(preview)}" if preview else "none"
    name = f'<a href="{e(object_path(one.tenant, one.kind, one.name))}"><b>{e(one.name)}</b></a>'
    return e(one.kind), name, badge(one.state), ordered, last, drift, ends or "none"


def _ran(one: Operation) -> tuple[str, ...]:
    return (
        e(one.created),
        link(one, one.action),
        e(f"{one.kind}/{one.name}"),
        badge(one.state),
        changes(one),
        e(one.error or ""),
    )


def _line(event: Mapping[str, Any]) -> str:
    if event["type"] == "message":
        return e(f"{event['time']} {event['severity']}: {event['text']}")
    return e(f"{event['time']} {event['phase']:<6} {event['action']:<16} {event['resource']} ({event['kind']})")
