"""What the commands are given beside a project: files, addresses, a place for the report; and how they end."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Protocol, TextIO

from ..configuration import UnusableConfigurationError, check
from ..evaluation.settings import Settings
from ..plan.clusters import is_server
from .places import Known
from .project import UnusableProjectError

INTERRUPTED: Final = 130
"""The exit code of a command that was stopped from the keyboard."""


class Asked(Protocol):
    """The arguments of a command that runs programs, as far as they say how it ends."""

    @property
    def contradiction(self) -> str | None: ...

    @property
    def output(self) -> Path | None: ...


def ended(request: Asked, perform: Callable[[], int], if_interrupted: str) -> int:
    """A command's exit code: that of `perform`, or of what kept it from it, which is one line on standard error."""
    try:
        if contradiction := request.contradiction:
            raise UnusableProjectError(contradiction)
        if request.output is not None:
            _check_output(request.output)
        return perform()
    except UnusableProjectError as problem:
        print(problem, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"interrupted: {if_interrupted}", file=sys.stderr)
        return INTERRUPTED


def known(ours: Sequence[str], theirs: Sequence[str], policy_config: Path | None) -> Known:
    """What is whose: by the options --control-plane and --data-plane, and by the policies' configuration. Raises:
    UnusableProjectError."""
    for option, given in (("--control-plane", ours), ("--data-plane", theirs)):
        if wrong := next((one for one in given if "://" in one and "*" not in one and not is_server(one)), None):
            raise UnusableProjectError(f"{option} {wrong}: is no address. Write one such as https://10.0.0.1:6443")
    if policy_config is None:
        return Known(tuple(ours), tuple(theirs))
    by_policy = _mapping(policy_config, "Give the file of --policy-pack-config")
    try:
        check(by_policy)
    except UnusableConfigurationError as problem:
        raise UnusableProjectError(f"{policy_config}: {problem}") from None
    found = Settings.read({name: given for name, given in by_policy.items() if isinstance(given, dict)}).clusters
    return Known(
        (*ours, *found.control_plane_servers, *found.control_plane_providers),
        (*theirs, *found.data_plane_servers, *found.data_plane_providers),
        found.data_plane_tenants,
    )


def stack_outputs(given: Sequence[str]) -> dict[str, Mapping[str, Any]]:
    """The files of --stack-outputs, by stack. Raises: UnusableProjectError."""
    found = {}
    for one in given:
        stack, equals, path = one.partition("=")
        if not equals:
            raise UnusableProjectError(
                "--stack-outputs: is not STACK=FILE. Write organization/project/stack=outputs.json"
            )
        found[stack] = _mapping(Path(path), "Write it with `pulumi stack output --json`")
    return found


def text_of(path: Path, fix: str) -> str:
    """A file's text. Raises: UnusableProjectError."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as problem:
        raise UnusableProjectError(f"{path}: cannot be read ({_why(problem)}). {fix}") from None


def _mapping(path: Path, fix: str) -> Mapping[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError) as problem:
        raise UnusableProjectError(f"{path}: cannot be read as JSON ({_why(problem)}). {fix}") from None
    if not isinstance(found, dict):
        raise UnusableProjectError(f"{path}: is not a mapping. {fix}")
    return found


def _why(problem: Exception) -> str:
    """Without the problem's own words, which repeat what stands there."""
    if isinstance(problem, OSError):
        return problem.strerror or "it could not be opened"
    return "it is not UTF-8 text" if isinstance(problem, UnicodeDecodeError) else "its syntax is wrong"


def _check_output(output: Path) -> None:
    """That a report can be written there is seen before the program is run for minutes, and nothing is written yet."""
    try:
        place = output if output.exists() else output.parent
        fits = not output.is_dir() and output.parent.is_dir() and os.access(place, os.W_OK)
    except OSError:
        fits = False
    if not fits:
        raise UnusableProjectError(
            f"--output {output}: cannot be written. Name a file in a folder that you may write to"
        )


@contextlib.contextmanager
def opened(output: Path | None) -> Iterator[TextIO]:
    """Where a report is written: a file, or standard output. Raises: UnusableProjectError."""
    if output is None:
        yield sys.stdout
        return
    try:
        with output.open("w", encoding="utf-8") as file:
            yield file
    except OSError as problem:
        reason = f"cannot be written ({problem.strerror})"
        raise UnusableProjectError(f"--output {output}: {reason}. Name another file") from None
