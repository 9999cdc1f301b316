"""A program with what its author could tell the pack: whose each provider is, and each stack that it refers to."""

from __future__ import annotations

import dataclasses

from .judge import play
from .scene import SERVERS, Scene
from .stranger import Stranger


def told(stranger: Stranger) -> Stranger:
    """The same program with these settings added to its own. Who owns a provider the program's scene knows."""
    scene = _scene(stranger)
    providers = {*scene.packages, *(f"{side}-cluster" for side in scene.kubeconfigs.keys() - SERVERS.keys())}
    ours = providers & scene.stage.provider_owned
    added = {
        "controlPlaneProviders": ours,
        "dataPlaneProviders": providers - ours,
        "dataPlaneStacks": {"*/data-plane", *_of_tenants(stranger, scene)},
    }
    pack = {name: sorted({*stranger.pack.get(name, ()), *found}) for name, found in added.items()}
    return dataclasses.replace(stranger, pack={**stranger.pack, **pack})


def is_for_tenants(stranger: Stranger, resource: str) -> bool:
    """Whether what an account makes is the same when the provider's secrets are others."""
    answers, otherwise = (_scene(stranger, seed).stage.answers.get(resource) for seed in (0, 1))
    return answers == otherwise


def _scene(stranger: Stranger, seed: int = 0) -> Scene:
    scene = play(stranger, seed=seed, judged=False)[1].scene
    assert scene
    return scene


def _of_tenants(stranger: Stranger, scene: Scene) -> set[str]:
    """Names of references to stacks whose secrets are the same when the provider's are others, and of these stacks."""
    if not scene.stage.secret_answers:
        return set()
    answers, otherwise = scene.stage.answers, _scene(stranger, 1).stage.answers
    names = [name for name in scene.stage.secret_answers if answers[name] == otherwise.get(name)]
    return {*names, *(str(answers[name]["name"]) for name in names)}
