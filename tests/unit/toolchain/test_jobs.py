"""Commands that build and download: none may run for ever, none may fail without a reason."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox.errors import SandboxError
from sandbox.jobs import Job
from sandbox.toolchain.debian import DebianPackage
from tests.support.waiting import eventually


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return Job("thing", tmp_path / "log", lambda _: None)


def test_output_is_returned_seen_line_by_line_and_logged(job: Job) -> None:
    lines: list[str] = []
    assert job.run(["sh", "-c", "echo one; echo two >&2"], limit=10, on_line=lines.append) == "one\ntwo\n"
    assert lines == ["one", "two"]
    assert job.log.read_text().endswith("one\ntwo\n")


def test_a_failure_tells_its_exit_code_last_lines_log_and_fix(job: Job) -> None:
    with pytest.raises(SandboxError) as error:
        job.run(["sh", "-c", "seq 100; exit 3"], limit=10, fix="count less.")
    assert error.value.what == "thing: `sh -c seq 100; exit 3` failed (exit code 3)."
    assert "\n86\n" in f"\n{error.value.why}\n"
    assert "\n85\n" not in error.value.why
    assert str(job.log) in error.value.why
    assert str(error.value).endswith("To fix it: count less.")


def test_silence_is_given_up_with_all_children(job: Job) -> None:
    sleep = f"sleep {random.uniform(600, 601)}"
    with pytest.raises(SandboxError, match="nothing arrived for 2 seconds"):
        job.run(["sh", "-c", f"{sleep} & {sleep}"], limit=60, stall=2)

    def gone() -> bool:
        return sleep not in subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout

    eventually(gone, "no child of it is left")


def test_a_transfer_without_words_is_not_silence(job: Job) -> None:
    reader = "import time, pathlib\nfor _ in range(8): time.sleep(.5); pathlib.Path('/proc/self/stat').read_text()"
    job.run([sys.executable, "-c", reader], limit=60, stall=2)


def test_lateness_is_given_up(job: Job) -> None:
    with pytest.raises(SandboxError, match="not finished after"):
        job.run(["sh", "-c", "while :; do echo on; sleep 0.2; done"], limit=2)


def test_a_program_that_is_not_there(job: Job) -> None:
    with pytest.raises(SandboxError, match="cannot be started"):
        job.run(["/does/not/exist"], limit=1)


def test_without_apt_the_error_says_to_install_it(tmp_path: Path, job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SandboxError, match="`nft` is required") as error:
        DebianPackage("nftables", ("nft",), "usr/sbin").build(tmp_path, job)
    assert error.value.fix.startswith("install nftables")
