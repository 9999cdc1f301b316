"""MeshDeployment as a program registers it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pulumi_hosted_mesh as hosted_mesh
import pytest
import yaml
from pulumi_hosted_mesh.clusters import distinct
from pulumi_hosted_mesh.clusters.kubeconfig import Kubeconfig

from tests.unit.library.assembly.kubeconfigs import kubeconfig, repeated
from tests.unit.library.documents import CERTIFICATE
from tests.unit.library.program import Registered, run

pytestmark = pytest.mark.usefixtures("without_transforms")
EXAMPLE = Path(__file__).parents[4] / "examples/many_clusters/deployment.yaml"


def example(directory: Path, change: Callable[[dict[str, Any]], object] = lambda _: None) -> Path:
    """The example's document, with kubeconfigs of clusters where nobody answers."""
    document: dict[str, Any] = yaml.safe_load(EXAMPLE.read_text())
    for port, part in enumerate([document["controlPlane"], *document["clusters"]], 1):
        config = directory / f"config-{port}"
        config.write_text(kubeconfig(f"https://127.0.0.1:{port}"))
        if "cluster" in part:
            part["cluster"] = {"kubeconfig": str(config), "identity": f"it-{port}"}
    change(document)
    file = directory / "deployment.yaml"
    file.write_text(yaml.safe_dump(document))
    return file


def registered(file: Path, into: list[Registered] | None = None) -> list[Registered]:
    return run(lambda: hosted_mesh.MeshDeployment("fleet", hosted_mesh.read_deployment(file)), preview=True, into=into)


def test_each_chosen_cluster_has_a_mesh_below_the_deployment(tmp_path: Path) -> None:
    found = registered(example(tmp_path))
    assert repeated(found) == []
    meshes = {one.name: one.parent for one in found if one.type == "hosted-mesh:index:HostedMesh"}
    assert meshes == {"fleet-berlin": "fleet", "fleet-tokyo": "fleet"}
    assert not [one.name for one in found if "workshop" in one.name]
    providers = {one.name: one.inputs["clusterIdentifier"] for one in found if "providers:kubernetes" in one.type}
    assert providers["fleet-control-plane-cluster"] == "control-plane-it-1"
    assert providers["fleet-tokyo-data-plane-cluster"] == "data-plane-it-3"


