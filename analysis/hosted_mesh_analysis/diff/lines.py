"""A difference as lines of text. Program texts are made harmless here: each stays on its line, and is visible."""

from __future__ import annotations

import difflib
import itertools
import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from hosted_mesh_plan.model import PROVIDER_PREFIX

from .groups import Group, by_chart, grouped
from .result import Change, Cluster, Difference, Property, Stack, StackChange, Step, Value
from .trees import Why

LONGEST_VALUE: Final = 160
"""Most characters of a value."""
LONGEST_NAME: Final = 120
LONGEST_EFFECT: Final = 300
BEFORE: Final = 24
"""Characters before the first difference of two long values."""
MOST_PROPERTIES: Final = 30
"""Most properties of a resource, and most outputs."""
MOST_CHANGES: Final = 200
LONGEST_TEXT: Final = 200_000
"""Most characters of a text for comparison by line."""
MOST_PAIRS: Final = 1_000_000
"""Most pairs of lines compared in one report: more would take minutes."""
MOST_LINES: Final = 20
"""Most lines of a text."""
MOST_NOTES: Final = 10
MARKS: Final = {Step.MADE: "+", Step.CHANGED: "~", Step.REPLACED: "+-", Step.REMOVED: "-"}
_INVISIBLE: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Invisible letters, marks and a Braille pattern."""
_FATES: Final = {
    StackChange.NEW: "the stack is new",
    StackChange.REMOVED: "the stack's file is gone. `pulumi destroy` removes its resources, not this change",
    StackChange.UNDECIDED: "not decided",
}


def harmless(text: str, longest: int = LONGEST_NAME) -> str:
    """A text on one line, harmless for a terminal or a browser: control, format, bidirectional and invisible characters
    are spelled. It opens no HTML comment."""
    spelled = "".join(_spelled(one) for one in text[:longest]).replace("<!--", "<! --")
    is_whole = len(text) <= longest and len(spelled) <= longest
    return spelled if is_whole else f"{spelled[:longest]}… ({len(text)} characters)"


def _spelled(one: str) -> str:
    category = unicodedata.category(one)
    is_seen = category[0] != "C" and (category[0] != "Z" or one == " ") and not _INVISIBLE.match(one)
    return one if is_seen else f"\\u{{{ord(one):x}}}"


def label(cluster: Cluster) -> str:
    """A cluster with its side."""
    name = harmless(cluster.name)
    return {
        "unknown": f"cluster {name}, no declared owner",
        "other": f"other: {name}",
        "nowhere": "nowhere (keys, passwords and the like)",
    }.get(cluster.side, f"{cluster.side} {name}")


def fate(stack: Stack) -> str:
    """A sentence on a stack as a whole; empty for a changed stack."""
    return _FATES.get(stack.state, "")


def summary(found: Difference, quoted: Callable[[str], str] = harmless) -> str:
    """One line: the number of different stacks, and the base. quoted: writes the base's name."""
    base = quoted(found.base)
    same, undecided = len(found.of(StackChange.UNCHANGED)), len(found.of(StackChange.UNDECIDED))
    differing = len(found.shown) - undecided
    if not found.shown:
        return f"nothing differs from {base}: {_counted(same, 'stack')} compared"
    unchanged = f", {same} unchanged" if same else ""
    if not differing:
        return f"differences undecided from {base}: {_counted(undecided, 'stack')}{unchanged}"
    told = f"{_counted(differing, 'stack')} differ{'s' if differing == 1 else ''} from {base}{unchanged}"
    return told + (f", {undecided} not decided" if undecided else "")


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


@dataclass
class Budget:
    """The rest of one report's budget for texts of many lines."""

    pairs: int = MOST_PAIRS

    def takes(self, old: Sequence[str], new: Sequence[str]) -> bool:
        needed = len(old) * len(new)
        if needed > self.pairs:
            return False
        self.pairs -= needed
        return True


def of_moved(found: Difference) -> str:
    """One line on resources that move to another cluster; empty for none."""
    number = found.moved
    return f"{_counted(number, 'resource')} move{'s' if number == 1 else ''} to another cluster" if number else ""


