"""Commands that leave something behind, and those that do not end."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from hosted_mesh_analysis.runner.commands import Commands

from tests.support.waiting import eventually


def run(script: str, seconds: float = 300) -> tuple[int | None, str, str]:
    began = time.monotonic()
    done = Commands(seconds)(["sh", "-c", script], Path(), dict(os.environ), "given\n")
    assert time.monotonic() - began < 100
    return done.code, done.output, done.error


def is_gone(process: str) -> bool:
    return not Path(f"/proc/{process}").exists() or Path(f"/proc/{process}/stat").read_text().split()[2] == "Z"


def test_a_command_is_given_its_input_and_what_it_prints_is_told() -> None:
    assert run("cat; echo '\\0377' >&2; exit 3") == (3, "given\n", "\ufffd\n")
    assert run("kill -SEGV $$") == (-11, "", "")


def test_what_a_command_leaves_behind_is_ended() -> None:
    """It holds the pipes open for as long as it runs."""
    code, output, _ = run("echo said; sleep 300 & echo $!")
    said, process = output.split()
    assert (code, said) == (0, "said")
    eventually(lambda: is_gone(process))


def test_what_has_a_session_of_its_own_is_not_waited_for(tmp_path: Path) -> None:
    script = f"echo said; echo wrong >&2; setsid sh -c 'echo $$ > {tmp_path}/id; exec sleep 300' & sleep 1; exit 4"
    assert run(script) == (4, "said\n", "wrong\n")
    os.kill(int((tmp_path / "id").read_text()), signal.SIGKILL)


@pytest.mark.parametrize("script", ["sleep 300", "trap '' INT; sleep 300 & sleep 300"])
def test_a_command_that_does_not_end_is_ended(script: str) -> None:
    assert run(script, 2) == (None, "", "it did not end within 2 seconds")
