"""Three executors on one PostgreSQL, on the real engine and a real API server: one of them is killed with its engines.

Each has a data folder and so stacks' folders of its own, as on a machine of its own; the backend is shared.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hosted_mesh_controller.client import Client
from hosted_mesh_controller.job import processes

from sandbox.clusters import Sandbox
from sandbox.toolchain import Tools
from tests.engine.controller.service import Controller
from tests.engine.library.engine import Api
from tests.support.postgresql import PostgreSql
from tests.support.waiting import eventually

Config = dict[str, Any]
pytestmark = pytest.mark.nightly
TENANTS = ("acme", "other")
# In place of the stacks' program: a key that takes the plug-in a moment, and objects on a real API server.
PROGRAM = """
import pulumi
import pulumi_kubernetes as kubernetes
import pulumi_tls as tls

mesh = pulumi.Config().require_object("mesh")
cluster = mesh["memberships"][0]["cluster"]
(order,) = mesh["revisions"][0]["exposure"]["sourceRanges"]
provider = kubernetes.Provider("cluster", kubeconfig=cluster["kubeconfig"], context=cluster["context"])
last = tls.PrivateKey("key", algorithm="RSA", rsa_bits=4096)
for number in range(4):
    options = pulumi.ResourceOptions(provider=provider, depends_on=[last])
    metadata = {"name": f"{mesh['name']}-{number}", "namespace": "default", "labels": {"of": "executors"}}
    last = kubernetes.core.v1.ConfigMap(f"map-{number}", metadata=metadata, data={"order": order}, opts=options)
pulumi.export("endpoints", {})
pulumi.export("key", last.data)
"""
LIMIT, LIMIT_OF_ONE = 5, 2
TAKE_OVER = 12
FIRST, SECOND = "203.0.113.0/24", "198.51.100.0/24"


@dataclass
class Fleet:
    """Executors and their database."""

    server: PostgreSql
    name: str
    folder: Path
    members: list[Controller]

    @classmethod
    def make(cls, folder: Path, server: PostgreSql, sandbox: Sandbox, tools: Tools) -> Fleet:
        name = server.new_database()
        (folder / "url").write_text(f"{server.url(name)}\n")
        (folder / "program").mkdir()
        (folder / "program/Pulumi.yaml").write_text("name: hosted-mesh\nruntime: python\n")
        (folder / "program/__main__.py").write_text(PROGRAM)
        cluster = {"kubeconfig": str(sandbox.kubeconfig), "context": "data-plane", "tenants": ["*"]}
        more = {
            "databaseFile": str(folder / "url"),
            "backend": f"file://{folder / 'states'}",
            "program": str(folder / "program"),
            "clusters": {"hub": {**cluster, "side": "control-plane"}, "edge": {**cluster, "side": "data-plane"}},
            "operations": LIMIT,
            "operationsPerExecutor": LIMIT_OF_ONE,
            "takeOverSeconds": TAKE_OVER,
            "requestsPerSecond": 1000,
        }
        members = [Controller.make(folder / f"executor-{one}", sandbox, tools, **more) for one in range(3)]
        return cls(server, name, folder, members)

    def clients(self, member: Controller) -> dict[str, Client]:
        token = self.members[0].tokens.setdefault("provider", self.members[0].token("--role", "provider"))
        return {tenant: Client(member.url, token, tenant) for tenant in TENANTS}

    def operations(self) -> list[Config]:
        """All operations, in the order of their first start."""
        names = ("id", "stack", "attempts", "tag", "started", "ended")
        query = f"SELECT {', '.join(names)} FROM operations WHERE started IS NOT NULL ORDER BY started"
        return [dict(zip(names, row, strict=True)) for row in self.server.rows(self.name, query)]

    def ends(self, identifier: str) -> int:
        """The number of times that the logs have an operation's end."""
        return sum(list(self._lines(one, "operation ended")).count(identifier) for one in self.members)

    def logged(self, member: Controller, message: str) -> set[str]:
        """The operations of an executor's log lines with a message."""
        return set(self._lines(member, message))

    def _lines(self, member: Controller, message: str) -> Iterator[str]:
        for line in map(json.loads, member.log.splitlines()):
            if line["message"] == message:
                yield line["operation"]

    def stacks(self, member: Controller) -> dict[str, list[int]]:
        """Processes of an executor's operations, by stack."""
        folders = (member.folder / "data/stacks").glob("*")
        return {one.name: found for one in folders if (found := list(processes.marked(str(one))))}

    def engines(self, member: Controller) -> list[int]:
        return [one for found in self.stacks(member).values() for one in found]

    def kill(self, member: Controller) -> None:
        """Ends an executor and its engines at once, as with their machine."""
        assert member.process
        member.process.kill()
        while found := self.engines(member):
            for process in found:
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
        member.process.wait()


