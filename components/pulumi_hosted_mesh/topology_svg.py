"""Draws places with namespaces, kinds and names as SVG. Imports nothing of the library: `plan` has a link to this file.

Every text is escaped. The drawing has no script, no link and no address.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

MOST_NAMES: Final = 6
"""Most names of one kind; changed ones come first, and the others are counted."""
LONGEST: Final = 44
LONGEST_TITLE: Final = 40
MARKS: Final = {"made": "+", "changed": "~", "replaced": "±", "removed": "-"}
STYLE: Final = """
.place{fill:#f6f8fa;stroke:#57606a}.place.data{fill:#eef6ff}.place.keys{fill:#fff8e5}
.space{fill:#fff;stroke:#d0d7de}.title{font-weight:600;font-size:13px}.label{fill:#57606a;font-size:11px}
.kind{font-weight:600;font-size:11px}.name{font-size:11px}text{font-family:system-ui,sans-serif;fill:#1f2328}
.name.made{fill:#116329;font-weight:600}.name.changed{fill:#7d4e00;font-weight:600}
.name.replaced{fill:#8250df;font-weight:600}.name.removed{fill:#a40e26;font-weight:600;text-decoration:line-through}
.node{fill:#fff;stroke:#d0d7de}.node.touched{stroke:#bf8700;stroke-width:2}
.link{fill:none;stroke:#57606a;stroke-width:1.2}.link.call{stroke-dasharray:5 3;stroke:#0969da}
.link.made{stroke:#116329;stroke-width:2}.link.removed{stroke:#a40e26;stroke-width:2}
"""
"""Colours for both uses of the drawing: alone, and in a page."""
_COLUMN, _GAP, _LINE, _PAD = 330, 110, 15, 10


@dataclass(frozen=True)
class TopologyPart:
    """One object. side: the column, `keys`, `control` or `data`. place: the cluster's title. mark: a key of `MARKS`,
    empty for an unchanged one."""

    side: str
    place: str
    space: str
    kind: str
    name: str
    mark: str = ""

    @property
    def node(self) -> tuple[str, str, str, str]:
        return (self.side, self.place, self.space, self.kind)


@dataclass(frozen=True)
class Link:
    """An arrow between the kinds of two objects. calls: True for a call over the network."""

    source: TopologyPart
    target: TopologyPart
    label: str
    calls: bool = False
    mark: str = ""


@dataclass
class _Drawing:
    lines: list[str] = field(default_factory=list)
    boxes: dict[tuple[str, str, str, str], tuple[int, int, int]] = field(default_factory=dict)
    height: int = 0

    def text(self, x: int, y: int, text: str, style: str) -> None:
        longest = LONGEST_TITLE if style == "title" else LONGEST
        shown = text if len(text) <= longest else f"{text[: longest - 1]}…"
        title = f"<title>{html.escape(text)}</title>" if shown != text else ""
        self.lines.append(f'<text x="{x}" y="{y}" class="{style}">{html.escape(shown)}{title}</text>')

    def box(self, x: int, y: int, width: int, height: int, style: str) -> None:
        self.lines.append(f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="5" class="{style}"/>')


def svg(parts: Sequence[TopologyPart], links: Iterable[Link] = (), *, styled: bool = True, name: str = "head") -> str:
    """The drawing. styled: with its own colours; False inside of a page that has them.

    name: of its arrow's head, unique in a page: the head of a hidden drawing is hidden too.
    """
    drawing, columns = _Drawing(), ("keys", "control", "data")
    used = [side for side in columns if any(part.side == side for part in parts)]
    for number, side in enumerate(used):
        _column(drawing, number * (_COLUMN + _GAP) + 1, side, [part for part in parts if part.side == side])
    arrows = list(_arrows(drawing, links, name))
    width = max(len(used) * (_COLUMN + _GAP) - _GAP, _COLUMN) + 2
    height = max(drawing.height, 20) + 1
    style = f"<style>{STYLE}</style>" if styled else ""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'role="img">'
    )
    return "\n".join([f"{head}{style}{_HEAD.format(name)}", *drawing.lines, *arrows, "</svg>"]) + "\n"


_HEAD: Final = (
    '<defs><marker id="{}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
    'orient="auto"><path d="M0 0L8 4L0 8z" fill="#57606a"/></marker></defs>'
)


def _grouped(parts: Iterable[TopologyPart], key: str) -> Mapping[str, list[TopologyPart]]:
    found: dict[str, list[TopologyPart]] = {}
    for part in sorted(parts, key=lambda one: (one.place, one.space, one.kind, one.name)):
        found.setdefault(getattr(part, key), []).append(part)
    return found


def _column(drawing: _Drawing, x: int, side: str, parts: Sequence[TopologyPart]) -> None:
    y = 1
    for place, inside in _grouped(parts, "place").items():
        start, slot = y, len(drawing.lines)
        drawing.text(x + _PAD, y + 20, place, "title")
        y += 30
        for space, of_space in _grouped(inside, "space").items():
            y = _space(drawing, x + _PAD, y, space, of_space) + 8
        drawing.lines.insert(
            slot,
            f'<rect x="{x}" y="{start}" width="{_COLUMN}" height="{y - start}" rx="7" class="place {side}"/>',
        )
        y += 20
    drawing.height = max(drawing.height, y - 20)


def _space(drawing: _Drawing, x: int, y: int, space: str, parts: Sequence[TopologyPart]) -> int:
    start, slot, inner = y, len(drawing.lines), x + (_PAD if space else 0)
    width = _COLUMN - 2 * _PAD
    if space:
        drawing.text(x + _PAD, y + 16, f"namespace {space}", "label")
        y += 24
    for kind, of_kind in _grouped(parts, "kind").items():
        y = _kind(drawing, inner, y, width - 2 * (inner - x), kind, of_kind) + 5
    if space:
        y += 3
        drawing.lines.insert(
            slot, f'<rect x="{x}" y="{start}" width="{width}" height="{y - start}" rx="5" class="space"/>'
        )
    return y


def _kind(drawing: _Drawing, x: int, y: int, width: int, kind: str, parts: Sequence[TopologyPart]) -> int:
    ordered = sorted(parts, key=lambda one: (not one.mark, one.name))
    shown = ordered[: max(MOST_NAMES, sum(bool(one.mark) for one in ordered))][:40]
    more = len(ordered) - len(shown)
    height = _LINE * (1 + len(shown) + bool(more)) + 8
    touched = " touched" if any(one.mark for one in parts) else ""
    drawing.boxes[parts[0].node] = (x, y + height // 2, width)
    drawing.box(x, y, width, height, f"node{touched}")
    drawing.text(x + 6, y + _LINE, kind, "kind")
    for number, one in enumerate(shown, start=2):
        mark = f"{MARKS[one.mark]} " if one.mark else ""
        drawing.text(x + 6, y + _LINE * number, f"{mark}{one.name}", f"name {one.mark}".rstrip())
    if more:
        drawing.text(x + 6, y + _LINE * (len(shown) + 2), f"and {more} more", "label")
    return y + height


def _arrows(drawing: _Drawing, links: Iterable[Link], name: str) -> Iterator[str]:
    for link in dict.fromkeys(links):
        here, there = drawing.boxes.get(link.source.node), drawing.boxes.get(link.target.node)
        if here is None or there is None:
            continue
        goes_right = here[0] < there[0]
        x1, x2 = (here[0] + here[2], there[0]) if goes_right else (here[0], there[0] + there[2])
        bend = 60 if goes_right else -60
        path = f"M{x1} {here[1]}C{x1 + bend} {here[1]} {x2 - bend} {there[1]} {x2} {there[1]}"
        style = " ".join(filter(None, ("link", "call" if link.calls else "", link.mark)))
        title = f"<title>{html.escape(link.label)}</title>"
        yield f'<path d="{path}" class="{style}" marker-end="url(#{name})">{title}</path>'
