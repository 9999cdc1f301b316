"""docs/pull-requests.md shows what the command prints; the workflows to copy give a pull request's code no power."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from hosted_mesh_analysis.diff.markdown import LONGEST, MARKER
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
from hosted_mesh_analysis.diff.saved import as_json
from hosted_mesh_analysis.diff.trees import Why

from sandbox.bootstrap import CHECKOUT
from tests.unit.analysis.diff.repositories import repository, run

PAGE: Final = (CHECKOUT / "docs" / "pull-requests.md").read_text(encoding="utf-8")
EXAMPLE: Final = "examples/two_clusters"


def blocks(language: str) -> list[str]:
    return [text for _, text in re.findall(rf"^(```|~~~){language}\n(.*?)^\1$", PAGE, re.MULTILINE | re.DOTALL)]


def without_commit(text: str) -> str:
    return re.sub(r"\b[0-9a-f]{10}(?=, where it left)", "0123456789", text)


def test_the_page_shows_what_it_prints(tmp_path: Path) -> None:
    """By the page's own commands."""
    (command,) = re.findall(r"^sed -i '(.*)' (\S+)$", PAGE, re.MULTILINE)
    shutil.copytree(CHECKOUT / EXAMPLE, tmp_path / EXAMPLE, ignore=shutil.ignore_patterns("__pycache__"))
    document = (tmp_path / command[1]).read_text()
    for old, new in re.findall(r"s\|(.*?)\|(.*?)\|", command[0]):
        assert document.count(old) == 1
        document = document.replace(old, new)
    repository(tmp_path, {}, {command[1]: document})
    (text,), (comment,) = blocks("text"), blocks("markdown")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/git").symlink_to(str(shutil.which("git")))
    without_helm = {"PATH": str(tmp_path / "bin")}
    done = run(tmp_path / EXAMPLE, "--json", "--output", str(saved := tmp_path / "diff.json"), **without_helm)
    assert (done.returncode, done.stderr) == (0, "")
    for shown, form in ((text, []), (comment, ["--markdown"])):
        printed = run(tmp_path, "--from", str(saved), *form).stdout
        assert without_commit(printed).strip() == shown.strip()


def test_the_page_names_what_json_has_and_what_stands_for_values() -> None:
    hidden = Property("a", Value(hidden=Why.SECRET), Value(file="x"))
    change = Change(Step.MADE, "a:b:C", "x", Cluster("nowhere"), (hidden, Property("b", None, Value(1))))
    found = Difference("main", [Stack("dev", StackChange.NEW, [change])])

    def keys(tree: Any) -> set[str]:
        inner = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ()
        return {*(tree if isinstance(tree, dict) else ()), *(key for one in inner for key in keys(one))}

    section = PAGE.partition("\n## JSON\n")[2].partition("\n## ")[0]
    words = {*keys(json.loads(as_json(found))), *StackChange, *Step, *SIDES}
    assert [word for word in words if f"`{word}`" not in section] == []
    assert all(f"[{why}]" in PAGE for why in (Why.SECRET, Why.FORM, Why.MACHINE))
    assert f"({Why.EACH_RUN})" in PAGE
    assert f"{LONGEST:,} characters" in PAGE


# The workflows ----------------------------------------------------------------------------------------------------

WORKFLOWS: Final = [
    (CHECKOUT / "examples" / "pull_requests" / name).read_text(encoding="utf-8")
    for name in ("github/preview.yaml", "github/preview-comment.yaml", "gitlab-ci.yaml")
]
RUNS, COMMENTS, GITLAB = map(yaml.safe_load, WORKFLOWS)
ON: Final = True
"""How YAML reads the key `on`."""


def steps(workflow: dict[str, Any]) -> list[dict[str, Any]]:
    (job,) = workflow["jobs"].values()
    return list(job["steps"])


def test_what_runs_a_pull_requests_code_has_no_right_to_write_and_no_secret() -> None:
    assert RUNS[ON] == "pull_request"
    assert RUNS["permissions"] == {"contents": "read"}
    assert all("permissions" not in job for job in RUNS["jobs"].values())
    assert "secrets" not in json.dumps(RUNS["jobs"])
    assert steps(RUNS)[0]["with"]["persist-credentials"] is False


def test_what_may_write_runs_nothing_of_a_pull_request() -> None:
    assert COMMENTS[ON] == {"workflow_run": {"workflows": [RUNS["name"]], "types": ["completed"]}}
    assert COMMENTS["permissions"] == {}
    (job,) = COMMENTS["jobs"].values()
    assert job["permissions"] == {"actions": "read", "contents": "read", "pull-requests": "write"}
    assert steps(COMMENTS)[0]["uses"].startswith("actions/checkout@")
    assert steps(COMMENTS)[0]["with"] == {"persist-credentials": False}  # no `ref`: the default branch
    for step in steps(COMMENTS):
        assert "${{" not in step.get("run", ""), "a branch's name would be a part of the script"
    assert MARKER in steps(COMMENTS)[-1]["run"]


