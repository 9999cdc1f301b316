"""A swapped pair of clusters does not type-check, and does not run."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pulumi
import pulumi_hosted_mesh as hosted_mesh
import pytest
from pulumi_hosted_mesh import ControlPlaneCluster, DataPlaneCluster
from pulumi_hosted_mesh.boundary.cacerts import FILES
from pulumi_hosted_mesh.boundary.endpoint import ControlPlaneEndpoint
from pulumi_hosted_mesh.clusters.cluster import Cluster
from pulumi_hosted_mesh.clusters.kubeconfig import for_account
from pulumi_hosted_mesh.problems import InvalidInputError
from pulumi_hosted_mesh.spec.intents import Intents
from pulumi_hosted_mesh.spec.load import read_document
from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.spec.operators import Operators

from tests.unit.library.dns.documents import document as dns_document
from tests.unit.library.dns.documents import provider
from tests.unit.library.documents import CERTIFICATE, document
from tests.unit.library.federation.documents import federation
from tests.unit.library.intents.documents import INTRA, inventory
from tests.unit.library.intents.documents import document as intents_document
from tests.unit.library.operators.documents import document as operators_document
from tests.unit.library.program import Registered, run


def account(cluster: str, server: str = "https://one.example.com:6443") -> str:
    return for_account(cluster, server, CERTIFICATE, "t0k3n")


GOOD, OTHER = account("it"), account("it", "https://two.example.com:6443")
EDGES = {"north": account("north"), "south": account("south")}
OPERATORS = read_document(Operators, operators_document()).arguments()
ROOT = Path(__file__).parents[4]
PROGRAM = """
import pulumi_hosted_mesh as hosted_mesh
from pulumi_hosted_mesh._generated.inputs import EndpointArgs, MeshArgs


def swapped(
    mesh: MeshArgs,
    endpoint: EndpointArgs,
    control_plane: hosted_mesh.ControlPlaneCluster,
    data_plane: hosted_mesh.DataPlaneCluster,
) -> None:
    access = hosted_mesh.DataPlaneAccess("x", {"mesh": "x", "cluster": control_plane})  # refused
    hosted_mesh.ExternalControlPlane(
        "x",
        {
            "mesh": mesh,
            "cluster": data_plane,  # refused
            "kubeconfigs": {"default": access.kubeconfig},
            "root_certificate": "",
        },
    )
    hosted_mesh.RemoteDataPlane("x", {"cluster": control_plane, "endpoint": endpoint})  # refused
    hosted_mesh.RemoteDataPlane("x", {"cluster": data_plane, "endpoint": mesh})  # refused
    hosted_mesh.RemoteDataPlane("x", {"cluster": data_plane, "endpoint": endpoint})
    hosted_mesh.RemoteDataPlain("x", {"cluster": data_plane, "endpoint": endpoint})  # refused
