"""Programs with the distributions installed from wheels, as from a package index."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from sandbox.bootstrap import CHECKOUT
from sandbox.engine.pulumi_cli import PulumiCli
from sandbox.toolchain import Tools
from tests.support.stacks import PASSPHRASE, new_stack

PROGRAM = """
import pathlib, hosted_mesh_policies, pulumi, pulumi_hosted_mesh

for module in (hosted_mesh_policies, pulumi_hosted_mesh):
    pulumi.export(module.__name__, str(pathlib.Path(module.__file__).parents[1]))
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder with both installed, before all others on Python's path."""
    for name in ("components", "policies"):  # building writes beside the sources
        shutil.copytree(CHECKOUT / name, tmp_path / "sources" / name)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-deps"]
    sources = [tmp_path / "sources" / name for name in ("components", "policies")]
    subprocess.run([*pip, "--target", tmp_path / "site", *sources], check=True)
    return tmp_path / "site"


def test_the_engine_looks_for_no_plugin_of_theirs(tmp_path: Path, site: Path, tools: Tools) -> None:
    """It takes every distribution named pulumi-… for one that needs a resource plug-in, and would download that."""
    project = tmp_path / "project"
    project.mkdir()
    settings = {"PULUMI_BACKEND_URL": f"file://{project}", "PULUMI_CONFIG_PASSPHRASE": PASSPHRASE}
    cli = PulumiCli.of(tools, {**settings, "PYTHONPATH": str(site)})
    (project / "Pulumi.yaml").write_text("name: shop\nruntime: python\n")
    (project / "__main__.py").write_text(PROGRAM)
    salt = new_stack(cli.program, cli.environment, project, "shop", "dev")
    (project / "Pulumi.dev.yaml").write_text(yaml.safe_dump({"encryptionsalt": salt}))
    done = cli.run("preview", "--stack", "dev", "--logtostderr", "-v=7", cwd=project)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(str(site)) == 2, done.stdout
    needed = set(re.findall(r"package (\S+)-v?[\d.]+ \(\S*\) is required by language host", done.stderr))
    assert needed == {"kubernetes", "random", "tls"}
