"""The state directory: identity of the supervisor, files that were cut short."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from sandbox.clusters import down, load, status
from sandbox.clusters.readiness import node_ready
from sandbox.clusters.shutdown import end
from sandbox.clusters.state import (
    Layout,
    Settings,
    Supervisor,
    read,
    running,
    write,
)
from sandbox.clusters.status import less_real
from sandbox.clusters.supervisor.identity import Identity
from sandbox.clusters.supervisor.uid_maps import subordinate
from sandbox.clusters.topology import Topology


def supervisor(identity: Identity) -> Supervisor:
    return Supervisor(identity=identity, mode="root", nodes=False, started=0, uid_range=False, refused=[])


def test_a_process_is_known_by_pid_start_and_boot() -> None:
    mine = Identity.of(os.getpid())
    assert mine.alive()
    assert not mine.model_copy(update={"start": mine.start + 1}).alive()
    assert not mine.model_copy(update={"boot": "another boot"}).alive()


def test_a_zombie_is_not_alive() -> None:
    child = subprocess.Popen([sys.executable, "-c", "pass"])
    identity = Identity.of(child.pid)
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert not identity.alive()
    child.wait()
    assert not identity.alive()


def test_a_stranger_with_the_supervisors_pid_is_left_alone(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "state")
    layout.make()
    with subprocess.Popen(["sleep", "60"]) as stranger:
        identity = Identity.of(stranger.pid)
        stale = supervisor(identity.model_copy(update={"start": identity.start - 1}))
        write(layout.supervisor, stale)
        assert load(layout.root) is None
        assert not status(layout.root).running
        end(stale)
        down(layout.root)
        assert stranger.poll() is None
        stranger.kill()
    assert not layout.root.exists()


def test_a_supervisor_of_another_version_is_still_found(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "state")
    layout.make()
    identity = Identity.of(os.getpid())
    text = f'{{"identity": {identity.model_dump_json()}, "mode": "root", "nodes": true, "unheard_of": 1}}'
    layout.supervisor.write_text(text)
    assert running(layout) == Supervisor(identity=identity, mode="root", nodes=True)


def test_end_is_orderly_first_and_then_forcible() -> None:
    with subprocess.Popen(["sleep", "60"]) as process:
        threading.Thread(target=process.wait, daemon=True).start()
        end(supervisor(Identity.of(process.pid)))
        process.wait(10)
        assert process.returncode == -signal.SIGTERM


def test_files_are_private_and_replaced_at_once(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    written = Settings(topology=Topology.of(2), ports={"control-plane": 20000, "data-plane": 20001})
    write(path, written)
    assert read(path, Settings) == written
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("content", ["", '{"ports": {"provi', '{"ports": {"control-plane": 1, "data-plane": 2}}'])
def test_a_file_that_is_not_what_was_written_counts_as_missing(tmp_path: Path, content: str) -> None:
    path = tmp_path / "settings.json"
    path.write_text(content)
    assert read(path, Settings) is None
    assert read(tmp_path / "none", Settings) is None


def test_down_leaves_what_others_put_into_the_state_directory(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "state")
    layout.make()
    (layout.root / "Pulumi.all-in-one.yaml").touch()
    down(layout.root)
    assert [path.name for path in layout.root.iterdir()] == ["Pulumi.all-in-one.yaml"]
    assert running(layout) is None


@pytest.mark.parametrize(
    ("status", "heartbeat", "expected"),
    [
        ("True", "2026-01-01T00:00:10Z", True),
        ("True", "2026-01-01T00:00:09Z", False),  # from before the crash
        ("False", "2026-01-01T00:00:11Z", False),
    ],
)
def test_a_node_is_ready_only_if_it_says_so_in_this_life(status: str, heartbeat: str, expected: bool) -> None:
    condition = {"type": "Ready", "status": status, "lastHeartbeatTime": heartbeat}
    since = datetime(2026, 1, 1, 0, 0, 10, 500_000, UTC).timestamp()
    assert node_ready({"status": {"conditions": [condition]}}, since=since) is expected
    assert not node_ready({"status": {}}, since=since)


def test_subordinate_ids_are_read_from_the_table(tmp_path: Path) -> None:
    table = tmp_path / "subuid"
    table.write_text(f"nobody-else:100:65536\n{os.getuid()}:5:10\n{os.getuid()}:231072:65536\n")
    assert subordinate(table) == 231072
    assert subordinate(tmp_path / "none") is None


def test_what_is_less_real_is_said_in_one_line() -> None:
    assert less_real("root", uid_range=False) == ""
    for uid_range in (False, True):
        line = less_real("rootless", uid_range=uid_range)
        assert line
        assert "\n" not in line
