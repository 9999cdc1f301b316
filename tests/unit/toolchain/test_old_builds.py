"""What goes from the tool cache after a build, and what stays."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sandbox import toolchain
from sandbox.errors import SandboxError
from sandbox.jobs import Job
from sandbox.progress import Progress
from sandbox.toolchain.go_compiler import Go
from sandbox.toolchain.go_sets import GoSet
from sandbox.toolchain.old_builds import KEEP, compiling, mark_used, remove_compiler_caches, remove_unused

DAY = 24 * 3600


def caches(folder: Path) -> Path:
    for name in ("build/0a", "modules/example.org", "compiler-1"):
        (folder / name).mkdir(parents=True)
        (folder / name / "file").touch()
    return folder


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_both_caches_of_the_compiler_go_and_the_compiler_stays(tmp_path: Path) -> None:
    folder = caches(tmp_path / "go")
    (folder / ".removing-x" / "build").mkdir(parents=True)
    assert remove_compiler_caches(folder, tmp_path / "lock")
    assert names(folder) == {"compiler-1"}
    assert not remove_compiler_caches(folder, tmp_path / "lock")
    assert not remove_compiler_caches(tmp_path / "none", tmp_path / "lock")


def test_caches_in_use_stay_and_the_last_user_removes_them(tmp_path: Path) -> None:
    folder, lock = caches(tmp_path / "go"), tmp_path / "lock"
    with compiling(lock):
        with compiling(lock):
            assert not remove_compiler_caches(folder, lock)
        assert not remove_compiler_caches(folder, lock)
    assert names(folder) == {"build", "modules", "compiler-1"}
    # A process without the lock, for example of an older checkout.
    program = [sys.executable, "-c", "print(flush=True); input()", f"{folder}/modules/example.org/file.go"]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert not remove_compiler_caches(folder, lock)
    assert remove_compiler_caches(folder, lock)


def entry(folder: Path, name: str, unused_days: float) -> Path:
    made = folder / name
    (made / "bin").mkdir(parents=True)
    (made / "bin" / "python").symlink_to(sys.executable)
    then = time.time() - unused_days * DAY
    os.utime(made, (then, then))
    return made


def test_builds_go_that_no_run_has_used_for_30_days(tmp_path: Path) -> None:
    entry(tmp_path, "recent-1", 29)
    entry(tmp_path, "old-1", 31)
    entry(tmp_path, ".making-half-1", 31)
    entry(tmp_path, "bin", 31)
    pinned = entry(tmp_path, "pinned-1", 31)
    mark_used(entry(tmp_path, "used-1", 31))
    running = entry(tmp_path, "running-1", 31)
    program = [running / "bin" / "python", "-c", "print(flush=True); input()"]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert remove_unused(tmp_path, [pinned]) == ["old-1"]
        assert names(tmp_path) == {"recent-1", "bin", "pinned-1", "used-1", "running-1"}
    assert remove_unused(tmp_path, [pinned]) == ["running-1"]
    assert remove_unused(tmp_path / "none", []) == []


def test_a_shared_cache_that_may_not_be_marked_is_used_all_the_same(tmp_path: Path) -> None:
    mark_used(tmp_path / "none")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache with a set that can be made, by a build that leaves compiler caches, and with a build of former pins."""
    folder = tmp_path / "sets" / "tiny"
    folder.mkdir(parents=True)
    (folder / "go.mod").write_text("module tiny\n\ngo 1.26.0\n")
    (folder / "go.sum").write_text("")
    found = tmp_path / "cache" / "hosted-mesh"

    def build(_: GoSet, into: Path, __: Job, ___: Go) -> None:
        caches(found / "go")
        (into / "bin").mkdir()
        (into / "bin" / "tiny").touch()
        if (tmp_path / "fails").exists():
            raise SandboxError("tiny fails")

    monkeypatch.setattr(GoSet, "build", build)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HOSTED_MESH_TOOLS", "pinned")
    monkeypatch.delenv(KEEP, raising=False)
    monkeypatch.setattr(toolchain, "SOURCES", (GoSet("tiny", "tiny", "tiny", ("tiny",), root=tmp_path / "sets"),))
    monkeypatch.setattr(toolchain, "NAMES", ("tiny",))
    monkeypatch.setattr(toolchain, "CHARTS", "tiny")
    monkeypatch.setattr(toolchain, "find_go", lambda *_: Go(Path("/no/go"), "1.26.0", "none"))
    entry(found / "tools", "tiny-former", 31)
    entry(found / "go", "compiler-former", 31)
    return found


def test_after_a_build_compiler_caches_and_builds_of_former_pins_go(cache: Path) -> None:
    progress = Progress.silent()
    tools = toolchain.ensure(progress=progress)
    assert names(cache / "go") == {"compiler-1"}
    assert names(cache / "tools") == {"bin", tools["tiny"].parents[1].name}
    (said,) = (step.summary for step in progress.finished if step.title == "tool cache")
    assert said == f"removed tiny-former, not used for 30 days; removed compiler caches ({KEEP}=1 keeps them)"
    progress = Progress.silent()
    toolchain.ensure(progress=progress)
    assert progress.finished == [], "where nothing was built nothing is removed"


def test_a_setting_keeps_the_compiler_caches(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOSTED_MESH_KEEP_BUILD_CACHES", "1")
    toolchain.ensure(progress=Progress.silent())
    assert names(cache / "go") == {"build", "modules", "compiler-1"}


def test_a_setting_that_means_nothing_is_an_error_before_the_build(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEEP, "yes")
    with pytest.raises(SandboxError, match=f"{KEEP}='yes' is not a valid value") as error:
        toolchain.ensure(progress=Progress.silent())
    assert error.value.fix == "unset it, or set it to `1`."
    assert not (cache / "go" / "build").exists()


def test_a_failed_build_keeps_its_caches_for_the_next_try(tmp_path: Path, cache: Path) -> None:
    (tmp_path / "fails").touch()
    with pytest.raises(SandboxError, match="tiny fails"):
        toolchain.ensure(progress=Progress.silent())
    assert names(cache / "go") >= {"build", "modules", "compiler-1"}


def test_a_build_that_is_used_is_marked(cache: Path) -> None:
    made = toolchain.ensure(progress=Progress.silent())["tiny"].parents[1]
    then = time.time() - 31 * DAY
    os.utime(made, (then, then))
    toolchain.ensure(progress=Progress.silent())
    assert time.time() - made.stat().st_mtime < DAY
