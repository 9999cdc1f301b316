"""Agents use the standard library and the packages of their requirements.txt, and the library imports no agent."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pulumi_hosted_mesh.dns import manifests
from pulumi_hosted_mesh.tenancy import manifests as tenancy

from sandbox.bootstrap import CHECKOUT

AGENTS = sorted(path.parent for path in (CHECKOUT / "agents").glob("*/__init__.py"))
LIBRARY = CHECKOUT / "components" / "pulumi_hosted_mesh"

# Imports all modules of a package, and prints those from outside of the standard library and the package itself.
PROGRAM = """
import importlib, pkgutil, sys

package = importlib.import_module(sys.argv[1])
for module in pkgutil.iter_modules(package.__path__):
    importlib.import_module(f"{package.__name__}.{module.name}")
loaded = {name.partition(".")[0] for name in sys.modules}
print(sorted(loaded - {*sys.stdlib_module_names, "__main__", package.__name__}))
"""


def imported(path: Path) -> Iterator[str]:
    """Top-level packages of absolute imports, anywhere in a module."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (one.name.partition(".")[0] for one in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield str(node.module).partition(".")[0]


# The packages of a requirement, where their name is another one.
PACKAGES = {"grpcio": "grpc", "protobuf": "google"}
ALONE = [agent for agent in AGENTS if not (agent / "requirements.txt").exists()]


def required(agent: Path) -> set[str]:
    """Packages of an agent's requirements.txt, each pinned to one version."""
    file = agent / "requirements.txt"
    lines = [line.partition("==") for line in file.read_text().splitlines()] if file.exists() else []
    assert all(version for _, _, version in lines)
    return {PACKAGES.get(name, name) for name, _, _ in lines}


@pytest.mark.parametrize("agent", AGENTS, ids=lambda path: path.name)
def test_an_agent_imports_the_standard_library_and_its_requirements_alone(agent: Path) -> None:
    for path in agent.rglob("*.py"):
        assert set(imported(path)) <= sys.stdlib_module_names | required(agent), path


def test_requirements_have_the_versions_of_the_tests() -> None:
    constraints = set((CHECKOUT / "constraints.txt").read_text().split())
    files = list((CHECKOUT / "agents").glob("*/requirements.txt"))
    assert files
    for file in files:
        assert {line.replace("-", "_") for line in file.read_text().split()} <= {
            line.replace("-", "_") for line in constraints
        }


@pytest.mark.parametrize("agent", ALONE, ids=lambda path: path.name)
def test_all_modules_load_with_the_standard_library_alone_on_the_path(agent: Path) -> None:
    command = [sys.executable, "-S", "-c", PROGRAM, agent.name]
    done = subprocess.run(command, cwd=agent.parent, env={}, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr


@pytest.mark.parametrize(
    ("delivered", "room", "name"),
    [
        (manifests.sidecar_source, "dns", "dns_sidecar"),
        (tenancy.sidecar_source, "tenancy", "gateway_sidecar"),
    ],
    ids=["dns_sidecar", "gateway_sidecar"],
)
def test_the_library_delivers_the_source_and_imports_none_of_it(
    delivered: Callable[[], dict[str, str]], room: str, name: str
) -> None:
    source = CHECKOUT / "agents" / name
    assert delivered() == {path.name: path.read_text() for path in source.glob("*.py")}
    link = LIBRARY / room / name
    assert link.resolve() == source
    modules = [path for path in LIBRARY.rglob("*.py") if link not in path.parents]
    assert modules
    for path in modules:
        assert f"import {name}" not in path.read_text()
        assert f"{room}.{name}" not in path.read_text(), path


def test_without_its_source_the_component_is_rejected(tmp_path: Path) -> None:
    """As in a checkout without symbolic links, where the link is a text file: else the ConfigMap would be empty."""
    (tmp_path / "dns_sidecar").write_text("../../../agents/dns_sidecar")
    with pytest.raises(FileNotFoundError, match=r"must contain the DNS sidecar's source\. Check out .* symbolic links"):
        manifests.sidecar_source(tmp_path / "dns_sidecar")
    with pytest.raises(FileNotFoundError, match=r"must contain the gateway sidecar's source\. Check out "):
        tenancy.sidecar_source(tmp_path / "gateway_sidecar")
