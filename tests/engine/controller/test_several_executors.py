"""Three executors on a real PostgreSQL, with stand-ins for the engine: limits, turns, and executors that go away."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from sandbox.bootstrap import CHECKOUT
from tests.support.postgresql import PostgreSql
from tests.support.waiting import eventually
from tests.unit.controller.service import CLUSTERS, Service, documents

pytestmark = pytest.mark.nightly
NAMES = ("first", "second", "third")
LIMIT, LIMIT_OF_ONE = 5, 3
TAKE_OVER = 9
TENANTS = ("acme", "other")


@dataclass
class Fleet:
    """The interface here, and the executors in processes that can be killed."""

    folder: Path
    service: Service
    members: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self, *names: str) -> None:
        paths = os.environ.get("PYTHONPATH", "")
        environment = {**os.environ, "PYTHONPATH": f"{CHECKOUT}:{paths}"}
        for name in names:
            command = [sys.executable, "-m", "tests.engine.controller.executor", str(self.folder), name]
            with (self.folder / f"log-{name}").open("ab") as log:
                self.members[name] = subprocess.Popen(command, cwd=CHECKOUT, env=environment, stdout=log, stderr=log)
        eventually(lambda: all((self.folder / f"ready-{name}").exists() for name in names))

    def order(self, tenant: str, number: int) -> str:
        name = f"m{number}"
        body = documents("meshes", tenant, f"{tenant}-{name}")
        identifier: str = self.service.ordered(tenant, "meshes", body)["id"]
        return identifier

    def release(self, stacks: list[str]) -> None:
        for stack in stacks:
            (self.folder / "release" / stack).touch()

    def runs(self, word: str) -> list[list[str]]:
        """Stack, executor and time of each line with a word."""
        file = self.folder / "runs"
        lines = file.read_text().splitlines() if file.exists() else []
        return [line.split()[1:] for line in lines if line.split()[0] == word]

    def begun(self, number: int) -> list[list[str]]:
        eventually(lambda: len(self.runs("begin")) >= number)
        return self.runs("begin")

    def states(self) -> dict[str, Any]:
        """State and attempts of the operations, by stack."""
        found: dict[str, Any] = {}
        for tenant in TENANTS:
            page = self.service.call("provider", "GET", f"/v1/tenants/{tenant}/operations?limit=100").json()
            found |= {f"{tenant}.meshes.{one['name']}": (one["state"], one["attempts"]) for one in page["items"]}
        return found

    def all_end(self) -> dict[str, int]:
        """Releases all; the attempts of each operation, which has ended once."""
        stacks = sorted(self.states())
        self.release(stacks)
        eventually(lambda: {state for state, _ in self.states().values()} == {"succeeded"})
        assert sorted(stack for stack, *_ in self.runs("end")) == stacks
        return {stack: attempts for stack, (_, attempts) in self.states().items()}


@pytest.fixture
def fleet(tmp_path: Path, database_server: PostgreSql) -> Iterator[Fleet]:
    (tmp_path / "release").mkdir()
    (tmp_path / "url").write_text(database_server.url(database_server.new_database()))
    limits = {"operations": LIMIT, "operationsPerExecutor": LIMIT_OF_ONE, "takeOverSeconds": TAKE_OVER}
    more = {**limits, "databaseFile": str(tmp_path / "url"), "tenants": {name: {} for name in TENANTS}}
    own = {"data": str(tmp_path / "data"), "program": str(CHECKOUT), "passphraseFile": str(tmp_path / "passphrase")}
    (tmp_path / "settings.yaml").write_text(yaml.safe_dump({**own, **more, "clusters": CLUSTERS}))
    made = Fleet(tmp_path, Service.make(tmp_path, **more))
    yield made
    for one in made.members.values():
        one.kill()
        one.wait()


def test_a_killed_executor_s_operations_end_on_others(fleet: Fleet) -> None:
    """The limit holds over executors, tenants take turns, and no operation but the lost ones begins again."""
    for number in range(7):
        fleet.order("acme", number)
    for number in range(7):
        fleet.order("other", number)
    fleet.start(*NAMES)
    began = fleet.begun(LIMIT)
    time.sleep(1.5)
    assert len(fleet.runs("begin")) == LIMIT
    by_executor = {name: [stack for stack, one, _ in began if one == name] for name in NAMES}
    assert max(map(len, by_executor.values())) <= LIMIT_OF_ONE
    # All of acme's orders came first.
    assert sorted(stack.partition(".")[0] for stack, *_ in began).count("other") == LIMIT // 2

    victim = max(NAMES, key=lambda name: len(by_executor[name]))
    lost = by_executor[victim]
    fleet.members[victim].kill()
    killed = time.time()
    again = fleet.begun(LIMIT + len(lost))[LIMIT:]
    assert sorted(stack for stack, *_ in again) == sorted(lost)
    assert victim not in {name for _, name, _ in again}
    assert min(float(at) for *_, at in again) - killed > TAKE_OVER * 2 / 3
    time.sleep(1.5)
    assert len(fleet.runs("begin")) == LIMIT + len(lost)

    attempts = fleet.all_end()
    assert attempts == {stack: 2 if stack in lost else 1 for stack in attempts}
    assert len(fleet.runs("begin")) == 14 + len(lost)
    turns = [stack.partition(".")[0] for stack, *_ in fleet.runs("begin") if stack not in lost]
    counts = [abs(turns[:at].count("acme") - turns[:at].count("other")) for at in range(2, len(turns))]
    assert max(counts) <= 3, turns


def test_a_frozen_executor_works_on_nothing_that_another_has(fleet: Fleet) -> None:
    """Its operations' processes end before another executor begins, and it ends itself when it runs again."""
    for number in range(4):
        fleet.order("acme", number)
    fleet.start("first", "second")
    began = fleet.begun(4)
    frozen = sorted(stack for stack, name, _ in began if name == "first")
    assert frozen  # the other one has no room for all
    fleet.members["first"].send_signal(signal.SIGSTOP)
    fleet.release([stack for stack, name, _ in began if name == "second"])
    again = fleet.begun(4 + len(frozen))[4:]
    ended = {stack: float(at) for stack, _, at in fleet.runs("interrupted")}
    assert sorted(ended) == frozen
    assert all(float(at) > ended[stack] for stack, _, at in again)
    assert (fleet.folder / "leader").read_text() == "second"
    fleet.members["first"].send_signal(signal.SIGCONT)
    assert fleet.members["first"].wait(120) == 1
    assert fleet.all_end() == {stack: 2 if stack in frozen else 1 for stack in fleet.states()}
    assert len(fleet.runs("begin")) == 4 + len(frozen)


