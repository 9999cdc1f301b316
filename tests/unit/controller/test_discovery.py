"""Meshes in the clusters, whoever made them: records of looks, their routes and metrics. Without a cluster."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hosted_mesh_controller.job import discovery as job
from hosted_mesh_controller.settings import Settings
from hosted_mesh_controller.work.discovery import Discoverer

from tests.unit.controller.service import CLUSTERS, Service, documents

Config = dict[str, Any]
STAND_IN = "import sys; from pathlib import Path; sys.stdin.readline(); print(Path(sys.argv[1]).read_text())"


def mesh(namespace: str, cluster: str, **more: Any) -> Config:
    """As `hosted-mesh discover --json` prints it."""
    facts: Config = {
        "cluster": cluster,
        "namespace": namespace,
        "revision": "default",
        "role": "istiod",
        "managed_by": "helm",
    }
    facts |= {"version": "1.31.1", "istiod": "", "ready": "1/1", "cluster_id": "", "network": "", "tags": []}
    facts |= {"components": ["istiod"], "members": [{"namespace": "tills", "proxies": 2, "mode": "sidecar"}], **more}
    return {"name": namespace, "trust_domain": "shops.example", "peers": ["east"], "installations": [facts]}


class Looks:
    """Looks with given answers."""

    def __init__(self, service: Service, folder: Path) -> None:
        self.service, self.file = service, folder / "answers"
        command = [sys.executable, "-c", STAND_IN, str(self.file)]
        self._discoverer = Discoverer(service.settings, service.database, command)

    def look(self, **answers: Any) -> None:
        found = {name: answers.get(name, []) for name in self.service.settings.clusters}
        content = {name: None if one is None else {"meshes": one} for name, one in found.items()}
        self.file.write_text(json.dumps(content))
        self._discoverer.look()

    def items(self, holder: str = "provider", path: str = "/v1/found-meshes") -> list[Config]:
        answer = self.service.call(holder, "GET", path)
        assert answer.status_code == 200, answer.text
        found: list[Config] = answer.json()["items"]
        return found


@pytest.fixture
def looks(service: Service, tmp_path: Path) -> Looks:
    return Looks(service, tmp_path)


def test_records_of_found_meshes(looks: Looks) -> None:
    looks.look(north=[mesh("istio-system", "n")], hub=[mesh("mesh-a", "hub", role="control-plane")])
    first = {one["cluster"]: one for one in looks.items()}
    assert first.keys() == {"north", "hub"}  # the settings' names, not the contexts'
    assert (first["north"]["mesh"], first["north"]["version"]) == ("istio-system", "1.31.1")
    assert first["north"]["members"] == [{"namespace": "tills", "proxies": 2}]
    assert first["north"]["peers"] == ["east"]
    looks.look(north=[mesh("istio-system", "n", version="1.31.2")])
    (again,) = looks.items()
    assert again["version"] == "1.31.2"
    assert again["firstSeen"] == first["north"]["firstSeen"]
    assert again["lastSeen"] > again["firstSeen"]


def test_an_unreadable_cluster_keeps_its_records(looks: Looks) -> None:
    looks.look(north=[mesh("istio-system", "n")])
    before = looks.items()
    looks.look(north=None)
    assert looks.items() == before
    assert looks.service.call("provider", "GET", "/v1/found-meshes").json()["unreadable"] == ["north"]
    assert "hosted_mesh_unreadable_clusters 1.0" in looks.service.call(None, "GET", "/metrics").text
    looks.look()
    assert looks.items() == []
    assert looks.service.call("provider", "GET", "/v1/found-meshes").json()["unreadable"] == []


def test_a_tenant_sees_own_data_planes_only(tmp_path: Path) -> None:
    shared = {"kubeconfig": "/mounted/shared", "side": "data-plane", "tenants": ["acme", "other"]}
    looks = Looks(Service.make(tmp_path, clusters={**CLUSTERS, "shared": shared}), tmp_path)
    names = ("north", "south", "shared", "hub")
    looks.look(**{name: [mesh(f"mesh-{name}", name)] for name in names})
    assert {one["cluster"] for one in looks.items()} == set(names)
    for holder in ("acme", "acme-reader"):
        assert [one["cluster"] for one in looks.items(holder, "/v1/tenants/acme/found-meshes")] == ["north"]
    assert looks.service.call("acme", "GET", "/v1/found-meshes").status_code == 403
    assert looks.service.call("acme", "GET", "/v1/tenants/other/found-meshes").status_code == 404


def test_ordered_meshes_are_marked(looks: Looks) -> None:
    looks.service.ordered("acme", "meshes", documents("meshes", "acme", "shop"))
    own = mesh("mesh-shop", "n", managed_by="hosted-mesh")
    looks.look(north=[own, mesh("istio-system", "n")], south=[mesh("mesh-shop", "s")])
    assert {(one["cluster"], one["namespace"]): one["ordered"] for one in looks.items()} == {
        ("north", "mesh-shop"): True,
        ("north", "istio-system"): False,
        ("south", "mesh-shop"): False,
    }


def test_metrics_of_found_meshes(looks: Looks) -> None:
    looks.look(north=[mesh("istio-system", "n"), mesh("other", "n")])
    text = looks.service.call(None, "GET", "/metrics").text
    assert 'hosted_mesh_found{managed_by="helm",role="istiod",version="1.31.1"} 2.0' in text
    assert "istio-system" not in text


def test_a_cluster_that_left_the_settings_is_forgotten(looks: Looks, tmp_path: Path) -> None:
    looks.look(north=[mesh("istio-system", "n")], south=[mesh("istio-system", "s")])
    fewer = {name: one for name, one in CLUSTERS.items() if name != "north"}
    later = Looks(Service.make(tmp_path, clusters=fewer), tmp_path)
    later.look(south=[mesh("istio-system", "s")])
    assert [one["cluster"] for one in looks.items()] == ["south"]


def test_no_look_without_a_schedule(tmp_path: Path) -> None:
    service = Service.make(tmp_path, discovery={"everySeconds": None})
    Discoverer(service.settings, service.database, ["false"]).start()
    assert Settings.model_fields["discovery"].default.every_seconds == 600


@pytest.mark.parametrize("content", ["", "[]", "current-context: absent", "{"])
def test_an_unusable_kubeconfig_is_an_unreadable_cluster(tmp_path: Path, content: str) -> None:
    (tmp_path / "kubeconfig").write_text(content)
    assert job.look({"name": "x", "kubeconfig": str(tmp_path / "kubeconfig"), "context": None}) is None
    assert job.look({"name": "x", "kubeconfig": str(tmp_path / "absent"), "context": "c"}) is None
