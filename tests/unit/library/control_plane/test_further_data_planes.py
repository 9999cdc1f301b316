"""What istiod needs to serve the second and further data planes of a mesh, as the engine is asked to make it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pulumi_hosted_mesh as hosted_mesh
import pytest
import yaml
from pulumi_hosted_mesh.boundary.endpoint import ControlPlaneEndpoint
from pulumi_hosted_mesh.charts.chart import MeshCharts
from pulumi_hosted_mesh.clusters.kubeconfig import minimal
from pulumi_hosted_mesh.control_plane.validated_inputs import kubeconfigs, secrets
from pulumi_hosted_mesh.data_plane.rights import cluster_rules, namespace_rules
from pulumi_hosted_mesh.data_plane.values import mesh_config
from pulumi_hosted_mesh.problems import InvalidInputError
from pulumi_hosted_mesh.spec.data_plane import Membership
from pulumi_hosted_mesh.spec.features import Features
from pulumi_hosted_mesh.spec.load import read_document
from pulumi_hosted_mesh.spec.mesh import Mesh

from tests.unit.library.documents import CERTIFICATE, document
from tests.unit.library.program import Registered, run

KUBECONFIG = minimal("c", {"server": "https://dp.example.com", "certificate-authority-data": "QQ=="}, {"token": "t"})


def two() -> Mesh:
    written = document({})
    written["memberships"] = [*written["memberships"], {**written["memberships"][0], "name": "second"}]
    return read_document(Mesh, written)


def test_istiod_reads_kubeconfigs_from_files_that_end_in_yaml() -> None:
    """pkg/kube/krt/files: others are passed over without a word."""
    found = secrets(two(), None, {"default": "one", "second": "two"})  # type: ignore[dict-item]
    assert found == {"istio-kubeconfig": {"config": "one"}, "istio-remote-kubeconfigs": {"second.yaml": "two"}}


def kubeconfig(mesh: Mesh, member: Membership, token: str) -> str:
    cluster = {"server": str(member.access.api_server), "certificate-authority-data": "QQ=="}
    return minimal(mesh.cluster_id(member), cluster, {"token": token})


def test_istiods_way_to_an_api_server_is_the_control_planes() -> None:
    """Behind a proxy and a path, as of Rancher. The data plane's own kubeconfig has no say in it."""
    server, proxy = "https://rancher.example.com/k8s/clusters/c-1", "http://proxy.example.com:3128"
    given = {"apiServer": server, "proxyUrl": proxy, "tlsServerName": "api.user.example.com"}
    mesh = read_document(Mesh, document({"memberships.0.access": given}))
    (member,) = mesh.memberships

    async def plain() -> str:
        (found,) = kubeconfigs(mesh, {member.name: kubeconfig(mesh, member, "t")}).values()
        return str(await found.future())

    cluster = json.loads(asyncio.run(plain()))["clusters"][0]["cluster"]
    own = {"server": server, "proxy-url": proxy, "tls-server-name": "api.user.example.com"}
    assert cluster == {**own, "certificate-authority-data": "QQ=="}
    assert mesh.api_server_ports == {3128}

    theirs = json.loads(kubeconfig(mesh, member, "t"))
    theirs["clusters"][0]["cluster"]["proxy-url"] = "http://10.0.0.1:80"

    async def of_their_own() -> None:
        kubeconfigs(mesh, {member.name: json.dumps(theirs)})

    with pytest.raises(InvalidInputError, match="proxy-url, but may have only a server"):
        asyncio.run(of_their_own())


def test_an_api_servers_owner_admits_istiods_addresses_or_its_proxys() -> None:
    ranges, of_proxy = ["203.0.113.8/32"], ["198.51.100.0/28"]
    written = document({"controlPlane.egressRanges": ranges})
    by_proxy = {"proxyUrl": "http://proxy.example.com:3128"}
    accesses: dict[str, dict[str, Any]] = {
        "direct": {},
        "proxied": {**by_proxy, "proxyEgressRanges": of_proxy},
        # istiod's own addresses are not the proxy's.
        "unknown": by_proxy,
    }
    written["memberships"] = [
        {**written["memberships"][0], "name": name, "access": {"apiServer": "https://api.example.com", **access}}
        for name, access in accesses.items()
    ]
    found = read_document(Mesh, written).api_server_clients
    assert {name: list(one) for name, one in found.items()} == {"direct": ranges, "proxied": of_proxy, "unknown": []}
    written["memberships"][0]["access"]["proxyEgressRanges"] = of_proxy
    with pytest.raises(InvalidInputError, match="proxyEgressRanges are of a proxy, but proxyUrl is missing"):
        read_document(Mesh, written)


