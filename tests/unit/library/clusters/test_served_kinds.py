"""The default of access.rootCertificateOwner follows the API server; without an answer nothing is made."""

from __future__ import annotations

import base64
import json
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pulumi
import pytest
from pulumi_hosted_mesh.clusters.cluster import DataPlaneCluster
from pulumi_hosted_mesh.clusters.kubeconfig import KubeconfigRequest, from_content, minimal
from pulumi_hosted_mesh.data_plane import served_kinds
from pulumi_hosted_mesh.problems import InvalidInputError
from pulumi_hosted_mesh.spec.data_plane import Access

from sandbox.clusters.credentials.certificates import issue, new_authority
from tests.support.serving import HttpsServer, serving

AUTHORITY = new_authority("company")
ASK = served_kinds.has_policies  # before the folder's conftest replaces it


def kubeconfig(server: str) -> str:
    authority = base64.b64encode(AUTHORITY.certificate).decode()
    return minimal("c", {"server": server, "certificate-authority-data": authority}, {"token": "t"})


def owner(wanted: bool | None, cluster: DataPlaneCluster | None = None) -> bool:
    given = cluster or DataPlaneCluster(kubeconfig=kubeconfig("https://127.0.0.1:1"))
    return served_kinds.sets_owner(Access(root_certificate_owner=wanted), given, "DataPlaneAccess demo")


@pytest.mark.parametrize(
    ("wanted", "there", "made"),
    [(None, True, True), (None, False, False), (True, True, True), (True, None, True), (False, None, False)],
)
def test_the_default_follows_the_api_server(
    monkeypatch: pytest.MonkeyPatch, wanted: bool | None, there: bool | None, made: bool
) -> None:
    monkeypatch.setattr(served_kinds, "has_policies", lambda config: there)
    assert owner(wanted) is made


@pytest.mark.parametrize(("wanted", "there", "words"), [(None, None, "has no default"), (True, False, "1.36")])
def test_an_update_without_the_kind_is_refused(
    monkeypatch: pytest.MonkeyPatch, wanted: bool | None, there: bool | None, words: str
) -> None:
    monkeypatch.setattr(served_kinds, "has_policies", lambda config: there)
    monkeypatch.setattr(pulumi.runtime, "is_dry_run", lambda: False)
    with pytest.raises(InvalidInputError, match=words) as caught:
        owner(wanted)
    assert caught.value.problems[0].field == "access.rootCertificateOwner"
    assert "Set access.rootCertificateOwner: false" in caught.value.problems[0].fix
    assert len(str(caught.value).splitlines()) == 1
    assert ("`pulumi destroy` of it needs this too" in caught.value.problems[0].fix) is (wanted is None)


def test_a_preview_without_an_answer_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served_kinds, "has_policies", lambda config: None)
    monkeypatch.setattr(pulumi.runtime, "is_dry_run", lambda: True)
    assert owner(None) is True


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        server: Any = self.server
        body = json.dumps(server.answer).encode() if self.path == "/apis/admissionregistration.k8s.io/v1" else b"{}"
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: Any) -> None:
        pass


LISTED = [{"name": "validatingwebhookconfigurations"}, {"name": "mutatingadmissionpolicies"}]


@pytest.mark.parametrize(
    ("answer", "there"),
    [({"resources": LISTED}, True), ({"resources": LISTED[:1]}, False), ({}, None), ({"resources": 5}, None)],
)
def test_the_api_server_lists_its_kinds(tmp_path: Path, answer: Any, there: bool | None) -> None:
    with serving(HttpsServer(issue(AUTHORITY, "server", names=("127.0.0.1",)), tmp_path, Handler)) as server:
        server.answer = answer
        assert ASK(from_content(kubeconfig(server.address), KubeconfigRequest())) is there
    assert ASK(from_content(kubeconfig("https://127.0.0.1:1"), KubeconfigRequest())) is None
