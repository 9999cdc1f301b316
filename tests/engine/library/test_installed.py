"""Programs with the distributions installed from wheels, as from a package index."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from pulumi_hosted_mesh.dns import manifests
from pulumi_hosted_mesh.tenancy import manifests as tenancy

from sandbox.bootstrap import CHECKOUT
from sandbox.engine.pulumi_cli import PulumiCli
from sandbox.toolchain import Tools
from tests.support.stacks import PASSPHRASE, new_stack

DISTRIBUTIONS = ("components", "plan", "policies", "analysis")
PROGRAM = """
import pathlib, hosted_mesh_analysis, hosted_mesh_plan, hosted_mesh_policies, pulumi, pulumi_hosted_mesh

for module in (hosted_mesh_analysis, hosted_mesh_plan, hosted_mesh_policies, pulumi_hosted_mesh):
    pulumi.export(module.__name__, str(pathlib.Path(module.__file__).parents[1]))
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all installed, before all others on Python's path."""
    folder = tmp_path_factory.mktemp("installed")
    for name in (*DISTRIBUTIONS, "agents"):  # building writes beside the sources
        shutil.copytree(CHECKOUT / name, folder / "sources" / name, symlinks=True)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-deps"]
    sources = [folder / "sources" / name for name in DISTRIBUTIONS]
    subprocess.run([*pip, "--target", folder / "site", *sources], check=True)
    shutil.rmtree(folder / "sources")
    return folder / "site"


def test_the_wheel_contains_the_sidecars(site: Path) -> None:
    """In a checkout each folder is a link into agents."""
    installed = site / "pulumi_hosted_mesh" / "dns" / "dns_sidecar"
    assert not installed.is_symlink()
    assert manifests.sidecar_source(installed) == manifests.sidecar_source(CHECKOUT / "agents" / "dns_sidecar")
    assert {path.suffix for path in installed.iterdir() if path.is_file()} == {".py"}
    gateway = site / "pulumi_hosted_mesh" / "tenancy" / "gateway_sidecar"
    assert not gateway.is_symlink()
    assert tenancy.sidecar_source(gateway) == tenancy.sidecar_source(CHECKOUT / "agents" / "gateway_sidecar")


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
    assert done.stdout.count(str(site)) == len(DISTRIBUTIONS), done.stdout
    needed = set(re.findall(r"package (\S+)-v?[\d.]+ \(\S*\) is required by language host", done.stderr))
    assert needed == {"kubernetes", "random", "tls"}
