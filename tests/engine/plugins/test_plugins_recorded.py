"""The kubernetes plug-in of the tools answers what was recorded of a later one: checks, diffs, states, errors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.clusters import Sandbox
from sandbox.plugins.official import executable
from sandbox.toolchain import Tools
from tests.recorded import cases, facts
from tests.recorded.kubernetes_world import KubernetesWorld
from tests.recorded.replay import NAMES, Replay, of_provider
from tests.support.nightly import all_but


@pytest.fixture(scope="module")
def programs(tools: Tools) -> Path:
    return tools[executable("kubernetes")].parent


@pytest.fixture(scope="module")
def replay(engine_sandbox: Sandbox, tools: Tools, programs: Path) -> Iterator[Replay]:
    cluster = engine_sandbox.data_plane
    world = KubernetesWorld(tools["kubectl"], cluster.kubeconfig, cluster.name)
    world.prepare()
    try:
        with Replay(programs, "kubernetes", world) as running:
            yield running
    finally:
        world.clear()


@pytest.mark.xdist_group("recorded")
@pytest.mark.parametrize("name", all_but({"kubernetes"}, NAMES["kubernetes"]))
def test_objects_get_the_answers_of_the_later_plug_in(name: str, replay: Replay) -> None:
    played = {facts.ABILITIES: replay.abilities()}
    played |= {case.name: replay.play(case) for case in cases.load(name)}
    facts.require_same(name, facts.read(name), played, meant=facts.intended(name))


def test_settings_of_the_provider_do_the_same(programs: Path) -> None:
    played = of_provider(programs)
    facts.require_same(cases.PROVIDER, facts.read(cases.PROVIDER), played, meant=facts.intended(cases.PROVIDER))
