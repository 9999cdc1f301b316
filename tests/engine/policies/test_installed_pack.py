"""The pack in a program without the library: installed from a wheel, started from its folder, settled by `init`."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from sandbox.bootstrap import CHECKOUT
from tests.corpus.engine import Engine

PROGRAM = Path(__file__).with_name("somebody_elses")
SHAPE = "no-credentials-on-data-plane"
FLOW = "control-plane-secrets-do-not-flow-to-data-plane"
CLUSTERS = "providers-reach-their-own-cluster"


@dataclass(frozen=True)
class Installed:
    """A fresh environment with the pack's and the plan's wheels. Other dependencies are those of the tests."""

    folder: Path

    def run(
        self, *arguments: str | Path, cwd: Path | None = None, environment: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        command = [str(self.folder / "bin" / "hosted-mesh-policies"), *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd, env=environment)

    def path(self, *options: str) -> Path:
        done = self.run("path", *options)
        assert done.returncode == 0, done.stderr
        return Path(done.stdout.strip())


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    root = tmp_path_factory.mktemp("installed")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    for name in ("plan", "policies"):
        shutil.copytree(CHECKOUT / name, root / name)  # building writes beside the sources
        subprocess.run([*pip, "wheel", "--quiet", "--no-deps", "--wheel-dir", root / "wheels", root / name], check=True)
    venv.create(root / "venv", with_pip=False)
    python = root / "venv" / "bin" / "python"
    wheels = sorted((root / "wheels").glob("hosted_mesh_*.whl"))
    subprocess.run([*pip, "--python", python, "install", "--quiet", "--no-deps", *wheels], check=True)
    site = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    # Only a folder that Python lists itself has its .pth files read: this checkout's own pack stays out.
    (Path(site) / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return Installed(root / "venv")


def _started_by_current_host(engine: Engine, tmp_path: Path, folder: Path, python: Path) -> Mapping[str, str]:
    """Settings for a language host that starts a pack's folder as the current one does: `-u -m pulumi.policy`.

    The host of this build is older. It passes the engine's address after an empty name in place of the folder.
    """
    script = tmp_path / "python"
    fallback = engine.pulumi.environment.get("PULUMI_PYTHON_CMD", sys.executable)
    script.write_text(
        f'#!/bin/sh\n[ -z "$1" ] && exec "{python}" -u -m pulumi.policy "$2" "{folder}"\nexec "{fallback}" "$@"\n'
    )
    script.chmod(0o755)
    return {"PULUMI_PYTHON_CMD": str(script)}


def test_the_wheels_folder_refuses_a_leak(tmp_path: Path, installed: Installed, corpus_engine: Engine) -> None:
    folder = installed.path()
    assert installed.folder in folder.parents
    environment = _started_by_current_host(corpus_engine, tmp_path, folder, installed.folder / "bin" / "python")
    for case, refused in (("kubeconfig", {SHAPE}), ("host", set())):
        run = corpus_engine.run(
            "preview", case, stack="wheel", program=PROGRAM, pack=("--policy-pack", folder), environment=environment
        )
        assert {said.policy for said in run.refused} == refused, run.output
        assert bool(run.code) is bool(refused)
        assert any(said.policy == "clusters-are-classified" for said in run.said), run.output  # the pack ran


def test_the_documented_folder_of_the_checkout_does_too(tmp_path: Path, corpus_engine: Engine) -> None:
    folder = CHECKOUT / "policies"
    environment = _started_by_current_host(corpus_engine, tmp_path, folder, Path(sys.executable))
    run = corpus_engine.run(
        "preview",
        "kubeconfig",
        stack="folder",
        program=PROGRAM,
        pack=("--policy-pack", folder),
        environment=environment,
    )
    assert {said.policy for said in run.refused} == {SHAPE}, run.output


def test_init_settles_whose_the_clusters_are(tmp_path: Path, installed: Installed, corpus_engine: Engine) -> None:
    """Without settings a login in a Secret of a cluster that nobody declared is advisory. With those of `init` it is
    refused, and so is the hub's password in a ConfigMap."""
    pack: tuple[str | Path, ...] = ("--policy-pack", installed.path("--executable"))
    more = {"stack": "settled", "program": PROGRAM}
    bare = corpus_engine.run("preview", "password", pack=pack, **more)
    assert bare.code == 0, bare.output
    (warned,) = [said for said in bare.said if said.policy == SHAPE]
    assert "`hosted-mesh-policies init`" in warned.message
    assert "controlPlaneServers" in warned.message

    folder = corpus_engine.project("settled", PROGRAM)
    environment = {**corpus_engine.pulumi.environment, **corpus_engine._settings(), "CORPUS_CASE": "password"}
    settings = tmp_path / "hosted-mesh-policies.json"
    done = installed.run("init", "--stack", "settled", "--output", settings, cwd=folder, environment=environment)
    assert done.returncode == 0, done.stderr
    written = json.loads(settings.read_text())[CLUSTERS]
    assert written["controlPlaneServers"] == [corpus_engine.servers["cp"]]
    assert written["dataPlaneServers"] == [corpus_engine.servers["dp"]]

    settled = (*pack, "--policy-pack-config", settings)
    refused = corpus_engine.run("preview", "password", pack=settled, **more)
    assert {FLOW, SHAPE} <= {said.policy for said in refused.refused}, refused.output
    assert corpus_engine.run("preview", "host", pack=settled, **more).code == 0


def test_strict_in_the_stacks_configuration_refuses_without_a_settings_file(
    installed: Installed, corpus_engine: Engine
) -> None:
    pack = ("--policy-pack", installed.path("--executable"))
    more = {"stack": "strict", "program": PROGRAM, "pack": pack}
    assert corpus_engine.run("preview", "password", **more).code == 0
    asked = corpus_engine.ask("config", "set", "hosted-mesh-policies:strict", "true", stack="strict")
    assert asked.returncode == 0, asked.stderr
    assert SHAPE in {said.policy for said in corpus_engine.run("preview", "password", **more).refused}
