"""What `hosted-mesh prove` does once its arguments are read."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TextIO

from rich.console import Console

from ..configuration import UnusableConfigurationError, check
from ..evaluation.settings import Settings
from ..plan.clusters import is_server
from . import project, report
from .capture import is_kept
from .engine import preview, stack_state
from .experiment import Experiment
from .places import Known
from .program import network
from .program.monitor import Surroundings
from .program.process import Runner
from .project import UnusableProjectError
from .request import Request
from .secrets.vault import Vault
from .verdict import Verdict, verdict

INTERRUPTED: Final = 130


def perform(request: Request) -> int:
    """Runs the program, writes the report, returns the exit code."""
    try:
        if request.output is not None:
            _check(request.output)
        found, main = _previewed(request) if request.preview else _run(request)
        _write(found, request, main)
    except UnusableProjectError as problem:
        print(problem, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted: nothing is proven", file=sys.stderr)
        return INTERRUPTED
    return found.exit_code


def _check(output: Path) -> None:
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


def _run(request: Request) -> tuple[Verdict, str]:
    """The program as an update would run it. Cuts this process off from the network for good."""
    known = _known(request)
    stack = request.stack.rpartition("/")[2]
    name, program = project.read(request.folder, stack, request.config_file, request.sources.keys, request.python)
    outputs = _outputs(request.sources.stack_outputs)
    is_cut = network.cut()
    vault = Vault()
    runner = Runner(program, Surroundings(name, stack, known, outputs, request.keep), vault)
    found = verdict(Experiment(runner, vault, request.rounds, request.sources.users), known)
    found.unsure += program.unread
    unused = [name for name in request.keep if not is_kept(name, found.remarks)]
    found.remarks += [f"--keep {name}: no function, component or dynamic resource is called so" for name in unused]
    if not is_cut:
        found.remarks.append("the kernel gives no network of one's own here: only Python was kept from connecting")
    return found, str(request.folder / os.path.relpath(program.main, request.folder.resolve()))


def _previewed(request: Request) -> tuple[Verdict, str]:
    """The engine's previews of the program."""
    known = _known(request)
    stack = request.stack.rpartition("/")[2]
    described = project.opened(request.folder, stack, request.config_file, request.sources.keys)
    surroundings = Surroundings(described.name, stack, known, _outputs(request.sources.stack_outputs))
    vault, state = Vault(), None
    if request.state:
        text, config = preview.exported(described, request.stack)
        state = stack_state.parsed(text, f"stack {request.stack}", described.name, stack)
        described = described.opened_with(config)
    elif request.state_file is not None:
        text = _text(request.state_file, "Write it with `pulumi stack export --show-secrets`")
        state = stack_state.parsed(text, str(request.state_file), described.name, stack)
    with preview.ready(described, surroundings, vault, request.keep, state) as runner:
        found = verdict(Experiment(runner, vault, request.rounds, request.sources.users), known)
    return found, str(request.folder / "Pulumi.yaml")


def _write(found: Verdict, request: Request, main: str) -> None:
    if request.output is None:
        _print(found, request, main, sys.stdout)
        return
    try:
        with request.output.open("w", encoding="utf-8") as file:
            _print(found, request, main, file)
    except OSError as problem:
        reason = f"cannot be written ({problem.strerror})"
        raise UnusableProjectError(f"--output {request.output}: {reason}. Name another file") from None


def _print(found: Verdict, request: Request, main: str, to: TextIO) -> None:
    if request.form == "table":
        report.as_table(found, Console() if request.output is None else Console(file=to, width=120))
    else:
        print(report.as_json(found) if request.form == "json" else report.as_sarif(found, main), file=to)


def _text(path: Path, fix: str) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as problem:
        raise UnusableProjectError(f"{path}: cannot be read ({_why(problem)}). {fix}") from None


def _json(path: Path, fix: str) -> Mapping[str, Any]:
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


def _known(request: Request) -> Known:
    ours, theirs = request.control_plane, request.data_plane
    for option, given in (("--control-plane", ours), ("--data-plane", theirs)):
        if wrong := next((one for one in given if "://" in one and "*" not in one and not is_server(one)), None):
            raise UnusableProjectError(f"{option} {wrong}: is no address. Write one such as https://10.0.0.1:6443")
    if request.policy_config is None:
        return Known(tuple(ours), tuple(theirs))
    by_policy = _json(request.policy_config, "Give the file of --policy-pack-config")
    try:
        check(by_policy)
    except UnusableConfigurationError as problem:
        raise UnusableProjectError(f"{request.policy_config}: {problem}") from None
    found = Settings.read({name: given for name, given in by_policy.items() if isinstance(given, dict)}).clusters
    return Known(
        (*ours, *found.control_plane_servers, *found.control_plane_providers),
        (*theirs, *found.data_plane_servers, *found.data_plane_providers),
    )


def _outputs(given: Sequence[str]) -> dict[str, Mapping[str, Any]]:
    found = {}
    for one in given:
        stack, equals, path = one.partition("=")
        if not equals:
            raise UnusableProjectError(
                "--stack-outputs: is not STACK=FILE. Write organization/project/stack=outputs.json"
            )
        found[stack] = _json(Path(path), "Write it with `pulumi stack output --json`")
    return found
