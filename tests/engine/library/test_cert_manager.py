"""`trust.management: cert-manager` with cert-manager's own controllers, a CA issuer and OpenBao.

No Pod runs here. tests/live/mesh/test_cert_manager.py has OpenBao, istiod, proxies and requests.
"""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Iterator
from contextlib import contextmanager
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
from tests.support.openbao import SIGNS_AUTHORITIES, SIGNS_WORKLOADS, OpenBao, openbao
from tests.support.waiting import eventually

# The tools take minutes to build, so the slice of these tests builds them.
pytestmark = [pytest.mark.nightly, pytest.mark.xdist_group("cert-manager")]  # in this order, see the first test
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


def require_issued(kubectl: Kubectl, root: str) -> None:
    """The Secret has an authority under the root."""
    own, *_ = x509.load_pem_x509_certificates(files(kubectl)["tls.crt"].encode())
    own.verify_directly_issued_by(x509.load_pem_x509_certificate(root.encode()))
    assert own.extensions.get_extension_for_class(x509.BasicConstraints).value.ca


def request_of(kubectl: Kubectl) -> str:
    """The uid of the last CertificateRequest."""
    found = kubectl.get("certificaterequests", "-n", NAMESPACE)["items"]
    return str(max(found, key=lambda one: one["metadata"]["creationTimestamp"])["metadata"]["uid"])


@contextmanager
def issuers(kubectl: Kubectl, *names: str) -> Iterator[None]:
    """Removes these ClusterIssuers and their Secrets at the end."""
    try:
        yield
    finally:
        kubectl("delete", "--ignore-not-found", "clusterissuer", *names)
        tokens = [f"{name}-token" for name in names]
        kubectl("delete", "--ignore-not-found", "secret", *tokens, "-n", cert_manager.NAMESPACE)


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


@pytest.fixture
def vault(controllers: None, tools: Tools, tmp_path: Path) -> Iterator[OpenBao]:
    with openbao(tools, tmp_path) as bao:
        yield bao


def set_issuer(kubectl: Kubectl, bao: OpenBao, name: str, token: str, path: str = SIGNS_AUTHORITIES) -> None:
    """A ClusterIssuer of OpenBao with a token and a path."""
    spec, secret = bao.issuer(token, name=f"{name}-token", path=path)
    kubectl.apply(secret, cert_manager.cluster_issuer(name, spec))
    eventually(lambda: _is_ready(kubectl, name), "the issuer is ready")


def failed(stack: Stack) -> str:
    done = stack.run("up", "--yes", "--skip-preview")
    assert done.code != 0, done.text
    return done.text


@pytest.mark.usefixtures("clean")
def test_the_next_up_finishes_after_its_issuer_is_corrected(
    project: Project, mesh: dict[str, Any], kubectl: Kubectl, vault: OpenBao
) -> None:
    """The document stays as it is, and cert-manager repeats a failed request only after an hour."""
    root = vault.make_root()
    with issuers(kubectl, "vault"):
        set_issuer(kubectl, vault, "vault", vault.token_for("pki/another"))
        stack = project.stack("corrected", issued_by("vault", mesh, root))
        refusal = "trust.issuer: ClusterIssuer vault refuses: Vault failed to sign certificate"
        assert refusal in failed(stack)
        # It is still so: the second run has an answer of its own.
        before = request_of(kubectl)
        assert refusal in failed(stack)
        assert request_of(kubectl) != before
        # Another mistake: OpenBao signs, but no authority.
        token = vault.token_for(SIGNS_AUTHORITIES, SIGNS_WORKLOADS)
        set_issuer(kubectl, vault, "vault", token, SIGNS_WORKLOADS)
        assert "ClusterIssuer vault issued a certificate that may not sign" in failed(stack)
        set_issuer(kubectl, vault, "vault", token)
        stack.up()
        require_issued(kubectl, root)
        made = request_of(kubectl)
        assert stack.up().summary().keys() == {"unchanged"}

        # The mesh has an istiod now, which no run takes the authority from.
        set_issuer(kubectl, vault, "vault", token, SIGNS_WORKLOADS)
        other = pem(Authority("another root").certificate).decode()
        text = failed(project.stack("corrected", issued_by("vault", mesh, other)))
        assert "has another root" in text
        assert f"run `cmctl renew cacerts --namespace {NAMESPACE}`" in text
        assert request_of(kubectl) == made
        project.stack("corrected", issued_by("vault", mesh, root)).destroy()


@pytest.mark.usefixtures("clean")
def test_the_next_up_finishes_after_its_document_names_another_issuer(
    project: Project, mesh: dict[str, Any], kubectl: Kubectl, vault: OpenBao
) -> None:
    """cert-manager sends the new request, but the failed one is there when the run looks first."""
    root = vault.make_root()
    with issuers(kubectl, "refused", "vault"):
        set_issuer(kubectl, vault, "refused", vault.token_for("pki/another"))
        set_issuer(kubectl, vault, "vault", vault.token_for(SIGNS_AUTHORITIES))
        text = failed(project.stack("named", issued_by("refused", mesh, root)))
        assert "trust.issuer: ClusterIssuer refused refuses: Vault failed to sign certificate" in text
        stack = project.stack("named", issued_by("vault", mesh, root))
        stack.up()
        require_issued(kubectl, root)
        stack.destroy()
