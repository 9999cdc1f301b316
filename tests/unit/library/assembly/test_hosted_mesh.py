"""HostedMesh as a program registers it: names are its own, whatever else the program has."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pulumi
import pulumi_hosted_mesh as hosted_mesh
import pytest
import yaml
from pulumi_hosted_mesh.boundary.arguments import mesh_of
from pulumi_hosted_mesh.boundary.cacerts import FILES
from pulumi_hosted_mesh.boundary.endpoint import ControlPlaneEndpoint
from pulumi_hosted_mesh.charts.service_addresses import chart_addresses
from pulumi_hosted_mesh.clusters import distinct
from pulumi_hosted_mesh.clusters.kubeconfig import Kubeconfig, for_account
from pulumi_hosted_mesh.problems import InvalidInputError
from pulumi_hosted_mesh.spec.load import read_document
from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_kubernetes import core
from pulumi_kubernetes.helm import v4 as helm

from tests.unit.library.assembly.kubeconfigs import (
    kubeconfig,
    repeated,
)
from tests.unit.library.documents import CERTIFICATE, as_field, document
from tests.unit.library.program import Registered, run

pytestmark = pytest.mark.usefixtures("without_transforms")


@pytest.fixture
def clusters(tmp_path: Path) -> list[dict[str, Any]]:
    """Two clusters, as a document names them."""
    for port in (1, 2):
        (tmp_path / f"config-{port}").write_text(kubeconfig(f"https://127.0.0.1:{port}"))
    return [{"kubeconfig": str(tmp_path / f"config-{port}"), "identity": f"it-{port}"} for port in (1, 2)]


def mesh_file(path: Path, clusters: list[dict[str, Any]], changes: dict[str, Any]) -> Path:
    here, there = clusters
    places = {"controlPlane": {"cluster": here}, "memberships.0.cluster": there}
    path.write_text(yaml.safe_dump(document(places | {"memberships.0.access": {}} | changes)))
    return path


def test_two_meshes_from_documents_in_one_program(tmp_path: Path, clusters: list[dict[str, Any]]) -> None:
    names = ("shop", "bank")

    def program() -> None:
        for name in names:
            of_its_own = {"name": name, "revisions.0.name": name, "revisions.0.host": f"istiod.{name}.example.com"}
            file = mesh_file(tmp_path / name, clusters, of_its_own)
            hosted_mesh.HostedMesh(name, hosted_mesh.read_mesh(file))

    found = run(program, preview=True)
    assert repeated(found) == []
    providers = {one.name: one for one in found if one.type == "pulumi:providers:kubernetes"}
    ways = ("control-plane-cluster", "data-plane-cluster", "data-plane-cluster-adopting")
    assert providers.keys() == {f"{name}-{way}" for name in names for way in ways}
    assert {one.parent for one in providers.values()} == set(names)
    # What the document says of the clusters arrives.
    assert providers["shop-data-plane-cluster"].inputs["clusterIdentifier"] == "data-plane-it-2"


@pytest.mark.parametrize("versions", [("1.31.2", "1.31.10"), ("1.31.10", "1.31.2"), ("1.32.0", "1.32.0-beta.1")])
def test_definitions_are_those_of_the_newest_revision_wherever_it_stands(
    versions: tuple[str, str], tmp_path: Path, clusters: list[dict[str, Any]]
) -> None:
    canary = {"name": "canary", "host": "canary.demo.example.com", "exposure": {"openToAll": True}}
    first, second = ({"version": version} for version in versions)
    changes = {"revisions.0.charts": first, "revisions.1": {**canary, "charts": second}}

    def program() -> None:
        hosted_mesh.HostedMesh("demo", hosted_mesh.read_mesh(mesh_file(tmp_path / "mesh", clusters, changes)))

    (chart,) = [one for one in run(program, preview=True) if one.inputs.get("chart") == "base"]
    assert chart.inputs["version"] == ("1.31.10" if "1.31.10" in versions else "1.32.0")


TWICE: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "at one address": (
        {"kubeconfig": kubeconfig("https://127.0.0.1:2")},
        {"kubeconfig": kubeconfig("https://127.0.0.1:2/")},
        "memberships[1].cluster: has the same API server as memberships[0].cluster",
    ),
    "under two addresses": (
        {"kubeconfig": kubeconfig("https://127.0.0.1:2")},
        {"kubeconfig": kubeconfig("https://127.0.0.1:3")},
        "memberships[1].cluster: is memberships[0].cluster under another address: both have the same kube-system",
    ),
    "under one identity": (
        {"kubeconfig": kubeconfig("https://127.0.0.1:2"), "identity": "it-2"},
        {"kubeconfig": kubeconfig("https://127.0.0.1:3"), "identity": "it-2"},
        "memberships[1].cluster: has the same identity as memberships[0].cluster",
    ),
}


def with_two_data_planes(*clusters: dict[str, Any]) -> None:
    """A mesh of two members, in a program."""
    arguments: dict[str, Any] = {
        "name": "demo",
        "control_plane": {"cluster": {"kubeconfig": kubeconfig("https://127.0.0.1:1"), "identity": "it-1"}},
        "revisions": [{"host": "istiod.demo.example.com", "exposure": {"source_ranges": ["203.0.113.0/24"]}}],
        "memberships": [
            {"name": name, "cluster": cluster} for name, cluster in zip(("default", "second"), clusters, strict=True)
        ],
    }
    hosted_mesh.HostedMesh("demo", arguments)


@pytest.mark.parametrize("case", TWICE)
def test_two_memberships_in_one_cluster_are_refused_before_anything_is_made(
    case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    *clusters, words = TWICE[case]
    monkeypatch.setattr(distinct, "kube_system_uid", lambda config: "one" if config.server.endswith(":1") else "two")
    found: list[Registered] = []
    with pytest.raises(InvalidInputError) as refused:
        run(lambda: with_two_data_planes(*clusters), preview=True, into=found)
    assert words in str(refused.value)
    assert [one.type for one in found] == ["hosted-mesh:index:HostedMesh"]


def test_two_memberships_in_one_cluster_from_outputs_are_refused_before_it_is_written_to() -> None:
    def program() -> None:
        same = pulumi.Output.from_input(kubeconfig("https://127.0.0.1:2"))
        with_two_data_planes({"kubeconfig": same, "identity": "it-2"}, {"kubeconfig": same, "identity": "it-3"})

    found: list[Registered] = []
    with pytest.raises(InvalidInputError) as refused:
        run(program, preview=True, into=found)
    assert "memberships[1].cluster: has the same API server as memberships[0].cluster" in str(refused.value)
    assert not [one.name for one in found if "data-plane-cluster" in one.provider]


def test_a_cluster_is_asked_once_who_it_is_however_many_it_is_compared_with(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def uid_of(config: Kubeconfig) -> str:
        asked.append(config.server)
        return config.server

    monkeypatch.setattr(distinct, "kube_system_uid", uid_of)
    two = [{"kubeconfig": kubeconfig(f"https://127.0.0.1:{port}")} for port in (2, 3)]
    run(lambda: with_two_data_planes(*two), preview=True)
    assert sorted(asked) == [f"https://127.0.0.1:{port}" for port in (1, 2, 3)]


@pytest.mark.parametrize(
    "path",
    [
        "name",
        "revisions.0.host",
        "revisions.0.exposure",
        "revisions.0.exposure.source_ranges",
        "revisions.0.exposure.kind",
        "revisions.0.istiod.replicas",
        "revisions.0.istiod.environment.TOKEN_AUDIENCE",
        "memberships",
        "memberships.0.webhooks.management",
        "trust.root.protect",
    ],
)
def test_an_output_where_the_value_is_needed_is_named_as_one(path: str) -> None:
    arguments: dict[str, Any] = {
        "name": "demo",
        "revisions": [{"host": "istiod.demo.example.com", "exposure": {"source_ranges": ["203.0.113.0/24"]}}],
        "memberships": [{}],
    }
    part: Any = arguments
    *parents, last = path.split(".")
    for step in parents:
        part = part[int(step)] if isinstance(part, list) else part.setdefault(step, {})

    def program() -> None:
        part[last] = pulumi.Output.from_input("a value")
        mesh_of(arguments)

    with pytest.raises(InvalidInputError) as refused:
        run(program)
    (problem,) = refused.value.problems
    assert problem.field == as_field(path)
    assert problem.rule.startswith("is an Output")


async def awaited(value: str) -> str:
    return value


@pytest.mark.parametrize("spelled", ["api_server", "apiServer"])
@pytest.mark.parametrize("given", [str, pulumi.Output.from_input, awaited], ids=["plain", "Output", "awaitable"])
def test_an_api_servers_address_comes_in_either_spelling_and_when_it_is_known(
    spelled: str, given: Callable[[str], Any]
) -> None:
    """A part of the arguments may come from YAML, a stack's configuration for one, as in clusters_from_outputs."""

    def program() -> None:
        arguments: Any = {
            "name": "demo",
            "control_plane": {"cluster": {"kubeconfig": kubeconfig("https://127.0.0.1:1"), "identity": "it-1"}},
            "revisions": [{"host": "istiod.demo.example.com", "exposure": {"kind": "external"}}],
            "memberships": [
                {
                    "cluster": {"kubeconfig": kubeconfig("https://127.0.0.1:2"), "identity": "it-2"},
                    "access": {spelled: given("https://api.example.com:6443")},
                }
            ],
            "trust": {"management": "unmanaged"},
            "root_certificate": CERTIFICATE,
        }
        hosted_mesh.HostedMesh("demo", arguments)

    found = run(program, outputs={"demo-istiod-token-1": {"data": {"token": "dDBrM24="}}})
    (secret,) = [one for one in found if one.name == "demo-istio-kubeconfig"]
    written = json.loads(secret.inputs["stringData"]["config"])
    assert written["clusters"][0]["cluster"]["server"] == "https://api.example.com:6443"


