"""The matrix as one HTML page without scripts or other files: a picture of the calls, and the table. Pure."""

from __future__ import annotations

from html import escape

from pulumi_hosted_mesh.intents.compiled import Compiled
from pulumi_hosted_mesh.intents.matrix import EVERYTHING, Cell, Matrix

CSS = """
:root { --ink: #16202c; --dim: #66727f; --line: #dfe4ea; --paper: #fff; --soft: #f5f7f9; --all: #1f7a5c;
  --part: #2f6fb2; --shut: #eef1f4; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8edf2; --dim: #97a3af; --line: #2c3743; --paper: #12181f;
  --soft: #19212a; --all: #45b78d; --part: #6aa5e3; --shut: #1d2630; } }
* { box-sizing: border-box } body { margin: 0; padding: 40px; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, "Segoe UI", "DejaVu Sans", sans-serif; max-width: 1280px; margin: auto }
h1 { font-size: 26px; margin: 0 0 4px; letter-spacing: -.01em } h2 { font-size: 17px; margin: 40px 0 12px }
p { color: var(--dim); margin: 0 } svg { width: 100%; height: auto; margin-top: 24px; background: var(--soft);
  border-radius: 12px } svg text { fill: var(--ink); font-size: 13px } svg .note { fill: var(--dim); font-size: 11px }
svg .label { font-size: 11px; paint-order: stroke; stroke: var(--soft); stroke-width: 5px; stroke-linejoin: round }
.box { fill: var(--paper); stroke: var(--line); stroke-width: 1.5 } .ext { stroke-dasharray: 5 4 }
.all { stroke: var(--all); fill: none; stroke-width: 2.2 } .part { stroke: var(--part); fill: none; stroke-width: 2.2 }
.wide { overflow-x: auto } table { border-collapse: separate; border-spacing: 3px; font-size: 13px }
th { font-weight: 600; text-align: left; padding: 6px 8px; white-space: nowrap } thead th { vertical-align: bottom;
  color: var(--dim); font-weight: 500 } td { background: var(--shut); border-radius: 6px; padding: 7px 9px;
  min-width: 92px; vertical-align: top } td.all, td.part { color: #fff; border: 0 } td.all { background: var(--all) }
td.part { background: var(--part) } td.self { background: none } td small { display: block; opacity: .85 }
td.shut { color: var(--dim) } code { font: 12px ui-monospace, "DejaVu Sans Mono", monospace }
.key span { display: inline-block; width: 12px; height: 12px; border-radius: 3px; margin: 0 6px 0 18px;
  vertical-align: -1px } .key span:first-child { margin-left: 0 } li { margin: 4px 0 }
"""


def html(found: Matrix, compiled: Compiled, title: str) -> str:
    """The page."""
    opened = [one for one in found.cells.values() if one.is_open]
    count = f"{len(opened)} of {len(found.cells)} pairs of caller and callee are open; everything else is refused."
    pending = "".join(f"<li><b>{escape(one.intent)}</b>: {escape(one.reason)}</li>" for one in compiled.pending)
    waiting = f"<h2>Pending intents</h2><ul>{pending}</ul>" if pending else ""
    key = (
        '<p class="key"><span style="background:var(--all)"></span>every call'
        '<span style="background:var(--part)"></span>named methods and paths'
        '<span style="background:var(--shut)"></span>no call</p>'
    )
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Calls of {escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{CSS}</style></head><body>'
        f"<h1>Calls of {escape(title)}</h1><p>{count}</p>{_picture(opened)}"
        f"<h2>Callers by callees</h2>{key}<div class=wide>{_table(found)}</div>{waiting}</body></html>\n"
    )


def _columns(opened: list[Cell]) -> dict[str, int]:
    """The column of each caller or callee: one after the column of its callers, where there is no circle."""
    names = [*dict.fromkeys(name for one in opened for name in (one.caller, one.callee))]
    column = dict.fromkeys(names, 0)
    for _ in names:
        for one in opened:
            column[one.callee] = max(column[one.callee], min(column[one.caller] + 1, len(names) - 1, 6))
    used = {place: at for at, place in enumerate(sorted({*column.values()}))}
    return {name: used[place] for name, place in column.items()}


