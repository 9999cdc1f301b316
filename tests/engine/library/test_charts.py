"""Istio's charts, rendered by helm with the library's values: what a document may not set and cannot undo."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from pulumi_hosted_mesh.boundary.endpoint import ControlPlaneEndpoint
from pulumi_hosted_mesh.control_plane.istiod_values import istiod_values
from pulumi_hosted_mesh.data_plane.values import remote_values
from pulumi_hosted_mesh.spec.control_plane import CHARTS_ENVIRONMENT
from pulumi_hosted_mesh.spec.load import read_mesh

from sandbox.toolchain import Tools
from tests.unit.library.documents import document

# The chart leaves it out where `env` has it.
OPTIONAL = {"CA_TRUSTED_NODE_ACCOUNTS"}
UNDOING = {
    "istiodRemote": {"enabled": True},
    "configMap": False,
    "global": {"omitSidecarInjectorConfigMap": True, "externalIstiod": False},
}
STARTING = {"istiodRemote": {"enabled": False, "enabledLocalInjectorIstiod": True}, "global": {"configCluster": True}}


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


def environment(values: dict[str, Any], tools: Tools, directory: Path) -> list[str]:
    """Names in istiod's environment, in their order."""
    deployment = rendered(values, tools, directory)["Deployment", "istiod"]
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    return [variable["name"] for variable in container["env"]]


def test_the_document_refuses_exactly_what_the_chart_sets(tools: Tools, tmp_path: Path) -> None:
    values = istiod_values(read_mesh(document()))
    names = environment(values, tools, tmp_path)
    assert set(names) - values["env"].keys() - OPTIONAL == CHARTS_ENVIRONMENT
    assert len(set(names)) == len(names)


def test_a_free_variable_is_there_once(tools: Tools, tmp_path: Path) -> None:
    mine = {"CA_TRUSTED_NODE_ACCOUNTS": "a/b", "MINE": "1"}
    names = environment(istiod_values(read_mesh(document({"controlPlane.istiod.environment": mine}))), tools, tmp_path)
    assert [names.count(name) for name in mine] == [1, 1]


def test_values_of_the_provider_cannot_take_istiod_away(tools: Tools, tmp_path: Path) -> None:
    plain = rendered(istiod_values(read_mesh(document())), tools, tmp_path)
    changed = rendered(istiod_values(read_mesh(document({"chartValues.controlPlane": UNDOING}))), tools, tmp_path)
    assert changed.keys() == plain.keys()
    assert changed["Deployment", "istiod"] == plain["Deployment", "istiod"]


@pytest.mark.parametrize(
    "values", [STARTING, {"istiodRemote": {"enabled": False}}], ids=["local injector", "not remote"]
)
def test_values_of_the_user_cannot_start_an_istiod(values: dict[str, Any], tools: Tools, tmp_path: Path) -> None:
    async def objects(mesh_document: dict[str, Any]) -> set[tuple[str, str]]:
        """In an event loop, for the endpoint holds an Output."""
        mesh = read_mesh(mesh_document)
        endpoint = ControlPlaneEndpoint.of(mesh, "-----BEGIN CERTIFICATE-----")
        return set(rendered(remote_values(mesh, endpoint), tools, tmp_path))

    plain = asyncio.run(objects(document()))
    assert not {kind for kind, _ in plain} & {"Deployment", "DaemonSet"}
    assert asyncio.run(objects(document({"chartValues.dataPlane": values}))) == plain
