"""Programs of keys, certificates and random values, run by the real engine with whichever plug-ins are selected."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from pulumi import automation
from pulumi.automation._stack import StackInitMode

from sandbox.plugins.selection import PluginSet, select
from sandbox.toolchain import Tools
from tests.engine.plugins.stack import Engine, Stack
from tests.support.environment import quickened
from tests.support.stacks import PASSPHRASE, new_stack


@pytest.fixture(scope="session")
def plugin_set(tools: Tools, tmp_path_factory: pytest.TempPathFactory) -> PluginSet:
    return select(tools, tmp_path_factory.mktemp("pulumi-home"))


@pytest.fixture(scope="session")
def pulumi_command(tools: Tools) -> automation.PulumiCommand:
    """Made once, for it asks the CLI for its version."""
    return automation.PulumiCommand(root=str(tools["pulumi"].parent.parent), skip_version_check=True)


@pytest.fixture
def stack(
    tmp_path: Path, tools: Tools, plugin_set: PluginSet, pulumi_command: automation.PulumiCommand
) -> Iterator[Stack]:
    """An empty stack; whatever it has at the end of the test is destroyed."""
    folders = [*map(str, plugin_set.path), str(tools.bin_dir), os.environ["PATH"]]
    state = tmp_path / "state"
    state.mkdir()
    env = quickened(plugin_set.env) | {
        "PATH": os.pathsep.join(folders),
        "PULUMI_BACKEND_URL": f"file://{state}",
        "PULUMI_CONFIG_PASSPHRASE": PASSPHRASE,
        "PULUMI_SKIP_UPDATE_CHECK": "true",
    }
    salt = new_stack(tools["pulumi"], env, state, "plugins", "test")
    workspace = automation.LocalWorkspace(
        work_dir=str(tmp_path),
        program=lambda: None,
        env_vars=env,
        pulumi_command=pulumi_command,
        pulumi_home=env["PULUMI_HOME"],
        project_settings=automation.ProjectSettings("plugins", "python"),
        stack_settings={"test": automation.StackSettings(encryption_salt=salt)},
    )
    engine = Engine("test", workspace, StackInitMode.SELECT)
    made = Stack(engine, state)
    try:
        yield made
    finally:
        engine.destroy()
