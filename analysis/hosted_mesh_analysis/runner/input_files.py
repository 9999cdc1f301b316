"""The commands' other inputs: files, addresses, the report's place; and their exit codes."""

from __future__ import annotations

import contextlib
import difflib
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Protocol, TextIO

from hosted_mesh_plan.clusters import ClusterConfig, is_server

from .places import Known
from .project import UnusableProjectError

INTERRUPTED: Final = 130
"""The exit code after an interrupt from the keyboard."""


class Asked(Protocol):
    """The arguments of a command that runs programs, as far as they decide its end."""

    @property
    def contradiction(self) -> str | None: ...

    @property
    def output(self) -> Path | None: ...


def ended(request: Asked, perform: Callable[[], int], if_interrupted: str) -> int:
    """A command's exit code: of `perform`, or of an error, printed as one line on standard error."""
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
    """The declared owners: by the options --control-plane and --data-plane, and by the policies' settings. Raises:
    UnusableProjectError."""
    for option, given in (("--control-plane", ours), ("--data-plane", theirs)):
        if wrong := next((one for one in given if "://" in one and "*" not in one and not is_server(one)), None):
            raise UnusableProjectError(
                f"{option} {wrong}: is no address. Write an address such as https://10.0.0.1:6443"
            )
    if policy_config is None:
        return Known(tuple(ours), tuple(theirs))
    found = _cluster_config(mapping(policy_config, "Give the file of --policy-pack-config"), policy_config)
    return Known(
        (*ours, *found.control_plane_servers, *found.control_plane_providers),
        (*theirs, *found.data_plane_servers, *found.data_plane_providers),
        found.data_plane_tenants,
    )


_CLUSTER_SETTINGS: Final = {
    "controlPlaneServers": "control_plane_servers",
    "dataPlaneServers": "data_plane_servers",
    "controlPlaneProviders": "control_plane_providers",
    "dataPlaneProviders": "data_plane_providers",
    "dataPlaneTenants": "data_plane_tenants",
}


def _cluster_config(by_policy: Mapping[str, Any], file: Path) -> ClusterConfig:
    """The settings of clusters in the policies' configuration. The pack checks the other settings.

    Raises: UnusableProjectError.
    """
    found: dict[str, tuple[str, ...]] = {}
    for policy, given in by_policy.items():
        for key, value in given.items() if isinstance(given, dict) else ():
            if key in _CLUSTER_SETTINGS:
                if problem := _problem(key, value):
                    raise UnusableProjectError(f"{file}: {policy}.{key}: must be {problem}")
                found[_CLUSTER_SETTINGS[key]] = tuple(value)
            elif meant := difflib.get_close_matches(key, _CLUSTER_SETTINGS, n=1, cutoff=0.85):
                raise UnusableProjectError(f"{file}: {policy}.{key}: is not a setting; did you mean {meant[0]}?")
    return ClusterConfig.of(**found)


def _problem(key: str, value: Any) -> str:
    """The form that a setting of clusters requires, if its value has another; else empty."""
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        return "an array of strings"
    servers = [one.rpartition("=")[2] for one in value] if key.endswith(("Servers", "Tenants")) else []
    return "" if all(map(is_server, servers)) else "an API server's address, such as https://10.0.0.1:6443"


def stack_outputs(given: Sequence[str]) -> dict[str, Mapping[str, Any]]:
    """The files of --stack-outputs, by stack. Raises: UnusableProjectError."""
    found = {}
    for one in given:
        stack, equals, path = one.partition("=")
        if not equals:
            raise UnusableProjectError(
                "--stack-outputs: is not STACK=FILE. Write organization/project/stack=outputs.json"
            )
        found[stack] = mapping(Path(path), "Write it with `pulumi stack output --json`")
    return found


def text_of(path: Path, fix: str) -> str:
    """A file's text. Raises: UnusableProjectError."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as problem:
        raise UnusableProjectError(f"{path}: cannot be read ({_why(problem)}). {fix}") from None


def mapping(path: Path, fix: str) -> Mapping[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError) as problem:
        raise UnusableProjectError(f"{path}: cannot be read as JSON ({_why(problem)}). {fix}") from None
    if not isinstance(found, dict):
        raise UnusableProjectError(f"{path}: is not a mapping. {fix}")
    return found


def _why(problem: Exception) -> str:
    """Without the exception's text, which repeats the file's content."""
    if isinstance(problem, OSError):
        return problem.strerror or "it could not be opened"
    return "it is not UTF-8 text" if isinstance(problem, UnicodeDecodeError) else "its syntax is wrong"


def _check_output(output: Path) -> None:
    """Checks the report's place before the program runs for minutes; nothing is written yet."""
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
    """The report's file, or standard output. Raises: UnusableProjectError."""
    if output is None:
        yield sys.stdout
        return
    try:
        with output.open("w", encoding="utf-8") as file:
            yield file
    except OSError as problem:
        reason = f"cannot be written ({problem.strerror})"
        raise UnusableProjectError(f"--output {output}: {reason}. Name another file") from None