def test_an_endpoint_that_is_an_output_is_named_as_one() -> None:
    with pytest.raises(InvalidInputError, match="endpoint: is an Output"):
        run(lambda: print(ControlPlaneEndpoint.from_facts(pulumi.Output.from_input({}))))


def addresses_of(changes: dict[str, Any], answers: dict[str, dict[str, Any]]) -> dict[str, list[str]]:
    """What a control plane says of its load balancers. answers: what its Services are, by name in the program."""
    told: dict[str, list[str]] = {}

    def program() -> None:
        made = hosted_mesh.ExternalControlPlane(
            "demo",
            {
                "mesh": read_document(Mesh, document(changes)).arguments(),
                "cluster": hosted_mesh.ControlPlaneCluster(kubeconfig=kubeconfig("https://127.0.0.1:1")),
                "kubeconfigs": {"default": for_account("demo", "https://api.user.example.com:6443", CERTIFICATE, "x")},
                "root_certificate": CERTIFICATE,
                "cacerts": dict.fromkeys(FILES, CERTIFICATE),
            },
        )
        made.addresses.apply(told.update)

    found = run(program, outputs=answers)
    assert answers.keys() <= {one.name for one in found}
    return told


def test_istiods_hosts_come_with_their_load_balancers_addresses() -> None:
    """Two Services where the webhooks have one of their own; none of a revision that somebody else exposes."""
    ranges = {"sourceRanges": ["203.0.113.0/24"]}
    changes = {
        "revisions.0.exposure": {**ranges, "webhooks": {**ranges, "host": "hooks.demo.example.com"}},
        "revisions.1": {"name": "canary", "host": "canary.demo.example.com", "exposure": {"kind": "external"}},
    }
    answers = {
        "demo-istiod-exposed-demo": balanced({"ip": "192.0.2.8"}, {"ip": "192.0.2.7"}),
        "demo-istiod-exposed-demo-webhooks": balanced({"hostname": "lb.example.net"}),
    }
    assert addresses_of(changes, answers) == {
        "istiod.demo.example.com": ["192.0.2.7", "192.0.2.8"],
        "hooks.demo.example.com": ["lb.example.net"],
    }


