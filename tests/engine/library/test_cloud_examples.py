"""The examples with the clouds' own packages: previews with invented answers of the clouds."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sandbox.bootstrap import CHECKOUT

EXAMPLES = CHECKOUT / "examples/clouds"
UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"  # of the engine's protocol
CONFIG = {"hosted-mesh:host": "istiod.shop.example.com", "hosted-mesh:sourceRanges": '["203.0.113.10/32"]'}
AUTHORITY = (CHECKOUT / "tests/unit/library/documents.py").read_text().partition('CERTIFICATE = """\\\n')[2]
CERTIFICATE = base64.b64encode(AUTHORITY.partition('"""')[0].encode()).decode()
KIND = {"eks": "eks:index:Cluster", "gke": "gcp:container/cluster:Cluster", "aks": "azure-native:containerservice"}

pytestmark = pytest.mark.nightly


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The clouds' packages, pinned by the examples: 60 MB, so that they are not in the tests' own environment."""
    pins = [
        line
        for file in sorted(EXAMPLES.glob("*/requirements.txt"))
        for line in file.read_text().splitlines()
        if line.startswith("pulumi-")
    ]
    assert len(pins) == 4
    assert all("==" in pin for pin in pins)
    folder = tmp_path_factory.mktemp("clouds")
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--disable-pip-version-check",
        "install",
        "--quiet",
        "--no-deps",
        "--no-compile",
    ]
    subprocess.run([*pip, "--target", str(folder), *pins], check=True)
    return folder


def kubeconfig(name: str) -> str:
    cluster = {"server": f"https://{name}.example.com", "certificate-authority-data": CERTIFICATE}
    run = {"apiVersion": "client.authentication.k8s.io/v1beta1", "command": "login", "args": ["-l", "devicecode"]}
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": name,
            "clusters": [{"name": name, "cluster": cluster}],
            "users": [{"name": name, "user": {"exec": {**run, "interactiveMode": "Never"}}}],
            "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        }
    )


def answers(cloud: str, known: bool) -> dict[str, Any]:
    """The clouds' outputs. known: as after the clusters were made, else as in a first preview."""

    def value(given: Any) -> Any:
        return given if known else UNKNOWN

    outputs: dict[str, Any] = {}
    calls: dict[str, Any] = {}
    for name in ("meshes", "prod"):
        if cloud == "eks":
            outputs[name] = {"kubeconfigJson": value(kubeconfig(name))}
        if cloud == "gke":
            authority = {"clusterCaCertificate": CERTIFICATE}
            outputs[name] = {"name": name, "endpoint": value(f"192.0.2.{len(name)}"), "masterAuth": value(authority)}
        if cloud == "aks":
            outputs[name] = {"name": value(name)}
            text = base64.b64encode(kubeconfig(name).encode()).decode()
            token = "azure-native:containerservice:listManagedClusterUserCredentials"
            calls[f"{token} {name}"] = {"kubeconfigs": [{"name": "clusterUser", "value": text}]}
    return {"outputs": outputs, "calls": calls, "config": CONFIG}


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("cloud", ["eks", "gke", "aks"])
def test_two_clusters_and_a_mesh_across_them(cloud: str, known: bool, packages: Path, tmp_path: Path) -> None:
    file = tmp_path / "answers.json"
    file.write_text(json.dumps(answers(cloud, known)))
    environment = {**os.environ, "PYTHONPATH": f"{packages}{os.pathsep}{CHECKOUT}"}
    command = [sys.executable, "-m", "tests.support.cloud_preview", str(EXAMPLES / cloud), str(file)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    found: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])

    clusters = [one["name"] for one in found if one["type"].startswith(KIND[cloud]) and "Cluster" in one["type"]]
    assert clusters == ["meshes", "prod"]
    by_provider: dict[str, set[str]] = {}
    for one in found:
        if one["type"].startswith("kubernetes:"):
            by_provider.setdefault(one["provider"], set()).add(one["name"])
    # Each side's objects have the provider of its own cluster.
    (istiod,) = (provider for provider, names in by_provider.items() if "shop-istiod" in names)
    (remote,) = (provider for provider, names in by_provider.items() if "shop-remote" in names)
    assert istiod != remote
    (service,) = (one["inputs"] for one in found if one["name"] == "shop-istiod-exposed-shop")
    assert service["spec"]["loadBalancerSourceRanges"] == ["203.0.113.10/32"]
    assert (
        service["spec"].get("loadBalancerClass")
        == {
            "eks": "service.k8s.aws/nlb",
            "gke": "networking.gke.io/l4-regional-external",
            "aks": None,
        }[cloud]
    )
    logins = [one["inputs"] for one in found if one["type"] == "pulumi:providers:kubernetes"]
    assert len(logins) >= 2
    # Azure's file requests a code from a person; the program has another mode.
    assert ("devicecode" in json.dumps(logins)) == (known and cloud == "eks")
