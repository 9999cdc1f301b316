"""How a difference is shown: as text, as Markdown, as JSON that is read again. What a program says may be hostile."""

from __future__ import annotations

import io
import json
import re
import unicodedata
from collections.abc import Iterator
from typing import Any

import pytest
from hosted_mesh_analysis.diff.lines import LONGEST_VALUE, harmless, of_stack, summary
from hosted_mesh_analysis.diff.markdown import LONGEST, MARKER, as_markdown, size
from hosted_mesh_analysis.diff.report import as_text
from hosted_mesh_analysis.diff.result import (
    SIDES,
    Change,
    Cluster,
    Difference,
    Property,
    Stack,
    StackChange,
    Step,
    Value,
)
from hosted_mesh_analysis.diff.saved import UnreadableError, as_json, from_json
from hosted_mesh_analysis.diff.trees import Why
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from rich.console import Console

DATA_PLANE = Cluster("data plane", "https://dp.example.com:6443")
HOSTILE = (
    "@everyone",
    "<img src=x onerror=alert(1)>",
    "<script>alert(1)</script>",
    "[a link](https://evil.example.com)",
    "https://evil.example.com www.evil.example.com",
    "someone@evil.example.com #1 GH-1",
    "```\n</details>\n# A heading\n",
    "`````````` ~~~~~~~~~~",
    "`````",
    "`a` | b | c \\| d \\",
    MARKER,
    "--> <!--",
    "</code></summary></details>",
    "\n\n- [x] done\n\n| a | b |\n|---|---|\n",
    "\u202edesrever\u2066 \u200b\ufeff\u0000\u001b[31m\x9b31m\r\u2028\u2029\ud800",
    "&lt;b&gt; &#64;everyone &commat;everyone",
)


def change(*properties: Property, name: str | None = "app", step: Step = Step.CHANGED, **more: Any) -> Change:
    return Change(
        step, "kubernetes:core/v1:ConfigMap", name, more.pop("cluster", DATA_PLANE), tuple(properties), **more
    )


def lines(*changes: Change, **more: Any) -> list[str]:
    return list(of_stack(Stack("dev", StackChange.CHANGED, list(changes), **more)))


# Lines ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (Value("a"), Value("b"), '"a" -> "b"'),
        (Value(1), Value(True), "1 -> true"),
        (Value(None), Value({}), "null -> {}"),
        (None, Value([]), "[] (added)"),
        (Value("a"), None, '"a" (removed)'),
        (Value(hidden=Why.SECRET), Value("[secret]"), '[secret] -> "[secret]"'),
        (Value(hidden=Why.EACH_RUN), Value(hidden=Why.FORM), "(another in each run) -> [secret by its form]"),
        (Value(file="a.html"), Value(file="a.html"), "(file a.html) -> (other content)"),
        (Value(file="a.html"), Value(file="b.html"), "(file a.html) -> (file b.html)"),
        (Value('a"\\\n'), Value("ä\u202e\x1b[0m"), '"a\\"\\\\\\n" -> "ä\\u{202e}\\u001b[0m"'),
    ],
)
def test_a_value_is_told_from_what_stands_for_one(old: Value | None, new: Value | None, said: str) -> None:
    assert lines(change(Property("data.x", old, new)))[2] == f"    data.x: {said}"


def test_long_values_are_cut_around_where_they_differ() -> None:
    old, new = "x" * 500 + "old" + "y" * 500, "x" * 500 + "new" + "y" * 500
    (line,) = lines(change(Property("a", Value(old), Value(new))))[2:]
    one, other = line.removeprefix("    a: ").split(" -> ")
    assert one.startswith('"…' + "x" * 24 + "oldyyy") and other.startswith('"…' + "x" * 24 + "newyyy")
    assert one.endswith('y…" (1003 characters)')
    assert len(one) < LONGEST_VALUE + 40
    (line,) = lines(change(Property("a", None, Value("x" * 1000))))[2:]
    assert line == '    a: "' + "x" * LONGEST_VALUE + '…" (1000 characters) (added)'


