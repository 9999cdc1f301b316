"""Tools that another process builds: whoever needs one waits for it, and builds it where the other process does not."""

from __future__ import annotations

import io
import os
import sys
import threading
import time
from pathlib import Path

import pytest

from sandbox import toolchain
from sandbox.bootstrap import CHECKOUT
from sandbox.errors import SandboxError
from sandbox.jobs import Cancelled, Job
from sandbox.progress import Progress
from sandbox.toolchain import background
from sandbox.toolchain.catalogue import (
    FOR_AUTHORITIES,
    FOR_BROWSER,
    FOR_ENGINE,
    FOR_TESTS,
    FOR_TRACES,
    FOR_TYPESCRIPT,
    NAMES,
    SOURCES,
    WHEN_WANTED,
)
from sandbox.toolchain.go_compiler import Go
from sandbox.toolchain.go_sets import GoSet
from tests.support.waiting import eventually

# Takes the lock, prints as the real one does, makes an entry when it may, and waits to be ended.
BUILDER = """
import sys, time
from pathlib import Path
from sandbox.progress import Progress
from sandbox.toolchain import background

lock, entry, go_on = map(Path, sys.argv[1:4])
progress = Progress(live=False)
with background.builder(lock, progress):
    with progress.step("coredns") as step:
        print(" ...     5.0 s  coredns: compiling", file=sys.stderr, flush=True)
        while not go_on.exists():
            time.sleep(0.02)
        if entry.name != "none":
            entry.mkdir()
        step.result("CoreDNS v1")
    while entry.name != "none":
        time.sleep(0.02)
"""


def command(lock: Path, entry: Path, go_on: Path) -> list[str]:
    return [sys.executable, "-c", BUILDER, str(lock), str(entry), str(go_on)]


def test_who_needs_a_tool_waits_until_it_is_there_and_names_it(tmp_path: Path) -> None:
    lock, entry, go_on = tmp_path / "locks" / "builder", tmp_path / "entry", tmp_path / "go on"
    printed, seen = io.StringIO(), io.StringIO()
    progress = Progress(printed, live=False)

    def missing() -> list[str]:
        return [] if entry.exists() else ["coredns"]

    with background.started(lock, command=command(lock, entry, go_on), stream=seen):
        assert background.busy(lock)
        threading.Timer(0.3, go_on.touch).start()
        background.wait(lock, missing, progress)
        assert entry.is_dir()
        assert background.busy(lock), "it goes on with other tools"
        eventually(lambda: "coredns: CoreDNS v1" in seen.getvalue(), "the finished step is printed")
    assert not background.busy(lock), "it ends with the body"
    assert progress.finished[0].summary == "ready"
    assert "compiling" not in seen.getvalue(), "a running step is printed once a minute only"
    assert all(line.startswith("[tools] ") for line in seen.getvalue().splitlines())


def test_who_waits_goes_on_when_the_other_process_ends_without_the_tool(tmp_path: Path) -> None:
    lock, go_on = tmp_path / "builder", tmp_path / "go on"
    progress = Progress.silent()
    with background.started(lock, command=command(lock, Path("none"), go_on), stream=io.StringIO()):
        threading.Timer(0.3, go_on.touch).start()
        background.wait(lock, lambda: ["coredns"], progress)
    assert progress.finished[0].summary == "the other process ended without coredns"


def test_nobody_waits_where_nothing_is_missing_or_nobody_builds(tmp_path: Path) -> None:
    progress = Progress.silent()
    lock = tmp_path / "builder"
    background.wait(lock, lambda: ["coredns"], progress)
    with background.builder(lock, Progress.silent()):
        background.wait(lock, list, progress)
    assert progress.finished == []


def test_a_builder_that_cannot_start_holds_up_nobody(tmp_path: Path) -> None:
    seen = io.StringIO()
    failing = [sys.executable, "-c", "raise SystemExit('no module proxy')"]
    with background.started(tmp_path / "builder", command=failing, stream=seen):
        eventually(lambda: "[tools] no module proxy" in seen.getvalue(), "its error is printed")
        background.wait(tmp_path / "builder", lambda: ["coredns"], Progress.silent())


