"""`--live` adds the engine's actions that a comparison of programs cannot have. A script stands in for `pulumi`."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from hosted_mesh_analysis.diff.request import DiffRequest
from hosted_mesh_analysis.diff.result import EffectKind

from tests.unit.analysis.diff.repositories import BEGINNING, difference, only, project, repository, run

PROGRAM = """
config_map("app", {"x": "one"}, data_plane)
config_map("kept", {"x": "one"}, data_plane)
"""


def step(op: str, kind: str, name: str, **more: Any) -> dict[str, Any]:
    return {"op": op, "urn": f"urn:pulumi:dev::shop::hosted-mesh:index:HostedMesh${kind}::{name}", **more}


STEPS = [
    step("create", "pulumi:pulumi:Stack", "shop-dev"),
    step("same", "kubernetes:core/v1:ConfigMap", "same"),
    step("create-replacement", "kubernetes:core/v1:ConfigMap", "app", replaceReasons=["data"]),
    step("replace", "kubernetes:core/v1:ConfigMap", "app", replaceReasons=["data"]),
    step("update", "kubernetes:core/v1:ConfigMap", "kept"),
    step("delete", "kubernetes:core/v1:Secret", "earlier"),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    after = {"__main__.py": BEGINNING + PROGRAM.replace('"one"', '"two"', 1)}
    return repository(tmp_path / "r", project(PROGRAM), after)


def path_with(tmp_path: Path, printed: str, code: int = 0) -> str:
    """PATH with a `pulumi` that prints this, and writes its arguments and its login into a file."""
    (tmp_path / "bin").mkdir()
    script = tmp_path / "bin/pulumi"
    script.write_text(
        f"#!{sys.executable}\nimport os, sys\n"
        f"open({str(tmp_path / 'asked')!r}, 'a').write(' '.join(sys.argv[1:]) + os.environ.get('LOGIN_TOKEN', ''))\n"
        f"print({printed!r})\nsys.exit({code})\n"
    )
    script.chmod(0o755)
    return os.pathsep.join([str(tmp_path / "bin"), os.environ["PATH"]])


def test_replacements_and_drift_are_added(tmp_path: Path, folder: Path) -> None:
    login = {"LOGIN_TOKEN": "9dm2k7qz0xv4tn81rc6wpe35"}
    found = only(difference(folder, "--live", PATH=path_with(tmp_path, json.dumps({"steps": STEPS})), **login))
    assert [one.text for one in found.effects if one.kind is EffectKind.LIVE] == [
        "the engine replaces 1, changes 1, removes 1",
        "the engine replaces ConfigMap app, because of data",
        "the engine changes ConfigMap kept, which this change leaves alone: drift, or not deployed yet",
        "the engine removes Secret earlier, which this change leaves alone: drift, or not deployed yet",
    ]
    asked = (tmp_path / "asked").read_text()
    assert asked.count("preview --json --refresh --non-interactive --stack dev") == 1
    assert asked.endswith(login["LOGIN_TOKEN"])


@pytest.mark.parametrize(("printed", "code"), [("", 255), ("no JSON", 0), ('{"steps": 1}', 0), ('{"steps": []}', 1)])
def test_a_stack_without_a_preview_has_a_note(tmp_path: Path, folder: Path, printed: str, code: int) -> None:
    found = only(difference(folder, "--live", PATH=path_with(tmp_path, printed, code)))
    assert [one for one in found.notes if one.startswith("--live")] == [
        f"--live: the preview ended with exit code {code}; run `pulumi preview` for the reason"
    ]


def test_without_pulumi_and_without_the_option_nothing_is_started(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "git-only").mkdir()
    (tmp_path / "git-only/git").symlink_to(str(shutil.which("git")))
    shown = run(folder, "--base", "main", "--live", PATH=str(tmp_path / "git-only")).stdout
    assert "note: --live: pulumi cannot be run; install it" in shown
    difference(folder, PATH=path_with(tmp_path, "{}"))
    assert not (tmp_path / "asked").exists()


def test_it_reads_no_file_beside() -> None:
    assert "--from" in str(DiffRequest(Path(), read=Path("diff.json"), live=True).contradiction)
