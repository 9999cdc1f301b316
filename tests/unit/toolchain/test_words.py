"""The lint of words fails on habits of prose, passes without them, and reads code, docstrings and messages apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.commands.words import BUDGET, HABITS, TREES, check, files, main, measure, prose

CLEAN = (
    "The control plane sends configuration to each proxy over mutual TLS. Set the source ranges of the gateway.\n" * 20
)
HABIT = {
    "what/who/whose": "The data plane takes what the control plane sends.",
    "of which": "The clusters of which the mesh consists are listed.",
    "say/tell/ask/know": "The document says that the mesh is ready.",
}


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("habit", HABITS)
def test_a_page_with_a_habit_fails_with_its_line(
    habit: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = write(tmp_path / "page.md", f"{CLEAN}\n{HABIT[habit]}\n{HABIT[habit]}\n")
    assert main([str(page)]) == 1
    lines = capsys.readouterr().out.splitlines()
    failed = next(number for number, line in enumerate(lines) if line.startswith("FAILED") and habit in line)
    assert lines[failed + 1].strip() == f"{page}: 2 on lines 22, 23"


def test_a_clean_page_passes(tmp_path: Path) -> None:
    assert main([str(write(tmp_path / "page.md", CLEAN))]) == 0


def test_code_and_questions_do_not_count(tmp_path: Path) -> None:
    quiet = "## What is a mesh?\n\n`what` [page](what.md)\n\n```\nwho says what\n```\n\n| Who reads\nit? | here |\n"
    assert main([str(write(tmp_path / "page.md", f"{CLEAN}\n{quiet}"))]) == 0


def test_a_statement_beside_a_question_counts() -> None:
    _, found = measure([(1, "Is it ready? It sends what it has.\n\nWhat now?")])
    assert found["what/who/whose"] == [1]


SOURCE = '''
"""A module.

It sends what it has.
"""

VALUE = "what is in a plain literal does not count"  # nor who


def call(name: str) -> None:
    """Sends nothing."""
    raise ValueError(f"{name}: whose it is")
    Problem("field", rule="what it must be", fix="none")
    Option(help="who it is")
'''


def test_python_is_read_by_docstring_comment_and_message(tmp_path: Path) -> None:
    _, found = measure(list(prose(write(tmp_path / "module.py", SOURCE))))
    assert sorted(found["what/who/whose"]) == [4, 7, 12, 13, 14]


def test_a_folder_has_its_pages_and_modules_without_hidden_and_generated_ones(tmp_path: Path) -> None:
    for name in ("a.md", "b.py", "c.txt", ".venv/d.py", "_generated/e.py", "deep/f.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        write(tmp_path / name, "text")
    assert [path.name for path in files([tmp_path])] == ["a.md", "b.py", "f.md"]


def test_a_tree_above_its_budget_names_its_worst_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = write(tmp_path / "good.md", CLEAN)
    bad = write(tmp_path / "bad.md", HABIT["what/who/whose"] * 20)
    assert not check("tree", [good, bad], BUDGET)
    assert str(bad) in capsys.readouterr().out
    assert check("tree", [good, bad], (1000, 1000, 1000))


def test_no_budget_is_below_the_final_one() -> None:
    assert all(own >= final for budget in TREES.values() for own, final in zip(budget, BUDGET, strict=True))
