"""The lock on a file: who waits says so, and a file that its holder removed is made anew. Kills: test_cache.py."""

from __future__ import annotations

import os
import shutil
import threading
import time
from pathlib import Path

from sandbox.lock import locked


def test_a_second_run_waits_says_so_and_survives_the_removal_of_the_file(tmp_path: Path) -> None:
    lock = tmp_path / "state" / "lock"
    said: list[str] = []
    order: list[str] = []

    def second() -> None:
        with locked(lock, said.append, make_folder=lambda: lock.parent.mkdir(mode=0o700, exist_ok=True)):
            order.append("second")

    with locked(lock):
        thread = threading.Thread(target=second)
        thread.start()
        while not said:
            time.sleep(0.01)
        shutil.rmtree(lock.parent)  # as `down` does while it holds the lock
        order.append("first")
    thread.join(10)
    assert order == ["first", "second"]
    assert said[0] == f"waiting for another run (process {os.getpid()})"
    assert lock.read_text() == str(os.getpid())
    assert lock.parent.stat().st_mode & 0o777 == 0o700
