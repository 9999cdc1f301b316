"""A controller, and the API servers of the library's engine tests, left as they were found."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from sandbox import toolchain
from sandbox.clusters import Sandbox
from sandbox.progress import Progress
from sandbox.toolchain import Tools
from sandbox.toolchain.catalogue import FOR_DATABASES
from tests.engine.controller.service import PROGRAM, WATCHER, Controller
from tests.engine.library.conftest import clean, provider, user
from tests.engine.library.engine import Api, without_nodes
from tests.support.postgresql import PostgreSql

__all__ = ["clean", "provider", "user"]
Config = dict[str, Any]


@pytest.fixture
def documents(engine_sandbox: Sandbox, tools: Tools) -> Config:
    """The order of a mesh: clusters and charts by name."""
    mesh = without_nodes(engine_sandbox, tools)
    mesh["controlPlane"]["cluster"] = {"kubeconfig": "control-plane"}
    mesh["memberships"][0]["cluster"] = {"kubeconfig": "data-plane"}
    mesh["revisions"][0]["charts"] = {"path": "istio"}
    return {"mesh": mesh}


@pytest.fixture
def installed(user: Api, tmp_path: Path) -> Iterator[Path]:
    """The watcher's kubeconfig: the definition and the rights are as the command prints them."""
    printed = subprocess.run([PROGRAM, "definitions"], capture_output=True, text=True, timeout=240, check=True)
    (tmp_path / "definitions.yaml").write_text(printed.stdout)
    applied = user.kubectl("apply", "-f", str(tmp_path / "definitions.yaml"))
    assert applied.code == 0, applied.text
    token = user.kubectl("create", "token", WATCHER, "-n", WATCHER, "--duration=2h").output.strip()
    kubeconfig = yaml.safe_load(user.cluster.kubeconfig.read_text())
    for one in kubeconfig["users"]:
        one["user"] = {"token": token}
    (tmp_path / "watcher").write_text(yaml.safe_dump(kubeconfig))
    yield tmp_path / "watcher"
    user.kubectl("delete", "-f", str(tmp_path / "definitions.yaml"), "--wait=true", "--timeout=60s")


@pytest.fixture
def controller(tmp_path: Path, engine_sandbox: Sandbox, tools: Tools) -> Iterator[Controller]:
    made = Controller.make(tmp_path / "controller", engine_sandbox, tools)
    made.start()
    yield made
    made.stop()


@pytest.fixture(scope="session")
def database_server(tmp_path_factory: pytest.TempPathFactory, progress: Progress) -> Iterator[PostgreSql]:
    """A PostgreSQL server. A test makes a database of its own in it."""
    tools = toolchain.ensure(FOR_DATABASES, progress=progress)
    made = PostgreSql(tmp_path_factory.mktemp("postgresql") / "server", tools)
    made.create()
    yield made
    made.stop()