def test_of_a_text_of_many_lines_those_that_differ_are_shown() -> None:
    old, new = "a: 1\n--- \nb: 2\nc: 3\n", "a: 1\nb: 4\nc: 3\n"
    shown = lines(change(Property("data.x", Value(old), Value(new))))[2:]
    assert shown == ["    data.x:", "-     --- ", "-     b: 2", "+     b: 4"]
    many = "\n".join(map(str, range(100)))
    shown = lines(change(Property("data.x", Value(many), Value(many.replace("\n", "!\n")))))
    assert shown[-1] == "      … and 178 lines more"


def test_long_lists_say_how_many_more_there_are() -> None:
    properties = [Property(f"a{place}", Value(1), Value(2)) for place in range(40)]
    assert lines(change(*properties))[-1] == "    … and 10 properties more"
    assert lines(*[change(name=f"n{place}") for place in range(201)])[-1] == "  … and 1 resource more"
    assert lines(notes=[str(place) for place in range(12)])[-1] == "note: … and 2 notes more"
    assert lines(outputs=properties)[-1] == "  … and 10 properties more"


def test_what_a_stack_says_is_in_the_order_of_its_clusters() -> None:
    clusters = [Cluster(side, "x") for side in reversed(SIDES)]
    stack = Stack("dev", StackChange.NEW, [change(cluster=one, step=Step.MADE) for one in clusters])
    stack.configuration = [
        Property("shop:token", Value(hidden=Why.ENCRYPTED), Value(hidden=Why.ENCRYPTED)),
        Property("shop:other", None, Value(hidden=Why.ENCRYPTED)),
        Property("aws:region", Value("a"), None),
    ]
    assert list(of_stack(stack)) == [
        "the stack is new",
        "control plane x",
        "+ ConfigMap app",
        "data plane x",
        "+ ConfigMap app",
        "cluster x, no declared owner",
        "+ ConfigMap app",
        "other: x",
        "+ ConfigMap app",
        "nowhere (keys, passwords and the like)",
        "+ ConfigMap app",
        "configuration",
        "~ shop:token: changed, encrypted",
        "+ shop:other: [encrypted]",
        '- aws:region: "a"',
    ]


def test_a_hidden_name_and_a_forced_replacement_are_said() -> None:
    assert lines(change(name=None, count=3), change(step=Step.REPLACED, forced_by=("a", "b", "c", "d")))[1:] == [
        "+- ConfigMap app (replaced: a, b, c)",
        "~ ConfigMap [secret] (3 of them)",
    ]
    (_, line) = lines(Change(Step.MADE, "pulumi:providers:aws", "east", DATA_PLANE))
    assert line == "+ provider aws east"


def test_one_line_sums_it_up() -> None:
    def said(*states: StackChange) -> str:
        return summary(Difference("main", [Stack("x", state) for state in states]))

    assert said(StackChange.UNCHANGED) == "nothing differs from main: 1 stack compared"
    assert said(StackChange.CHANGED, StackChange.NEW, StackChange.UNCHANGED) == "2 stacks differ from main, 1 unchanged"
    assert said(StackChange.REMOVED, StackChange.UNDECIDED) == "1 stack differs from main, 1 not decided"
    assert said(StackChange.UNDECIDED, StackChange.UNCHANGED) == "differences undecided from main: 1 stack, 1 unchanged"


@pytest.mark.parametrize(
    ("states", "tells", "code"),
    [
        ([StackChange.UNCHANGED], True, 0),
        ([StackChange.CHANGED], False, 0),
        ([StackChange.CHANGED], True, 1),
        ([StackChange.NEW], True, 1),
        ([StackChange.CHANGED, StackChange.UNDECIDED], True, 2),
        ([StackChange.UNDECIDED], False, 2),
    ],
)
def test_the_exit_code_says_what_was_found(states: list[StackChange], tells: bool, code: int) -> None:
    assert Difference("main", [Stack("x", state) for state in states]).exit_code(tells) == code


# What is hostile --------------------------------------------------------------------------------------------------

TEXTS = st.lists(st.sampled_from(HOSTILE) | st.text(max_size=12), min_size=1, max_size=3).map(" ".join)
HIDDEN = st.sampled_from([Value(hidden=why) for why in Why])
VALUES = (
    (st.none() | st.booleans() | st.integers() | TEXTS).map(Value) | HIDDEN | TEXTS.map(lambda text: Value(file=text))
)
PROPERTIES = st.builds(Property, TEXTS, st.none() | VALUES, st.none() | VALUES)
CHANGES = st.builds(
    Change,
    st.sampled_from(Step),
    TEXTS,
    st.none() | TEXTS,
    st.builds(Cluster, st.sampled_from(SIDES), TEXTS),
    st.lists(PROPERTIES, max_size=3).map(tuple),
    st.lists(TEXTS, max_size=2).map(tuple),
    st.integers(1, 5),
    st.none() | st.builds(Cluster, st.sampled_from(SIDES), TEXTS),
)