@pytest.mark.parametrize("answer", [{}, {"status": {"loadBalancer": {}}}])
def test_a_load_balancer_without_an_address_has_none(answer: dict[str, Any]) -> None:
    assert addresses_of({}, {"demo-istiod-exposed-demo": answer}) == {"istiod.demo.example.com": []}


def test_a_chart_has_the_addresses_of_its_services() -> None:
    told: list[str] = []

    @dataclass
    class Chart:
        resources: Any

    def program() -> None:
        services = [core.v1.Service(name, spec={"type": "LoadBalancer"}) for name in ("one", "two")]
        made = [*services, core.v1.ConfigMap("three")]
        chart_addresses(cast(helm.Chart, Chart(pulumi.Output.from_input(made)))).apply(told.extend)

    run(program, outputs={"one": balanced({"ip": "192.0.2.1", "hostname": "lb.example.net"}), "two": {}})
    assert told == ["192.0.2.1"]


def balanced(*entries: dict[str, str]) -> dict[str, Any]:
    return {"status": {"loadBalancer": {"ingress": list(entries)}}}


def test_a_bounded_token_is_refused_before_anything_is_made(tmp_path: Path, clusters: list[dict[str, Any]]) -> None:
    file = mesh_file(tmp_path / "mesh", clusters, {"memberships.0.access": {"token": "bounded"}})
    found: list[Registered] = []
    with pytest.raises(InvalidInputError, match=r"memberships\[0\]\.access\.token: is `bounded`"):
        run(lambda: hosted_mesh.HostedMesh("demo", hosted_mesh.read_mesh(file)), into=found)
    assert [one.type for one in found] == ["hosted-mesh:index:HostedMesh"]
