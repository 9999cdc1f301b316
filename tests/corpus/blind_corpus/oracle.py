"""Asks the oracle about a program's program: run again with other secrets of the provider's, is the user sent the same?

All of the provider's secrets are made of one, which the oracle replaces; certificates and public keys stay as they are.
What a cloud or a cluster answers the oracle makes up by itself, so some programs do not run, and it says so.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import pulumi
from hosted_mesh_analysis.prove.experiment import Experiment
from hosted_mesh_analysis.prove.verdict import Kind, Verdict, verdict
from hosted_mesh_analysis.runner.places import Known
from hosted_mesh_analysis.runner.program.monitor import RunOptions
from hosted_mesh_analysis.runner.secrets.credentials import replaced
from hosted_mesh_analysis.runner.secrets.generator import FIRST, Owner, SecretGenerator
from pulumi.runtime import settings

from tests.corpus.world import Object
from tests.unit.analysis.prove.in_process import captured

from .material import Material
from .program import BlindProgram
from .scene import SERVERS, Scene, Stage

SEED = "k2v9x4m7q1w8z5n3b6c0l2j4h7g9f1d3"
NAME = "everything that the provider keeps secret"


class Proven(Scene):
    """A scene before the oracle's monitor: it has the provider's secrets of this run."""

    def __init__(self, stage: Stage, outputs: dict[str, Mapping[str, Any]], owned: set[str]) -> None:
        super().__init__(stage)
        self._outputs, self._owned = outputs, owned

    def reference(self, name: str, stack: str, outputs: Mapping[str, Any], secret: Any = ()) -> Any:
        self._outputs[stack] = {key: "[secret]" if key in secret else value for key, value in outputs.items()}
        return pulumi.StackReference(name, stack_name=stack)

    def made(self, kind: str, name: str, *args: Any, owner: str = "", **more: Any) -> Object:
        if owner == "cp":
            self._owned.add(kind.partition(":")[0])
        return super().made(kind, name, *args, owner=owner, **more)


class Public(Material):
    """Other secrets, and the same certificates and public keys: they depend on no secret that is not theirs."""

    def __init__(self, seed: int) -> None:
        super().__init__("cp", seed)
        self._always = Material("cp", 0)
        for name in ("certificate", "public_key", "public_ssh"):
            setattr(self, name, getattr(self._always, name))

    def jwk(self, name: str, *, private: bool) -> dict[str, str]:
        return super().jwk(name, private=True) if private else self._always.jwk(name, private=False)


def proven(program: BlindProgram, rounds: int = 1) -> Verdict:
    """The oracle's verdict on a program of the corpus."""
    vault, owned = SecretGenerator(seed=1), set[str]()
    outputs: dict[str, Mapping[str, Any]] = {}

    def play(_: Any) -> None:
        answers: Any = settings.get_monitor()
        text = replaced(SEED, NAME, answers.answers, Owner.CONTROL_PLANE)
        seed = 0 if text == SEED else int.from_bytes(hashlib.sha256(text.encode()).digest()[:6])
        cp, dp = Public(seed), Material("dp", 0)
        config = dict(program.config(cp, dp)) if program.config else {}
        program.play(Proven(Stage(cp, dp, config), outputs, owned))

    def known() -> Known:
        pack = program.pack
        ours = (SERVERS["cp"], *pack.get("controlPlaneServers", ()), *pack.get("controlPlaneProviders", ()))
        theirs = (SERVERS["dp"], *pack.get("dataPlaneServers", ()), *pack.get("dataPlaneProviders", ()))
        return Known((*ours, *sorted(owned)), theirs)

    captured(play, FIRST, vault, RunOptions("corpus", program.stack, known(), outputs))  # to know all of it
    vault = SecretGenerator(seed=0)
    surroundings = RunOptions("corpus", program.stack, known(), outputs)
    run_all = lambda worlds: [captured(play, world, vault, surroundings) for world in worlds]  # noqa: E731
    return verdict(Experiment(run_all, vault, rounds, ()), known())


def agrees(program: BlindProgram, found: Verdict) -> bool | None:
    """Whether the oracle says what the program's author says; None if it could not run it."""
    leaks = bool(found.of(Kind.LEAK))
    if found.problems or (found.exit_code == 2 and program.leak):
        return None
    return leaks is program.leak
