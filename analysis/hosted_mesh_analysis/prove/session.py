"""What `hosted-mesh prove` does once its arguments are read."""

from __future__ import annotations

import os
from typing import TextIO

from rich.console import Console

from . import given, project, report
from .capture import is_kept
from .engine import preview, stack_state
from .experiment import Experiment
from .program import network
from .program.monitor import Surroundings
from .program.process import Runner
from .request import Request
from .secrets.vault import Vault
from .verdict import Verdict, verdict


def perform(request: Request) -> int:
    """Runs the program, writes the report, returns the exit code."""
    return given.ended(request, lambda: _performed(request), "nothing is proven")


def _performed(request: Request) -> int:
    found, main = _previewed(request) if request.preview else _run(request)
    with given.opened(request.output) as file:
        _print(found, request, main, file)
    return found.exit_code


def _run(request: Request) -> tuple[Verdict, str]:
    """The program as an update would run it. Cuts this process off from the network for good."""
    known = given.known(request.control_plane, request.data_plane, request.policy_config)
    stack = request.stack.rpartition("/")[2]
    described = project.opened(request.folder, stack, request.config_file, request.sources.keys)
    program = project.program_of(described, request.python)
    outputs = given.stack_outputs(request.sources.stack_outputs)
    is_cut = network.cut()
    vault = Vault()
    runner = Runner(program, Surroundings(described.name, stack, known, outputs, request.keep), vault)
    found = verdict(Experiment(runner, vault, request.rounds, request.sources.users), known)
    found.unsure += program.unread
    unused = [name for name in request.keep if not is_kept(name, found.remarks)]
    found.remarks += [f"--keep {name}: no function, component or dynamic resource is called so" for name in unused]
    if not is_cut:
        found.remarks.append("the kernel gives no network of one's own here: only Python was kept from connecting")
    return found, str(request.folder / os.path.relpath(program.main, request.folder.resolve()))


def _previewed(request: Request) -> tuple[Verdict, str]:
    """The engine's previews of the program."""
    known = given.known(request.control_plane, request.data_plane, request.policy_config)
    stack = request.stack.rpartition("/")[2]
    described = project.opened(request.folder, stack, request.config_file, request.sources.keys)
    surroundings = Surroundings(described.name, stack, known, given.stack_outputs(request.sources.stack_outputs))
    vault, state = Vault(), None
    if request.state:
        text, config = preview.exported(described, request.stack)
        state = stack_state.parsed(text, f"stack {request.stack}", described.name, stack)
        described = described.opened_with(config)
    elif request.state_file is not None:
        text = given.text_of(request.state_file, "Write it with `pulumi stack export --show-secrets`")
        state = stack_state.parsed(text, str(request.state_file), described.name, stack)
    with preview.ready(described, surroundings, vault, request.keep, state) as runner:
        found = verdict(Experiment(runner, vault, request.rounds, request.sources.users), known)
    return found, str(request.folder / "Pulumi.yaml")


def _print(found: Verdict, request: Request, main: str, to: TextIO) -> None:
    if request.form == "table":
        report.as_table(found, Console() if request.output is None else Console(file=to, width=120))
    else:
        print(report.as_json(found) if request.form == "json" else report.as_sarif(found, main), file=to)
