"""Istio's charts, rendered by helm with the library's values: what a document sets, and what stays."""

from __future__ import annotations

import asyncio
import json
import subprocess
from pathlib import Path
from typing import Any

import yaml
from pulumi_hosted_mesh.boundary.endpoint import ControlPlaneEndpoint
from pulumi_hosted_mesh.control_plane.istiod_values import istiod_values
from pulumi_hosted_mesh.control_plane.manifests import with_revocation_list
from pulumi_hosted_mesh.data_plane.values import remote_values
from pulumi_hosted_mesh.spec.load import read_document
from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.spec.reserved import CHARTS_ENVIRONMENT, ISTIODS_VALUES

from sandbox.toolchain import Tools
from tests.unit.library.documents import CERTIFICATE, document


def rendered(values: dict[str, Any], tools: Tools, directory: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """The istiod chart's objects by kind and name."""
    file = directory / "values.yaml"
    file.write_text(yaml.safe_dump(values))
    command = [
        str(tools["helm"]),
        "template",
        "istiod",
        str(tools.charts / "istiod"),
        "-n",
        "mesh-demo",
        "-f",
        str(file),
    ]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    objects = [item for item in yaml.safe_load_all(output) if item]
    return {(item["kind"], item["metadata"]["name"]): item for item in objects}


def istiod_of(mesh_document: dict[str, Any]) -> dict[str, Any]:
    """The values of a document's one istiod."""
    mesh = read_document(Mesh, mesh_document)
    return istiod_values(mesh, mesh.revisions[0])


def environment(values: dict[str, Any], tools: Tools, directory: Path) -> list[str]:
    """Names in istiod's environment, in their order."""
    deployment = rendered(values, tools, directory)["Deployment", "istiod"]
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    return [variable["name"] for variable in container["env"]]


def test_the_document_refuses_exactly_what_the_chart_sets(tools: Tools, tmp_path: Path) -> None:
    values = istiod_of(document())
    names = environment(values, tools, tmp_path)
    assert set(names) - values["env"].keys() == CHARTS_ENVIRONMENT
    assert len(set(names)) == len(names)


def test_the_document_knows_the_values_of_the_chart(tools: Tools) -> None:
    values = yaml.safe_load((tools.charts / "istiod/values.yaml").read_text())
    assert values["_internal_defaults_do_not_set"].keys() == ISTIODS_VALUES


def test_a_free_variable_is_there_once(tools: Tools, tmp_path: Path) -> None:
    mine = {"MINE": "1"}
    names = environment(istiod_of(document({"revisions.0.istiod.environment": mine})), tools, tmp_path)
    assert names.count("MINE") == 1


def test_joined_lists_leave_the_splits_own_in_place(tools: Tools, tmp_path: Path) -> None:
    more = {"volumes": [{"name": "mine", "emptyDir": {}}], "volumeMounts": [{"name": "mine", "mountPath": "/mine"}]}
    pod = rendered(istiod_of(document({"revisions.0.chartValues": more})), tools, tmp_path)["Deployment", "istiod"]
    names = {volume["name"] for volume in pod["spec"]["template"]["spec"]["volumes"]}
    assert names >= {"mine", "mesh-config", "injection-config", "remote-clusters"}


def test_typed_settings_are_where_kubernetes_looks_for_them(tools: Tools, tmp_path: Path) -> None:
    settings = {
        "autoscaling": {"maxReplicas": 5},
        "scheduling": {"tolerations": [{"key": "infra", "operator": "Exists"}], "priorityClass": "high"},
        "imagePullSecrets": ["registry"],
    }
    objects = rendered(istiod_of(document({"revisions.0.istiod": settings})), tools, tmp_path)
    pod = objects["Deployment", "istiod"]["spec"]["template"]["spec"]
    assert {"key": "infra", "operator": "Exists"} in pod["tolerations"]
    assert pod["priorityClassName"] == "high"
    assert objects["ServiceAccount", "istiod"]["imagePullSecrets"] == [{"name": "registry"}]
    scaler = objects["HorizontalPodAutoscaler", "istiod"]["spec"]
    assert (scaler["minReplicas"], scaler["maxReplicas"]) == (2, 5)


def test_a_profile_sets_what_the_document_leaves_open(tools: Tools, tmp_path: Path) -> None:
    """And no object more: some of Istio's profiles have objects for the data plane's side."""
    found = {}
    for profile in ("default", "demo", "preview"):
        objects = rendered(istiod_of(document({"revisions.0.profile": profile})), tools, tmp_path)
        (container,) = objects["Deployment", "istiod"]["spec"]["template"]["spec"]["containers"]
        environment = {one["name"]: one.get("value") for one in container["env"]}
        config = yaml.safe_load(objects["ConfigMap", "istio"]["data"]["mesh"])
        capture = config["defaultConfig"]["proxyMetadata"].get("ISTIO_META_DNS_CAPTURE")
        request = container["resources"]["requests"]["cpu"]
        found[profile] = (environment["PILOT_TRACE_SAMPLING"], request, capture, sorted(objects))
    names = found["default"][3]
    assert found == {
        "default": ("1", "250m", None, names),
        "demo": ("100", "10m", None, names),
        "preview": ("1", "250m", "true", names),
    }


def test_injected_pods_mount_the_root_certificate_that_istiod_writes(tools: Tools, tmp_path: Path) -> None:
    objects = rendered(istiod_of(document()), tools, tmp_path)
    assert "istio-ca-root-cert-demo" in objects["ConfigMap", "istio-sidecar-injector"]["data"]["values"]
    (container,) = objects["Deployment", "istiod"]["spec"]["template"]["spec"]["containers"]
    written = {"name": "PILOT_CA_CERT_CONFIGMAP", "value": "istio-ca-root-cert-demo"}
    assert written in container["env"]


def test_the_data_planes_chart_starts_nothing(tools: Tools, tmp_path: Path) -> None:
    async def objects() -> set[tuple[str, str]]:
        """In an event loop, for the endpoint holds an Output."""
        mesh = read_document(Mesh, document())
        endpoint = ControlPlaneEndpoint.of(mesh, mesh.revisions[0], mesh.memberships[0], CERTIFICATE)
        return set(rendered(remote_values(endpoint, mesh.memberships[0]), tools, tmp_path))

    assert not {kind for kind, _ in asyncio.run(objects())} & {"Deployment", "DaemonSet"}


def test_the_chart_hands_no_name_of_a_revocation_list_to_its_injection(tools: Tools, tmp_path: Path) -> None:
    """Why the library adds one to the rendered ConfigMap: its template reads it, and mounts nothing by another name."""
    mesh = read_document(Mesh, document({"trust": {"management": "brought"}}))
    config_map = rendered(istiod_of(document()), tools, tmp_path)["ConfigMap", "istio-sidecar-injector"]
    asked = 'name: {{ .Values.pilot.crlConfigMapName | default "istio-ca-crl" }}'
    assert asked in config_map["data"]["config"]
    assert "crlConfigMapName" not in config_map["data"]["values"]
    found = json.loads(with_revocation_list(mesh, config_map["data"])["values"])
    assert found["pilot"].pop("crlConfigMapName") == "istio-ca-crl-demo"
    assert found == json.loads(config_map["data"]["values"])
