"""All that `make up` and `make down` do, for ordinary users; and what they say where it cannot be.

Run by root, the tests get a user with one id and one with subordinate ids, without changing the machine
(machine/ordinary_user.py, machine/subordinate_ids.py). Run by an ordinary user, that user it is, and every other live
test is of an ordinary user too.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from sandbox import clusters
from sandbox.progress import Progress
from sandbox.proof.table import CHECKS
from sandbox.toolchain import Tools
from tests.live.sandbox.machine.inside import Inside, all_pids
from tests.live.sandbox.machine.ordinary_user import PROGRAMS, OrdinaryUser
from tests.live.sandbox.machine.subordinate_ids import with_subordinates
from tests.support.nightly import all_but

MAKES_NAMESPACES = "from sandbox.kernel import *; unshare(CLONE_NEWUSER, 'user'); unshare(CLONE_NEWNS, '')"


WHO = ("one id", "subordinate ids") if os.geteuid() == 0 else ("who runs the tests",)


@pytest.fixture(scope="module", params=all_but(WHO[:1], WHO))
def user(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, tools: Tools, progress: Progress
) -> Iterator[OrdinaryUser]:
    alone = OrdinaryUser.at(tmp_path_factory.mktemp("user"), tools, progress)
    if request.param == "subordinate ids":
        with with_subordinates(alone) as user:
            yield user
    else:
        yield alone


@pytest.mark.nightly
def test_the_whole_sandbox_as_an_ordinary_user(user: OrdinaryUser) -> None:
    state, home = user.place / "state", user.place / "home"
    interfaces, kept = {name for _, name in socket.if_nameindex()}, sorted(home.rglob("*"))
    makes = user.run(sys.executable, "-c", MAKES_NAMESPACES)
    assert makes.returncode == 0, f"nothing can be shown on a kernel without user namespaces: {makes.stderr}"
    try:
        up = user.sandbox("up", "--state", state)
        assert up.returncode == 0, up.stdout + up.stderr
        assert f"{len(CHECKS)} of {len(CHECKS)} observed" in up.stderr
        assert "less real here: rootless" in up.stderr
        sandbox = clusters.load(state)
        assert sandbox is not None
        inside = Inside.of(sandbox)
        assert len(inside.processes) > 20
        assert len(inside.networks()) >= 5  # the wan, two nodes, Pods on both
        owners = {Path(f"/proc/{one.pid}").stat().st_uid for one in inside.processes if one.alive()}
        assert owners <= {user.uid, *user.subordinates}
        assert (len(owners) > 1) == bool(user.subordinates)
        status = settled(user, state)
        assert status["mode"] == "rootless"
        assert status["answering"] == {"control-plane": True, "data-plane": True}
    finally:
        down = user.sandbox("down", "--state", state)
    assert down.returncode == 0, down.stdout + down.stderr
    assert user.sandbox("status", "--state", state).returncode == 3
    assert inside.left() == []
    assert not state.exists()
    assert sorted(home.rglob("*")) == kept
    assert {name for _, name in socket.if_nameindex()} <= interfaces
    if user.uid != os.geteuid():  # whatever this user runs is the sandbox's
        assert processes_of({user.uid, *user.subordinates}) == {}


def test_a_kernel_that_makes_no_user_namespaces_is_one_clear_error(user: OrdinaryUser) -> None:
    state = user.place / "forbidden"
    up = user.sandbox("up", "--state", state, through=[sys.executable, PROGRAMS / "without_user_namespaces.py"])
    says_what_to_enable(up)
    assert user.sandbox("down", "--state", state).returncode == 0
    assert not state.exists()


def settled(user: OrdinaryUser, state: Path) -> dict[str, Any]:
    """What `make status` says once every process is ready: on a slow machine one may have missed its last probe."""
    deadline = time.monotonic() + 60
    while True:
        status: dict[str, Any] = json.loads(user.sandbox("status", "--json", "--state", state).stdout)
        waiting = [one for one in status["processes"] if one["phase"] not in ("ready", "done")]
        if not waiting and all(status["answering"].values()):
            return status
        assert time.monotonic() < deadline, waiting or status["answering"]
        time.sleep(1)


def says_what_to_enable(up: subprocess.CompletedProcess[str]) -> None:
    """One block of text with the kernel's own reason and the settings to change."""
    assert up.returncode == 1, up.stdout + up.stderr
    refusal = r"does not let this user make the namespaces.*\n  rootless.*: .*new .* namespace: "
    assert re.search(refusal, up.stderr), up.stderr
    assert "To fix it: run as root" in up.stderr
    for setting in ("user.max_user_namespaces", "unprivileged_userns_clone", "apparmor_restrict_unprivileged_userns"):
        assert f"`sysctl {setting}" in up.stderr or f"`sysctl kernel.{setting}" in up.stderr
    assert "Traceback" not in up.stderr


def processes_of(uids: set[int]) -> dict[int, str]:
    """Command lines of all that these users run, by process id; not of what has ended and waits to be reaped."""
    found = {}
    for pid in all_pids():
        with suppress(OSError):
            path = Path(f"/proc/{pid}")
            if path.stat().st_uid in uids and (command := (path / "cmdline").read_bytes()):
                found[pid] = command.replace(b"\0", b" ").decode(errors="replace")
    return found
