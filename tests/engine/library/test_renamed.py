"""A component that is renamed with an alias keeps the mesh's root, on the real engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.clusters import Sandbox
from sandbox.toolchain import Tools
from tests.engine.library.engine import Project

PROGRAM = Path(__file__).parent / "renamed"


@pytest.mark.parametrize("before", [{}, pytest.param({"open": True}, marks=pytest.mark.nightly)])
def test_a_rename_with_an_alias_makes_no_authority_anew(
    before: dict[str, bool], tmp_path: Path, engine_sandbox: Sandbox, tools: Tools
) -> None:
    """Also of one that was made before the name was kept: nothing changes with the library's next version."""
    project = Project.make(tmp_path / "project", engine_sandbox, tools, PROGRAM)
    stack = project.stack("it", {"name": "shop", **before})
    stack.up()
    made = stack.outputs()
    assert project.stack("it", {"name": "shop"}).up().summary().keys() == {"unchanged"}
    renamed = project.stack("it", {"name": "store", "alias": "shop"}).up()
    assert renamed.summary().keys() == {"unchanged"}, renamed.text
    assert stack.outputs() == made
    # And once nobody needs the alias any more.
    assert project.stack("it", {"name": "store"}).up().summary().keys() == {"unchanged"}
    assert stack.outputs() == made
    stack.destroy()
