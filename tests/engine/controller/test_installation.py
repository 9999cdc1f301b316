"""The manifests on a real API server: it admits the Pods into a namespace with Pod Security `restricted`.

Helm renders the chart to the same objects.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from sandbox.toolchain import Tools
from tests.engine.controller.service import PROGRAM
from tests.engine.library.engine import Api
from tests.support.waiting import eventually

Config = dict[str, Any]
NAMESPACE = "hosted-mesh-controller"
SETTINGS: dict[str, Any] = {
    "data": "/var/lib/hosted-mesh-controller",
    "program": "/srv/hosted-mesh",
    "passphraseFile": "/run/hosted-mesh/passphrase/passphrase",
    "clusters": {"hub": {"kubeconfig": "/run/hosted-mesh/kubeconfigs/hub", "side": "control-plane", "tenants": ["*"]}},
    "tenants": {"acme": {}},
    "host": "0.0.0.0",
    "tls": {"certificate": "/run/hosted-mesh/tls/tls.crt", "key": "/run/hosted-mesh/tls/tls.key"},
}


SERVER = {**SETTINGS, "databaseFile": "/run/hosted-mesh/database/url"}
IMAGE = "registry.example.com/controller:1"


@pytest.mark.usefixtures("clean")
def test_the_api_server_admits_the_installation(provider: Api, tmp_path: Path) -> None:
    (tmp_path / "settings.yaml").write_text(yaml.safe_dump(SETTINGS))
    command = [PROGRAM, "manifests", tmp_path / "settings.yaml", "--image", "registry.example.com/controller:1"]
    printed = subprocess.run(command, capture_output=True, text=True, timeout=240, check=True)
    (tmp_path / "manifests.yaml").write_text(printed.stdout)
    try:
        applied = provider.kubectl("apply", "-f", str(tmp_path / "manifests.yaml"))
        assert applied.code == 0, applied.text
        assert "Warning" not in applied.text  # Pod Security's, of a Deployment that it would not admit
        pods = eventually(lambda: provider.get("pods", "-n", NAMESPACE)["items"])
        assert [one["spec"]["serviceAccountName"] for one in pods] == [NAMESPACE]
        assert not [one for one in pods[0]["spec"]["volumes"] if one["name"].startswith("kube-api-access")]
        account = f"--as=system:serviceaccount:{NAMESPACE}:{NAMESPACE}"
        rights = provider.kubectl("auth", "can-i", "get", "secrets", "-n", NAMESPACE, account)
        assert rights.output.strip() == "no"
        # The namespace would reject another Pod.
        root = {"spec": {"template": {"spec": {"securityContext": {"runAsNonRoot": False, "runAsUser": 0}}}}}
        change = ("patch", "deployment", NAMESPACE, "-n", NAMESPACE, "-p", json.dumps(root))
        assert "Warning: would violate PodSecurity" in provider.kubectl(*change).text
    finally:
        provider.kubectl("delete", "-f", str(tmp_path / "manifests.yaml"), "--timeout=240s")


@pytest.fixture(scope="module")
def chart(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("chart") / "controller"
    subprocess.run([PROGRAM, "chart", folder], timeout=240, check=True)
    return folder


def helm(
    tools: Tools, chart: Path, folder: Path, settings: Config, *command: str, **values: Any
) -> subprocess.CompletedProcess[str]:
    (folder / "values.yaml").write_text(yaml.safe_dump({"image": IMAGE, "settings": settings, **values}))
    own = ["-f", str(folder / "values.yaml"), "--namespace", NAMESPACE, "--kube-version", "1.36.3"]
    environment = {"HOME": str(folder), "PATH": "/nowhere"}
    return subprocess.run(
        [tools["helm"], *(command or ("template", "controller")), chart, *own],
        capture_output=True,
        text=True,
        timeout=240,
        env=environment,
    )


@pytest.mark.parametrize(
    ("settings", "options", "values"),
    [
        ({**SETTINGS, "discovery": {"everySeconds": None}, "upkeep": {"windowSeconds": 2592000}}, [], {}),
        (
            {**SETTINGS, "port": 9443},
            ["--passphrase", "own.v1", "--storage", "5Gi", "--storage-class", "fast", "--egress-port", "443"],
            {
                "existingSecrets": {"passphrase": "own.v1"},
                "storage": {"size": "5Gi", "className": "fast"},
                "egressPorts": [443],
            },
        ),
        ({**SETTINGS, "database": "postgresql://controller@db/controller"}, [], {}),
        (SERVER, ["--replicas", "3", "--database", "url"], {"replicas": 3, "existingSecrets": {"database": "url"}}),
    ],
    ids=["defaults", "choices", "one executor", "three executors"],
)
def test_the_chart_is_the_manifests(
    tools: Tools, chart: Path, tmp_path: Path, settings: Config, options: list[str], values: Config
) -> None:
    (tmp_path / "settings.yaml").write_text(yaml.safe_dump(settings))
    command = [PROGRAM, "manifests", tmp_path / "settings.yaml", "--image", IMAGE, *options]
    printed = subprocess.run(command, capture_output=True, text=True, timeout=240, check=True)
    linted = helm(tools, chart, tmp_path, settings, "lint", "--strict", **values)
    assert linted.returncode == 0, linted.stdout + linted.stderr
    rendered = helm(tools, chart, tmp_path, settings, **values)
    assert rendered.returncode == 0, rendered.stderr
    expected = by_kind(printed.stdout)
    # Helm makes namespaces by an option of its own.
    del expected["Namespace"]
    assert by_kind(rendered.stdout) == expected


def by_kind(text: str) -> dict[str, Config]:
    """Objects by kind, one of each; the settings as their content."""
    found = [one for one in yaml.safe_load_all(text) if one]
    made = {one["kind"]: one for one in found}
    assert len(made) == len(found)
    data = made["ConfigMap"]["data"]
    data["settings.yaml"] = yaml.safe_load(data["settings.yaml"])
    return made


@pytest.mark.parametrize(
    ("change", "values", "text"),
    [
        ({}, {"replicas": 3}, "missing property 'databaseFile'"),
        ({}, {"replicas": 0}, "/replicas"),
        ({}, {"image": ""}, "/image"),
        ({}, {"replica": 1}, "'replica' not allowed"),
        ({"database": ""}, {"replicas": 2}, "/settings/database"),
        ({"host": "127.0.0.1"}, {}, "/settings/host"),
        ({"tls": None}, {}, "/settings/tls"),
        ({"clusters": {}}, {}, "/settings/clusters"),
        ({"operation": 2}, {}, "'operation' not allowed"),
        ({"operations": 0}, {}, "/settings/operations"),
        ({"dnsCredentials": "/run/dns"}, {}, "'dnsCredentials' not allowed"),
        ({"data": "data"}, {}, "have a relative path. Write absolute paths"),
        ({"data": "/run/hosted-mesh/tls"}, {}, "have one folder for two volumes"),
        ({"tls": {"certificate": "/a/tls.crt", "key": "/b/tls.key"}}, {}, "tls has its files in two folders"),
        (
            {"clusters": {**SETTINGS["clusters"], "x": {"kubeconfig": "/x/x", "side": "data-plane"}}},
            {},
            "clusters have kubeconfigs in several folders",
        ),
    ],
)
def test_the_chart_refuses_what_the_manifests_refuse(
    tools: Tools, chart: Path, tmp_path: Path, change: Config, values: Mapping[str, Any], text: str
) -> None:
    refused = helm(tools, chart, tmp_path, {**SETTINGS, **change}, **values)
    assert refused.returncode == 1
    assert text in refused.stderr


@pytest.mark.usefixtures("clean")
def test_the_api_server_admits_three_executors(provider: Api, tools: Tools, chart: Path, tmp_path: Path) -> None:
    rendered = helm(tools, chart, tmp_path, SERVER, replicas=3)
    assert rendered.returncode == 0, rendered.stderr
    (tmp_path / "chart.yaml").write_text(rendered.stdout)
    restricted = [f"pod-security.kubernetes.io/{mode}=restricted" for mode in ("enforce", "warn")]
    assert provider.kubectl("create", "namespace", NAMESPACE).code == 0
    try:
        assert provider.kubectl("label", "namespace", NAMESPACE, *restricted).code == 0
        applied = provider.kubectl("apply", "-f", str(tmp_path / "chart.yaml"))
        assert applied.code == 0, applied.text
        assert "Warning" not in applied.text
        # The ServiceAccount exists, so the Pods are admitted at once.
        found = lambda: provider.get("pods", "-n", NAMESPACE)["items"]  # noqa: E731
        pods = eventually(lambda: len(found()) == 3 and found())
        assert {one["spec"]["serviceAccountName"] for one in pods} == {NAMESPACE}
        budget = provider.get("poddisruptionbudget", NAMESPACE, "-n", NAMESPACE)
        assert budget["spec"]["maxUnavailable"] == 1
    finally:
        provider.kubectl("delete", "namespace", NAMESPACE, "--timeout=240s")
