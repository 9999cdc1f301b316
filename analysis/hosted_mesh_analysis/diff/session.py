"""Performs `hosted-mesh diff`."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TextIO

from rich.console import Console

from ..runner import input_files
from ..runner.project import UnusableProjectError
from . import live, markdown, page, report, review, saved
from .request import DiffRequest
from .result import Difference
from .supervised import compared_stacks


def perform(request: DiffRequest) -> int:
    """Compares, writes the report, returns the exit code."""
    return input_files.ended(request, lambda: _performed(request), "nothing is compared")


def _performed(request: DiffRequest) -> int:
    found = _read(request.read) if request.read is not None else compared_stacks(request)
    if request.live:
        live.add(found, request.folder)
    with input_files.opened(request.output) as file:
        _print(found, request, file)
    return found.exit_code(request.tells_differences)


def _read(path: Path) -> Difference:
    fix = "Write it with `hosted-mesh diff --json`"
    with contextlib.suppress(OSError):  # an unreachable file cannot be read either
        if not path.is_dir() and not path.is_file() and path.exists():
            raise UnusableProjectError(f"{path}: is no file. {fix}")
        if path.stat().st_size > saved.LONGEST:
            raise UnusableProjectError(f"{path}: is longer than {saved.LONGEST:,} bytes. Compare fewer stacks at once")
    text = input_files.text_of(path, fix)
    try:
        return saved.from_json(text)
    except saved.UnreadableError as problem:
        raise UnusableProjectError(f"{path}: {problem}. {fix}") from None


def _print(found: Difference, request: DiffRequest, to: TextIO) -> None:
    if request.form == "text":
        report.as_text(found, Console() if request.output is None else Console(file=to, width=120), request.whole)
    else:
        forms = {"json": saved.as_json, "html": page.as_html, "markdown": markdown.as_markdown}
        forms |= {"github": review.github, "gitlab": review.gitlab}
        print(forms[request.form](found), file=to)
