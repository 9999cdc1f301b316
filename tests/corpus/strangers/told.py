"""A program with what its author could tell the pack: whose each provider is, and each stack that it refers to."""

from __future__ import annotations

import dataclasses

from .judge import play
from .scene import SERVERS, Scene
from .stranger import Stranger


def told(stranger: Stranger) -> Stranger:
    """The same program with these settings added to its own. Who owns a provider the program's scene knows."""
    scene, otherwise = (play(stranger, seed=seed, judged=False)[1].scene for seed in (0, 1))
    assert scene and otherwise
    providers = {*scene.packages, *(f"{side}-cluster" for side in scene.kubeconfigs.keys() - SERVERS.keys())}
    ours = providers & scene.stage.provider_owned
    added = {
        "controlPlaneProviders": ours,
        "dataPlaneProviders": providers - ours,
        "dataPlaneStacks": {"*/data-plane", *_of_tenants(scene, otherwise)},
    }
    pack = {name: sorted({*stranger.pack.get(name, ()), *found}) for name, found in added.items()}
    return dataclasses.replace(stranger, pack={**stranger.pack, **pack})


def _of_tenants(scene: Scene, otherwise: Scene) -> set[str]:
    """Names of references to stacks whose secrets are the same when the provider's are others, and of these stacks."""
    answers = scene.stage.answers
    names = [name for name in scene.stage.secret_answers if answers[name] == otherwise.stage.answers.get(name)]
    return {*names, *(str(answers[name]["name"]) for name in names)}
