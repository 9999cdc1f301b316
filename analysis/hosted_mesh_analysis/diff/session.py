"""What `hosted-mesh diff` does once its arguments are read."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TextIO

from rich.console import Console

from ..prove import given
from ..prove.project import UnusableProjectError
from . import markdown, report, saved
from .request import Request
from .result import Difference
from .supervised import compared_stacks


def perform(request: Request) -> int:
    """Compares, writes the report, returns the exit code."""
    return given.ended(request, lambda: _performed(request), "nothing is compared")


def _performed(request: Request) -> int:
    found = _read(request.read) if request.read is not None else compared_stacks(request)
    with given.opened(request.output) as file:
        _print(found, request, file)
    return found.exit_code(request.tells_differences)


def _read(path: Path) -> Difference:
    fix = "Write it with `hosted-mesh diff --json`"
    with contextlib.suppress(OSError):  # what cannot be asked cannot be read either
        if not path.is_dir() and not path.is_file() and path.exists():
            raise UnusableProjectError(f"{path}: is no file. {fix}")
        if path.stat().st_size > saved.LONGEST:
            raise UnusableProjectError(f"{path}: is longer than {saved.LONGEST:,} bytes. Compare fewer stacks at once")
    text = given.text_of(path, fix)
    try:
        return saved.from_json(text)
    except saved.UnreadableError as problem:
        raise UnusableProjectError(f"{path}: {problem}. {fix}") from None


def _print(found: Difference, request: Request, to: TextIO) -> None:
    if request.form == "text":
        report.as_text(found, Console() if request.output is None else Console(file=to, width=120))
    else:
        print(saved.as_json(found) if request.form == "json" else markdown.as_markdown(found), file=to)
