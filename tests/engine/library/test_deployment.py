"""One template on two data planes, on the real engine: a cluster more touches nothing of the others."""

from __future__ import annotations

import base64
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography import x509

from sandbox.clusters import Sandbox, Topology
from sandbox.engine.deployment import POLICY_PACK
from sandbox.progress import Progress
from sandbox.toolchain import Tools
from tests.engine.library.engine import EXAMPLE, Api, Project, name_of
from tests.support.clusters import started
from tests.support.waiting import eventually

PROGRAM = EXAMPLE.with_name("many_clusters")
FEDERATED = EXAMPLE.with_name("federated_fleet")
PLACES = {"east": "data-plane", "west": "data-plane-2", "north": "data-plane-3"}


@pytest.fixture
def three(tmp_path: Path, tools: Tools, progress: Progress) -> Iterator[Sandbox]:
    """A control plane's API server and two data planes', without nodes."""
    with started(tmp_path / "sandbox", tools, progress, topology=Topology.of(3), nodes=False) as sandbox:
        yield sandbox


@pytest.fixture
def four(tmp_path: Path, tools: Tools, progress: Progress) -> Iterator[Sandbox]:
    with started(tmp_path / "sandbox", tools, progress, topology=Topology.of(4), nodes=False) as sandbox:
        yield sandbox


def document(tools: Tools, program: Path = PROGRAM, **fields: Any) -> dict[str, Any]:
    """The example's, for the pinned charts, clusters without nodes, and an end that leaves nothing."""
    found: dict[str, Any] = yaml.safe_load((program / "deployment.yaml").read_text())
    template = found["template"]
    template["revisions"][0] |= {"charts": {"path": str(tools.charts)}, "istiod": {"waitUntilReady": False}}
    template["trust"] = {"root": {"protect": False}}
    template["dataPlane"]["crds"] = {"keepOnDestroy": False}
    return {**found, **fields}


def test_a_cluster_joins_and_leaves_alone(tmp_path: Path, three: Sandbox, tools: Tools) -> None:
    program = tmp_path / "example"
    shutil.copytree(PROGRAM, program)
    stack = Project.make(tmp_path / "project", three, tools, program).stack("fleet", {})

    def write(**fields: Any) -> None:
        (program / "deployment.yaml").write_text(yaml.safe_dump(document(tools, **fields)))

    apis = {name: Api(cluster, tools) for name, cluster in three.clusters.items()}
    before = {name: api.stored() for name, api in apis.items()}
    write(select={"names": ["berlin"]}, overrides=[])
    stack.succeed("up", "--yes", "--policy-pack", str(POLICY_PACK))
    assert stack.outputs()["meshes"] == {"berlin": "fleet-berlin"}

    write()
    steps = stack.preview()
    changed = {name_of(one["urn"]): one["op"] for one in steps if one["op"] != "same"}
    # The deployment itself is registered anew with its outputs, which are not compared.
    assert set(changed.values()) == {"create"}
    assert len(changed) > 40
    assert [name for name in changed if not name.startswith("fleet-tokyo")] == []
    assert [one["urn"] for one in steps if "fleet-berlin" in one["urn"] and one["op"] != "same"] == []

    stack.up()
    assert stack.outputs()["trust domains"] == {
        "berlin": "fleet-berlin.mesh.local",
        "tokyo": "fleet-tokyo.mesh.local",
    }
    for cluster, place in (("data-plane", "berlin"), ("data-plane-2", "tokyo")):
        labels = apis[cluster].get("namespace", "bookinfo")["metadata"]["labels"]
        assert labels["hosted-mesh.io/mesh"] == f"fleet-{place}"
        apis["control-plane"].get("deployment", "istiod", "-n", f"mesh-fleet-{place}")
    assert stack.up().summary().keys() == {"unchanged"}

    write(select={"labels": {"tier": "prodution"}})
    refused = stack.run("preview")
    assert refused.code != 0
    assert "select.labels: matches none of the clusters (tier: prodution)" in refused.text
    assert "Traceback" not in refused.text

    write(select={"names": ["berlin"]}, overrides=[])
    assert stack.up().summary().keys() == {"deleted", "unchanged"}
    assert apis["control-plane"].kubectl("get", "namespace", "mesh-fleet-tokyo").code != 0
    stack.destroy()

    def left() -> dict[str, list[str]]:
        found = {name: sorted(api.stored() ^ before[name]) for name, api in apis.items()}
        return {name: keys for name, keys in found.items() if keys}

    # A cluster takes away by itself, a moment later, what it made for something: an APIService of a CRD, for one.
    eventually(lambda: left() == {})


@pytest.mark.nightly
def test_three_clusters_are_deployed_under_one_root_and_federated_by_one_program(
    tmp_path: Path, four: Sandbox, tools: Tools
) -> None:
    program = tmp_path / "example"
    shutil.copytree(FEDERATED, program)
    given = document(tools, FEDERATED)
    # No istiod runs, and by default the API servers then reject Istio's objects.
    given["template"]["dataPlane"]["webhooks"] = {"validationFailurePolicy": "Ignore"}
    (program / "deployment.yaml").write_text(yaml.safe_dump(given))
    stack = Project.make(tmp_path / "project", four, tools, program).stack("fleet", {})
    stack.up()

    # Intermediates of one root, each with a key of its own, and no key of the root in any cluster.
    control_plane = Api(four.control_plane, tools)
    files = {
        mesh: {
            name: base64.b64decode(value)
            for name, value in control_plane.get("secret", "cacerts", "-n", f"mesh-{mesh}")["data"].items()
        }
        for mesh in PLACES
    }
    (root,) = {one["root-cert.pem"] for one in files.values()}
    assert len({one["ca-key.pem"] for one in files.values()}) == len(PLACES)
    for one in files.values():
        x509.load_pem_x509_certificate(one["ca-cert.pem"]).verify_directly_issued_by(
            x509.load_pem_x509_certificate(root)
        )

    found = {}
    for mesh, cluster in PLACES.items():
        entries = Api(four.clusters[cluster], tools).get("serviceentries", "-n", f"mesh-{mesh}")["items"]
        found[mesh] = {
            host: sorted(point["address"] for point in one["spec"]["endpoints"])
            for one in entries
            for host in one["spec"]["hosts"]
        }
    reviews, ratings = (f"{name}.bookinfo.shops.example.com" for name in ("reviews", "ratings"))
    at = {mesh: f"eastwest.{mesh}.example.com" for mesh in PLACES}
    assert found == {"east": {reviews: [at["north"], at["west"]]}, "west": {ratings: [at["north"]]}, "north": {}}
    assert stack.up().summary().keys() == {"unchanged"}

    given["overrides"] = [{"clusters": ["north"], "trust": {"root": {"lifetimeDays": 4000}}}]
    (program / "deployment.yaml").write_text(yaml.safe_dump(given))
    refused = stack.run("preview")
    assert refused.code != 0
    assert "template.trust.root: differs between east and north, but they share one root" in refused.text
    assert "Traceback" not in refused.text
