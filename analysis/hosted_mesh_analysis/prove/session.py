"""Performs `hosted-mesh prove`."""

from __future__ import annotations

import os
from typing import TextIO

from rich.console import Console

from ..runner import input_files, project
from ..runner.capture import is_kept
from ..runner.program import network
from ..runner.program.monitor import RunOptions
from ..runner.program.process import Runner
from ..runner.secrets.generator import SecretGenerator
from . import report
from .engine import preview, stack_state
from .experiment import Experiment
from .request import ProveRequest
from .verdict import Verdict, verdict


def perform(request: ProveRequest) -> int:
    """Runs the program, writes the report, returns the exit code."""
    return input_files.ended(request, lambda: _performed(request), "nothing is proven")


def _performed(request: ProveRequest) -> int:
    found, main = _previewed(request) if request.preview else _run(request)
    with input_files.opened(request.output) as file:
        _print(found, request, main, file)
    return found.exit_code


def _run(request: ProveRequest) -> tuple[Verdict, str]:
    """Runs the program like an update. Cuts this process off from the network for good."""
    known = input_files.known(request.control_plane, request.data_plane, request.policy_config)
    stack = request.stack.rpartition("/")[2]
    described = project.opened(request.folder, stack, request.config_file, request.sources.keys)
    program = project.program_of(described, request.python)
    outputs = input_files.stack_outputs(request.sources.stack_outputs)
    is_cut = network.cut()
    generator = SecretGenerator()
    runner = Runner(program, RunOptions(described.name, stack, known, outputs, request.keep), generator)
    found = verdict(Experiment(runner, generator, request.rounds, request.sources.users), known)
    found.unsure += program.unread
    unused = [name for name in request.keep if not is_kept(name, found.remarks)]
    found.remarks += [f"--keep {name}: no function, component or dynamic resource has this name" for name in unused]
    if not is_cut:
        found.remarks.append("the kernel provides no private network here: only Python was kept from connecting")
    return found, str(request.folder / os.path.relpath(program.main, request.folder.resolve()))


def _previewed(request: ProveRequest) -> tuple[Verdict, str]:
    known = input_files.known(request.control_plane, request.data_plane, request.policy_config)
    stack = request.stack.rpartition("/")[2]
    described = project.opened(request.folder, stack, request.config_file, request.sources.keys)
    run_options = RunOptions(described.name, stack, known, input_files.stack_outputs(request.sources.stack_outputs))
    generator, state = SecretGenerator(), None
    if request.state:
        text, config = preview.exported(described, request.stack)
        state = stack_state.parsed(text, f"stack {request.stack}", described.name, stack)
        described = described.opened_with(config)
    elif request.state_file is not None:
        text = input_files.text_of(request.state_file, "Write it with `pulumi stack export --show-secrets`")
        state = stack_state.parsed(text, str(request.state_file), described.name, stack)
    with preview.ready(described, run_options, generator, request.keep, state) as runner:
        found = verdict(Experiment(runner, generator, request.rounds, request.sources.users), known)
    return found, str(request.folder / "Pulumi.yaml")


def _print(found: Verdict, request: ProveRequest, main: str, to: TextIO) -> None:
    if request.form == "table":
        report.as_table(found, Console() if request.output is None else Console(file=to, width=120))
    else:
        print(report.as_json(found) if request.form == "json" else report.as_sarif(found, main), file=to)