@pytest.mark.parametrize(
    "url",
    [
        "http://user:hunter2@proxy.example.com:3128",
        "proxy.example.com:3128",
        "socks5://p:1",
        "http://p",
        "http://p:1/x",
    ],
)
def test_a_proxys_address_has_a_port_and_no_password(url: str) -> None:
    with pytest.raises(InvalidInputError, match=r"access\.proxyUrl: must be http://HOST:PORT") as refused:
        read_document(Mesh, document({"memberships.0.access": {"proxyUrl": url}}))
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    ("member", "changes"), [("default", True), ("second", False), ("third", False)], ids=["first", "further", "new"]
)
def test_istiod_starts_anew_for_the_first_members_token_alone(
    monkeypatch: pytest.MonkeyPatch, member: str, *, changes: bool
) -> None:
    """It watches the files of the others: a new token or a new member restarts no revision."""
    triggers: list[dict[str, Any]] = []

    def made(_: Any, *__: Any, changes: Any, **___: Any) -> None:
        triggers.append(dict(changes.pod_annotations))

    def annotations(members: dict[str, str]) -> list[dict[str, Any]]:
        written = document({"revisions.0.name": "default", "trust.management": "unmanaged"})
        (first,), (revision,) = written["memberships"], written["revisions"]
        written["memberships"] = [{**first, "name": name} for name in members]
        written["revisions"] = [revision, {**revision, "name": "canary", "host": "canary.example.com"}]
        mesh = read_document(Mesh, written)
        triggers.clear()

        def program() -> None:
            arguments = {
                "mesh": mesh.arguments(),
                "cluster": hosted_mesh.ControlPlaneCluster(kubeconfig=KUBECONFIG),
                "kubeconfigs": {one.name: kubeconfig(mesh, one, members[one.name]) for one in mesh.memberships},
                "root_certificate": CERTIFICATE,
            }
            hosted_mesh.ExternalControlPlane("demo", arguments)
            for one in triggers:
                for name, value in one.items():
                    value.apply(lambda text, one=one, name=name: one.__setitem__(name, text))

        run(program)
        assert len(triggers) == 2
        return [dict(one) for one in triggers]

    monkeypatch.setattr(MeshCharts, "make", made)
    before = {"default": "t", "second": "t"}
    assert (annotations(before) != annotations({**before, member: "new"})) is changes


def test_istiod_may_read_what_makes_a_cluster_one_of_the_meshs() -> None:
    wide, inner = cluster_rules("demo", Features()), namespace_rules(Features())
    assert any("namespaces" in one.resources and one.names == ("mesh-demo",) and one.verbs == ("get",) for one in wide)
    assert any("configmaps" in one.resources and {"list", "watch"} <= {*one.verbs} and not one.names for one in inner)


@pytest.mark.parametrize(("revision", "name"), [("default", "istio"), ("canary", "istio-canary")])
def test_each_data_plane_says_its_trust_domain(revision: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without it istiod takes `cluster.local` for the workloads of all but the first."""
    mesh = read_document(Mesh, document({"revisions.0.name": revision, "trustDomain": "shop.example.com"}))
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
    mark = {"hosted-mesh.io/stack": "project/stack"}
    assert made.inputs["metadata"]["annotations"] == {"topology.istio.io/controlPlaneClusters": "*"} | mark


def _made(mesh: Mesh, endpoint: ControlPlaneEndpoint) -> list[Registered]:
    def program() -> None:
        cluster = hosted_mesh.DataPlaneCluster(kubeconfig=KUBECONFIG)
        hosted_mesh.RemoteDataPlane("demo", {"cluster": cluster, "endpoint": endpoint.as_arguments()})

    return run(program)
