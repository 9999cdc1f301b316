"""A difference as one page of HTML: a list of stacks, their changes, and a drawing of each changed one.

The page is one file without any address. Program texts are escaped. Its policy permits its own style and script by
their digests, so a text that escaped nevertheless would not run.
"""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Iterator
from typing import Final

from hosted_mesh_plan.topology_svg import STYLE, svg

from .lines import Budget, harmless, of_effects, of_moved, of_notes, of_rest, of_stack, of_verdicts, summary
from .result import Difference, Stack, StackChange, Step

_STYLE: Final = (
    """
*{box-sizing:border-box}body{margin:0;font:14px/1.45 system-ui,sans-serif;color:#1f2328;background:#fff}
header{position:sticky;top:0;background:#fff;border-bottom:1px solid #d0d7de;padding:10px 20px;z-index:2}
h1{font-size:17px;margin:0 0 8px}h2{font-size:16px;margin:0}h3{font-size:13px;margin:16px 0 6px;color:#57606a}
input[type=search]{width:min(520px,100%);padding:6px 10px;font:inherit;border:1px solid #8c959f;border-radius:6px}
#count{color:#57606a;margin-left:10px}
main{display:grid;grid-template-columns:230px minmax(0,1fr);gap:20px;padding:16px 20px}
nav{position:sticky;top:95px;align-self:start;max-height:calc(100vh - 110px);overflow:auto;font-size:13px}
nav a{display:flex;justify-content:space-between;gap:8px;
padding:2px 6px;color:inherit;text-decoration:none;border-radius:4px}
nav a:hover{background:#f3f4f6}nav a span{overflow-wrap:anywhere}.state{color:#57606a;white-space:nowrap}
section{border:1px solid #d0d7de;border-radius:8px;margin-bottom:16px;scroll-margin-top:95px}
section>header{position:static;border:0;border-bottom:1px solid #d0d7de;background:#f6f8fa;border-radius:8px 8px 0 0;
display:flex;gap:14px;align-items:baseline;flex-wrap:wrap}section>div{padding:4px 20px 16px}
ul{margin:0;padding-left:0;list-style:none}li{padding:2px 0;display:flex}b.tag{flex:none;width:82px;
font-weight:600;font-size:12px}b.opens,b.replaces,b.policy{color:#a40e26}b.closes{color:#116329}b.restarts{color:#7d4e00}
pre{background:#f6f8fa;border-radius:6px;padding:10px;overflow:auto;font:12px/1.5 ui-monospace,monospace;margin:0}
pre .a{color:#116329}pre .r{color:#a40e26}pre .c{color:#7d4e00}pre .p{font-weight:600}.drawing{overflow:auto}
.drawing svg{max-width:100%;height:auto}
.views{display:flex;gap:14px;font-size:13px;margin:0 0 8px}details>summary{cursor:pointer;color:#0969da;margin:8px 0}
.before .made,.after .removed{display:none}mark{background:#fff3bf}.hidden{display:none!important}
tspan.hit,text.hit{paint-order:stroke;stroke:#fff3bf;stroke-width:5px}
@media(max-width:800px){main{grid-template-columns:1fr}nav{position:static;max-height:none}}
"""
    + STYLE
)
_SCRIPT: Final = """
const search = document.getElementById("search"), count = document.getElementById("count");
const sections = [...document.querySelectorAll("section")];
const links = new Map([...document.querySelectorAll("nav a")].map(a => [a.getAttribute("href").slice(1), a]));
const texts = new Map(sections.map(s => [s, s.textContent.toLowerCase()]));
function show() {
  const wanted = search.value.trim().toLowerCase().split(/\\s+/).filter(Boolean);
  let shown = 0;
  for (const section of sections) {
    const hit = wanted.every(word => texts.get(section).includes(word));
    section.classList.toggle("hidden", !hit);
    links.get(section.id)?.classList.toggle("hidden", !hit);
    shown += hit ? 1 : 0;
    for (const text of section.querySelectorAll("svg text"))
      text.classList.toggle("hit", wanted.some(word => text.textContent.toLowerCase().includes(word)));
  }
  count.textContent = wanted.length ? `${shown} of ${sections.length} stacks` : "";
}
search.addEventListener("input", show);
for (const radio of document.querySelectorAll(".views input"))
  radio.addEventListener("change", () => {
    const box = radio.closest(".views").nextElementSibling;
    box.classList.remove("before", "after", "both");
    box.classList.add(radio.value);
  });
"""
_CLASSES: Final = {"+": "a", "-": "r", "~": "c"}


