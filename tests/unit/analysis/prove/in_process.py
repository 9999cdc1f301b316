"""Runs a program of the corpus's kind in this process: a function that registers, no file, no start of Python."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pulumi
from hosted_mesh_analysis.prove.experiment import Experiment
from hosted_mesh_analysis.prove.verdict import Verdict, verdict
from hosted_mesh_analysis.runner.capture import Capture
from hosted_mesh_analysis.runner.places import Known
from hosted_mesh_analysis.runner.program.monitor import Monitor, RunOptions
from hosted_mesh_analysis.runner.program.started import same_time, telling_more
from hosted_mesh_analysis.runner.secrets.credentials import replaced
from hosted_mesh_analysis.runner.secrets.generator import SecretGenerator, SecretVariant
from hosted_mesh_analysis.runner.secrets.made_up import Answers
from pulumi.runtime import mocks, settings

from tests.corpus import literals
from tests.corpus import world as corpus
from tests.support.without_engine import perform

SERVERS = {"cp": "https://cp.example.com:6443", "dp": "https://dp.example.com:6443"}
KNOWN = Known((SERVERS["cp"],), (SERVERS["dp"],))
OUTPUTS = {"token": "[secret]", "host": "istiod.example.com"}
Program = Callable[[corpus.World], Any]


class Local(Monitor, mocks.MockMonitor):
    """The monitor as the SDK's mocks take it."""


def captured(program: Program, world: SecretVariant, generator: SecretGenerator, run_options: RunOptions) -> Capture:
    """One run. The clusters' kubeconfigs are secret configuration of the program."""
    monitor = Local(run_options, generator, world)
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)  # what a program's error leaves unawaited
    names = {"project": run_options.project, "stack": run_options.stack}
    try:
        with telling_more(), same_time(generator.now.timestamp()):
            perform(lambda: program(_world(monitor.answers)), monitor, **names)
    except Exception as problem:
        monitor.capture.problems.append(type(problem).__name__)
    return monitor.capture


KUBECONFIGS = {side: literals.kubeconfig(server) for side, server in SERVERS.items()}


def _world(answers: Answers) -> corpus.World:
    return corpus.World(*(replaced(text, f"configuration {side}", answers) for side, text in KUBECONFIGS.items()))


class Outputs(Mapping[str, Mapping[str, Any]]):
    """Every stack that is asked for has the same outputs."""

    def __getitem__(self, key: str) -> Mapping[str, Any]:
        return OUTPUTS

    def __iter__(self) -> Any:
        return iter(())

    def __len__(self) -> int:
        return 0

    def get(self, key: str, default: Any = None) -> Any:
        return OUTPUTS


def proven(program: Program, rounds: int = 2, users: Sequence[str] = (), known: Known = KNOWN) -> Verdict:
    """The oracle's verdict on a program."""
    generator = SecretGenerator(seed=0)
    run_options = RunOptions("corpus", "corpus", known, Outputs())

    def run_all(worlds: Sequence[SecretVariant]) -> list[Capture]:
        return [captured(program, world, generator, run_options) for world in worlds]

    return verdict(Experiment(run_all, generator, rounds, users), known)


def secret_of_world(name: str, text: str) -> Any:
    """Secret configuration that a program asks for while it runs."""
    monitor: Any = settings.get_monitor()
    return pulumi.Output.secret(replaced(text, f"configuration {name}", monitor.answers))
