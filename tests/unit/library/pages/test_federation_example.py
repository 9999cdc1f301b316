"""The programs of examples/federation and examples/federated_fleet, without an engine."""

from __future__ import annotations

import runpy
from base64 import b64encode
from pathlib import Path

import pytest
import yaml

from tests.unit.library.documents import CERTIFICATE
from tests.unit.library.program import run

ROOT = Path(__file__).parents[4]


def kubeconfig(*names: str) -> str:
    """A cluster for each context."""
    authority = b64encode(CERTIFICATE.encode()).decode()
    clusters = {
        name: {"server": f"https://api.{name}.example.com", "certificate-authority-data": authority} for name in names
    }
    return yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": name, "cluster": cluster} for name, cluster in clusters.items()],
            "users": [{"name": "me", "user": {"token": "made-up"}}],
            "contexts": [{"name": name, "context": {"cluster": name, "user": "me"}} for name in names],
        }
    )


@pytest.mark.usefixtures("without_transforms")
def test_the_federation_joins_two_meshes_of_one_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config").write_text(kubeconfig("control-plane", "east", "west"))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "config"))
    program = str(ROOT / "examples/federation/__main__.py")
    made = run(lambda: runpy.run_path(program, run_name="__main__"), preview=True)
    kinds = [one.type.rpartition(":")[2] for one in made]
    assert [kinds.count(kind) for kind in ("MeshRoot", "MeshTrust", "HostedMesh", "MeshFederation")] == [1, 2, 2, 2]
    # East finds west's service at west's gateway; west lets east's account in there.
    assert {one.parent for one in made if one.type.endswith(":ServiceEntry")} == {"shops-east"}
    policies = [one for one in made if one.type.endswith(":AuthorizationPolicy")]
    caller = "east.mesh.local/ns/bookinfo/sa/productpage"
    assert {one.parent for one in policies if caller in str(one.inputs)} == {"shops-west"}
    entry = next(one for one in made if one.type.endswith(":ServiceEntry"))
    assert entry.inputs["spec"]["hosts"] == ["reviews.bookinfo.shops.example.com"]
    assert [one["address"] for one in entry.inputs["spec"]["endpoints"]] == ["eastwest.west.example.com"]


@pytest.mark.usefixtures("without_transforms")
def test_the_fleet_is_three_meshes_of_one_root_and_their_federation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config").write_text(kubeconfig("control-plane", "data-plane", "data-plane-2", "data-plane-3"))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "config"))
    program = str(ROOT / "examples/federated_fleet/__main__.py")
    made = run(lambda: runpy.run_path(program, run_name="__main__"), preview=True)
    kinds = [one.type.rpartition(":")[2] for one in made]
    wanted = {"MeshDeployment": 1, "MeshRoot": 1, "MeshTrust": 3, "HostedMesh": 3, "MeshFederation": 3}
    assert {kind: kinds.count(kind) for kind in wanted} == wanted
    places = {
        one.parent: sorted(point["address"] for point in one.inputs["spec"]["endpoints"])
        for one in made
        if one.type.endswith(":ServiceEntry")
    }
    west, north = (f"eastwest.{mesh}.example.com" for mesh in ("west", "north"))
    assert places == {"shops-east": [north, west], "shops-west": [north]}