def _picture(opened: list[Cell]) -> str:
    """Boxes in columns from callers to callees, and an arrow for each open pair."""
    if not opened:
        return ""
    columns = _columns(opened)
    wide, high, across, down = 172, 46, 304, 92
    rows: dict[int, list[str]] = {}
    for name, column in columns.items():
        rows.setdefault(column, []).append(name)
    tallest = max(map(len, rows.values()))
    places: dict[str, tuple[float, float]] = {}
    for column, names in rows.items():
        for at, name in enumerate(names):
            places[name] = (40 + column * across, 46 + (at + (tallest - len(names)) / 2) * down)
    width, height = 80 + (max(rows) * across) + wide, 92 + (tallest - 1) * down + high
    parts = [
        "<defs>"
        + "".join(
            f'<marker id="{kind}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
            f'<path d="M0 0 8 4 0 8z" fill="var(--{kind})"/></marker>'
            for kind in ("all", "part")
        )
        + "</defs>"
    ]
    for one in opened:
        parts.append(_arrow(one, places, wide, high))
    for name, (x, y) in places.items():
        namespace, slash, short = name.rpartition("/")
        kind = "box" if slash else "box ext"
        parts.append(f'<rect class="{kind}" x="{x}" y="{y:g}" width="{wide}" height="{high}" rx="9"/>')
        label, note = (short, namespace) if slash else (name, "outside of the meshes")
        parts.append(f'<text x="{x + 14}" y="{y + 20:g}">{escape(_cut(label, 20))}</text>')
        parts.append(f'<text class="note" x="{x + 14}" y="{y + 36:g}">{escape(_cut(note, 28))}</text>')
    return f'<svg viewBox="0 0 {width} {height:g}" role="img" aria-label="Open calls">{"".join(parts)}</svg>'


def _arrow(one: Cell, places: dict[str, tuple[float, float]], wide: int, high: int) -> str:
    kind = "all" if EVERYTHING in one.calls and not one.refused else "part"
    (x1, y1), (x2, y2) = places[one.caller], places[one.callee]
    label = ", ".join(_cut(call, 15) for call in one.calls[:1]) + (f" +{len(one.calls) - 1}" if one.calls[1:] else "")
    if x2 > x1:
        a, b, c, d = x1 + wide, y1 + high / 2, x2 - 3, y2 + high / 2
        bend = (c - a) / 2
        curve = f"M{a:g} {b:g} C{a + bend:g} {b:g} {c - bend:g} {d:g} {c:g} {d:g}"
        # On the curve, nearer to the callee: callees of one caller lie apart.
        part = 0.56
        along = 3 * part * (1 - part) ** 2 * (a + bend) + 3 * part**2 * (1 - part) * (c - bend)
        along += (1 - part) ** 3 * a + part**3 * c
        middle = (along, b + (d - b) * (3 * part**2 - 2 * part**3) + 4)
    else:
        lift = 34 + abs(x1 - x2) / 8
        a, b, c, d = x1 + wide / 2, y1 + high, x2 + wide / 2, y2 + high + 3
        curve = f"M{a:g} {b:g} C{a:g} {b + lift:g} {c:g} {d + lift:g} {c:g} {d:g}"
        middle = ((a + c) / 2, max(b, d) + lift * 0.75)
    text = f'<text class="label" text-anchor="middle" x="{middle[0]:g}" y="{middle[1]:g}">{escape(label)}</text>'
    title = f"{one.caller} to {one.callee}: {', '.join(one.calls)} (intent {', '.join(one.intents) or 'none'})"
    return f'<g><title>{escape(title)}</title><path class="{kind}" marker-end="url(#{kind})" d="{curve}"/>{text}</g>'


def _table(found: Matrix) -> str:
    head = "".join(f"<th>{_name(name)}</th>" for name in found.callees)
    lines = []
    for caller in found.callers:
        cells = "".join(_cell(found.cells.get((caller, callee))) for callee in found.callees)
        lines.append(f"<tr><th>{_name(caller)}</th>{cells}</tr>")
    return f"<table><thead><tr><th></th>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


def _name(name: str) -> str:
    namespace, slash, short = name.rpartition("/")
    return f"{escape(short)}<br><small>{escape(namespace)}</small>" if slash else escape(name)


def _cell(cell: Cell | None) -> str:
    if cell is None:
        return '<td class="self"></td>'
    if not cell.is_open:
        return f'<td class="shut" title="{escape(cell.reason)}">·</td>'
    kind = "all" if EVERYTHING in cell.calls and not cell.refused else "part"
    calls = "<br>".join(f"<code>{escape(one)}</code>" for one in cell.calls)
    but = "".join(f"<br><code>but not {escape(one)}</code>" for one in cell.refused)
    return f'<td class="{kind}">{calls}{but}<small>{escape(", ".join(cell.intents))}</small></td>'


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"
