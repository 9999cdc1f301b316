"""The inventory of discovered meshes, from the lists of API servers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families
from pulumi_hosted_mesh.cli import discover as command
from pulumi_hosted_mesh.cli.command import app
from pulumi_hosted_mesh.clusters.api_server import ApiServer, RefusedError
from pulumi_hosted_mesh.intents.compiler import compile_intents
from pulumi_hosted_mesh.operations.discovery.cluster_observation import READ, ClusterObservation, observe
from pulumi_hosted_mesh.operations.discovery.inventory import inventory_of
from pulumi_hosted_mesh.operations.discovery.meshes import discover
from pulumi_hosted_mesh.spec.intents import Intents
from pulumi_hosted_mesh.spec.inventory import Inventory
from pulumi_hosted_mesh.spec.load import read_document
from typer.testing import CliRunner

Manifest = dict[str, Any]
LABEL = "hosted-mesh.io/mesh"


def thing(name: str, namespace: str = "", **rest: Any) -> Manifest:
    labels = rest.pop("labels", {})
    return {"metadata": {"name": name, "labels": labels} | ({"namespace": namespace} if namespace else {}), **rest}


def injector(cluster: str) -> Manifest:
    hook = {
        "name": "rev.namespace.sidecar-injector.istio.io",
        "clientConfig": {"url": f"https://istiod.shop.test/inject/cluster/{cluster}/net/shop"},
        "namespaceSelector": {"matchLabels": {"istio-injection": "enabled"}},
    }
    return thing("injector", labels={LABEL: "shop", "istio.io/rev": "default"}, webhooks=[hook])


def workload(name: str, namespace: str, version: str = "", **pod: Any) -> Manifest:
    labels = {"app": name} | ({"version": version} if version else {})
    template = {"metadata": {"labels": labels}, "spec": {"serviceAccountName": f"{name}-account", **pod}}
    return thing(f"{name}-{version}".strip("-"), namespace, spec={"template": template})


def gateway(name: str, *ports: int, address: str = "", namespace: str = "mesh-shop") -> list[tuple[str, Manifest]]:
    notes = {"inject.istio.io/templates": "gateway"}
    template = {"metadata": {"labels": {"app": name}, "annotations": notes}}
    status = {"loadBalancer": {"ingress": [{"ip": address}]}} if address else {}
    spec = {"selector": {"app": name}, "ports": [{"port": port} for port in ports]}
    return [
        ("Deployment", thing(name, namespace, labels={LABEL: "shop"}, spec={"template": template})),
        ("Service", thing(name, namespace, spec=spec, status=status)),
    ]


def service(name: str, namespace: str, *ports: Manifest, **selector: str) -> tuple[str, Manifest]:
    return "Service", thing(name, namespace, spec={"selector": selector or {"app": name}, "ports": list(ports)})


class Lists(ApiServer):
    """Answers lists from memory; the kinds of `closed` are forbidden."""

    def __init__(self, objects: list[tuple[str, Manifest]], closed: tuple[str, ...] = ()) -> None:
        self.objects, self.closed = objects, closed

    def list(self, path: str, *, metadata_only: bool = False, most: int = 0) -> Iterator[Manifest]:
        (kind,) = (kind for kind, (known, _) in READ.items() if known == path)
        if kind in self.closed:
            raise RefusedError(f"{kind} is forbidden", 403)
        yield from (one for found, one in self.objects if found == kind)


def lists(cluster: str, *more: tuple[str, Manifest]) -> list[tuple[str, Manifest]]:
    return [
        ("Namespace", thing("books", labels={"istio-injection": "enabled"})),
        ("Namespace", thing("other")),
        ("MutatingWebhookConfiguration", injector(cluster)),
        *more,
    ]


EAST = lists(
    "east",
    service("page", "books", {"port": 80, "name": "http", "targetPort": "web"}),
    ("Deployment", workload("page", "books", containers=[{"ports": [{"name": "web", "containerPort": 8080}]}])),
    service("reviews", "books", {"port": 9080, "appProtocol": "grpc"}, {"port": 53, "protocol": "UDP"}),
    ("Deployment", workload("reviews", "books", "v1")),
    ("Deployment", workload("reviews", "books", "v2")),
    service("db", "books", {"port": 5432}, role="store"),
    service("unmeshed", "other", {"port": 80}),
    ("Service", thing("outside", "books", spec={"externalName": "api.example.org"})),
    *gateway("eastwest", 15021, 15443, address="203.0.113.7"),
    *gateway("leaving", 8443),
    *gateway("front", 80, 443, address="203.0.113.8", namespace="edge"),
)
WEST = lists("west", service("reviews", "books", {"port": 9080, "appProtocol": "grpc"}))


def observed(*clusters: tuple[str, ApiServer]) -> list[ClusterObservation]:
    return [observe(name, api) for name, api in clusters]


def test_clusters_gateways_and_services_of_two_clusters() -> None:
    seen = observed(("context-1", Lists(EAST)), ("context-2", Lists(WEST)))
    found = inventory_of(seen, discover(seen)).model_dump(mode="json", by_alias=True, exclude_unset=True)
    assert found["clusters"] == [
        {
            "name": "east",
            "mesh": "shop",
            "gateways": [
                {"name": "front", "role": "ingress", "namespace": "edge", "addresses": ["203.0.113.8"]},
                {"name": "eastwest", "role": "east-west", "addresses": ["203.0.113.7"]},
                {"name": "leaving", "role": "egress", "port": 8443},
            ],
        },
        {"name": "west", "mesh": "shop"},
    ]
    common = {"namespace": "books"}
    assert found["services"] == [
        {
            "name": "db",
            **common,
            "clusters": ["east"],
            "labels": {"role": "store"},
            "ports": [{"port": 5432, "protocol": "TCP"}],
        },
        {
            "name": "page",
            **common,
            "clusters": ["east"],
            "serviceAccount": "page-account",
            "ports": [{"port": 80, "protocol": "HTTP", "targetPort": 8080}],
        },
        {
            "name": "reviews",
            **common,
            "clusters": ["east", "west"],
            "serviceAccount": "reviews-account",
            "versions": ["v1", "v2"],
            "ports": [{"port": 9080, "protocol": "GRPC"}],
        },
    ]


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[ClusterObservation]:
    """The observations of the command, in place of clusters."""
    seen: list[ClusterObservation] = []
    monkeypatch.setattr(command, "choose", lambda *_: [])
    monkeypatch.setattr(command, "of_environment", lambda: ["here"])
    monkeypatch.setattr(command, "read", lambda _: seen)
    return seen


def test_the_command_prints_a_document_that_intents_compile_with(reads: list[ClusterObservation]) -> None:
    reads += observed(("context-1", Lists(EAST)), ("context-2", Lists(WEST)))
    done = CliRunner().invoke(app, ["discover", "--inventory"])
    assert done.exit_code == 0, done.output
    intent = {
        "type": "intra-cluster",
        "name": "calls",
        "service": {"name": "reviews", "namespace": "books", "protocol": "GRPC"},
        "clients": [{"service": "page"}],
    }
    document = {"project": "p", "application": "a", "groups": [{"name": "all", "intents": [intent]}]}
    places = read_document(Inventory, yaml.safe_load(done.output))
    allow, _ = compile_intents(read_document(Intents, document), places).objects["east"]
    assert allow["spec"]["rules"][0]["from"][0]["source"]["principals"] == ["shop.mesh.local/ns/books/sa/page-account"]


@pytest.mark.parametrize(
    "missing",
    [
        ClusterObservation("west", unreachable="it does not answer"),
        observe("west", Lists(WEST, closed=("Deployment",))),
    ],
    ids=["unreachable", "forbidden"],
)
def test_no_inventory_is_printed_without_a_cluster(
    reads: list[ClusterObservation], missing: ClusterObservation
) -> None:
    """Its services would seem to be nowhere there."""
    reads += [*observed(("east", Lists(EAST))), missing]
    done = CliRunner().invoke(app, ["discover", "--inventory"])
    assert (done.exit_code, done.stdout) == (4, "")
    assert done.stderr.startswith("west: ")


def test_an_unreadable_secret_is_no_loss(reads: list[ClusterObservation]) -> None:
    reads += observed(("east", Lists(EAST, closed=("Secret",))))
    assert CliRunner().invoke(app, ["discover", "--inventory"]).exit_code == 0


def test_the_option_stands_alone(reads: list[ClusterObservation]) -> None:
    done = CliRunner().invoke(app, ["discover", "--inventory", "--json"])
    assert done.exit_code != 0
    assert "--inventory: is given with --json, --services or --watch. Give one of them" in done.output.replace(
        "\n", " "
    )


def test_services_have_their_workloads_versions_and_other_clusters(reads: list[ClusterObservation]) -> None:
    store = {"metadata": {"labels": {"role": "store"}}, "spec": {"containers": [{"image": "example.com/db:16.2"}]}}
    spec = {"replicas": 3, "template": store}
    stateful = ("StatefulSet", thing("db", "books", spec=spec, status={"readyReplicas": 2}))
    reads += observed(("context-1", Lists([*EAST, stateful])), ("context-2", Lists(WEST)))
    done = CliRunner().invoke(app, ["discover", "--json"])
    assert done.exit_code == 0, done.output
    found = {(one["cluster"], one["name"]): one for one in json.loads(done.output)["services"]}
    assert found.keys() == {
        *(("context-1", name) for name in ("page", "reviews", "db")),
        ("context-2", "reviews"),
    }
    reviews = found["context-1", "reviews"]
    assert (reviews["mesh"], reviews["also_in"]) == ("shop", ["context-2"])
    assert [(one["name"], one["version"]) for one in reviews["workloads"]] == [
        ("reviews-v1", "v1"),
        ("reviews-v2", "v2"),
    ]
    assert found["context-2", "reviews"]["also_in"] == ["context-1"]
    (db,) = found["context-1", "db"]["workloads"]
    assert db == {"kind": "StatefulSet", "name": "db", "version": "16.2", "ready": 2, "wanted": 3}

    shown = CliRunner().invoke(app, ["discover", "--services"]).output.splitlines()
    assert shown[0].split() == ["SERVICE", "MESH", "CLUSTER", "ALSO", "IN", "WORKLOAD", "VERSION", "READY"]
    assert shown[1].split() == ["books/db", "shop", "context-1", "-", "StatefulSet", "db", "16.2", "2/3"]


def test_files_are_written_beside_the_table(
    reads: list[ClusterObservation], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "choose", lambda *_: [("context-1", "", ""), ("context-2", "", "")])
    reads += observed(("context-1", Lists(EAST)), ("context-2", Lists(WEST)))
    inventory, metrics = tmp_path / "inventory.yaml", tmp_path / "meshes.prom"
    options = [f"--inventory-file={inventory}", f"--metrics-file={metrics}"]
    assert CliRunner().invoke(app, ["discover", *options]).exit_code == 0
    whole = inventory.read_text()
    assert [one.name for one in read_document(Inventory, yaml.safe_load(whole)).clusters] == ["east", "west"]
    samples = {
        (sample.name.removeprefix("hosted_mesh_discovered_"), *sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(metrics.read_text())
        for sample in family.samples
    }
    assert samples["cluster_read", ("cluster", "context-1")] == 1
    place = (("cluster", "context-1"), ("mesh", "shop"), ("namespace", "books"))
    assert samples["proxies", *place, ("revision", "default")] == 0
    more = (("service", "reviews"), ("version", "v2"), ("workload", "reviews-v2"))
    assert samples["workload_wanted", *place, *more] == 1

    # Without a cluster the inventory stays, and the metrics have the loss.
    reads[1] = ClusterObservation("context-2", unreachable='it "does" not\nanswer')
    done = CliRunner().invoke(app, ["discover", *options])
    assert done.exit_code == 4
    assert f"{inventory}: is not written" in done.stderr
    assert inventory.read_text() == whole
    assert 'cluster_read{cluster="context-2"} 0' in metrics.read_text()


def test_a_file_that_cannot_be_written_is_named(reads: list[ClusterObservation], tmp_path: Path) -> None:
    reads += observed(("context-1", Lists(EAST)))
    done = CliRunner().invoke(app, ["discover", f"--metrics-file={tmp_path}/none/meshes.prom"])
    assert done.exit_code == 1
    assert "cannot be written: No such file or directory. Check the path" in done.output.replace("\n", " ")