GH = """#!{python}
import json, os, sys
arguments = sys.argv[1:]
with open(os.environ["CALLS"], "a") as file:
    file.write(json.dumps(arguments) + chr(10))
if arguments[:2] == ["run", "download"]:
    os.makedirs("artifact", exist_ok=True)
    open("artifact/diff.json", "w").write(os.environ["DIFF"])
elif arguments[3:4] and arguments[3].endswith("/pulls"):
    print(os.environ["PULLS"])
elif arguments[1] == "--paginate":
    print(os.environ["FOUND"])
"""
"""Stands in for GitHub's command: answers what the test says, and writes down what it was asked."""
CHANGED = as_json(
    Difference("main", [Stack("dev", StackChange.CHANGED, [], [Property("a", None, Value("@everyone"))])])
)
SAME = as_json(Difference("main", [Stack("dev", StackChange.UNCHANGED)]))


@pytest.mark.parametrize(
    ("pulls", "found", "diff", "asked"),
    [
        ("7", "", CHANGED, ["POST", "repos/o/r/issues/7/comments"]),
        ("7", "11\n12", CHANGED, ["PATCH", "repos/o/r/issues/comments/11"]),
        ("7", "11", SAME, ["PATCH", "repos/o/r/issues/comments/11"]),
        ("7", "", SAME, None),
        ("", "", CHANGED, None),
    ],
)
def test_one_comment_is_made_and_then_changed(
    pulls: str, found: str, diff: str, asked: list[str] | None, tmp_path: Path
) -> None:
    done, calls = _posted(pulls, found, diff, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    writes = [call[2:4] for call in calls if call[:2] == ["api", "--method"] and call[2] != "GET"]
    assert writes == ([asked] if asked else [])
    if asked:
        assert (tmp_path / "comment.md").read_text().startswith(f"{MARKER}\n")
        assert calls[-1][4:6] == ["--field", "body=@comment.md"]
    assert f"head=somebody:a'$(touch {tmp_path}/bad)" in calls[0]
    assert not (tmp_path / "bad").exists()


def test_each_pull_request_of_the_commit_is_told_and_the_comment_names_it(tmp_path: Path) -> None:
    done, calls = _posted("7\n8", "", CHANGED, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert [call[3] for call in calls if call[2] == "POST"] == [f"repos/o/r/issues/{n}/comments" for n in (7, 8)]
    assert (tmp_path / "comment.md").read_text().splitlines()[1].endswith(", at 0123456789")


@pytest.mark.parametrize("workflow", [RUNS, COMMENTS])
def test_no_job_runs_for_hours(workflow: dict[str, Any]) -> None:
    assert [job["timeout-minutes"] for job in workflow["jobs"].values()] == [10]


def test_a_file_that_is_no_difference_is_not_posted(tmp_path: Path) -> None:
    done, calls = _posted("7", "", '{"version": 1, "base": "@everyone"}', tmp_path)
    assert (done.returncode, len(calls)) == (1, 2)
    assert "artifact/diff.json: the file.stacks: is missing" in done.stderr


def _posted(
    pulls: str, found: str, diff: str, tmp_path: Path
) -> tuple[subprocess.CompletedProcess[str], list[list[str]]]:
    """What the last step of the second workflow does, with GitHub's answers made up."""
    (programs := tmp_path / "programs").mkdir()
    command = f'#!/bin/sh\nshift; exec {sys.executable} -m hosted_mesh_analysis.diff.command "$@"\n'
    for name, text in (("gh", GH.replace("{python}", sys.executable)), ("hosted-mesh", command)):
        (programs / name).write_text(text)
        (programs / name).chmod(0o700)
    given = dict.fromkeys(steps(COMMENTS)[-1]["env"], "x")
    given |= {"GH_REPO": "o/r", "OWNER": "somebody", "BRANCH": f"a'$(touch {tmp_path}/bad)", "PULLS": pulls}
    given |= {"COMMIT": "0123456789" * 4, "FOUND": found, "DIFF": diff, "CALLS": str(tmp_path / "calls")}
    environment = {**os.environ, **given, "PATH": f"{programs}:{os.environ['PATH']}"}
    shell = ["bash", "-e", "-c", steps(COMMENTS)[-1]["run"]]  # as GitHub runs a step
    done = subprocess.run(shell, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    return done, [json.loads(line) for line in (tmp_path / "calls").read_text().splitlines()]


@pytest.mark.parametrize("command", re.findall(r"pip install (-r [^#\n]*)", "".join(WORKFLOWS)))
def test_no_package_is_asked_for_twice(command: str) -> None:
    """pip refuses that, where one is to be editable."""
    file, *folders = command.removeprefix("-r ").split()
    required = re.findall(r"^-e (\S+)$", (CHECKOUT / file).read_text(), re.MULTILINE)
    assert not {*folders} & {*required}


def test_gitlabs_job_needs_no_token() -> None:
    (job,) = GITLAB.values()
    assert job["image"].startswith("python:")
    assert job["artifacts"]["expose_as"]
    assert "TOKEN" not in json.dumps(job)
