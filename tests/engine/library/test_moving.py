"""From `all-in-one` to separate stacks, as docs/components/stacks.md says, on the real engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sandbox.clusters import Sandbox
from sandbox.toolchain import Tools
from tests.engine.library.engine import Api, Project, bash_in, differences, versions
from tests.support.split import split_configs

Config = dict[str, Any]
(MOVING,) = bash_in("components/stacks.md", "From one stack to several")


@pytest.mark.usefixtures("clean")
def test_a_mesh_is_moved_to_separate_stacks(
    tmp_path: Path, mesh: Config, engine_sandbox: Sandbox, tools: Tools, provider: Api, user: Api
) -> None:
    """Keys and objects stay as they are, and what is left of the one stack is nothing of theirs."""
    mesh = {**mesh, "trust": {"root": {"protect": True}}}
    project = Project.make(tmp_path / "project", engine_sandbox, tools)
    one = project.stack("all-in-one", {"stack": "all-in-one", "mesh": mesh})
    one.up()
    before = versions(provider, user)
    stacks = {name: project.stack(name, {"stack": name, **config}) for name, config in split_configs(mesh).items()}

    project.as_written(MOVING)
    for name, stack in stacks.items():
        assert stack.up().summary().keys() == {"unchanged"}, name
    one.destroy()
    assert differences(before, versions(provider, user)) == {}
    for name, stack in stacks.items():
        assert stack.up().summary().keys() == {"unchanged"}, name

    for name in ("data-plane", "control-plane", "access"):
        stacks[name].destroy()
    bare = {**split_configs({**mesh, "trust": {"root": {"protect": False}}})["root"], "stack": "root"}
    root = project.stack("root", bare)
    root.up()
    root.destroy()
    stacks["trust"].destroy()
