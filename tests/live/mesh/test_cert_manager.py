"""A mesh with its authority by cert-manager and OpenBao: a renewal loses no request, and istiod outlives its issuer."""

from __future__ import annotations

import base64
import dataclasses
import json
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography import x509

from sandbox import toolchain
from sandbox.engine import deployment
from sandbox.progress import Progress
from sandbox.proof import workloads
from sandbox.proof.deployed import NotObserved, eventually
from sandbox.proof.identity import AGENT, seen_in
from sandbox.toolchain import Tools
from sandbox.toolchain.catalogue import FOR_AUTHORITIES
from tests.live.revisions.mesh_of_versions import DEFAULT, Mesh, charts_of
from tests.live.revisions.steady_traffic import Traffic, called
from tests.support import cert_manager
from tests.support.clusters import started
from tests.support.kubectl import Kubectl
from tests.support.openbao import OpenBao, openbao

pytestmark = pytest.mark.nightly
NAMESPACE = "mesh-demo"
VERSION = "1.31.1"


@dataclasses.dataclass
class IssuedMesh(Mesh):
    """root: the certificate of OpenBao's root."""

    root: str = ""

    def document(
        self, revisions: Mapping[str, str], tags: Mapping[str, str], *, crds: bool = True, broken: bool = False
    ) -> Path:
        file = super().document(revisions, tags, crds=crds, broken=broken)
        config = yaml.safe_load(file.read_text())
        trust = {"management": "cert-manager", "issuer": {"name": "vault"}}
        config["config"]["hosted-mesh:mesh"]["trust"] = trust
        config["config"]["hosted-mesh:rootCertificate"] = self.root
        file.write_text(yaml.safe_dump(config))
        return file


@dataclasses.dataclass
class Issued:
    """The mesh, OpenBao, and what ends them."""

    mesh: IssuedMesh
    bao: OpenBao
    issuer: ExitStack
    kubectl: Kubectl

    def files(self) -> dict[str, str]:
        data = self.kubectl.get("secret", "cacerts", "-n", NAMESPACE)["data"]
        return {name: base64.b64decode(value).decode() for name, value in data.items()}

    def chain(self, name: str) -> list[x509.Certificate]:
        """The certificates of a workload's proxy, which lead to OpenBao's root."""
        deployed = self.mesh.any_revision
        pod = workloads.ready_pod(deployed, name)
        dump = json.loads(deployed.of_proxy(deployed.program_of(pod, AGENT), "/config_dump"))
        assert seen_in(dump, f"spiffe://demo.mesh.local/ns/{workloads.NAMESPACE}/sa/{name}", self.mesh.root) > 0
        return _certificates(dump)


def _certificates(dump: dict[str, Any]) -> list[x509.Certificate]:
    for section in dump["configs"]:
        for entry in section.get("dynamic_active_secrets", []):
            if entry["name"] == "default":
                inline = entry["secret"]["tls_certificate"]["certificate_chain"]["inline_bytes"]
                return x509.load_pem_x509_certificates(base64.b64decode(inline))
    raise NotObserved("the proxy has no certificate")


@pytest.fixture(scope="module")
def issued(tmp_path_factory: pytest.TempPathFactory, progress: Progress) -> Iterator[Issued]:
    tools: Tools = toolchain.ensure(also=FOR_AUTHORITIES, progress=progress)
    charts = {VERSION: charts_of(tools.charts, tmp_path_factory.mktemp("charts"), VERSION)}
    with (
        ExitStack() as issuer,
        started(tmp_path_factory.mktemp("cert-manager"), tools, progress) as sandbox,
        cert_manager.definitions(sandbox.control_plane, tools),
    ):
        logs = tmp_path_factory.mktemp("issuer")
        bao = issuer.enter_context(openbao(tools, logs))
        kubectl = Kubectl.of(sandbox.control_plane, tools)
        root = bao.make_root()
        spec, secret = bao.issuer(bao.token_for("pki/root/sign-intermediate"))
        kubectl.apply(secret, cert_manager.cluster_issuer("vault", spec))
        issuer.enter_context(cert_manager.controllers(sandbox.control_plane, tools, logs))
        mesh = IssuedMesh(sandbox, tools, tmp_path_factory.mktemp("stack"), charts, root=root)
        mesh.up({DEFAULT: VERSION})  # once: istiod is ready at its end
        mesh.told(DEFAULT)
        client = mesh.any_revision.data_plane
        for manifest in called():
            client.apply(workloads.parse(manifest), force=True)
        eventually(lambda: workloads.ready_pod(mesh.any_revision, workloads.CALLED), seconds=120)
        yield Issued(mesh, bao, issuer, kubectl)


@pytest.fixture(scope="module")
def clients(issued: Issued, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Traffic]:
    made = Traffic(issued.mesh, tmp_path_factory.mktemp("counts"))
    with made.running(webhooks=False):
        yield made


def restarted(issued: Issued, clients: Traffic) -> x509.Certificate:
    """The intermediate behind the certificate of a new Pod."""
    clients.restart(workloads.CALLED, workloads.NAMESPACE)
    return issued.chain(workloads.CALLED)[1]


def test_the_key_is_in_the_secret_alone_and_workloads_lead_to_the_issuers_root(issued: Issued) -> None:
    files = issued.files()
    own, *_ = x509.load_pem_x509_certificates(files["tls.crt"].encode())
    assert issued.chain(workloads.CALLED)[1] == own
    state = json.dumps(deployment.export(issued.mesh.sandbox, issued.mesh.tools))
    assert max(files["tls.key"].splitlines(), key=len) not in state
    assert "PRIVATE KEY" not in state
    assert files["ca.crt"].splitlines()[1] in state  # the search finds what is there


def test_a_renewal_loses_no_request_and_restarts_no_istiod(issued: Issued, clients: Traffic) -> None:
    istiods, old = issued.mesh.istiods(), issued.files()
    before = clients.counts()
    cert_manager.renew(issued.kubectl, NAMESPACE, "cacerts")

    def renewed() -> x509.Certificate:
        found = issued.files()
        if found["tls.key"] == old["tls.key"] or found["tls.crt"] == old["tls.crt"]:
            raise NotObserved("the Secret is the old one")
        return x509.load_pem_x509_certificates(found["tls.crt"].encode())[0]

    own = eventually(renewed, seconds=60)

    def signs() -> None:
        if restarted(issued, clients) != own:
            raise NotObserved("istiod signs with the old intermediate")

    eventually(signs, seconds=180)
    # New sidecars, of the new intermediate, call the old one's and are called by them.
    clients.move()
    time.sleep(2)
    found = clients.counts().since(before)
    assert found.requests > 200, found
    assert found.lost == ()
    assert issued.mesh.istiods() == istiods


def test_istiod_goes_on_without_its_issuer(issued: Issued, clients: Traffic) -> None:
    own, *_ = x509.load_pem_x509_certificates(issued.files()["tls.crt"].encode())
    before = clients.counts()
    issued.issuer.close()
    cert_manager.renew(issued.kubectl, NAMESPACE, "cacerts")
    # An istiod that starts, and a proxy that asks it.
    clients.restart("istiod", NAMESPACE, of=issued.mesh.any_revision.control_plane)
    assert restarted(issued, clients) == own
    found = clients.counts().since(before)
    assert found.requests > 100, found
    assert found.lost == ()
    # An update with other settings needs no issuer either.
    issued.mesh.up({DEFAULT: VERSION})