def of_stack(stack: Stack, budget: Budget | None = None) -> Iterator[str]:
    """A stack's lines. Those that begin with + - ~ are resources; their details follow, indented."""
    budget = budget or Budget()
    if text := fate(stack):
        yield text
    for text in _most(stack.problems, MOST_NOTES, "problem"):
        yield f"could not run: {harmless(text, 600)}"
    for cluster, changes in stack.by_cluster().items():
        yield f"{label(cluster)}"
        charts = by_chart(changes)
        own = charts.pop("", [])
        for one in own[:MOST_CHANGES]:
            yield from _of_change(one, cluster, budget)
        yield from _more(len(own) - MOST_CHANGES, "resource", "  ")
        for chart, of_chart in sorted(charts.items()):
            yield from _of_chart(chart, of_chart, cluster, budget)
    for heading, properties in (("outputs", stack.outputs), ("configuration", stack.configuration)):
        if properties:
            yield heading
            for two in properties[:MOST_PROPERTIES]:
                yield from _of_property(two, f"{_mark(two)} ", "", budget)
            yield from _more(len(properties) - MOST_PROPERTIES, "property", "  ")
    for text in _most(stack.notes, MOST_NOTES, "note"):
        yield f"note: {harmless(text, 300)}"


def of_effects(stack: Stack) -> list[str]:
    """One line for each effect of a stack's changes."""
    return [f"{one.kind}: {harmless(one.text, LONGEST_EFFECT)}" for one in stack.effects]


def of_verdicts(stack: Stack) -> list[str]:
    """One line for each verdict of the policies that one version alone has, added ones first."""
    found = []
    for one in sorted(stack.verdicts, key=lambda one: (not one.added, not one.mandatory, one.rule)):
        level = "mandatory" if one.mandatory else "advisory"
        fate = "new" if one.added else "gone"
        text = harmless(one.text, LONGEST_EFFECT)
        found.append(f"policy: {fate}, {level}: {harmless(one.rule)} ({harmless(one.resource)}): {text}")
    return found


def _of_chart(chart: str, changes: Sequence[Change], cluster: Cluster, budget: Budget) -> Iterator[str]:
    """The changes of a chart's objects, by group. The rest is counted."""
    groups = grouped(changes)
    rest = groups.pop(Group.REST, [])
    title = f"chart {harmless(chart)}"
    for group, of_group in groups.items():
        yield f"{title}: {group}"
        for one in of_group[:MOST_CHANGES]:
            yield from _of_change(one, cluster, budget)
        yield from _more(len(of_group) - MOST_CHANGES, "object", "  ")
    if rest:
        number = sum(len(one.properties) for one in rest)
        many = "1 property" if number == 1 else f"{number} properties"
        yield f"{title}: {many} more of {_counted(len(rest), 'object')}, folded"


def of_rest(stack: Stack, budget: Budget) -> Iterator[str]:
    """The folded changes of a stack's charts."""
    for cluster, changes in stack.by_cluster().items():
        for chart, of_chart in sorted(by_chart(changes).items()):
            rest = grouped(of_chart).get(Group.REST, []) if chart else []
            if rest:
                yield f"chart {harmless(chart)}: rest, {label(cluster)}"
            for one in rest[:MOST_CHANGES]:
                yield from _of_change(one, cluster, budget)
            yield from _more(len(rest) - MOST_CHANGES, "object", "  ")


def _of_change(one: Change, cluster: Cluster, budget: Budget) -> Iterator[str]:
    own = one.name.removeprefix(f"{one.chart}:") if one.name and one.chart else one.name
    name = "[secret]" if own is None else harmless(own)
    many = f" ({one.count} of them)" if one.count > 1 else ""
    why = f" (replaced: {', '.join(harmless(path) for path in one.forced_by[:3])})" if one.forced_by else ""
    if one.moved_from is not None:
        leaves = cluster == one.moved_from
        why += f" (moves to {label(one.cluster)})" if leaves else f" (moves here from {label(one.moved_from)})"
    yield f"{MARKS[one.step]} {kind(one.type)} {name}{many}{why}"
    if one.moved_from == cluster:
        return
    for two in one.properties[:MOST_PROPERTIES]:
        word = "" if one.step is Step.MADE else " (removed)" if two.new is None else " (added)"
        yield from _of_property(two, "    ", word, budget)
    yield from _more(len(one.properties) - MOST_PROPERTIES, "property", "    ")