def as_html(found: Difference) -> str:
    """The page."""
    policy = f"default-src 'none'; style-src {_digest(_STYLE)}; script-src {_digest(_SCRIPT)}; base-uri 'none'"
    title = html.escape(summary(found))
    notes = "".join(f"<li>{html.escape(harmless(text, 300))}</li>" for text in of_notes(found))
    moved = f"<p><b>{html.escape(of_moved(found))}</b></p>" if found.moved else ""
    body, budget = [], Budget()
    for number, stack in enumerate(found.shown):
        body += list(_section(stack, number, budget))
    same = [one.name for one in found.of(StackChange.UNCHANGED)]
    unchanged = "".join(f"<li>{html.escape(harmless(name))}</li>" for name in same)
    rest = f"<details><summary>{len(same)} unchanged</summary><ul>{unchanged}</ul></details>" if same else ""
    return "\n".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1"><title>hosted-mesh diff</title>',
            f"<style>{_STYLE}</style></head><body>",
            f"<header><h1>{title}</h1>",
            '<input type="search" id="search" placeholder="Search stacks, objects, clusters, effects" autofocus>',
            f'<span id="count"></span></header><main><nav>{_links(found)}{rest}</nav><div>{moved}<ul>{notes}</ul>',
            *body,
            f"</div></main><script>{_SCRIPT}</script></body></html>",
            "",
        ]
    )


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _links(found: Difference) -> str:
    return "".join(
        f'<a href="#s{number}"><span>{html.escape(harmless(one.name))}</span>'
        f'<span class="state">{html.escape(_counts(one) or one.state)}</span></a>'
        for number, one in enumerate(found.shown)
    )


def _counts(stack: Stack) -> str:
    """The number of resources by step: `+2 ~1 ±1 -3`."""
    marks = {Step.MADE: "+", Step.CHANGED: "~", Step.REPLACED: "±", Step.REMOVED: "-"}
    counted = {step: sum(one.count for one in stack.changes if one.step is step) for step in marks}
    return " ".join(f"{marks[step]}{number}" for step, number in counted.items() if number)


def _section(stack: Stack, number: int, budget: Budget) -> Iterator[str]:
    name = html.escape(harmless(stack.name))
    yield f'<section id="s{number}"><header><h2>{name}</h2><span class="state">{stack.state} {_counts(stack)}</span>'
    yield "</header><div>"
    meaning = [*of_verdicts(stack), *of_effects(stack)]
    if meaning:
        yield "<h3>Meaning</h3><ul>"
        for line in meaning:
            kind, _, text = line.partition(": ")
            word = kind.split()[0]
            yield f'<li><b class="tag {word}">{html.escape(kind)}</b>{html.escape(text)}</li>'
        yield "</ul>"
    if stack.parts:
        yield from _drawing(stack, number)
    lines = list(of_stack(stack, budget))
    yield f"<h3>Changes</h3><pre>{_pre(lines)}</pre>"
    if rest := list(of_rest(stack, budget)):
        yield f"<details><summary>Rest of charts, {len(rest)} lines</summary><pre>{_pre(rest)}</pre></details>"
    yield "</div></section>"


def _drawing(stack: Stack, number: int) -> Iterator[str]:
    yield '<h3>Topology</h3><div class="views">'
    for view, label in (("both", "both, marked"), ("before", "before"), ("after", "after")):
        checked = " checked" if view == "both" else ""
        yield f'<label><input type="radio" name="v{number}" value="{view}"{checked}> {label}</label>'
    yield f'</div><div class="drawing both">{svg(stack.parts, stack.links, styled=False, name=f"head{number}")}</div>'


def _pre(lines: list[str]) -> str:
    return "\n".join(f'<span class="{_class(line)}">{html.escape(line)}</span>' for line in lines)


def _class(line: str) -> str:
    return _CLASSES.get(line[:1]) or ("" if line.startswith(" ") else "p")
