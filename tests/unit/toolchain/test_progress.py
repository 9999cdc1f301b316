"""What people see of steps, in a log and on a terminal."""

from __future__ import annotations

import io
import re
import threading

import pytest

from sandbox.errors import SandboxError
from sandbox.progress import Progress, few, format_seconds


def test_each_step_has_one_closing_line_and_nested_ones_are_indented() -> None:
    stream = io.StringIO()
    progress = Progress(stream, live=False)
    with progress.step("tools") as tools:
        with progress.step("kubernetes") as step:
            step.skip("already built")
        tools.result("17 programs")
    with pytest.raises(SandboxError), progress.step("clusters"):
        raise SandboxError("no")

    lines = [re.sub(r"\d+\.\d s", "0.0 s", line) for line in stream.getvalue().splitlines()]
    assert lines == [
        "skip     0.0 s    kubernetes: already built",
        "done     0.0 s  tools: 17 programs",
        "FAIL     0.0 s  clusters",
    ]
    assert [(result.title, result.outcome, result.depth) for result in progress.finished] == [
        ("kubernetes", "skipped", 1),
        ("tools", "done", 0),
        ("clusters", "failed", 0),
    ]


def test_steps_of_worker_threads_belong_under_the_step_that_waits_for_them() -> None:
    progress = Progress.silent()

    def work() -> None:
        with progress.step("build"):
            progress.note("compiling")

    with progress.step("tools"):
        workers = [threading.Thread(target=work) for _ in range(2)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    assert [result.depth for result in progress.finished] == [1, 1, 0]


def test_a_terminal_shows_the_running_step_with_its_note() -> None:
    stream = io.StringIO()
    progress = Progress(stream, live=True)
    with progress.step("tools"):
        progress.note("compiling k8s.io/api")
        progress.line("a lasting line")
    assert "a lasting line\n" in stream.getvalue()
    assert "tools: compiling k8s.io/api" in stream.getvalue()
    assert stream.getvalue().rstrip().endswith("tools")


def test_a_note_outside_any_step_is_dropped() -> None:
    Progress.silent().note("nobody listens")


@pytest.mark.parametrize(("seconds", "text"), [(0.04, "0.0 s"), (59.94, "59.9 s"), (125.4, "2 m 05 s")])
def test_elapsed_time(seconds: float, text: str) -> None:
    assert format_seconds(seconds) == text


@pytest.mark.parametrize(
    ("names", "line"),
    [([], ""), (["a"], "a"), (["a", "b", "c"], "a, b, c"), (list("abcde"), "a, b, c and 2 more")],
    ids=["none", "one", "three", "five"],
)
def test_many_names_are_the_first_and_a_number(names: list[str], line: str) -> None:
    assert few(names) == line