@pytest.fixture
def two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Two sets, of which the first fails as long as there is a file; the names of those that were made."""
    made: list[str] = []
    sets = tmp_path / "sets"
    for name in ("first", "second"):
        (sets / name).mkdir(parents=True)
        (sets / name / "go.mod").write_text(f"module {name}\n\ngo 1.26.0\n")
        (sets / name / "go.sum").write_text("")

    def build(source: GoSet, into: Path, job: Job, _: Go) -> None:
        if (tmp_path / f"{source.name} fails").exists():
            raise SandboxError(f"{source.name} fails")
        time.sleep(0.1)  # in which a run that is given up is seen to be
        if job.cancelled.is_set():
            raise Cancelled
        (into / "bin").mkdir()
        (into / "bin" / source.name).touch()
        made.append(source.name)

    monkeypatch.setattr(GoSet, "build", build)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HOSTED_MESH_TOOLS", "pinned")
    sources = tuple(GoSet(name, name, name, (name,), root=sets) for name in ("first", "second"))
    monkeypatch.setattr(toolchain, "SOURCES", sources)
    monkeypatch.setattr(toolchain, "NAMES", ("first", "second"))
    monkeypatch.setattr(toolchain, "FOR_TESTS", frozenset({"first", "second"}))
    monkeypatch.setattr(toolchain, "CHARTS", "first")
    monkeypatch.setattr(toolchain, "find_go", lambda *_: Go(Path("/no/go"), "1.26.0", "none"))
    monkeypatch.setattr(toolchain, "_builders", lambda: 1)
    monkeypatch.setattr(os, "nice", lambda _: 0)
    return made


def test_a_tool_is_not_built_by_who_needs_it_while_the_other_process_does(two: list[str]) -> None:
    lock = toolchain._builder_lock()
    waiting = threading.Event()

    def need() -> None:
        waiting.set()
        toolchain.ensure(["second"], progress=Progress.silent())

    thread = threading.Thread(target=need)
    with background.builder(lock, Progress.silent()):
        thread.start()
        waiting.wait()
        time.sleep(0.2)
        assert two == []
        toolchain._ensure(["first", "second"], Progress.silent(), builder=True)
    thread.join(timeout=30)
    assert two == ["first", "second"]


def test_a_tool_that_fails_beside_the_tests_costs_no_other_tool_and_is_built_by_who_needs_it(
    tmp_path: Path, two: list[str]
) -> None:
    failing = tmp_path / "first fails"
    failing.touch()
    with pytest.raises(SandboxError, match="first fails"):
        toolchain.build_for_tests(Progress.silent())
    assert two == ["second"]
    with pytest.raises(SandboxError, match="first fails"):
        toolchain.ensure(["first"], progress=Progress.silent())
    failing.unlink()
    toolchain.ensure(["first"], progress=Progress.silent())
    assert two == ["second", "first"]


def test_no_process_is_started_where_all_tools_are_there(two: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Path] = []
    monkeypatch.setattr(background, "started", started.append)
    toolchain.beside_tests()
    assert started == [toolchain._builder_lock()]
    toolchain.build_for_tests(Progress.silent())
    with toolchain.beside_tests():
        assert started == [toolchain._builder_lock()]


def test_the_command_builds_what_tests_need() -> None:
    assert background.COMMAND[1:] == ("-m", "sandbox.commands.cli", "tools", "--for-tests")
    nightly = {"gh", *FOR_BROWSER, *FOR_TRACES, *FOR_AUTHORITIES}
    assert frozenset(NAMES) - FOR_TESTS == nightly, "nightly tests make them"
    assert FOR_ENGINE < FOR_TESTS
    assert not FOR_ENGINE & WHEN_WANTED


def test_the_engine_s_tools_come_first_then_those_that_some_of_its_tests_wait_for() -> None:
    """A test that waits in a fixture has ten minutes."""
    engine, typescript = (
        [place for place, source in enumerate(SOURCES) if set(source.provides) & names]
        for names in (FOR_ENGINE, FOR_TYPESCRIPT)
    )
    others = [
        place
        for place, source in enumerate(SOURCES)
        if not set(source.provides) & (FOR_ENGINE | FOR_TYPESCRIPT) and source.name != "nftables"
    ]
    assert max(engine) < min(typescript)
    assert max(typescript) < min(others)


def test_the_engine_s_tests_wait_for_no_other_tool() -> None:
    assert "ensure(FOR_ENGINE" in (CHECKOUT / "tests/engine/conftest.py").read_text()