def _consistent(stack: Stack) -> Stack:
    if stack.state is StackChange.UNCHANGED:
        stack.changes, stack.outputs, stack.configuration, stack.problems = [], [], [], []
    return stack


STACKS = st.builds(
    Stack,
    TEXTS,
    st.sampled_from(StackChange),
    st.lists(CHANGES, max_size=3),
    st.lists(PROPERTIES, max_size=2),
    st.lists(PROPERTIES, max_size=2),
    st.lists(TEXTS, max_size=2),
    st.lists(TEXTS, max_size=2),
).map(_consistent)
DIFFERENCES = st.builds(Difference, TEXTS, st.lists(STACKS, max_size=3), st.lists(TEXTS, max_size=2))
FOLD = re.compile(r"<details><summary><code>[^<>]*</code></summary>|</details>")


ALLOWED = {"html_block", "text", "strong", "heading", "paragraph", "bullet_list", "list_item", "fence", "code_inline"}
TABLE = {"table", "thead", "tbody", "tr", "th", "td"}


def tokens(markdown: str) -> Iterator[tuple[str, str]]:
    """What a reader of Markdown makes of a text: kinds and texts, in order."""
    todo = MarkdownIt("commonmark").enable("table").parse(markdown)[::-1]
    while todo:
        token = todo.pop()
        todo += (token.children or [])[::-1]
        if token.type != "inline" and token.nesting >= 0:
            yield token.type.removesuffix("_open"), token.content


