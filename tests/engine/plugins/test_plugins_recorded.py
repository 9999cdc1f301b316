"""The kubernetes plug-in in use answers what was recorded of Pulumi's own: checks, diffs, states, errors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.clusters import Cluster
from sandbox.plugins import VERSIONS, PluginSet
from sandbox.toolchain import Tools
from tests.recorded import cases, facts
from tests.recorded.kubernetes_world import KubernetesWorld
from tests.recorded.replay import NAMES, Replay


@pytest.fixture(scope="module")
def replay(cluster: Cluster, tools: Tools, plugin_set: PluginSet) -> Iterator[Replay]:
    world = KubernetesWorld(tools["kubectl"], cluster.kubeconfig, cluster.name)
    world.prepare()
    linked = Path(plugin_set.env["PULUMI_HOME"]) / "plugins" / f"resource-kubernetes-v{VERSIONS['kubernetes']}"
    programs = plugin_set.path[0] if plugin_set.path else linked
    try:
        with Replay(programs, "kubernetes", world, plugin_set.env) as running:
            yield running
    finally:
        world.clear()


@pytest.mark.xdist_group("recorded")
@pytest.mark.parametrize("name", NAMES["kubernetes"])
def test_answers_are_those_of_the_official_plug_in(name: str, replay: Replay, plugin_set: PluginSet) -> None:
    played = {facts.ABILITIES: replay.abilities()}
    played |= {case.name: replay.play(case) for case in cases.load(name)}
    listed = [] if plugin_set.kind == "official" else facts.intended(name)
    facts.require_same(name, facts.read(name), played, meant=listed)