"""


def test_a_swapped_pair_is_a_type_error_and_so_is_a_misspelt_name(tmp_path: Path) -> None:
    program = tmp_path / "swapped.py"
    program.write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", str(program)], cwd=ROOT, capture_output=True, text=True, timeout=300
    )
    wrong = "[Ii]ncompatible type|has no attribute"
    refused = {int(line) for line in re.findall(rf"swapped\.py:(\d+): error: .*(?:{wrong})", done.stdout)}
    marked = {number for number, line in enumerate(PROGRAM.splitlines(), 1) if line.endswith("# refused")}
    assert refused == marked, done.stdout


MESH = read_document(Mesh, document())
MEMBER = MESH.memberships[0]
ENDPOINT = ControlPlaneEndpoint.of(MESH, MESH.revisions[0], MEMBER, CERTIFICATE).as_arguments()
TEMPLATE = {"revisions": [{"host": "istiod.{cluster}.example.com", "exposure": {"sourceRanges": ["203.0.113.0/24"]}}]}


def control_plane(kubeconfig: str = GOOD) -> ControlPlaneCluster:
    return ControlPlaneCluster(kubeconfig=kubeconfig)


def data_plane(kubeconfig: str = GOOD) -> DataPlaneCluster:
    return DataPlaneCluster(kubeconfig=kubeconfig)


def hosted(control: Cluster, data: Cluster) -> dict[str, Any]:
    arguments = MESH.arguments()
    (membership,) = arguments["memberships"]
    return {**arguments, "control_plane": {"cluster": control}, "memberships": [{**membership, "cluster": data}]}


def deployment(control: Cluster, data: Cluster) -> dict[str, Any]:
    clusters = [{"name": "berlin", "cluster": data}]
    return {"name": "shop", "template": TEMPLATE, "control_plane": {"cluster": control}, "clusters": clusters}


def observed(**collector: Any) -> dict[str, Any]:
    host, image = "collector.demo.example.com", "registry.example.com/collector:1"
    return {"mesh": "demo", "collector": {"host": host, "image": image, **collector}}


CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "page"}}
SWAPPED: dict[str, tuple[type[pulumi.ComponentResource], Callable[[], dict[str, Any]]]] = {
    "DataPlaneAccess": (hosted_mesh.DataPlaneAccess, lambda: {"mesh": "demo", "cluster": control_plane()}),
    "DataPlaneCrds": (hosted_mesh.DataPlaneCrds, lambda: {"cluster": control_plane()}),
    "RemoteDataPlane": (
        hosted_mesh.RemoteDataPlane,
        lambda: {"cluster": control_plane(), "endpoint": ENDPOINT},
    ),
    "MeshFederation": (
        hosted_mesh.MeshFederation,
        lambda: {"mesh": "east", "federation": federation().arguments(), "cluster": control_plane()},
    ),
    "TrafficIntents": (
        hosted_mesh.TrafficIntents,
        lambda: {
            "intents": read_document(Intents, intents_document(INTRA)).arguments(),
            "inventory": inventory().arguments(),
            "target": "east",
            "cluster": control_plane(),
        },
    ),
    "DnsEdge": (hosted_mesh.DnsEdge, lambda: {"edge": {"name": "north"}, "cluster": control_plane()}),
    "ExternalControlPlane": (
        hosted_mesh.ExternalControlPlane,
        lambda: {
            "mesh": MESH.arguments(),
            "cluster": data_plane(),
            "kubeconfigs": {"default": account(MESH.cluster_id(MEMBER), str(MEMBER.access.api_server))},
            "root_certificate": CERTIFICATE,
            "cacerts": dict.fromkeys(FILES, CERTIFICATE),
        },
    ),
    "ExternalDNSBridge": (
        hosted_mesh.ExternalDNSBridge,
        lambda: {
            "bridge": dns_document(provider()),
            "cluster": data_plane(),
            "credentials": {"inner": {"username": "bridge", "password": "x"}},
            "publisher_kubeconfigs": EDGES,
            "reader_kubeconfigs": EDGES,
        },
    ),
    "MeshObservability, the control plane's": (
        hosted_mesh.MeshObservability,
        lambda: {
            "observability": observed(placement="control-plane", exposure={"kind": "external"}),
            "control_plane": data_plane(),
            "cacerts": dict.fromkeys(FILES, CERTIFICATE),
        },
    ),
    "MeshObservability, the data plane's": (
        hosted_mesh.MeshObservability,
        lambda: {
            "observability": observed(placement="data-plane", server_secret="own"),
            "data_plane": control_plane(),
        },
    ),
    "SharedGateway": (
        hosted_mesh.SharedGateway,
        lambda: {"gateway": {"zones": ["meshes.example.com"], "open_to_all": True}, "cluster": data_plane()},
    ),
    "HostedMesh, the control plane's": (hosted_mesh.HostedMesh, lambda: hosted(data_plane(), data_plane(OTHER))),
    "HostedMesh, the data plane's": (hosted_mesh.HostedMesh, lambda: hosted(control_plane(), control_plane(OTHER))),
    "HostedOperators, the control plane's": (
        hosted_mesh.HostedOperators,
        lambda: {"operators": OPERATORS, "control_plane": data_plane(), "data_plane": data_plane(OTHER)},
    ),
    "HostedOperators, the hosted cluster's": (
        hosted_mesh.HostedOperators,
        lambda: {"operators": OPERATORS, "control_plane": control_plane(), "data_plane": control_plane(OTHER)},
    ),
    "MeshDeployment, the control plane's": (
        hosted_mesh.MeshDeployment,
        lambda: deployment(data_plane(), data_plane(OTHER)),
    ),
    "ApplicationDeployment": (
        hosted_mesh.ApplicationDeployment,
        lambda: {
            "name": "books",
            "namespace": "books",
            "parts": [{"name": "page", "manifests": [CONFIG_MAP], "place": {"names": ["east"]}}],
            "clusters": [{"name": "east", "cluster": control_plane()}],
        },
    ),
    "MeshDeployment, a data plane's": (
        hosted_mesh.MeshDeployment,
        lambda: deployment(control_plane(), control_plane(OTHER)),
    ),
}


@pytest.mark.parametrize("case", SWAPPED)
def test_a_swapped_pair_is_refused_before_anything_is_made(case: str) -> None:
    component, arguments = SWAPPED[case]
    found: list[Registered] = []
    with pytest.raises(InvalidInputError, match="Are the two clusters swapped"):
        run(lambda: component("demo", arguments()), into=found)
    assert [one.type for one in found] == [f"hosted-mesh:index:{component.__name__}"]


def test_every_component_with_a_cluster_is_tried() -> None:
    """MeshRoot and MeshTrust make no object in any."""
    components = {
        name
        for name in hosted_mesh.__all__
        if isinstance(found := getattr(hosted_mesh, name), type) and issubclass(found, pulumi.ComponentResource)
    }
    assert {component.__name__ for component, _ in SWAPPED.values()} == components - {"MeshRoot", "MeshTrust"}
