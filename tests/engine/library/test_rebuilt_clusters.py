"""docs/recovery.md on the real engine: a cluster that was deleted and made anew, empty and with another authority."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from pulumi_hosted_mesh.cli.command import app
from typer.testing import CliRunner

from sandbox import clusters
from sandbox.clusters import Sandbox
from sandbox.clusters.state import Layout
from sandbox.progress import Progress
from sandbox.toolchain import Tools
from tests.engine.library.engine import Api, Project, Stack, differences, versions, without_nodes
from tests.support.clusters import started
from tests.support.split import split_configs

REFRESHED = ("up", "--yes", "--skip-preview", "--refresh", "--run-program")


@pytest.fixture
def own_sandbox(tmp_path: Path, tools: Tools, progress: Progress) -> Iterator[Sandbox]:
    with started(tmp_path / "sandbox", tools, progress, nodes=False) as sandbox:
        yield sandbox


@pytest.fixture
def stacks(tmp_path: Path, own_sandbox: Sandbox, tools: Tools) -> dict[str, Stack]:
    """Those of one mesh, in their order, all run; of clusters that have an identity."""
    mesh = without_nodes(own_sandbox, tools)
    for part in (mesh["controlPlane"], mesh["memberships"][0]):
        part["cluster"]["identity"] = f"{part['cluster']['context']}-1"
    project = Project.make(tmp_path / "project", own_sandbox, tools)
    crds = {"cluster": mesh["memberships"][0]["cluster"], "charts": mesh["revisions"][0]["charts"]}
    configs = {"cluster": {"cluster": crds}, **split_configs(mesh)}
    made = {name: project.stack(name, {"stack": name, **one}) for name, one in configs.items()}
    for stack in made.values():
        stack.up()
    return made


def rebuilt(sandbox: Sandbox, name: str, tools: Tools, progress: Progress) -> None:
    """The cluster is there again, at the same address; its objects, keys and authority are not."""
    clusters.stop(sandbox.state)
    shutil.rmtree(Layout(sandbox.state).cluster(name))
    clusters.up(sandbox.state, tools, progress, nodes=False)


def of_the_mesh(api: Api) -> dict[str, tuple[str, str]]:
    """Objects of the mesh, and Istio's definitions."""
    return {key: one for key, one in versions(api).items() if "demo" in key or "istio.io" in key}


def doctor(sandbox: Sandbox) -> set[str]:
    """The causes that it finds, but for what clusters without nodes lack in any case."""
    kubeconfig = str(sandbox.kubeconfig)
    data_plane = ("--kubeconfig", kubeconfig, "--context", "data-plane")
    control_plane = ("--control-plane-kubeconfig", kubeconfig, "--control-plane-context", "control-plane")
    done = CliRunner().invoke(app, ["doctor", "--mesh", "demo", *data_plane, *control_plane, "--json"])
    return {one["cause"] for one in json.loads(done.output)["checks"]} - {None, "not-ready", "missing-root"}


@pytest.mark.parametrize(
    ("name", "runs", "said"),
    [
        pytest.param(
            *("data-plane", ("cluster", "access", "control-plane", "data-plane"), {"another-authority"}),
            marks=pytest.mark.nightly,
        ),
        ("control-plane", ("control-plane",), {"missing-cacerts", "no-istiod", "missing-kubeconfig"}),
    ],
    ids=["data-plane", "control-plane"],
)
def test_a_rebuilt_cluster(
    name: str,
    runs: tuple[str, ...],
    said: set[str],
    stacks: dict[str, Stack],
    own_sandbox: Sandbox,
    tools: Tools,
    progress: Progress,
) -> None:
    api = Api(own_sandbox.clusters[name], tools)
    before = of_the_mesh(api)
    assert len(before) > 10
    rebuilt(own_sandbox, name, tools, progress)
    assert of_the_mesh(api) == {}
    assert doctor(own_sandbox) == said
    # The state is read with the credential in it, of the cluster that is gone, unless the program says a newer one.
    refused = stacks[runs[0]].run("up", "--yes", "--skip-preview", "--refresh")
    assert refused.code != 0
    assert "unreachable cluster" in refused.text
    for one in runs:
        stacks[one].succeed(*REFRESHED)
    after = of_the_mesh(api)
    assert set(differences(before, after).values()) == {"replaced"}
    for one, stack in stacks.items():
        done = stack.up()
        # The other cluster's administrator has a new credential too, as at each start of a sandbox.
        assert one not in runs or done.summary().keys() == {"unchanged"}, done.text
    assert differences(after, of_the_mesh(api)) == {}
