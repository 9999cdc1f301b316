"""Steps with elapsed time, on a terminal and in a CI log. Standard library only: the bootstrap uses it too."""

from __future__ import annotations

import io
import shutil
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, TextIO

Outcome = Literal["done", "skipped", "failed"]
_MARK: dict[Outcome, str] = {"done": "done", "skipped": "skip", "failed": "FAIL"}
_FRAMES = "|/-\\"
_LIVE_PERIOD = 0.2  # seconds between two drawings on a terminal
_PLAIN_PERIOD = 1.0  # seconds between two looks in a log
_FIRST_WORD, _NEXT_WORD = 5.0, 20.0  # seconds: a log gets a line after 5 s, then one every 20 s


@dataclass(frozen=True)
class StepResult:
    """The end of a step; `make bench` reads these. seconds: wall clock. depth: 0 for the steps of the command."""

    title: str
    outcome: Outcome
    seconds: float
    summary: str
    depth: int


class Step:
    """One running step, made by `Progress.step`. Report its activity with `note`, its result with `result`."""

    def __init__(self, title: str, depth: int, started: float) -> None:
        self.title = title
        self.depth = depth
        self.started = started
        self.summary = ""
        self.outcome: Outcome = "done"
        self.hint = ""
        self.next_word = started + _FIRST_WORD

    def note(self, text: str) -> None:
        """Shows the current activity; replaces the note before it."""
        self.hint = text

    def result(self, text: str) -> None:
        """Sets the result on the step's closing line."""
        self.summary = text

    def skip(self, reason: str) -> None:
        """Marks the step as not needed, with the reason ("already running")."""
        self.outcome, self.summary = "skipped", reason


class Progress:
    """Prints steps as they run: title, elapsed time, a note of the activity, and one closing line each.

    stream: default: standard error, so that a command's output stays clean. live: redraw lines in place; None: live on
    a terminal only. Without it a line appears every 20 s while a step lasts. Steps may be nested and may run in several
    threads at once. Use `silent()` for a Progress without a reader.
    """

    def __init__(self, stream: TextIO | None = None, *, live: bool | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._live = self._stream.isatty() if live is None else live
        self._lock = threading.RLock()
        self._active: list[Step] = []
        self._own = threading.local()
        self._owner = self._stack()
        self._drawn = 0
        self._painter: threading.Thread | None = None
        self._wake = threading.Event()
        self.finished: list[StepResult] = []

    @classmethod
    def silent(cls) -> Progress:
        """A Progress that prints nothing (tests, `--json`)."""
        return cls(io.StringIO(), live=False)

    @contextmanager
    def step(self, title: str) -> Iterator[Step]:
        """Runs the body as one step. An exception closes the step as failed and passes through."""
        with self._lock:
            mine = self._stack()
            # A worker thread's steps belong under the current step of the thread that made this object.
            depth = len(mine) if mine is self._owner else len(self._owner) + len(mine)
            step = Step(title, depth, time.monotonic())
            self._active.append(step)
            mine.append(step)
            self._start_painter()
        try:
            yield step
        except BaseException:
            step.outcome = "failed"
            raise
        finally:
            with self._lock:
                mine.remove(step)
                self._active.remove(step)
                self._close(step)

    def note(self, text: str) -> None:
        """`Step.note` of the innermost step of this thread; does nothing without one."""
        if stack := self._stack():
            stack[-1].note(text)

    def line(self, text: str) -> None:
        """Prints one lasting line above the running steps."""
        with self._lock:
            self._erase()
            self._print(text)
            self._draw()

    def _stack(self) -> list[Step]:
        if not hasattr(self._own, "steps"):
            self._own.steps = []
        steps: list[Step] = self._own.steps
        return steps

    def _close(self, step: Step) -> None:
        seconds = time.monotonic() - step.started
        self.finished.append(StepResult(step.title, step.outcome, seconds, step.summary, step.depth))
        self._erase()
        tail = f": {step.summary}" if step.summary else ""
        self._print(f"{_MARK[step.outcome]:>4} {format_seconds(seconds):>9}  {'  ' * step.depth}{step.title}{tail}")
        self._draw()
        if not self._active:
            self._wake.set()

    def _print(self, text: str) -> None:
        print(text, file=self._stream, flush=True)

    def _start_painter(self) -> None:
        if self._painter and self._painter.is_alive() and not self._wake.is_set():
            return
        self._wake = threading.Event()
        self._painter = threading.Thread(target=self._paint, args=(self._wake,), daemon=True, name="progress")
        self._painter.start()

    def _paint(self, wake: threading.Event) -> None:
        while not wake.wait(_LIVE_PERIOD if self._live else _PLAIN_PERIOD):
            with self._lock:
                if wake.is_set():
                    return
                if self._live:
                    self._erase()
                    self._draw()
                else:
                    self._remind()

    def _remind(self) -> None:
        """For a log: prints the innermost running steps, first after 5 s, then every 20 s."""
        now = time.monotonic()
        innermost = max((s.depth for s in self._active), default=0)
        for step in self._active:
            if step.depth == innermost and now >= step.next_word:
                step.next_word = now + _NEXT_WORD
                self._print(self._running(step, now, "..."))

    def _erase(self) -> None:
        if self._drawn:
            self._stream.write(f"\x1b[{self._drawn}A\x1b[J")
        self._drawn = 0

    def _draw(self) -> None:
        if not self._live:
            return
        now = time.monotonic()
        frame = _FRAMES[int(now / _LIVE_PERIOD) % len(_FRAMES)]
        width = max(40, shutil.get_terminal_size().columns)
        for step in self._active:
            self._stream.write(self._running(step, now, frame)[: width - 1] + "\n")
        self._stream.flush()
        self._drawn = len(self._active)

    @staticmethod
    def _running(step: Step, now: float, mark: str) -> str:
        tail = f": {step.hint}" if step.hint else ""
        return f"{mark:>4} {format_seconds(now - step.started):>9}  {'  ' * step.depth}{step.title}{tail}"


def few(names: Sequence[str], most: int = 3) -> str:
    """The first names, and the number of the others: short enough for one line."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def format_seconds(seconds: float) -> str:
    """Elapsed time for people: "0.4 s", "12.3 s", "2 m 05 s"."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{int(seconds) // 60} m {int(seconds) % 60:02d} s"
