"""Topologies that cannot be are refused, each with what is wrong and what to do."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import ValidationError

from sandbox import clusters
from sandbox.bootstrap import CHECKOUT
from sandbox.clusters import ClusterSpec, SandboxError, Topology
from sandbox.clusters.network.addresses import MOST_CLUSTERS
from sandbox.clusters.state import Layout, Settings, write
from sandbox.progress import Progress

CONTROL_PLANE = Topology.of(1).clusters[0]
WRONG: dict[str, tuple[Callable[[], object], str]] = {
    "no control plane": (lambda: Topology(clusters=(ClusterSpec(name="a"),)), "exactly one has the role control-plane"),
    "two of them": (
        lambda: Topology(clusters=(CONTROL_PLANE, CONTROL_PLANE.model_copy(update={"name": "b"}))),
        "control-plane, b: exactly one has the role",
    ),
    "one name twice": (lambda: Topology(clusters=(CONTROL_PLANE, CONTROL_PLANE)), "each needs a name of its own"),
    "a long name": (lambda: ClusterSpec(name="sixteen-letters-x"), "at most 15 lower-case letters"),
    "the wan's name": (lambda: ClusterSpec(name="wan"), "neither 'wan' nor 'lo'"),
    "capitals": (lambda: ClusterSpec(name="User"), "'User' cannot be a cluster's name"),
    "few Pods": (lambda: ClusterSpec(name="a", pods="10.1.0.0/24"), "pods 10.1.0.0/24 must be /22 or larger"),
    "many Services": (lambda: ClusterSpec(name="a", services="10.0.0.0/8"), "must be between /12 and /24"),
    "one range twice": (
        lambda: ClusterSpec(name="a", pods="10.1.0.0/16", services="10.1.2.0/24"),
        "10.1.0.0/16 overlaps 10.1.2.0/24: choose ranges apart",
    ),
    "the wan's range": (lambda: ClusterSpec(name="a", pods="10.88.0.0/13"), "overlaps 10.97.0.0/16|overlaps 10.90"),
    "no node": (lambda: ClusterSpec(name="a", zones=()), "zones"),
    "too many": (lambda: Topology.of(MOST_CLUSTERS + 1), "clusters"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_topology_that_cannot_be_is_refused(case: str) -> None:
    make, told = WRONG[case]
    with pytest.raises(ValidationError, match=told):
        make()


def test_a_topology_is_data() -> None:
    topology = Topology.of(4)
    assert Topology.model_validate_json(topology.model_dump_json()) == topology
    assert str(topology) == "control-plane, data-plane, data-plane-2, data-plane-3"


def test_a_sandbox_is_not_given_other_clusters(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "state")
    layout.make()
    write(layout.settings, Settings(topology=Topology.of(2), ports={"control-plane": 1, "data-plane": 2}))
    other = Topology(clusters=(CONTROL_PLANE, ClusterSpec(name="someone")))
    with pytest.raises(
        SandboxError, match=re.escape("it has control-plane, data-plane; requested: control-plane, someone")
    ):
        clusters.up(layout.root, None, Progress.silent(), topology=other)  # refused before


def test_the_command_line_allows_as_many_clusters_as_there_are_addresses_for() -> None:
    assert f"max={MOST_CLUSTERS}," in (CHECKOUT / "sandbox/commands/cli.py").read_text()


def test_copies_are_made_of_sandboxes_and_of_nothing_else(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "state")
    layout.make()
    with pytest.raises(SandboxError, match="There is no sandbox in"):
        clusters.copy(layout.root, tmp_path / "copy")
    write(layout.settings, Settings(topology=Topology.of(2), ports={"control-plane": 1, "data-plane": 2}))
    for kept in (layout.cluster("data-plane") / "etcd" / "db", layout.root / "pulumi" / "state"):
        kept.parent.mkdir(parents=True)
        kept.touch()
    (layout.cluster("data-plane") / "data-plane-node").mkdir()
    clusters.copy(layout.root, tmp_path / "copy")
    copied = {str(path.relative_to(tmp_path / "copy")) for path in (tmp_path / "copy").rglob("*")}
    assert copied >= {"clusters/settings.json", "clusters/data-plane/etcd/db", "pulumi/state"}
    assert not copied & {"clusters/data-plane/data-plane-node", "clusters/lock"}
    with pytest.raises(SandboxError, match="exists already"):
        clusters.copy(layout.root, tmp_path / "copy")
