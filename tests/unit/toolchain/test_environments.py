"""Which virtual environments of the cache go, and which stay."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from sandbox.old_environments import COMPLETE, mark_used, remove_unused

DAY = 24 * 3600


def environment(folder: Path, name: str, unused_days: float) -> Path:
    made = folder / name
    (made / "bin").mkdir(parents=True)
    (made / "bin" / "python").symlink_to(sys.executable)
    (made / COMPLETE).touch()
    then = time.time() - unused_days * DAY
    os.utime(made / COMPLETE, (then, then))
    return made


def test_only_those_go_that_nobody_has_used_for_long_or_that_are_not_whole(tmp_path: Path) -> None:
    environment(tmp_path, "recent", 29)
    environment(tmp_path, "old", 31)
    mark_used(environment(tmp_path, "old, used again", 31))
    (tmp_path / "half made" / "bin").mkdir(parents=True)
    running = environment(tmp_path, "old, running", 31)
    program = [running / "bin" / "python", "-c", "print(flush=True); input()"]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()  # for a moment after its start a process has no command line yet
        remove_unused(tmp_path)
        assert {path.name for path in tmp_path.iterdir()} == {"recent", "old, used again", "old, running"}
    remove_unused(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"recent", "old, used again"}


def test_a_shared_environment_that_may_not_be_marked_is_used_all_the_same(tmp_path: Path) -> None:
    mark_used(tmp_path / "none")