def check(markdown: str) -> None:
    """Nobody is mentioned, nothing linked, no HTML but the folds; and no part of the comment ends another one."""
    assert markdown.startswith(MARKER + "\n")
    assert markdown.count(MARKER) == markdown.count("<!--") == 1
    assert size(markdown) <= LONGEST
    assert not any(unicodedata.category(one)[0] == "C" for one in markdown.replace("\n", ""))
    found = list(tokens(markdown))
    assert {kind for kind, _ in found} <= ALLOWED | TABLE
    assert [kind for kind, _ in found].count("heading") == 1
    for kind, text in found:
        if kind == "html_block":
            assert text.strip() == MARKER or FOLD.fullmatch(text.strip()), text
        elif kind == "text":
            assert not re.search(r"[@<>\[\]#]|://|www\.", text), text
    blocks = [text.strip() if kind == "html_block" else kind for kind, text in found if kind in {"html_block", "fence"}]
    for fence, inside in re.findall(r"^(`{3,})diff\n(.*?)^\1$", markdown, re.MULTILINE | re.DOTALL):
        assert all(len(run) < len(fence) for run in re.findall("`+", inside))
    folds = blocks[1:]
    assert folds[1::3] == ["fence"] * (len(folds) // 3)
    assert folds[2::3] == ["</details>"] * (len(folds) // 3)
    assert len(folds) % 3 == 0


@given(DIFFERENCES)
@settings(max_examples=100)
def test_whatever_a_program_says_stays_in_code(found: Difference) -> None:
    check(as_markdown(found))


@pytest.mark.parametrize("text", HOSTILE)
def test_each_of_the_hostile_texts_stays_in_code_wherever_it_stands(text: str) -> None:
    many = text + "\n" + text + "\n"
    properties = [Property(text, Value(text), Value(many)), Property(text, Value(many), Value(many + "x"))]
    changes = [change(*properties, name=text, cluster=Cluster(side, text), forced_by=(text,)) for side in SIDES]
    stacks = [
        Stack(text, state, list(changes), list(properties), list(properties), [text], [text]) for state in StackChange
    ]
    check(as_markdown(Difference(text, stacks, [text])))


def test_the_reader_of_these_tests_sees_what_is_outside_of_code() -> None:
    """Else the two tests before would pass for anything."""
    for text in ("@everyone", "<b>x</b>", "[x](https://e.example.com)", "# x", "</details>", "> b", "```\nx\n```"):
        with pytest.raises(AssertionError):
            check(f"{MARKER}\n### Pulumi\n\n{text}\n")


def test_a_terminal_is_sent_nothing_that_it_obeys() -> None:
    stacks = [Stack(text, StackChange.NEW, [change(Property(text, None, Value(text)), name=text)]) for text in HOSTILE]
    as_text(Difference(HOSTILE[-2], stacks, list(HOSTILE)), Console(file=(written := io.StringIO()), width=80))
    assert not any(unicodedata.category(one)[0] == "C" for one in written.getvalue().replace("\n", ""))
    assert "[a link](https://evil.example.com)" in written.getvalue()


@pytest.mark.parametrize("one", "\u3164\u115f\u1160\uffa0\u2800\ufe0f\u034f\u00a0\u2003\U000e0100")
def test_a_letter_that_nobody_sees_is_spelled(one: str) -> None:
    assert harmless(f"a{one}b") == f"a\\u{{{ord(one):x}}}b"


def test_text_stays_readable() -> None:
    assert harmless("Grüße, 世界 🎉 e\u0301") == "Grüße, 世界 🎉 e\u0301"


# GitHub's limit ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("letter", ["x", "🎉"])
def test_a_comment_fits_and_says_what_is_not_in_it(letter: str) -> None:
    long = [Property(f"data.{place}", Value("a"), Value(letter * 100)) for place in range(30)]
    stacks = [Stack(f"s{n}", StackChange.CHANGED, [change(*long, name=f"n{m}") for m in range(6)]) for n in range(20)]
    shown = as_markdown(Difference("main", stacks))
    check(shown)
    assert size(shown) > LONGEST - 6000
    assert all(f"| `s{n}` | `data plane {DATA_PLANE.name}` |  | 6 |  |  |\n" in shown for n in range(20))
    whole = sum(f"<code>s{n}</code></summary>" in shown for n in range(20)) - 1
    assert shown.count("… cut here") == 1
    assert f"so {20 - whole} stacks are not here, or not whole. The rest is in the file of" in shown
    assert shown.count("<details>") == shown.count("</details>") == whole + 1
    assert "not here, or not whole" not in as_markdown(Difference("main", stacks[:1]))


def test_a_table_of_very_many_stacks_is_cut_too() -> None:
    stacks = [Stack("s" * 500 + str(n), StackChange.CHANGED, [change()]) for n in range(3000)]
    shown = as_markdown(Difference("main", stacks))
    check(shown)
    assert "| … and 2900 rows more | | | | | |" in shown


def test_many_notes_and_a_table_of_wide_letters_fit_too() -> None:
    stacks = [
        Stack("\U0001f389" * 500, StackChange.CHANGED, [change(cluster=Cluster("other", f"{n}" + "\U0001f389" * 500))])
        for n in range(100)
    ]
    shown = as_markdown(Difference("\U0001f389" * 500, stacks, ["\U0001f389" * 500] * 1000))
    check(shown)
    assert "… and 990 notes more" in shown
    as_text(Difference("main", [], ["x"] * 1000), Console(file=(written := io.StringIO())))
    assert "note: … and 990 notes more\n" in written.getvalue()


def test_where_a_text_differs_is_looked_for_within_bounds() -> None:
    """Of all texts of a report together."""
    texts = [Value("\n".join(f"{word} {place}" for place in range(600))) for word in ("old", "new")]
    shown = lines(*[change(Property("a", *texts), name=f"n{place}") for place in range(10)])
    assert shown.count("    a:") == 2
    assert shown.count("    a: the text differs") == 8
    same = "x\n" * 10_000
    assert lines(change(Property("a", Value(f"{same}y\n{same}"), Value(f"{same}z\n{same}"))))[2:] == [
        "    a:",
        "-     y",
        "+     z",
    ]


class _Walked(list[Change]):
    walks = 0

    def __iter__(self) -> Iterator[Change]:
        self.walks += 1
        return super().__iter__()


def test_changes_are_grouped_once_however_many_clusters_there_are() -> None:
    changes = _Walked(change(cluster=Cluster("other", str(place))) for place in range(300))
    check(as_markdown(Difference("main", [Stack("dev", StackChange.CHANGED, changes)])))
    assert changes.walks < 10


# What moves -------------------------------------------------------------------------------------------------------


def test_what_moves_is_loud_and_in_both_clusters() -> None:
    old = Cluster("control plane", "https://cp.example.com:6443")
    moved = change(Property("(cluster)", Value("a"), Value("b")), step=Step.REPLACED, moved_from=old)
    found = Difference("main", [Stack("dev", StackChange.CHANGED, [moved])])
    assert lines(moved) == [
        f"control plane {old.name}",
        f"+- ConfigMap app (moves to data plane {DATA_PLANE.name})",
        f"data plane {DATA_PLANE.name}",
        f"+- ConfigMap app (moves here from control plane {old.name})",
        '    (cluster): "a" -> "b"',
    ]
    shown = as_markdown(found)
    check(shown)
    assert "**1 resource moves to another cluster**" in shown
    assert f"| `dev` | `control plane {old.name}` |  |  |  | 1 |\n" in shown
    assert f"| `dev` | `data plane {DATA_PLANE.name}` | 1 |  |  |  |\n" in shown
    as_text(found, Console(file=(written := io.StringIO()), width=80))
    assert written.getvalue().startswith("1 resource moves to another cluster\n")


def test_what_weighs_most_is_shown_first() -> None:
    made = [change(name=f"n{place}", step=Step.MADE) for place in range(300)]
    moved = change(name="moved", step=Step.REPLACED, moved_from=Cluster("other", "x"))
    shown = lines(*made, change(name="changed"), change(name="gone", step=Step.REMOVED), moved)
    assert [line.split()[2] for line in shown[1:5]] == ["moved", "gone", "changed", "n0"]


# JSON -------------------------------------------------------------------------------------------------------------


@given(DIFFERENCES)
@settings(max_examples=100)
def test_json_is_read_as_what_was_written(found: Difference) -> None:
    assert from_json(as_json(found)) == found


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        ((), "x", "is not JSON that can be read"),
        (("version",), 2, "is of another version than 1"),
        (("base",), 1, "the file.base: is no str"),
        (("stacks",), {}, "the file.stacks: is no list"),
        (("stacks", 0), [], "the file.stacks[0]: is no mapping"),
        (("stacks", 0, "state"), "@everyone", "the file.stacks[0].state: is none of changed, new"),
        (("stacks", 0, "notes"), [1], "the file.stacks[0].notes: are not all texts"),
        (("stacks", 0, "changes", 0, "step"), None, "the file.stacks[0].changes[0].step: is no str"),
        (("stacks", 0, "changes", 0, "count"), True, "the file.stacks[0].changes[0].count: is no int"),
        (("stacks", 0, "changes", 0, "count"), 0, "count: is not between 1 and 1,000,000"),
        (("stacks", 0, "changes", 0, "count"), 10**4000, "count: is not between 1 and 1,000,000"),
        (("stacks", 0, "state"), "unchanged", "stacks[0].state: is unchanged, and the stack has changes"),
        (("stacks", 0, "changes", 0, "movedFrom"), {"side": "x", "name": ""}, "movedFrom.side: is none of control"),
        (("stacks", 0, "changes", 0, "cluster", "side"), "x", "cluster.side: is none of control plane"),
        (("stacks", 0, "changes", 0, "properties", 0, "new"), {"value": ["x"]}, "new.value: is not one value"),
        (("stacks", 0, "changes", 0, "properties", 0, "new"), {"hidden": "x"}, "new.hidden: is none of secret"),
        (("stacks", 0, "changes", 0, "properties", 0, "new"), {}, "new.value: is missing"),
    ],
)
def test_what_is_no_such_json_is_refused_with_its_place_and_without_its_text(
    place: tuple[Any, ...], value: Any, said: str
) -> None:
    written = json.loads(
        as_json(Difference("main", [Stack("s", StackChange.NEW, [change(Property("a", None, Value(1)))])]))
    )
    *above, last = ("file", *place)
    inside: Any = (whole := {"file": written})
    for step in above:
        inside = inside[step]
    inside[last] = value
    text = json.dumps(whole["file"]) if place else "{"
    with pytest.raises(UnreadableError, match=re.escape(said)) as refused:
        from_json(text)
    assert "@everyone" not in str(refused.value)


def test_json_that_nests_deeply_is_refused() -> None:
    with pytest.raises(UnreadableError, match="is not JSON that can be read"):
        from_json("[" * 100_000)
