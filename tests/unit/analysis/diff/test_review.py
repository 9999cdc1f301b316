"""Comments at the lines of a change that cause the changes of stacks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hosted_mesh_analysis.diff.markdown import MARKER
from hosted_mesh_analysis.diff.result import Cause, Difference, Effect, EffectKind, Stack, StackChange
from hosted_mesh_analysis.diff.review import MOST, github, gitlab
from hosted_mesh_analysis.diff.saved import UnreadableError, as_json, from_json

from tests.unit.analysis.diff.repositories import difference, project, repository

PROGRAM = """
import yaml
given = yaml.safe_load(pathlib.Path(f"documents/{pulumi.get_stack()}.yaml").read_text())
config_map("app", {"size": given["size"], "kind": given["kind"]}, data_plane)
"""
BEFORE = "# sizes\nkind: first\nsize: small\n"


def test_a_line_with_a_new_value_is_the_cause(tmp_path: Path) -> None:
    stacks = {"a": "{}", "b": "{}"}
    before = {**project(PROGRAM, stacks), "documents/a.yaml": BEFORE, "documents/b.yaml": BEFORE, "unread.txt": "1"}
    after: dict[str, str | None] = {
        "documents/a.yaml": "# other sizes\nkind: first\nsize: enormous\n",
        "unread.txt": "enormous",
    }
    found = difference(repository(tmp_path / "r", before, after))
    assert {one.name: one.causes for one in found.stacks} == {"a": [Cause("documents/a.yaml", 3)], "b": []}
    (comment,) = json.loads(github(found))["comments"]
    assert (comment["path"], comment["line"], comment["side"]) == ("documents/a.yaml", 3, "RIGHT")
    assert comment["body"].startswith("Changes stack `a`:\n\n")
    assert "- `~ ConfigMap app`" in comment["body"]
    (discussion,) = json.loads(gitlab(found))
    assert discussion["position"] == {
        "position_type": "text",
        "old_path": "documents/a.yaml",
        "new_path": "documents/a.yaml",
        "new_line": 3,
    }


def test_without_such_a_line_the_first_different_one_stands_for_the_file(tmp_path: Path) -> None:
    program = "import own\nconfig_map('app', {'x': str(own.X * 1000)}, data_plane)\n"
    before = {**project(program), "own.py": "# own\nX = 1\n"}
    found = difference(repository(tmp_path / "r", before, {"own.py": "# own\nX = 2\n"}))
    assert [one.causes for one in found.stacks] == [[Cause("own.py", 2)]]


def hostile(path: str = "a.yaml", line: int = 1) -> Difference:
    text = "@everyone ` <img src=x> [link](https://example.com)"
    stack = Stack(text, StackChange.CHANGED, effects=[Effect(EffectKind.OPENS, text)], causes=[Cause(path, line)])
    return Difference("main", [stack])


def test_program_texts_are_in_code_spans() -> None:
    (comment,) = json.loads(github(from_json(as_json(hostile()))))["comments"]
    outside = "".join(part for number, part in enumerate(comment["body"].split("`")) if number % 2 == 0)
    assert not any(one in outside for one in ("@", "<", "["))
    assert json.loads(gitlab(hostile()))[0]["body"].startswith(MARKER)


@pytest.mark.parametrize("path", ["../x", "/etc/x", "a//b", "a/../b", "a\nb", "", "a\u202eb", "a" * 500])
def test_a_file_with_another_path_is_rejected(path: str) -> None:
    with pytest.raises(UnreadableError):
        from_json(as_json(hostile(path)))


@pytest.mark.parametrize("line", [0, -1, 10**9])
def test_a_file_with_another_line_is_rejected(line: int) -> None:
    with pytest.raises(UnreadableError):
        from_json(as_json(hostile(line=line)))


def test_one_comment_for_each_line_and_not_too_many() -> None:
    stacks = [
        Stack(f"s{number}", StackChange.CHANGED, causes=[Cause("shared.yaml", 1), Cause(f"{number}.yaml", 1)])
        for number in range(100)
    ]
    comments = json.loads(github(Difference("main", stacks)))["comments"]
    assert len(comments) == MOST
    assert comments[0]["path"] == "shared.yaml"
    assert "and 95 more" in comments[0]["body"]
