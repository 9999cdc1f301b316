"""Stacks with unchanged files are not run, and all others are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hosted_mesh_analysis.diff.result import StackChange
from hosted_mesh_analysis.runner.program.traced import FILE, FOUND, LISTED, state_of

from tests.unit.analysis.diff.repositories import difference, git, project, repository, write

COUNTED = """
name = pulumi.get_stack()
text = pathlib.Path(f"{name}.txt").read_text()
if pathlib.Path(f"{name}.more").exists():
    text += "more"
for file in sorted(pathlib.Path("all").iterdir()):
    text += file.name
with open(os.environ["HOME"] + "/runs", "a") as file:
    file.write(name + "\\n")
config_map("app", {"x": text}, data_plane)
"""
FILES = {"a.txt": "a", "b.txt": "b", "all/one": "", "other/unread": "1"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    before = {**project(COUNTED, {"a": "{}", "b": "{}"}), **FILES}
    return repository(tmp_path / "r", before, {})


def runs(tmp_path: Path, folder: Path, *options: str) -> tuple[list[str], dict[str, str]]:
    """The stacks that ran, once for each run, and the stacks' states."""
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    (home / "runs").unlink(missing_ok=True)
    found = difference(folder, *options, HOME=str(home))
    ran = (home / "runs").read_text().split() if (home / "runs").exists() else []
    return sorted(ran), {one.name: str(one.state) for one in found.stacks}


SAME, CHANGED = StackChange.UNCHANGED, StackChange.CHANGED


def test_an_unchanged_stack_runs_once_and_then_never(tmp_path: Path, folder: Path) -> None:
    assert runs(tmp_path, folder) == (["a", "b"], {"a": SAME, "b": SAME})
    assert runs(tmp_path, folder) == ([], {"a": SAME, "b": SAME})
    write(folder, {"b.txt": "changed"})
    ran, states = runs(tmp_path, folder)
    assert states == {"a": SAME, "b": CHANGED}
    assert set(ran) == {"b"}
    assert len(ran) == 3
    ran, states = runs(tmp_path, folder, "--no-cache")
    assert states == {"a": SAME, "b": CHANGED}
    assert "a" in ran


@pytest.mark.parametrize(
    ("change", "changed"),
    [
        ({"a.more": ""}, {"a"}),
        ({"all/two": ""}, {"a", "b"}),
        ({"a.txt": "other"}, {"a"}),
        ({"Pulumi.a.yaml": "config: {shop:x: 1, aws:region: eu-west-1}"}, {"a"}),
        ({"other/unread": "2"}, set()),
    ],
)
def test_each_kind_of_change_is_seen(tmp_path: Path, folder: Path, change: dict[str, str], changed: set[str]) -> None:
    runs(tmp_path, folder)
    write(folder, change)
    assert {name for name, state in runs(tmp_path, folder)[1].items() if state == CHANGED} == changed


def test_a_program_of_the_repositorys_own_modules(tmp_path: Path) -> None:
    before = {**project("import own\nconfig_map('app', {'x': own.X}, data_plane)\n"), "own.py": "X = 'a'\n"}
    folder = repository(tmp_path / "r", before, {})
    home = {"HOME": str(tmp_path)}
    assert [one.state for one in difference(folder, **home).stacks] == [SAME]
    write(folder, {"own.py": "X = 'b'\n"})
    assert [one.state for one in difference(folder, **home).stacks] == [CHANGED]


def test_a_program_that_starts_others_is_run_each_time(tmp_path: Path) -> None:
    program = "import subprocess\nx = subprocess.run(['cat', 'x'], capture_output=True, text=True).stdout\n"
    before = {**project(program + "config_map('app', {'x': x}, data_plane)\n"), "x": "1"}
    folder = repository(tmp_path / "r", before, {})
    home = {"HOME": str(tmp_path)}
    assert [one.state for one in difference(folder, **home).stacks] == [SAME]
    write(folder, {"x": "2"})
    assert [one.state for one in difference(folder, **home).stacks] == [CHANGED]


def test_a_reader_of_a_changed_stack_runs(tmp_path: Path) -> None:
    program = """
if pulumi.get_stack() == "a":
    pulumi.export("x", pathlib.Path("a.txt").read_text())
else:
    config_map("app", {"x": pulumi.StackReference("organization/shop/a").get_output("x")}, data_plane)
"""
    folder = repository(tmp_path / "r", {**project(program, {"a": "{}", "b": "{}"}), "a.txt": "1"}, {})
    home = {"HOME": str(tmp_path)}
    assert {one.name: one.state for one in difference(folder, **home).stacks} == {"a": SAME, "b": SAME}
    write(folder, {"a.txt": "2"})
    assert {one.name: one.state for one in difference(folder, **home).stacks} == {"a": CHANGED, "b": CHANGED}


def test_the_memo_has_no_content_and_is_private(tmp_path: Path, folder: Path) -> None:
    write(folder, {"a.txt": "correct horse battery"})
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "more")
    runs(tmp_path, folder)
    cache = tmp_path / "home/.cache/hosted-mesh/diff"
    assert cache.stat().st_mode & 0o777 == 0o700
    kept = [file for file in cache.iterdir() if file.suffix == ".json"]
    assert len(kept) == 2
    assert not any(text in file.read_text() for file in kept for text in ("horse", "9dm2k7qz0xv4tn81rc6wpe35"))
    assert not any(file.stat().st_mode & 0o077 for file in cache.iterdir())
    kept[0].write_text("[{")
    kept[1].write_text(json.dumps([{"states": [["file", "a.txt"]], "reads": []}]))
    assert runs(tmp_path, folder)[1] == {"a": SAME, "b": SAME}


def test_a_stack_without_secrets_has_three_runs(tmp_path: Path) -> None:
    program = """
with open(os.environ["HOME"] + "/runs", "a") as file:
    file.write(pulumi.get_stack() + "\\n")
pulumi.CustomResource("aws:s3/bucket:Bucket", "b", {"acl": pathlib.Path("x").read_text()})
"""
    files = {"Pulumi.yaml": "name: shop\nruntime: python\n", "__main__.py": "import os, pathlib, pulumi\n" + program}
    folder = repository(tmp_path / "r", {**files, "Pulumi.dev.yaml": "{}", "x": "a"}, {"x": "b"})
    assert runs(tmp_path, folder) == (["dev"] * 3, {"dev": CHANGED})


def test_a_stack_with_a_secret_has_four(tmp_path: Path) -> None:
    program = COUNTED + 'pulumi.CustomResource("aws:s3/bucket:Bucket", "b", {"acl": os.urandom(4).hex()})\n'
    folder = repository(tmp_path / "r", {**project(program, {"a": "{}"}), **FILES}, {"a.txt": "other"})
    assert runs(tmp_path, folder, "--no-cache")[0][:4] == ["a"] * 4


def test_states_of_paths(tmp_path: Path) -> None:
    write(tmp_path, {"folder/file": "text", ".git/x": ""})
    states = [
        state_of(tmp_path, kind, path, lambda data: data.decode(), frozenset({".git"}))
        for kind, path in (
            (FILE, "folder/file"),
            (LISTED, ""),
            (FOUND, "folder"),
            (FOUND, "none"),
            (FOUND, "folder/file"),
        )
    ]
    assert states == ["file text", "folder folder", "folder", "nothing", "file"]
