"""Counts habits of prose in Markdown, docstrings, comments and messages; fails above the budget of a tree.

`python3 -m sandbox.commands.words` measures every tree, `... PATH [PATH ...]` measures files or folders against the
final budget. Code blocks, inline code, link targets and questions do not count.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from sandbox.bootstrap import CHECKOUT

Rates = tuple[float, float, float]
HABITS = {
    "what/who/whose": re.compile(r"\b(?:what|whatever|who|whom|whose|whoever)\b", re.IGNORECASE),
    "of which": re.compile(r"\b(?:of|by|in|to|with|for)\s+(?:which|whom|what)\b", re.IGNORECASE),
    "say/tell/ask/know": re.compile(
        r"\b(?:say(?:s|ing)?|said|tell(?:s|ing)?|told|ask(?:s|ed|ing)?|know(?:s|n|ing)?|knew)\b", re.IGNORECASE
    ),
}
BUDGET: Rates = (3, 0.5, 1)  # occurrences in 1,000 words, in the order of HABITS
# Patterns of each tree, and its budget. A tree that is not yet rewritten has the value measured last, rounded up: lower
# it with each rewrite.
TREES: dict[tuple[str, ...], Rates] = {
    ("README.md", "CONTRIBUTING.md", "SECURITY.md"): BUDGET,
    ("CHANGELOG.md",): BUDGET,
    ("docs/*.md", "docs/clusters"): BUDGET,
    ("docs/adr", "docs/components", "docs/policies"): BUDGET,
    ("components",): BUDGET,
    ("agents",): BUDGET,
    ("plan", "policies", "analysis"): BUDGET,
    ("controller",): BUDGET,
    ("sandbox",): BUDGET,
    ("stacks",): BUDGET,
    ("bench",): BUDGET,
    ("examples",): BUDGET,
    ("tests/support",): BUDGET,
}
_MASKED = re.compile(
    r"^[ \t]*```.*?^[ \t]*```[ \t]*$|``.+?``|`[^`]+`|(?<=\])\([^)\s]*\)|<!--.*?-->|https?://\S+",
    re.MULTILINE | re.DOTALL,
)
_SENTENCE = re.compile(r"(?:[^.!?|\n]|[.!](?=\S)|\n(?!\s*\n|\s*[#*|-]|\s*\d+\.))+[.!?|]?")
_SKIPPED = re.compile(r"(?:^|/)(?:node_modules|_generated|build|fixtures|\.[^/]+)/")


def prose(path: Path) -> Iterator[tuple[int, str]]:
    """The prose of a Markdown or Python file: number of the first line, and text."""
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        yield 1, source
        return
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string.lstrip("#")
    for text in (text for node in ast.walk(ast.parse(source)) for text in _texts(node)):
        for part in ast.walk(text):
            if isinstance(part, ast.Constant) and isinstance(part.value, str):
                yield part.lineno, part.value


def _texts(node: ast.AST) -> list[ast.expr]:
    """A docstring; the arguments of an error; the help of an option."""
    if isinstance(node, ast.Expr):
        return [node.value] if isinstance(node.value, ast.Constant) else []
    if not isinstance(node, ast.Call):
        return []
    called = getattr(node.func, "id", getattr(node.func, "attr", ""))
    if called.endswith(("Problem", "Error", "Exception", "BadParameter")):
        return [*node.args, *(pair.value for pair in node.keywords)]
    return [pair.value for pair in node.keywords if pair.arg == "help"]


def measure(texts: Iterable[tuple[int, str]]) -> tuple[int, dict[str, list[int]]]:
    """The number of words, and for each habit the lines that have it."""
    words, found = 0, {habit: list[int]() for habit in HABITS}
    for first, text in texts:
        plain = _SENTENCE.sub(
            lambda match: _blank(match) if match[0].endswith("?") else match[0], _MASKED.sub(_blank, text)
        )
        words += len(re.findall(r"[A-Za-z][A-Za-z'-]*", plain))
        for habit, pattern in HABITS.items():
            found[habit] += [first + plain.count("\n", 0, match.start()) for match in pattern.finditer(plain)]
    return words, found


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match[0])


def files(places: Iterable[Path]) -> list[Path]:
    """The given files, and the Markdown and Python files in the given folders."""
    inside = ((place, path) for place in places for path in ([place] if place.is_file() else sorted(place.rglob("*"))))
    return [
        path
        for place, path in inside
        if path.suffix in {".md", ".py"} and not _SKIPPED.search(path.relative_to(place).as_posix())
    ]


def check(name: str, places: Iterable[Path], budget: Rates, *, worst: int = 5) -> bool:
    """Measures one tree and prints its rates; above the budget also the worst files with their lines."""
    measured = {path: measure(prose(path)) for path in files(places)}
    total = sum(words for words, _ in measured.values()) or 1
    within = {}
    for habit, allowed in zip(HABITS, budget, strict=True):
        lines = {path: sorted(found[habit]) for path, (_, found) in measured.items() if found[habit]}
        rate = 1000 * sum(map(len, lines.values())) / total
        within[habit] = rate <= allowed
        print(
            f"{'clean' if within[habit] else 'FAILED':<8}{name:<44}{habit:<20}{rate:6.2f} of {allowed} in 1,000 words"
        )
        for path in sorted(lines, key=lambda path: -len(lines[path]))[: 0 if within[habit] else worst]:
            shown = path.relative_to(CHECKOUT) if path.is_relative_to(CHECKOUT) else path
            print(f"          {shown}: {len(lines[path])} on lines {', '.join(map(str, lines[path][:12]))}")
    return all(within.values())


def main(arguments: Sequence[str]) -> int:
    """Returns 0 if every tree, or every given path together, is within its budget."""
    if arguments:
        return 0 if check("given paths", map(Path, arguments), BUDGET, worst=20) else 1
    present = {names: [place for name in names for place in sorted(CHECKOUT.glob(name))] for names in TREES}
    results = [check(" ".join(names), places, TREES[names]) for names, places in present.items() if places]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