def test_an_executor_that_leaves_hands_over_at_once(fleet: Fleet) -> None:
    for number in range(2):
        fleet.order("acme", number)
    fleet.start("first")
    fleet.begun(2)
    fleet.start("second")
    fleet.members["first"].terminate()
    assert fleet.members["first"].wait(120) == 0
    left = time.time()
    again = fleet.begun(4)[2:]
    assert {name for _, name, _ in again} == {"second"}
    assert max(float(at) for *_, at in again) - left < TAKE_OVER / 2
    assert set(fleet.all_end().values()) == {2}


def test_operations_go_on_while_the_database_restarts(fleet: Fleet, database_server: PostgreSql) -> None:
    for number in range(4):
        fleet.order("acme", number)
    fleet.start("first", "second")
    fleet.begun(4)
    database_server.stop()
    # The end of an operation has to wait for the database.
    fleet.release(["acme.meshes.acme-m0"])
    eventually(lambda: fleet.runs("end"))
    database_server.start()
    assert set(fleet.all_end().values()) == {1}
    assert fleet.runs("interrupted") == []


def test_executors_end_their_operations_without_the_database(fleet: Fleet, database_server: PostgreSql) -> None:
    """Later ones begin them, without a person."""
    fleet.order("acme", 0)
    fleet.start("first")
    fleet.begun(1)
    database_server.stop()
    try:
        assert fleet.members["first"].wait(120) == 1
        assert len(fleet.runs("interrupted")) == 1
    finally:
        database_server.start()
    fleet.start("second")
    assert set(fleet.all_end().values()) == {2}
