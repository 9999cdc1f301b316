"""Another version of Istio as docs/upgrade.md has it, on a live mesh: in place, and as a canary beside `default`.

There is one version of Istio here, so it is the charts that get another: what they label with it, CRDs among it, and
what changes in istiod by a new one. Requests are answered all the while.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sandbox.progress import Progress
from sandbox.proof import workloads
from sandbox.proof.deployed import NotObserved, eventually
from sandbox.toolchain import Tools
from tests.live.revisions.mesh_of_versions import DEFAULT, Mesh, charts_of
from tests.live.revisions.two_data_planes import OK, answers, uids
from tests.support.clusters import started

# test_two_versions.py moves a mesh with each change, and tests/engine/library/test_upgrade.py updates one in place.
pytestmark = pytest.mark.nightly
NEXT = "1-32"
INJECTION, TAGGED = "istio-sidecar-injector-mesh-demo", "istio-revision-tag-default-mesh-demo"
OF_NEXT = f"istio-sidecar-injector-{NEXT}-mesh-demo"
VERSIONS = ("1.31.1", "1.31.2", "1.32.0")


@pytest.fixture(scope="module")
def mesh(tmp_path_factory: pytest.TempPathFactory, tools: Tools, progress: Progress) -> Iterator[Mesh]:
    charts = {version: charts_of(tools.charts, tmp_path_factory.mktemp("charts"), version) for version in VERSIONS}
    with started(tmp_path_factory.mktemp("upgrade"), tools, progress) as sandbox:
        made = Mesh(sandbox, tools, tmp_path_factory.mktemp("stack"), charts)
        made.up({DEFAULT: "1.31.1"})
        yield made


def test_in_place_and_back(mesh: Mesh) -> None:
    """Proxies stay as they are, and istiod's Pods are made anew: with their CRDs before them, and back again."""
    pods = mesh.pods()
    assert mesh.crds() == {"1.31.1"}
    before = mesh.istiods()
    for version in ("1.31.2", "1.31.1"):
        mesh.up({DEFAULT: version})
        mesh.told(DEFAULT)
        after = mesh.istiods()
        assert mesh.crds() == set(after.values()) == {version}
        assert not before.keys() & after.keys()
        before = after
        assert uids(mesh.pods()) == uids(pods)
        answers(mesh.deployed(DEFAULT), OK)
    # New connections find the istiod that is there, and new Pods have its sidecars.
    mesh.restarted(workloads.CALLER, DEFAULT)


def test_an_istiod_that_does_not_start_leaves_the_old_one_at_work(mesh: Mesh) -> None:
    """Its Pod goes only when the new one is ready; the old version puts it right."""
    mesh.pods()
    (old,) = mesh.istiods()
    mesh.up({DEFAULT: "1.31.2"}, broken=True)

    def both() -> None:
        if sorted(mesh.istiods().values()) != ["1.31.1", "1.31.2"]:
            raise NotObserved(f"istiod's Pods are {mesh.istiods()}")

    eventually(both, seconds=60)
    assert old in mesh.istiods()
    mesh.told(DEFAULT)
    mesh.restarted(workloads.CALLER, DEFAULT)
    mesh.up({DEFAULT: "1.31.1"})
    mesh.told(DEFAULT)
    assert mesh.istiods() == {old: "1.31.1"}


@pytest.mark.nightly("canary")
def test_a_canary_beside_the_revision_default_and_back(mesh: Mesh) -> None:
    """As `istioctl tag set default` does it: the label of namespaces stays, and a restart moves a workload."""
    pods = mesh.pods()
    both = {DEFAULT: "1.31.1", NEXT: "1.32.0"}
    mesh.up(both, crds=False)
    mesh.told(DEFAULT)
    mesh.told(NEXT, "older-crds")
    mesh.up(both)
    for name in both:
        mesh.told(name)
    assert mesh.crds() == {"1.32.0"}
    assert mesh.injection() == {INJECTION, OF_NEXT}
    assert uids(mesh.pods()) == uids(pods)
    mesh.restarted(workloads.CALLER, DEFAULT)

    mesh.up(both, default=NEXT)
    for name in both:
        mesh.told(name)
    assert mesh.injection() == {TAGGED, OF_NEXT}
    mesh.restarted(workloads.CALLER, NEXT)
    assert mesh.to_restart() == {workloads.CALLED}
    mesh.up(both)
    assert mesh.injection() == {INJECTION, OF_NEXT}
    answers(mesh.deployed(NEXT), OK)
    mesh.restarted(workloads.CALLER, DEFAULT)

    mesh.up(both, default=NEXT)
    for name in (workloads.CALLER, workloads.CALLED):
        mesh.restarted(name, NEXT)
    assert mesh.to_restart() == set()
    pods = mesh.pods()
    mesh.up({NEXT: "1.32.0"}, default=NEXT)
    mesh.told(NEXT)
    assert mesh.injection() == {TAGGED, OF_NEXT}
    assert {name.rpartition("-")[0].rpartition("-")[0] for name in mesh.istiods()} == {f"istiod-{NEXT}"}
    assert uids(mesh.pods()) == uids(pods)
    mesh.restarted(workloads.CALLED, NEXT)
