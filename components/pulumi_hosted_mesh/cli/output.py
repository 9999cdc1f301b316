"""Standard output that rejects text: a full disk, a closed pipe, an encoding without the characters."""

from __future__ import annotations

import errno
import io
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import typer

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

# The commands' results use 1, 3 and 4.
UNWRITABLE: Final = 2


class App(typer.Typer):
    """A command line whose output is `careful`."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        with careful():
            return super().__call__(*arguments, **options)


class _UnwritableError(Exception):
    """An OSError of standard output. A separate class, because click and others handle OSErrors themselves."""

    def __init__(self, error: OSError) -> None:
        super().__init__()
        self.error = error


class _Raw(io.FileIO):
    """Standard output's file. It drops text after a failure, so that no second error appears when Python exits."""

    has_failed = False

    def write(self, data: ReadableBuffer, /) -> int:
        if self.has_failed:
            return memoryview(data).nbytes
        try:
            return super().write(data)
        except OSError as error:
            self.has_failed = True
            raise _UnwritableError(error) from None


@contextmanager
def careful() -> Iterator[None]:
    """Ends a program with unwritable output by one line and exit code 2.

    A closed pipe ends it by SIGPIPE, as other tools. Characters that the encoding lacks are escaped.
    """
    plain = sys.stdout
    try:
        raw = _Raw(plain.fileno(), "w", closefd=False)
    except (AttributeError, OSError, ValueError):  # closed, or no file
        yield
        return
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=plain.encoding,
        errors="backslashreplace" if plain.errors == "strict" else plain.errors,
        line_buffering=plain.isatty(),
    )
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except _UnwritableError as failed:
        if failed.error.errno == errno.EPIPE and hasattr(signal, "SIGPIPE"):
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGPIPE)
        why = (failed.error.strerror or "the write failed").lower()
        print(f"standard output cannot be written: {why}", file=sys.stderr)
        raise SystemExit(UNWRITABLE) from None
    finally:
        sys.stdout = plain