def kind(token: str) -> str:
    """The short name of a type."""
    short = harmless(token.rpartition(":")[2])
    return f"provider {short}" if token.startswith(PROVIDER_PREFIX) else short


def _mark(one: Property) -> str:
    return "+" if one.old is None else "-" if one.new is None else "~"


def _of_property(one: Property, lead: str, word: str, budget: Budget) -> Iterator[str]:
    """word: the fate of a property that one version lacks."""
    path = harmless(one.path)
    if one.old is None or one.new is None:
        value = one.new or one.old
        yield f"{lead}{path}: {shown(value)}{word}" if value else f"{lead}{path}"
    elif one.old.hidden is one.new.hidden is Why.ENCRYPTED:
        yield f"{lead}{path}: changed, encrypted"
    elif _has_lines(one.old) and _has_lines(one.new):
        old, new = _where_they_differ(str(one.old.value).split("\n"), str(one.new.value).split("\n"))
        if budget.takes(old, new):
            yield f"{lead}{path}:"
            yield from _of_lines(old, new)
        else:
            yield f"{lead}{path}: the text differs"
    else:
        yield f"{lead}{path}: {' -> '.join(_shown_pair(one.old, one.new))}"


def shown(one: Value) -> str:
    """A value. Hidden values and files are in brackets, texts are in quotes, so neither imitates the other."""
    if one.hidden is not None:
        return f"({one.hidden})" if one.hidden is Why.EACH_RUN else f"[{one.hidden}]"
    if one.file is not None:
        return f"(file {harmless(one.file)})"
    if isinstance(one.value, str):
        return _quoted(one.value)
    return harmless(json.dumps(one.value), LONGEST_VALUE)


def _quoted(text: str, start: int = 0) -> str:
    inner = json.dumps(text[start : start + LONGEST_VALUE], ensure_ascii=False)[1:-1]
    left_out = len(text) > start + LONGEST_VALUE
    size = f" ({len(text)} characters)" if start or left_out else ""
    return harmless(f'"{"…" if start else ""}{inner}{"…" if left_out else ""}"{size}', 10 * LONGEST_VALUE)


def _shown_pair(old: Value, new: Value) -> tuple[str, str]:
    """Two values, cut before their first difference if they are long."""
    if old.file is not None and old.file == new.file:
        return shown(old), "(other content)"
    texts = [one.value for one in (old, new) if isinstance(one.value, str) and one.hidden is None]
    if len(texts) == 2 and max(map(len, texts)) > LONGEST_VALUE:
        alike = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(*texts, strict=False)))
        start = max(0, alike - BEFORE)
        return _quoted(texts[0], start), _quoted(texts[1], start)
    return shown(old), shown(new)


def _has_lines(one: Value) -> bool:
    return isinstance(one.value, str) and len(one.value) <= LONGEST_TEXT and "\n" in one.value.strip("\n")


def _where_they_differ(old: list[str], new: list[str]) -> tuple[list[str], list[str]]:
    first = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))
    old, new = old[first:], new[first:]
    backwards = zip(reversed(old), reversed(new), strict=False)
    last = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], backwards))
    return old[: len(old) - last], new[: len(new) - last]


def _of_lines(old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    """The different lines, with the sign in front for colours."""
    found = itertools.islice(difflib.unified_diff(old, new, n=0, lineterm=""), 2, None)
    told = [f"{line[0]}     {harmless(line[1:], LONGEST_VALUE)}" for line in found if not line.startswith("@@")]
    yield from told[:MOST_LINES]
    yield from _more(len(told) - MOST_LINES, "line", "      ")


def of_notes(found: Difference) -> Iterable[str]:
    """Notes on all stacks, and the number of further ones."""
    return _most(found.notes, MOST_NOTES, "note")


def _most(texts: Sequence[str], most: int, what: str) -> Iterable[str]:
    return [*texts[:most], *_more(len(texts) - most, what, "")]


def _more(number: int, what: str, lead: str) -> Iterator[str]:
    if number > 0:
        many = what if number == 1 else f"{what.removesuffix('y')}ies" if what.endswith("y") else f"{what}s"
        yield f"{lead}… and {number} {many} more"
