"""`trust.management: cert-manager` with cert-manager's own controllers and a CA issuer.

No Pod runs here. tests/live/mesh/test_cert_manager.py has OpenBao, istiod, proxies and requests.
"""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509

from sandbox import toolchain
from sandbox.clusters import Sandbox
from sandbox.progress import Progress
from sandbox.toolchain import Tools
from sandbox.toolchain.catalogue import FOR_AUTHORITIES, FOR_ENGINE
from tests.engine.library.engine import Project, Stack
from tests.support import cert_manager
from tests.support.authorities import Authority, pem
from tests.support.kubectl import Kubectl
from tests.support.waiting import eventually

# The tools take minutes to build, so the slice of these tests builds them.
pytestmark = pytest.mark.nightly
NAMESPACE = "mesh-demo"
CERTIFICATE = pem(Authority("company root").certificate).decode()


@pytest.fixture(scope="session")
def tools(progress: Progress) -> Tools:
    return toolchain.ensure(FOR_ENGINE | FOR_AUTHORITIES, progress=progress)


@pytest.fixture(scope="module")
def kubectl(engine_sandbox: Sandbox, tools: Tools) -> Iterator[Kubectl]:
    """The control plane's, with cert-manager's kinds."""
    with cert_manager.definitions(engine_sandbox.control_plane, tools):
        yield Kubectl.of(engine_sandbox.control_plane, tools)


@pytest.fixture(scope="module")
def signer(kubectl: Kubectl) -> Authority:
    """The root of the ClusterIssuer `company`."""
    root = Authority("company root")
    kubectl.apply(*cert_manager.ca_issuer("company", root))
    return root


@pytest.fixture
def controllers(
    engine_sandbox: Sandbox, tools: Tools, tmp_path: Path, kubectl: Kubectl, signer: Authority
) -> Iterator[None]:
    gates = "NameConstraints=true"
    with cert_manager.controllers(engine_sandbox.control_plane, tools, tmp_path, gates=gates):
        eventually(lambda: _is_ready(kubectl, "company"), "the issuer is ready")
        yield


def _is_ready(kubectl: Kubectl, issuer: str) -> bool:
    found = kubectl.get("clusterissuer", issuer).get("status", {}).get("conditions", [])
    return any((one["type"], one["status"]) == ("Ready", "True") for one in found)


def issued_by(issuer: str, mesh: dict[str, Any], root: str, **more: Any) -> dict[str, Any]:
    document = copy.deepcopy(mesh)
    document["trust"] = {"management": "cert-manager", "issuer": {"name": issuer, **more}}
    return {"stack": "all-in-one", "mesh": document, "rootCertificate": root}


def files(kubectl: Kubectl) -> dict[str, str]:
    """The Secret `cacerts`."""
    data = kubectl.get("secret", "cacerts", "-n", NAMESPACE)["data"]
    return {name: base64.b64decode(value).decode() for name, value in data.items()}


def require_no_key(stack: Stack, made: dict[str, str]) -> None:
    """The state, decrypted, has nothing of the key, plain or in base64. The search finds the root's certificate."""
    text = json.dumps(stack.export())
    (key, root) = (max(made[name].splitlines(), key=len) for name in ("tls.key", "ca.crt"))
    assert root in text
    assert key not in text
    # Beyond the beginning, which other keys have too.
    assert base64.b64encode(made["tls.key"].encode()).decode()[100:160] not in text
    assert "BEGIN PRIVATE KEY" not in text
    assert "tls.key" not in text


@pytest.mark.usefixtures("clean")
def test_a_cluster_without_cert_manager_ends_the_preview(project: Project, mesh: dict[str, Any]) -> None:
    """First of all: no fixture has installed its kinds yet."""
    done = project.stack("kinds", issued_by("company", mesh, CERTIFICATE)).run("preview")
    assert done.code != 0
    assert "the control plane's cluster has no kind Certificate of cert-manager.io/v1" in done.text


@pytest.mark.usefixtures("clean", "controllers")
def test_one_update_makes_the_authority_and_no_state_has_its_key(
    project: Project, mesh: dict[str, Any], kubectl: Kubectl, signer: Authority
) -> None:
    root = pem(signer.certificate).decode()
    stack = project.stack("issued", issued_by("company", mesh, root, nameConstraints=True))
    assert stack.up().summary().keys() == {"created"}
    found = files(kubectl)
    own, *_ = x509.load_pem_x509_certificates(found["tls.crt"].encode())
    own.verify_directly_issued_by(signer.certificate)
    assert found["ca.crt"].strip() == root.strip()
    assert own.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    limits = own.extensions.get_extension_for_class(x509.NameConstraints)
    host = mesh["revisions"][0]["host"]
    names = {"demo.mesh.local", host, f"{NAMESPACE}.svc"}
    assert (limits.critical, {one.value for one in limits.value.permitted_subtrees or ()}) == (True, names)
    require_no_key(stack, found)
    assert stack.up().summary().keys() == {"unchanged"}

    # The webhooks' CA bundle would be another authority's.
    other = pem(Authority("another root").certificate).decode()
    done = project.stack("issued", issued_by("company", mesh, other, nameConstraints=True)).run(
        "up", "--yes", "--skip-preview"
    )
    assert done.code != 0
    words = (
        "trust.issuer: ClusterIssuer company has another root (CN=company root) than rootCertificate (CN=another root)"
    )
    assert words in done.text
    project.stack("issued", issued_by("company", mesh, root, nameConstraints=True)).destroy()


@pytest.mark.usefixtures("clean")
def test_an_issuer_that_is_not_there_ends_the_preview(
    project: Project, mesh: dict[str, Any], signer: Authority
) -> None:
    done = project.stack("nobody", issued_by("nobody", mesh, pem(signer.certificate).decode())).run("preview")
    assert done.code != 0
    assert "trust.issuer: ClusterIssuer nobody does not exist on the control plane's cluster" in done.text