@pytest.fixture
def fleet(tmp_path: Path, database_server: PostgreSql, engine_sandbox: Sandbox, tools: Tools) -> Iterator[Fleet]:
    made = Fleet.make(tmp_path, database_server, engine_sandbox, tools)
    yield made
    for one in made.members:
        one.stop()


def mesh(name: str, order: str = FIRST) -> Config:
    reference = {"apiServer": "https://api.example.com:6443"}
    revision = {"host": f"istiod.{name}.example.com", "exposure": {"sourceRanges": [order]}}
    found: Config = {"name": name, "controlPlane": {"cluster": {"kubeconfig": "hub"}}}
    found |= {"revisions": [revision], "memberships": [{"cluster": {"kubeconfig": "edge"}, "access": reference}]}
    return {"mesh": found}


@pytest.fixture
def maps(user: Api) -> Iterator[Callable[[], dict[str, Config]]]:
    """The objects of all stacks, by name."""
    selected = ("configmaps", "-n", "default", "-l", "of=executors")
    yield lambda: {one["metadata"]["name"]: one for one in user.get(*selected)["items"]}
    user.kubectl("delete", *selected)


def test_a_killed_executor_s_operations_end_once_on_others(fleet: Fleet, maps: Callable[[], dict[str, Config]]) -> None:
    first = fleet.members[0]
    for one in fleet.members:
        one.start()
    entries = [fleet.clients(one) for one in fleet.members]
    names = [f"{tenant}-{number}" for tenant in TENANTS for number in range(7)]
    orders = {}
    for number, name in enumerate(names):
        orders[name] = entries[number % 3][tenant_of(name)].order("meshes", mesh(name)).id
    # A second order of a stack waits for the first, wherever that one runs.
    again = {
        name: entries[1][tenant_of(name)].order("meshes", mesh(name, SECOND), name=name, etag='"1"').id
        for name in (names[0], names[7])
    }
    placed = time.time()

    eventually(lambda: fleet.engines(first))
    fleet.kill(first)
    lost = fleet.logged(first, "operation started") - fleet.logged(first, "operation ended")

    for name, identifier in orders.items():
        ended = entries[1][tenant_of(name)].wait(identifier)
        assert ended.state == "succeeded", f"{name}: {ended.error}"
        assert fleet.ends(identifier) == 1, name
    for name, identifier in again.items():
        ended = entries[2][tenant_of(name)].wait(identifier)
        assert (ended.state, fleet.ends(identifier)) == ("succeeded", 1), ended.error
    assert {one.state for tenant in TENANTS for one in entries[1][tenant].objects("meshes")} == {"ready"}

    found = fleet.operations()
    assert lost
    assert {one["id"] for one in found if one["attempts"] != 1} == lost
    assert {one["attempts"] for one in found if one["id"] in lost} == {2}
    assert_limits(found)
    assert_turns([one for one in found if one["started"] > placed and one["id"] not in again.values()])
    made = maps()
    assert sorted(made) == sorted(f"{name}-{number}" for name in names for number in range(4))
    assert {name for name, one in made.items() if one["data"] == {"order": SECOND}} == {
        f"{name}-{number}" for name in again for number in range(4)
    }
    assert fleet.server.password not in "".join(one.log for one in fleet.members)


def tenant_of(name: str) -> str:
    return name.partition("-")[0]


def assert_limits(found: list[Config]) -> None:
    """Never more at a time than the limit, and never two of one stack."""
    for moment in [one["started"] for one in found]:
        running = [one["stack"] for one in found if one["started"] <= moment < one["ended"]]
        assert len(running) <= LIMIT
        assert len(set(running)) == len(running)


def assert_turns(found: list[Config]) -> None:
    """An operation whose turn comes two later starts later. Of one turn, executors may begin in any order."""
    for at, one in enumerate(found):
        assert not [other for other in found[at + 1 :] if other["tag"] < one["tag"] - 1], [
            (each["stack"], each["tag"]) for each in found
        ]
