"""The page's HTML. Each value goes through `_e`, which escapes it; no script and no other host's files."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, Final

from fastapi.responses import HTMLResponse

from hosted_mesh_controller.views import Operation, OrderedObject

_STYLE: Final = """
body{font:15px/1.5 system-ui,sans-serif;margin:0 auto;max-width:76rem;padding:1.5rem;color:#1b1f24;background:#fff}
h1{font-size:1.4rem;margin:.2rem 0 1rem}h2{font-size:1.1rem;margin:2rem 0 .5rem}
nav{color:#57606a;font-size:.9rem}a{color:#0550ae}
table{border-collapse:collapse;width:100%}
th,td{text-align:left;vertical-align:top;padding:.45rem .6rem;border-bottom:1px solid #d8dee4}
th{font-size:.8rem;color:#57606a;font-weight:600;white-space:nowrap}
.s{display:inline-block;padding:0 .5rem;border-radius:1rem;background:#eaeef2;white-space:nowrap}
.good{background:#dafbe1}.bad{background:#ffebe9}.busy{background:#ddf4ff}.warn{background:#fff8c5}
code,pre{font:13px/1.45 ui-monospace,monospace}small{color:#57606a}
ul{margin:0;padding-left:1.1rem}.scroll{overflow-x:auto}
"""
_DIGEST: Final = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_HEADERS: Final = {
    "Content-Security-Policy": f"default-src 'none'; style-src 'sha256-{_DIGEST}'; frame-ancestors 'none'; "
    "base-uri 'none'; form-action 'none'",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
}
_COLOURS: Final = {
    "ready": "good",
    "succeeded": "good",
    "failed": "bad",
    "running": "busy",
    "queued": "busy",
    "waiting": "busy",
    "pending": "busy",
    "deleting": "warn",
    "cancelled": "warn",
}
_REFRESH: Final = 5  # seconds between loads of the page of an operation that runs


def answer(text: str, status: int = 200, headers: Mapping[str, str] | None = None) -> HTMLResponse:
    """A page as a response."""
    return HTMLResponse(text, status, headers={**_HEADERS, **(headers or {})})


def refusal(reason: str) -> str:
    """The page of an error."""
    return _page(reason, '<a href="/page">Tenants</a>', "")


def tenants(names: Iterable[str]) -> str:
    """The provider's list of tenants."""
    items = "".join(f'<li><a href="/page/tenants/{_e(name)}">{_e(name)}</a></li>' for name in names)
    return _page("Tenants", "", f"<ul>{items}</ul>")


def tenant(name: str, shown: Sequence[tuple[OrderedObject, Operation | None]], ran: Sequence[Operation]) -> str:
    """A tenant's objects and operations."""
    head = ("kind", "name", "state", "order", "last preview", "drift", "certificates")
    rows = [_object(one, preview) for one, preview in shown]
    body = "<h2>Objects</h2>" + (_table(head, rows) if rows else "<p>No objects are ordered.</p>")
    columns = ("created", "operation", "object", "state", "changes", "reason")
    body += "<h2>Operations</h2>" + (_table(columns, [_ran(one) for one in ran]) if ran else "<p>None yet.</p>")
    return _page(f"Meshes of {name}", '<a href="/page">Tenants</a>', body)


def operation(one: Operation, happened: Iterable[Mapping[str, Any]]) -> str:
    """An operation with its log."""
    facts = [("state", _state(one.state)), ("attempts", _e(one.attempts)), ("created", _e(one.created))]
    facts += [(name, _e(value)) for name, value in (("started", one.started), ("ended", one.ended)) if value]
    facts += [("changes", _changes(one))] if _changes(one) else []
    facts += [("reason", _e(one.error))] if one.error else []
    body = _table(("", ""), facts)
    if steps := (one.result or {}).get("drift") or (one.result or {}).get("steps"):
        body += f"<h2>{'Drift' if one.action == 'check' else 'Steps'}</h2>{_steps(steps)}"
    lines = "\n".join(_line(event) for event in happened)
    body += f'<h2>Log</h2><pre class="scroll">{lines or "No events."}</pre>'
    back = f'<a href="/page">Tenants</a> / <a href="/page/tenants/{_e(one.tenant)}">{_e(one.tenant)}</a>'
    title = f"{one.action} of {one.kind}/{one.name}"
    return _page(title, back, body, seconds=None if one.state.ended else _REFRESH)


def _object(one: OrderedObject, preview: Operation | None) -> tuple[str, ...]:
    kept = one.upkeep
    drift = f'<span class="s good">none</span> <small>{_e(kept.checked)}</small>' if kept.checked else "not checked"
    if kept.drift:
        drift = _steps([step.model_dump() for step in kept.drift])
        drift += '<span class="s bad">budget used up</span> ' if kept.held else ""
    if kept.error:
        drift += f" <small>{_e(kept.error)}</small>"
    drift += f"{'' if kept.drift else '<br>'}<small>policy: {_e(kept.repair)}</small>"
    ends = "<br>".join(f"{_e(end.resource)} <small>{_e(end.ends[:10])}</small>" for end in kept.certificates)
    ordered = f"{one.ready_generation} of {one.generation}"
    last = f"{_link(preview, preview.created)} {_state(preview.state)} {_changes(preview)}" if preview else "none"
    return _e(one.kind), f"<b>{_e(one.name)}</b>", _state(one.state), ordered, last, drift, ends or "none"


def _ran(one: Operation) -> tuple[str, ...]:
    return (
        _e(one.created),
        _link(one, one.action),
        _e(f"{one.kind}/{one.name}"),
        _state(one.state),
        _changes(one),
        _e(one.error or ""),
    )


def _link(one: Operation, text: str) -> str:
    return f'<a href="/page/tenants/{_e(one.tenant)}/operations/{_e(one.id)}">{_e(text)}</a>'


def _steps(steps: Iterable[Mapping[str, Any]]) -> str:
    items = ""
    for step in steps:
        fields = _e(", ".join(step["fields"][:8]))
        items += f"<li><b>{_e(step['action'])}</b> {_e(step['resource'])} <small>{fields}</small></li>"
    return f"<ul>{items}</ul>"


def _line(event: Mapping[str, Any]) -> str:
    if event["type"] == "message":
        return _e(f"{event['time']} {event['severity']}: {event['text']}")
    return _e(f"{event['time']} {event['phase']:<6} {event['action']:<16} {event['resource']} ({event['kind']})")


def _changes(one: Operation) -> str:
    counts = (one.result or {}).get("changes", {})
    return _e(", ".join(f"{number} {action}" for action, number in sorted(counts.items())))


def _state(state: str) -> str:
    return f'<span class="s {_COLOURS.get(str(state), "")}">{_e(state)}</span>'


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table. The cells are HTML."""
    top = "".join(f"<th>{_e(name)}</th>" for name in head)
    lines = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    top = f"<thead><tr>{top}</tr></thead>" if any(head) else ""
    return f'<div class="scroll"><table>{top}<tbody>{lines}</tbody></table></div>'


def _page(title: str, nav: str, body: str, *, seconds: int | None = None) -> str:
    again = f'<meta http-equiv="refresh" content="{seconds}">' if seconds else ""
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{_e(title)}</title>{again}'
        '<meta name="viewport" content="width=device-width">'
        f"<style>{_STYLE}</style></head><body><nav>{nav}</nav><h1>{_e(title)}</h1>{body}</body></html>"
    )


def _e(value: object) -> str:
    return escape(str(value))
