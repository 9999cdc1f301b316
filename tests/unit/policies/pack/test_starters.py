"""The pack's starters in a Python that lacks its packages: one line for Pulumi to print, without a stack trace."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]
STARTERS = ["policies/__main__.py", "policies/hosted-mesh", "policies/hosted_mesh_policies/policy_pack/__main__.py"]


def started(starter: str, *given: str) -> subprocess.CompletedProcess[str]:
    """In a Python without an environment's packages. given: folders of packages that it has nevertheless."""
    paths = {"PYTHONPATH": os.pathsep.join(str(ROOT / one) for one in given)} if given else {}
    command = [sys.executable, "-S", "-s", str(ROOT / starter)]
    return subprocess.run(
        command, capture_output=True, text=True, env=paths, cwd=ROOT / "tests", timeout=60, check=False
    )


@pytest.mark.parametrize("starter", STARTERS)
@pytest.mark.parametrize("given", [(), ("policies",), ("policies", "plan")], ids=["nothing", "pack", "pack and plan"])
def test_a_package_that_is_missing_is_one_line(starter: str, given: tuple[str, ...]) -> None:
    done = started(starter, *given)
    assert done.returncode == 1
    assert done.stdout == ""  # the engine would read it as the port
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"policy pack hosted-mesh: {sys.executable} cannot import ")
    assert line.endswith("pip install CHECKOUT/plan CHECKOUT/policies")
    is_missing = starter == STARTERS[2] and not given
    assert (" cannot import hosted_mesh_policies." in line) == is_missing, line
