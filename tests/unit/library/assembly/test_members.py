"""What the data planes of a mesh in one program are made of, computed without Pulumi."""

from __future__ import annotations

from typing import Any

import pulumi
import pytest
from pulumi_hosted_mesh.assembly.members import MeshMember, cluster_arguments, members_of, with_servers
from pulumi_hosted_mesh.boundary.endpoint import ControlPlaneEndpoint
from pulumi_hosted_mesh.clusters.cluster import DataPlaneCluster
from pulumi_hosted_mesh.problems import InvalidInputError
from pulumi_hosted_mesh.spec.load import read_document
from pulumi_hosted_mesh.spec.mesh import Mesh

from tests.unit.library.assembly.kubeconfigs import kubeconfig
from tests.unit.library.documents import CERTIFICATE, document

CANARY = {"name": "canary", "host": "canary.demo.example.com", "exposure": {"openToAll": True}}
TWO = {
    "revisions.0.charts": {"version": "1.31.2", "hub": "registry.example.com/istio"},
    "revisions.1": {**CANARY, "charts": {"version": "1.31.10"}, "istiod": {"waitUntilReady": False}},
    "memberships.0.gateways": [{"name": "ingress"}],
    "memberships.1": {"name": "second", "network": "net-2", "crds": {"keepOnDestroy": False}},
}


def cluster(port: int) -> DataPlaneCluster:
    return DataPlaneCluster(kubeconfig=kubeconfig(f"https://127.0.0.1:{port}"), identity=f"it-{port}")


def members(changes: dict[str, Any], *given: dict[str, Any]) -> list[MeshMember]:
    mesh = read_document(Mesh, document(changes))
    return members_of(
        "shop", mesh, given or [{} for _ in mesh.memberships], [cluster(1), cluster(2)][: len(mesh.memberships)]
    )


def test_each_is_called_after_the_component_and_itself() -> None:
    first, second = members(TWO)
    assert (first.prefix, second.prefix) == ("shop", "shop-second")
    found = [second.access_args()[key] for key in ("mesh", "cluster_id", "network")]
    assert found == ["demo", "demo-second", "net-2"]
    where = [(one.field, one.name) for one in cluster_arguments("shop", [{}, {"name": "second"}])]
    assert where == [("memberships[0]", "shop"), ("memberships[1]", "shop-second")]


def test_gateways_are_the_first_revisions_and_charts_come_without_a_version() -> None:
    first = members(TWO)[0]
    made = {}
    for revision in first.mesh.revisions:
        endpoint = ControlPlaneEndpoint.of(first.mesh, revision, first.membership, CERTIFICATE)
        made[revision.name] = first.remote_data_plane_args(revision, endpoint)
    assert {name: [one["name"] for one in args["gateways"]] for name, args in made.items()} == {
        "default": ["ingress"],
        "canary": [],
    }
    assert [args["charts"] for args in made.values()] == [{"hub": "registry.example.com/istio"}, {}]
    assert [args["wait_for_gateways"] for args in made.values()] == [True, False]


def test_definitions_are_the_newest_revisions_and_each_member_says_whether_they_stay() -> None:
    found = [one.crds_args() for one in members(TWO)]
    assert [one["charts"]["version"] for one in found] == ["1.31.10", "1.31.10"]
    assert [one["keep_on_destroy"] for one in found] == [True, False]


def test_an_access_has_what_the_document_says_and_what_is_an_output() -> None:
    later = pulumi.Output.from_input("https://api.example.com")
    (one,) = members({"memberships.0.access": {"tokenGeneration": 2}}, {"access": {"api_server": later}})
    assert one.access["token_generation"] == 2
    assert isinstance(one.access["api_server"], pulumi.Output)


def test_a_bounded_token_is_refused_by_its_place() -> None:
    with pytest.raises(InvalidInputError) as refused:
        members({"memberships.1": {"name": "second", "access": {"token": "bounded"}}})
    assert [one.field for one in refused.value.problems] == ["memberships[1].access.token"]


def test_an_api_servers_address_is_the_kubeconfigs_unless_it_is_said() -> None:
    said = {"access": {"api_server": "https://api.example.com"}}
    found = with_servers([{}, said], [cluster(1), cluster(2)])
    assert [one["access"]["api_server"] for one in found] == ["https://127.0.0.1:1", "https://api.example.com"]
