"""An operation's process on the real engine, with a stack that needs no cluster: killed, interrupted, and run again."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from hosted_mesh_controller.job import processes
from hosted_mesh_controller.job.request import MARKER, Request
from hosted_mesh_controller.vocabulary import Action
from hosted_mesh_controller.work.runner import COMMAND

from sandbox.bootstrap import CHECKOUT
from sandbox.toolchain import Tools
from tests.support.environment import quick_cli

PASSPHRASE = "the-passphrase-of-this-stack"
KEY, REQUEST = "demo-intermediate-key", "demo-intermediate-request"


@dataclass
class Job:
    """The processes of one stack, of kind `trust`: a key of a mesh, and a request that it signs."""

    folder: Path
    environment: Mapping[str, str]

    @classmethod
    def make(cls, folder: Path, tools: Tools) -> Job:
        (folder / "passphrase").write_text(PASSPHRASE)
        (folder / "temporary").mkdir()
        return cls(folder, quick_cli(tools, {"TMPDIR": str(folder / "temporary")}).environment)

    def run(
        self,
        action: Action,
        *,
        again: bool = False,
        kill_at: str = "",
        interrupt_at: str = "",
        freeze_at: str = "",
        lease: float | None = None,
    ) -> dict[str, Any]:
        """The result; empty after a kill. again: after an interruption. kill_at, interrupt_at: resources that begin.

        freeze_at: where the engine freezes, and its executor too. lease: seconds without the executor.
        """
        mesh = yaml.safe_load((CHECKOUT / "stacks/example.mesh.yaml").read_text())
        # Such a key takes the plug-in long enough to be interrupted.
        mesh["trust"] = {"algorithm": "rsa-4096"}
        request = Request(
            operation="one",
            action=action,
            stack="acme.meshes.demo",
            folder=str(self.stack_folder),
            program=str(CHECKOUT),
            backend=f"file://{self.folder / 'states'}",
            passphrase_file=str(self.folder / "passphrase"),
            config={"stack": "trust", "mesh": mesh},
            unfinished_since=time.time() - 60 if again else None,
            lease_seconds=lease,
        )
        environment = {**self.environment, MARKER: request.folder}
        with subprocess.Popen(
            COMMAND, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
        ) as process:
            assert process.stdin
            assert process.stdout
            process.stdin.write(f"{request.line()}\n")
            process.stdin.flush()
            frozen = threading.Event()
            if lease is not None:
                threading.Thread(target=_feed, args=[process.stdin.fileno(), frozen], daemon=True).start()
            for line in process.stdout:
                event: dict[str, Any] = json.loads(line)
                if event["type"] == "result":
                    return event
                if event.get("phase") == "begin" and event["resource"] == kill_at:
                    for one in processes.marked(request.folder):
                        os.kill(one, signal.SIGKILL)
                if event.get("phase") == "begin" and event["resource"] == freeze_at:
                    frozen.set()
                    for one in set(processes.marked(request.folder)) - {process.pid}:
                        os.kill(one, signal.SIGSTOP)
                if event.get("phase") == "begin" and event["resource"] == interrupt_at:
                    process.stdin.close()
                    interrupt_at = ""
        return {}

    @property
    def stack_folder(self) -> Path:
        return self.folder / "stacks" / "acme.meshes.demo"

    @property
    def locks(self) -> list[Path]:
        return list((self.folder / "states/.pulumi/locks").rglob("*.json"))


def _feed(descriptor: int, frozen: threading.Event) -> None:
    """The lines of an executor."""
    while not frozen.wait(0.2):
        with suppress(OSError):
            os.write(descriptor, b"\n")


@pytest.fixture
def job(tmp_path: Path, tools: Tools) -> Job:
    return Job.make(tmp_path, tools)


def test_a_killed_engine_s_operations_are_finished(job: Job) -> None:
    assert job.run(Action.UP, kill_at=KEY) == {}
    assert len(job.locks) == 1
    made = job.run(Action.UP, again=True)
    assert made["ok"], made
    assert made["changes"]["create"] >= 2
    assert set(made["outputs"]) == {"request", "name_constraints"}  # the other one is a secret
    assert job.run(Action.UP)["changes"].keys() == {"same"}
    stored = b"".join(
        file.read_bytes() for file in job.folder.rglob("*") if file.is_file() and file.name != "passphrase"
    )
    assert b"BEGIN CERTIFICATE REQUEST" in stored
    assert b"PRIVATE KEY" not in stored
    assert PASSPHRASE.encode() not in stored

    assert job.run(Action.DESTROY, kill_at=REQUEST) == {}
    gone = job.run(Action.DESTROY, again=True)
    assert gone["ok"], gone
    assert not job.stack_folder.exists()
    assert list((job.folder / "states/.pulumi/stacks").rglob("*.json")) == []
    assert job.locks == []
    # Also for one that is not there.
    assert job.run(Action.DESTROY)["ok"]


def test_half_a_state_s_file_is_restored(job: Job) -> None:
    assert job.run(Action.UP)["ok"]
    (state,) = (job.folder / "states/.pulumi/stacks").rglob("acme.meshes.demo.json")
    state.write_bytes(state.read_bytes()[:500])
    attributes = [*(job.folder / "states/.pulumi/stacks").rglob("*.attrs")]
    assert len(attributes) == 2
    for one in attributes:
        one.write_bytes(b"")
    made = job.run(Action.UP, again=True)
    assert made["ok"], made
    assert made["changes"].get("replace", 0) == 0
    assert job.run(Action.UP)["changes"].keys() == {"same"}


def test_an_interrupt_ends_the_begun_steps_and_the_next_run_continues(job: Job) -> None:
    interrupted = job.run(Action.UP, interrupt_at=KEY)
    assert interrupted == {"type": "result", "ok": False, "error": "update canceled"}
    assert job.locks == []
    made = job.run(Action.UP, again=True)
    assert made["ok"], made
    # The key is the one that the interrupted run has made.
    assert made["changes"] == {"create": 1, "same": 3}


@pytest.mark.nightly
def test_without_its_executor_an_operation_s_process_ends(job: Job) -> None:
    """Also with an engine that does not react to an interrupt: another executor begins soon."""
    assert job.run(Action.UP, freeze_at=KEY, lease=3) == {}
    assert list(processes.marked(str(job.stack_folder))) == []
    assert job.run(Action.UP, again=True)["ok"]


@pytest.mark.nightly
def test_a_stack_s_folder_may_be_missing(job: Job) -> None:
    """As on another machine with the same backend: the state has what is needed to read its secrets."""
    assert job.run(Action.UP)["ok"]
    shutil.rmtree(job.stack_folder)
    again = job.run(Action.UP)
    assert again["changes"].keys() == {"same"}, again


def test_a_check_leaves_the_state_and_a_repair_has_nothing_to_do(job: Job) -> None:
    assert job.run(Action.UP)["ok"]
    (state,) = (job.folder / "states/.pulumi/stacks").rglob("acme.meshes.demo.json")
    before = state.read_bytes()
    checked = job.run(Action.CHECK)
    assert (checked["ok"], checked["drift"], checked["certificates"]) == (True, [], []), checked
    assert state.read_bytes() == before
    assert job.run(Action.REPAIR)["changes"].keys() == {"same"}
    assert job.run(Action.RENEW)["changes"].keys() == {"same"}


def test_a_preview_leaves_nothing(job: Job) -> None:
    seen = job.run(Action.PREVIEW_UP)
    assert {one["action"] for one in seen["steps"]} == {"create"}
    assert {KEY, REQUEST} < {one["resource"] for one in seen["steps"]}
    assert not job.stack_folder.exists()
    assert list((job.folder / "states/.pulumi/stacks").rglob("*.json")) == []
