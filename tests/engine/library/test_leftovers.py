"""`hosted-mesh leftovers` on a real API server: it finds what istiod leaves, of this mesh alone, and removes it."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from pulumi_hosted_mesh.clusters import kubeconfig
from pulumi_hosted_mesh.spec.cluster import ClusterReference

from sandbox.clusters import Sandbox
from tests.engine.library.engine import Api

NAMESPACES = ("default", "kube-system")
NEIGHBOUR = "istio-ca-root-cert-neighbour"


@pytest.fixture
def document(tmp_path: Path, engine_sandbox: Sandbox) -> Path:
    path = tmp_path / "data-plane.yaml"
    cluster = {"kubeconfig": str(engine_sandbox.kubeconfig), "context": "data-plane"}
    path.write_text(
        yaml.safe_dump(
            {
                "mesh": "gone",
                "cluster": cluster,
            }
        )
    )
    return path


def leftovers(document: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from pulumi_hosted_mesh.cli.command import app; app()", "leftovers"]
    return subprocess.run([*command, str(document), *options], capture_output=True, text=True, timeout=240)


def kubeconfig_of_the_user(sandbox: Sandbox) -> str:
    """The kubeconfig of the user's cluster alone."""
    reference = ClusterReference(kubeconfig=str(sandbox.kubeconfig), context="data-plane")
    return kubeconfig.read(reference, "dataPlane.cluster", "the stack").text


@pytest.mark.usefixtures("clean")
def test_leftovers(document: Path, user: Api) -> None:
    # As istiod writes them: this mesh's certificate in two namespaces, another mesh's in one of them too.
    written = [(namespace, "istio-ca-root-cert-gone") for namespace in NAMESPACES] + [("default", NEIGHBOUR)]
    for namespace, name in written:
        assert user.kubectl("create", "configmap", name, "-n", namespace, "--from-literal=root-cert.pem=x").code == 0

    found = leftovers(document)
    assert [line.split()[-1] for line in found.stdout.splitlines()[:-1]] == list(NAMESPACES)
    assert found.stdout.splitlines()[-1] == "2 found"
    assert leftovers(document, "--remove").stdout.splitlines()[-1] == "2 removed"
    assert leftovers(document).stdout.splitlines() == ["0 found"]
    assert user.kubectl("delete", "configmap", NEIGHBOUR, "-n", "default").code == 0


def test_with_a_credential_that_a_program_fetches(document: Path, tmp_path: Path, engine_sandbox: Sandbox) -> None:
    """As with EKS, GKE and AKS: here the program prints the certificate that the sandbox's administrator has."""
    content = json.loads(kubeconfig_of_the_user(engine_sandbox))
    user = content["users"][0]["user"]
    pem = {key: base64.b64decode(user.pop(f"{key}-data")).decode() for key in ("client-certificate", "client-key")}
    status = {"clientCertificateData": pem["client-certificate"], "clientKeyData": pem["client-key"]}
    version = "client.authentication.k8s.io/v1"
    (tmp_path / "answer").write_text(json.dumps({"kind": "ExecCredential", "apiVersion": version, "status": status}))
    user["exec"] = {"apiVersion": version, "command": "cat", "args": [str(tmp_path / "answer")]}
    (tmp_path / "kubeconfig").write_text(json.dumps(content))
    mesh = yaml.safe_load(document.read_text())
    mesh["cluster"]["kubeconfig"] = str(tmp_path / "kubeconfig")
    document.write_text(yaml.safe_dump(mesh))

    found = leftovers(document)
    assert (found.stdout.splitlines(), found.stderr) == (["0 found"], "")


def test_not_while_the_mesh_is_there(document: Path, user: Api) -> None:
    assert user.kubectl("create", "namespace", "mesh-gone").code == 0
    try:
        done = leftovers(document)
        assert done.returncode == 1
        assert "Destroy its stacks first" in done.stderr
    finally:
        assert user.kubectl("delete", "namespace", "mesh-gone").code == 0
