"""The recipe of the controller's image. No image is built here: its paths, versions and commands are tried."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hosted_mesh_controller.installation import USER

from sandbox.bootstrap import CHECKOUT

RECIPE = CHECKOUT / "controller" / "Containerfile"
VENV = "/opt/hosted-mesh"


def instructions() -> list[tuple[str, str]]:
    """Instructions with their arguments, on one line each."""
    text = re.sub(r"\\\n\s*", "", RECIPE.read_text())
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(line.partition(" ")[0], line.partition(" ")[2]) for line in lines]


def copied(arguments: str) -> tuple[list[str], str]:
    """Sources in the checkout, and the target; none of another stage."""
    *sources, target = shlex.split(arguments)
    return ([] if sources[0].startswith("--from") else sources), target


def test_versions_are_the_pins_and_the_user_is_the_pods() -> None:
    pins = dict(re.findall(r"^([\w-]+)==(\S+)$", (CHECKOUT / "requirements.txt").read_text(), re.MULTILINE))
    found = instructions()
    images = [arguments.split()[0] for name, arguments in found if name == "FROM"]
    assert all(re.fullmatch(r"[\w/-]+:\d+\.\d+\.\d+\S*", image) for image in images), images
    assert images[0] == f"pulumi/pulumi-base:{pins['pulumi']}"
    assert len(set(images[1:])) == 1  # the packages' Python is the one that runs them
    plugins = dict(re.findall(r"plugin install resource (\w+) (\S+)", RECIPE.read_text()))
    assert plugins == {name: pins[f"pulumi-{name}"] for name in ("kubernetes", "tls")}
    assert [arguments for name, arguments in found if name == "USER"] == [f"{USER}:{USER}"]


def test_each_copied_path_exists() -> None:
    sources = [source for name, arguments in instructions() if name == "COPY" for source in copied(arguments)[0]]
    assert {"components", "controller", "stacks", "Pulumi.yaml", "__main__.py"} < set(sources)
    assert [source for source in sources if not (CHECKOUT / source).exists()] == []


@pytest.mark.nightly
def test_its_packages_install_and_run_the_program(tmp_path: Path) -> None:
    """From the copied paths alone, in a new virtual environment."""
    source, program, venv = tmp_path / "src", tmp_path / "program", tmp_path / "venv"
    for folder in (source, program):
        folder.mkdir()
    stage = ""
    for name, arguments in instructions():
        if name == "FROM":
            stage = arguments.rpartition(" AS ")[2] if " AS " in arguments else ""
        if name == "COPY":
            for one in copied(arguments)[0]:
                copy(CHECKOUT / one, (source if stage == "packages" else program) / one)
        if name == "RUN" and stage == "packages":
            line = arguments.replace(VENV, str(venv)).replace("python -m venv", f"{sys.executable} -m venv", 1)
            done = subprocess.run(shlex.split(line), cwd=source, capture_output=True, text=True, timeout=600)
            assert done.returncode == 0, done.stderr
    shutil.rmtree(source)  # what is installed does not need it
    environment = {"PATH": f"{venv}/bin:/usr/bin:/bin", "HOME": str(tmp_path)}
    for command in (
        ["hosted-mesh-controller", "chart", str(tmp_path / "chart")],
        ["python", "-c", "import psycopg, hosted_mesh_controller.job.__main__"],
        ["python", "-c", "import stacks.all_in_one, stacks.dns, stacks.federation, stacks.intents, stacks.operators"],
    ):
        done = subprocess.run(
            [venv / "bin" / command[0], *command[1:]],
            cwd=program,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr


def copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, symlinks=True, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    else:
        shutil.copy(source, target)
