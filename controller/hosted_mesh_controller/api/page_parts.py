"""Parts of the page's HTML. Each value goes through `e`, which escapes it; no script and no other host's files."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, Final

from fastapi.responses import HTMLResponse
from pulumi_hosted_mesh import Problem

from hosted_mesh_controller.views import Operation

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
.acts{display:flex;flex-wrap:wrap;gap:.6rem;align-items:center;margin:1rem 0}
button,.button{font:inherit;padding:.3rem .9rem;border:1px solid #8c959f;border-radius:.4rem;background:#f6f8fa}
button,.button{color:#1b1f24;text-decoration:none;cursor:pointer}
.main{background:#1f6feb;border-color:#1f6feb;color:#fff}.danger{background:#cf222e;border-color:#cf222e;color:#fff}
label{display:block;font-weight:600;margin:1rem 0 .3rem}input,select,textarea{font:inherit;padding:.35rem .5rem}
textarea{font:13px/1.45 ui-monospace,monospace;width:100%;min-height:24rem;box-sizing:border-box}
.note{border-left:4px solid #d4a72c;background:#fff8c5;padding:.5rem .8rem}.acts form p{margin:0}
.wrong{border-color:#cf222e;background:#ffebe9}
"""
_DIGEST: Final = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_HEADERS: Final = {
    "Content-Security-Policy": f"default-src 'none'; style-src 'sha256-{_DIGEST}'; frame-ancestors 'none'; "
    "base-uri 'none'; form-action 'self'",
    "Cache-Control": "no-store",
    # With `no-referrer` a browser sends a form of this page with `Origin: null`.
    "Referrer-Policy": "same-origin",
}
_MOST_PROBLEMS: Final = 100
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


def answer(text: str, status: int = 200, headers: Mapping[str, str] | None = None) -> HTMLResponse:
    """A page as a response."""
    return HTMLResponse(text, status, headers={**_HEADERS, **(headers or {})})


def refusal(reason: str, detail: str = "", problems: Sequence[Problem] = (), *, nav: str = "") -> str:
    """The page of an error."""
    return page(reason, nav or '<a href="/page">Tenants</a>', wrong(detail, problems))


def wrong(detail: str, problems: Sequence[Problem] = ()) -> str:
    """The reason of a refusal, and the problems of fields."""
    if not detail:
        return ""
    rows = [(f"<code>{e(one.field)}</code>", e(one.rule), e(one.fix)) for one in problems[:_MOST_PROBLEMS]]
    listed = table(("field", "rule", "fix"), rows) if rows else ""
    return f'<div class="note wrong" role="alert">{e(detail)}{listed}</div>'


def page(title: str, nav: str, body: str, *, seconds: int | None = None) -> str:
    """A whole page. nav, body: HTML. seconds: until the browser loads it again."""
    again = f'<meta http-equiv="refresh" content="{seconds}">' if seconds else ""
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{e(title)}</title>{again}'
        '<meta name="viewport" content="width=device-width">'
        f"<style>{_STYLE}</style></head><body><nav>{nav}</nav><h1>{e(title)}</h1>{body}</body></html>"
    )


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table. The cells are HTML."""
    top = "".join(f"<th>{e(name)}</th>" for name in head)
    lines = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    top = f"<thead><tr>{top}</tr></thead>" if any(head) else ""
    return f'<div class="scroll"><table>{top}<tbody>{lines}</tbody></table></div>'


def badge(state: str) -> str:
    """A state in its colour."""
    return f'<span class="s {_COLOURS.get(str(state), "")}">{e(state)}</span>'


def steps_list(steps: Iterable[Mapping[str, Any]]) -> str:
    """Steps with the paths of changed fields."""
    items = ""
    for step in steps:
        fields = e(", ".join(step["fields"][:8]))
        items += f"<li><b>{e(step['action'])}</b> {e(step['resource'])} <small>{fields}</small></li>"
    return f"<ul>{items}</ul>"


def changes(one: Operation) -> str:
    """Numbers of changed resources."""
    counts = (one.result or {}).get("changes", {})
    return e(", ".join(f"{number} {action}" for action, number in sorted(counts.items())))


def link(one: Operation, text: str) -> str:
    """A link to an operation."""
    return f'<a href="{e(operation_path(one))}">{e(text)}</a>'


def operation_path(one: Operation) -> str:
    """Path of an operation's page."""
    return f"{tenant_path(one.tenant)}/operations/{one.id}"


def object_path(tenant: str, kind: str, name: str) -> str:
    """Path of an object's page."""
    return f"{tenant_path(tenant)}/objects/{kind}/{name}"


def tenant_path(tenant: str) -> str:
    """Path of a tenant's page."""
    return f"/page/tenants/{tenant}"


def way(tenant: str, *more: tuple[str, str]) -> str:
    """The links above a page. more: paths and texts."""
    steps = (("/page", "Tenants"), (tenant_path(tenant), tenant), *more)
    return " / ".join(f'<a href="{e(path)}">{e(text)}</a>' for path, text in steps)


def e(value: object) -> str:
    """A value as text of HTML."""
    return escape(str(value))
