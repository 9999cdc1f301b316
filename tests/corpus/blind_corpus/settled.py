"""A program without the settings that the corpus gives it, and with those that `hosted-mesh-policies init` writes."""

from __future__ import annotations

import dataclasses
from typing import Any

from hosted_mesh_plan.model import Stack
from hosted_mesh_policies.proposal import proposal

from tests.corpus.simulated_engine import run

from .judge import Sent, StageMonitor
from .material import Material
from .program import BlindProgram
from .scene import Scene, Stage

NONE: dict[str, Any] = {"controlPlaneServers": [], "dataPlaneServers": []}


def bare(program: BlindProgram) -> BlindProgram:
    """Without any setting."""
    return dataclasses.replace(program, pack=NONE)


def initialised(program: BlindProgram) -> BlindProgram:
    """With the guesses of `init` on its first preview. No question is answered."""
    written = proposal([_previewed(program)]).lists
    return dataclasses.replace(program, pack={**NONE, **written})


def _previewed(program: BlindProgram) -> Stack:
    cp, dp = Material("cp", 0), Material("dp", 0)
    config = dict(program.config(cp, dp)) if program.config else {}
    stage, sent = Stage(cp, dp, config), Sent()

    def monitors(*args: Any) -> StageMonitor:
        made = StageMonitor(*args)
        made.stage, made.sent = stage, sent
        return made

    *_, found = run(
        program.play,
        preview=True,
        state={},
        rules=(),
        stack=program.stack,
        more=NONE,
        monitors=monitors,
        worlds=lambda *_: Scene(stage),
        surroundings={"config": config, "secret_config_keys": frozenset(config)} if config else {},
    )
    return Stack(program.stack, tuple(found))
