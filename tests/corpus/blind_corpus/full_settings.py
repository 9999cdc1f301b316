"""A program with every setting that its author can write: the owner of each provider and of each referenced stack."""

from __future__ import annotations

import dataclasses

from .judge import play
from .program import BlindProgram
from .scene import SERVERS, Scene


def with_full_settings(program: BlindProgram) -> BlindProgram:
    """The same program with these settings added to its own. Who owns a provider the program's scene knows."""
    scene = _scene(program)
    providers = {*scene.packages, *(f"{side}-cluster" for side in scene.kubeconfigs.keys() - SERVERS.keys())}
    ours = providers & scene.stage.provider_owned
    added = {
        "controlPlaneProviders": ours,
        "dataPlaneProviders": providers - ours,
        "dataPlaneStacks": {"*/data-plane", *_of_tenants(program, scene)},
    }
    pack = {name: sorted({*program.pack.get(name, ()), *found}) for name, found in added.items()}
    return dataclasses.replace(program, pack={**program.pack, **pack})


def is_for_tenants(program: BlindProgram, resource: str) -> bool:
    """Whether what an account makes is the same when the provider's secrets are others."""
    answers, otherwise = (_scene(program, seed).stage.answers.get(resource) for seed in (0, 1))
    return answers == otherwise


def _scene(program: BlindProgram, seed: int = 0) -> Scene:
    scene = play(program, seed=seed, judged=False)[1].scene
    assert scene
    return scene


def _of_tenants(program: BlindProgram, scene: Scene) -> set[str]:
    """Names of references to stacks whose secrets are the same when the provider's are others, and of these stacks."""
    if not scene.stage.secret_answers:
        return set()
    answers, otherwise = scene.stage.answers, _scene(program, 1).stage.answers
    names = [name for name in scene.stage.secret_answers if answers[name] == otherwise.get(name)]
    return {*names, *(str(answers[name]["name"]) for name in names)}
