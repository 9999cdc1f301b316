"""What istiod needs to serve the second and further data planes of a mesh, as the engine is asked to make it."""

from __future__ import annotations

from typing import Any

import pulumi_hosted_mesh as hosted_mesh
import pytest
import yaml
from pulumi_hosted_mesh.boundary.endpoint import ControlPlaneEndpoint
from pulumi_hosted_mesh.charts.chart import MeshCharts
from pulumi_hosted_mesh.clusters.kubeconfig import minimal
from pulumi_hosted_mesh.control_plane.given import secrets
from pulumi_hosted_mesh.data_plane.rights import cluster_rules, namespace_rules
from pulumi_hosted_mesh.data_plane.values import mesh_config
from pulumi_hosted_mesh.spec.features import Features
from pulumi_hosted_mesh.spec.load import read
from pulumi_hosted_mesh.spec.mesh import Mesh

from tests.unit.library.documents import CERTIFICATE, document
from tests.unit.library.program import Registered, run

KUBECONFIG = minimal("c", {"server": "https://dp.example.com", "certificate-authority-data": "QQ=="}, {"token": "t"})


def two() -> Mesh:
    written = document({})
    written["memberships"] = [*written["memberships"], {**written["memberships"][0], "name": "second"}]
    return read(Mesh, written)


def test_istiod_reads_kubeconfigs_from_files_that_end_in_yaml() -> None:
    """pkg/kube/krt/files: others are passed over without a word."""
    found = secrets(two(), None, {"default": "one", "second": "two"})  # type: ignore[dict-item]
    assert found == {"istio-kubeconfig": {"config": "one"}, "istio-remote-kubeconfigs": {"second.yaml": "two"}}


def test_istiod_may_read_what_makes_a_cluster_one_of_the_meshs() -> None:
    wide, inner = cluster_rules("demo", Features()), namespace_rules(Features())
    assert any("namespaces" in one.resources and one.names == ("mesh-demo",) and one.verbs == ("get",) for one in wide)
    assert any("configmaps" in one.resources and {"list", "watch"} <= {*one.verbs} and not one.names for one in inner)


@pytest.mark.parametrize(("revision", "name"), [("default", "istio"), ("canary", "istio-canary")])
def test_each_data_plane_says_its_trust_domain(revision: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without it istiod takes `cluster.local` for the workloads of all but the first."""
    mesh = read(Mesh, document({"revisions.0.name": revision, "trustDomain": "shop.example.com"}))
    endpoint = ControlPlaneEndpoint.of(mesh, mesh.revisions[0], mesh.memberships[0], CERTIFICATE)
    assert yaml.safe_load(mesh_config(endpoint)) == {"trustDomain": "shop.example.com"}
    monkeypatch.setattr(MeshCharts, "make", lambda *_, **__: None)  # charts need an engine
    (made,) = [one for one in _made(mesh, endpoint) if one.type == "kubernetes:core/v1:ConfigMap"]
    metadata: dict[str, Any] = made.inputs["metadata"]
    assert (metadata["name"], metadata["namespace"]) == (name, mesh.namespace)
    assert made.inputs["data"] == {"mesh": mesh_config(endpoint)}


def test_the_meshs_namespace_takes_its_istiods_root_certificate() -> None:
    def program() -> None:
        cluster = hosted_mesh.DataPlaneCluster(kubeconfig=KUBECONFIG)
        hosted_mesh.DataPlaneAccess("demo", {"mesh": "demo", "cluster": cluster, "access": {"token": "bounded"}})

    (made,) = [one for one in run(program) if one.type == "kubernetes:core/v1:Namespace"]
    assert made.inputs["metadata"]["annotations"] == {"topology.istio.io/controlPlaneClusters": "*"}


def _made(mesh: Mesh, endpoint: ControlPlaneEndpoint) -> list[Registered]:
    def program() -> None:
        cluster = hosted_mesh.DataPlaneCluster(kubeconfig=KUBECONFIG)
        hosted_mesh.RemoteDataPlane("demo", {"cluster": cluster, "endpoint": endpoint.as_arguments()})

    return run(program)
