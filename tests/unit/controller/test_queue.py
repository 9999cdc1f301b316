"""The durable queue, with stand-ins for the engine: kills, limits, turns, cancellation, time limits."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sandbox.bootstrap import CHECKOUT
from tests.support.waiting import eventually
from tests.unit.controller.service import Service, documents


@dataclass
class Running:
    """The interface here, and the queue in a process that can be killed."""

    service: Service
    folder: Path
    limit: int = 600
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        (self.folder / "ready").unlink(missing_ok=True)
        command = [sys.executable, "-m", "tests.unit.controller.queue_service", str(self.folder), str(self.limit)]
        log = (self.folder / "log").open("ab")
        paths = os.environ.get("PYTHONPATH", "")
        environment = {**os.environ, "PYTHONPATH": f"{CHECKOUT}:{paths}"}
        self.process = subprocess.Popen(command, cwd=CHECKOUT, env=environment, stdout=log, stderr=log)
        log.close()
        eventually((self.folder / "ready").exists, seconds=60)

    def kill(self) -> None:
        assert self.process
        self.process.kill()
        self.process.wait()

    def order(self, tenant: str, name: str) -> str:
        identifier: str = self.service.ordered(tenant, "meshes", documents("meshes", tenant, name))["id"]
        return identifier

    def release(self, *stacks: str) -> None:
        for stack in stacks:
            (self.folder / "release" / stack).touch()

    def runs(self, word: str) -> list[str]:
        file = self.folder / "runs"
        lines = file.read_text().splitlines() if file.exists() else []
        return [line.split()[1] for line in lines if line.split()[0] == word]

    def operation(self, identifier: str, tenant: str = "acme") -> Any:
        return self.service.call("provider", "GET", f"/v1/tenants/{tenant}/operations/{identifier}").json()

    def ended(self, identifier: str, tenant: str = "acme") -> Any:
        return eventually(lambda: (found := self.operation(identifier, tenant))["ended"] and found, seconds=60)


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    for name in ("release", "die"):
        (tmp_path / name).mkdir()
    made = Running(Service.make(tmp_path), tmp_path)
    yield made
    if made.process:
        made.kill()


def test_a_kill_and_a_restart_end_every_operation_once(running: Running) -> None:
    """Two run at a time, in turns of the tenants; killed, the begun ones run again and no other does."""
    names = [("acme", "a1"), ("acme", "a2"), ("acme", "a3"), ("other", "o1")]
    made = {f"{tenant}.meshes.{name}": (running.order(tenant, name), tenant) for tenant, name in names}
    running.start()
    eventually(lambda: len(running.runs("begin")) == 2, seconds=60)
    assert sorted(running.runs("begin")) == ["acme.meshes.a1", "other.meshes.o1"]
    running.kill()
    # The operations' processes end with the controller.
    eventually(lambda: len(running.runs("interrupted")) == 2, seconds=20)
    running.start()
    running.release("acme.meshes.a1")
    eventually(lambda: len(running.runs("begin")) == 5, seconds=60)
    running.release(*made)
    for identifier, tenant in made.values():
        assert running.ended(identifier, tenant)["state"] == "succeeded"
    begun = running.runs("begin")
    assert sorted(begun[2:4]) == ["acme.meshes.a1", "other.meshes.o1"]
    assert begun[4:] == ["acme.meshes.a2", "acme.meshes.a3"]
    assert sorted(running.runs("end")) == sorted(made)
    attempts = {stack: running.operation(*one)["attempts"] for stack, one in made.items()}
    assert attempts == {"acme.meshes.a1": 2, "other.meshes.o1": 2, "acme.meshes.a2": 1, "acme.meshes.a3": 1}
    restarts = [line.split()[2] for line in (running.folder / "runs").read_text().splitlines()[4:6]]
    assert restarts == ["True", "True"]


def test_an_order_between_commit_and_queue_is_not_lost(running: Running) -> None:
    """The interface here never queues anything: its process may end between the two."""
    identifier = running.order("acme", "a1")
    running.release("acme.meshes.a1")
    running.start()
    assert running.ended(identifier)["state"] == "succeeded"


def test_a_lost_process_is_started_again(running: Running) -> None:
    (running.folder / "die" / "acme.meshes.a1").touch()
    running.release("acme.meshes.a1")
    identifier = running.order("acme", "a1")
    running.start()
    ended = running.ended(identifier)
    assert (ended["state"], ended["attempts"]) == ("succeeded", 2)


def test_a_running_operation_is_cancelled_and_the_next_one_comes(running: Running) -> None:
    first = running.order("acme", "a1")
    running.start()
    eventually(lambda: running.runs("begin"), seconds=60)
    path = "/v1/tenants/acme/meshes/a1"
    second = running.service.call("acme", "PUT", path, documents("meshes", "acme", "a1"), If_Match='"1"').json()
    assert second["state"] == "waiting"
    running.service.call("acme", "POST", f"/v1/tenants/acme/operations/{first}/cancel")
    ended = running.ended(first)
    assert (ended["state"], ended["error"]) == ("cancelled", "cancelled")
    eventually(lambda: len(running.runs("begin")) == 2, seconds=60)
    running.release("acme.meshes.a1")
    assert running.ended(second["id"])["state"] == "succeeded"
    for line in (running.folder / "log").read_text().splitlines():
        assert json.loads(line)["level"] == "info"


def test_a_time_limit(running: Running) -> None:
    running.limit = 10
    identifier = running.order("acme", "a1")
    running.start()
    ended = running.ended(identifier)
    assert (ended["state"], ended["error"]) == ("failed", "did not end within 10 seconds")


def test_an_operation_whose_workflow_failed_holds_no_stack(running: Running) -> None:
    first = running.order("acme", "a1")
    running.start()
    eventually(lambda: running.runs("begin"), seconds=60)
    running.kill()
    with sqlite3.connect(running.folder / "data/queue.sqlite") as database:
        changed = database.execute("UPDATE workflow_status SET status = 'ERROR' WHERE workflow_uuid = ?", [first])
    assert changed.rowcount == 1
    path = "/v1/tenants/acme/meshes/a1"
    second = running.service.call("acme", "PUT", path, documents("meshes", "acme", "a1"), If_Match='"1"').json()
    assert second["state"] == "waiting"
    running.release("acme.meshes.a1")
    running.start()
    assert running.ended(first)["error"] == "the controller failed; its log has the reason"
    assert running.ended(second["id"])["state"] == "succeeded"
