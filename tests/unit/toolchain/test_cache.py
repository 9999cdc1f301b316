"""How a part of the cache is made once: keys, locks between real processes, whole or absent after a kill."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox.cache import cache_dir, content_key, publish
from sandbox.errors import SandboxError
from sandbox.lock import locked
from tests.support.waiting import eventually

CHECKOUT = Path(__file__).parents[3]

# Makes an entry slowly: appends to a log when its build starts, so that a test can count builds, and leaves a file
# where another run waits. -1 second: until another run waits.
SLOW_BUILD = """
import sys, time
from pathlib import Path
from sandbox.cache import publish

root, seconds = Path(sys.argv[1]), float(sys.argv[2])

def build(into):
    with (root / "builds").open("a") as log:
        log.write("one\\n")
    (into / "half").touch()
    while seconds < 0 and not (root / "waiting").exists():
        time.sleep(0.02)
    time.sleep(max(seconds, 0))
    (into / "whole").touch()

said = []
def wait(words):
    said.append(words)
    (root / "waiting").touch()

made = publish(root / "entry", build, lock=root / "lock", waiting=wait)
print("made" if made else "found", "| waited" if said else "", *said[:1])
"""


def start(root: Path, seconds: float) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", SLOW_BUILD, str(root), str(seconds)],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(CHECKOUT)},
    )


def wait_for(path: Path) -> None:
    eventually(path.exists, f"{path} appears")


def test_a_key_changes_with_each_part_and_with_the_border_between_two() -> None:
    assert content_key("ab", "c") == content_key(b"ab", "c")
    assert len({content_key("ab", "c"), content_key("a", "bc"), content_key("abc"), content_key("ab", "d")}) == 4


def test_of_two_processes_one_builds_and_the_other_waits_says_so_and_finds_it(tmp_path: Path) -> None:
    first = start(tmp_path, -1)
    wait_for(tmp_path / "builds")
    second = start(tmp_path, -1)
    first_said, second_said = first.communicate(timeout=30)[0], second.communicate(timeout=30)[0]

    assert first_said.startswith("made")
    assert second_said.startswith(f"found | waited waiting for another run (process {first.pid})")
    assert (tmp_path / "builds").read_text() == "one\n"
    assert sorted(path.name for path in (tmp_path / "entry").iterdir()) == ["half", "whole"]


def test_a_killed_run_leaves_no_entry_and_does_not_block_the_next(tmp_path: Path) -> None:
    killed = start(tmp_path, 60)
    wait_for(tmp_path / "builds")
    eventually(lambda: [*tmp_path.glob(".making-*")], "it is in the middle of it")
    killed.send_signal(signal.SIGKILL)
    killed.wait(timeout=10)
    assert not (tmp_path / "entry").exists()
    assert list(tmp_path.glob(".making-*")), "the killed run was in the middle of it"

    assert start(tmp_path, 0).communicate(timeout=30)[0].startswith("made")
    assert (tmp_path / "entry" / "whole").exists()
    assert not list(tmp_path.glob(".making-*"))


def test_a_failed_build_leaves_nothing_and_its_error_goes_through(tmp_path: Path) -> None:
    def build(into: Path) -> None:
        (into / "half").touch()
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        publish(tmp_path / "entry", build, lock=tmp_path / "lock", waiting=print)
    assert [path.name for path in tmp_path.iterdir()] == ["lock"]


def test_an_entry_that_is_there_is_not_built_and_needs_no_lock(tmp_path: Path) -> None:
    (tmp_path / "entry").mkdir()

    def build(into: Path) -> None:
        raise AssertionError(into)

    with locked(tmp_path / "lock", waiting=print):
        assert not publish(tmp_path / "entry", build, lock=tmp_path / "lock", waiting=print)


def test_the_cache_follows_xdg_but_for_a_relative_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_dir() == tmp_path / "xdg" / "hosted-mesh"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_dir() == tmp_path / "home" / ".cache" / "hosted-mesh"


def test_a_user_without_a_home_is_told_to_set_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr(os, "getuid", lambda: 4_000_000_000)
    with pytest.raises(SandboxError, match="no home directory") as error:
        cache_dir()
    assert "set HOME" in error.value.fix


def test_a_cache_that_cannot_be_made_is_one_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(SandboxError, match="cannot be used") as error:
        cache_dir()
    assert "set XDG_CACHE_HOME" in error.value.fix