def test_each_cluster_is_asked_once_who_it_is_and_two_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The deployment compares its clusters, and each of its meshes does."""
    asked: list[str] = []
    met = threading.Barrier(2)

    def uid_of(config: Kubeconfig) -> str:
        asked.append(config.server)
        if len(asked) <= 2:
            met.wait(60)
        return config.server

    monkeypatch.setattr(distinct, "kube_system_uid", uid_of)
    registered(example(tmp_path))
    assert sorted(asked) == [f"https://127.0.0.1:{port}" for port in (1, 2, 3)]


def test_members_are_made_in_their_own_cluster_and_labelled_for_sidecars(tmp_path: Path) -> None:
    found = {one.name: one for one in registered(example(tmp_path)) if one.type == "kubernetes:core/v1:Namespace"}
    for place in ("berlin", "tokyo"):
        member = found[f"fleet-{place}-namespace-bookinfo"]
        assert member.provider == f"fleet-{place}-data-plane-cluster"
        labels = member.inputs["metadata"]["labels"]
        assert labels["istio-injection"] == "enabled"
        assert labels["hosted-mesh.io/mesh"] == f"fleet-{place}"


def test_an_override_reaches_its_cluster_alone(tmp_path: Path) -> None:
    charts = [one for one in registered(example(tmp_path)) if one.inputs.get("chart") == "istiod"]
    lifetimes = {
        one.name: one.inputs["values"]["env"]["DEFAULT_WORKLOAD_CERT_TTL"]
        for one in charts
        if "env" in one.inputs["values"]
    }
    assert lifetimes == {"fleet-berlin-istiod": "24h", "fleet-tokyo-istiod": "12h"}


def test_what_each_mesh_says_comes_by_cluster(tmp_path: Path) -> None:
    """Of addresses somebody makes names in DNS, and webhooks that are unmanaged somebody installs."""
    token, request = {"token": "dDBrM24="}, "-----BEGIN CERTIFICATE REQUEST-----"
    address = {"loadBalancer": {"ingress": [{"ip": "192.0.2.7"}]}}
    answers: dict[str, dict[str, Any]] = {}
    for mesh in ("fleet-berlin", "fleet-tokyo"):
        answers |= {
            f"{mesh}-istiod-token-1": {"data": token},
            f"{mesh}-intermediate-request": {"certRequestPem": request},
            f"{mesh}-istiod-exposed-{mesh}": {"status": address},
        }
        for key in ("root-key", "intermediate-key"):
            answers[f"{mesh}-{key}"] = {"privateKeyPemPkcs8": "a key"}
        for certificate in ("root-certificate", f"signs-{mesh}"):
            answers[f"{mesh}-{certificate}"] = {"certPem": CERTIFICATE}
    told: dict[str, Any] = {}

    def program() -> None:
        fleet = hosted_mesh.MeshDeployment("fleet", hosted_mesh.read_deployment(example(tmp_path)))
        for name in ("addresses", "gateway_addresses", "webhook_manifests"):
            getattr(fleet, name).apply(lambda found, name=name: told.update({name: found}))

    run(program, outputs=answers)
    assert told["addresses"] == {place: {f"istiod.{place}.example.com": ["192.0.2.7"]} for place in ("berlin", "tokyo")}
    assert told["gateway_addresses"] == {"berlin": {}, "tokyo": {}}
    names = {place: [one["metadata"]["name"] for one in found] for place, found in told["webhook_manifests"].items()}
    assert names == {
        place: [f"istio-{kind}-mesh-fleet-{place}" for kind in ("sidecar-injector", "validator")]
        for place in ("berlin", "tokyo")
    }


def test_a_shared_root_signs_an_intermediate_for_each_mesh(tmp_path: Path) -> None:
    found = registered(example(tmp_path, lambda it: it.update(root="shared")))
    assert repeated(found) == []
    roots = [(one.name, one.parent) for one in found if one.type == "hosted-mesh:index:MeshRoot"]
    assert roots == [("fleet", "fleet")]
    keys = {one.name for one in found if one.type == "tls:index/privateKey:PrivateKey"}
    assert keys == {"fleet-root-key", "fleet-berlin-intermediate-key", "fleet-tokyo-intermediate-key"}
    signed = {one.name for one in found if one.type == "tls:index/locallySignedCert:LocallySignedCert"}
    assert signed == {"fleet-signs-fleet-berlin", "fleet-signs-fleet-tokyo"}


def with_cacerts(directory: Path, given: dict[str, Any], *, management: str = "brought") -> list[Registered]:
    def brought(document: dict[str, Any]) -> None:
        document["template"]["trust"] = {"management": management}

    def program() -> None:
        arguments: Any = {**hosted_mesh.read_deployment(example(directory, brought)), "intermediates": given}
        hosted_mesh.MeshDeployment("fleet", arguments)

    return run(program, preview=True)


FILES = dict.fromkeys(("ca-cert.pem", "ca-key.pem", "cert-chain.pem", "root-cert.pem"), CERTIFICATE)


def test_brought_intermediates_reach_their_own_cluster_s_mesh(tmp_path: Path) -> None:
    given = {place: {**FILES, "ca-key.pem": f"the key of {place}"} for place in ("berlin", "tokyo")}
    found = with_cacerts(tmp_path, given)
    assert not [one.name for one in found if one.type.startswith("tls:")]
    secrets = [one for one in found if one.name.endswith("cacerts") and one.type == "kubernetes:core/v1:Secret"]
    keys = {one.name: one.inputs["stringData"]["ca-key.pem"] for one in secrets}
    assert keys == {f"fleet-{place}-cacerts": f"the key of {place}" for place in ("berlin", "tokyo")}


BROUGHT: dict[str, tuple[dict[str, Any], str, str]] = {
    "none for one": ({"berlin": FILES}, "brought", "intermediates.tokyo: is required with trust.management: brought"),
    "one of no cluster": (
        {"berlin": FILES, "tokyo": FILES, "paris": FILES},
        "brought",
        "intermediates.paris: is of no selected cluster with trust.management: brought",
    ),
    "those that nobody uses": ({"berlin": FILES}, "own", "intermediates.berlin: is of no selected cluster with"),
    "one that lacks a file": (
        {"berlin": FILES, "tokyo": {"ca-cert.pem": CERTIFICATE}},
        "brought",
        "cacerts: lacks ca-key.pem, root-cert.pem, cert-chain.pem",
    ),
}


@pytest.mark.parametrize("case", BROUGHT)
def test_files_without_a_mesh_and_meshes_without_files_are_refused(case: str, tmp_path: Path) -> None:
    given, management, words = BROUGHT[case]
    with pytest.raises(hosted_mesh.InvalidInputError) as refused:
        with_cacerts(tmp_path, given, management=management)
    assert words in str(refused.value)


SPOILED: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "one cluster under two names": (
        lambda it: it["clusters"][1].update(cluster=dict(it["clusters"][0]["cluster"])),
        "clusters[1].cluster: has the same API server as clusters[0].cluster",
    ),
    "no kubeconfig": (lambda it: it["clusters"][0].pop("cluster"), "clusters[0].cluster: is required"),
    "charts that are missing": (
        lambda it: it["template"]["revisions"][0].update(charts={"path": "/"}),
        "charts.path: has no chart",
    ),
    "the control plane's cluster": (
        lambda it: it["clusters"][1].update(cluster=dict(it["controlPlane"]["cluster"])),
        "clusters[1].cluster: has the same API server as controlPlane.cluster",
    ),
}


@pytest.mark.parametrize("case", SPOILED)
def test_nothing_is_made_of_what_cannot_be_used(case: str, tmp_path: Path) -> None:
    spoil, words = SPOILED[case]
    found: list[Registered] = []
    with pytest.raises(hosted_mesh.InvalidInputError) as refused:
        registered(example(tmp_path, spoil), found)
    assert words in str(refused.value)
    assert {one.type for one in found} <= {"hosted-mesh:index:MeshDeployment"}
