"""EMCO's traffic intents become a document that can be used; fields without a counterpart are named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pulumi_hosted_mesh.intents import emco
from pulumi_hosted_mesh.intents.compiler import compile_intents
from pulumi_hosted_mesh.problems import InvalidInputError
from pulumi_hosted_mesh.spec.intents import Intents
from pulumi_hosted_mesh.spec.load import read_document

from tests.unit.library.intents.documents import inventory, service

PUBLISHED = Path(__file__).parent / "emco.yaml"


def imported(place: Path, **more: Any) -> emco.EmcoDocument:
    given = {"project": None, "namespace": "books", "domain": None, **more}
    return emco.imported(emco.read(place), **given)


def test_the_published_form_compiles() -> None:
    found = imported(PUBLISHED)
    document = read_document(Intents, found.document)
    assert (document.project, document.application, document.version) == ("proj1", "app1", "v2")
    ((_, intent),) = document.all()
    assert (intent.type, intent.name, intent.external_prefix) == ("inter-cluster", "serverin", "httpbin")
    assert [one.service for one in intent.clients] == ["sleep"]
    assert intent.access[0].paths == ("/status/*", "/status/418")
    assert intent.load_balancing and intent.load_balancing.http_cookie == "user1"
    assert intent.circuit_breaking and intent.circuit_breaking.base_ejection_time == "15s"
    places = inventory(services=[service("httpbin", "east"), service("sleep", "north")], federations=[])
    kinds = {one["kind"] for one in compile_intents(document, places).objects["east"]}
    assert kinds == {"AuthorizationPolicy", "DestinationRule"}


def test_fields_without_a_counterpart_are_named() -> None:
    fields = [one.field for one in imported(PUBLISHED).warnings]
    assert fields == ["inbound-intents serverin: spec.protocol", "inbound-intents serverin: spec.edgeCNF"]


@pytest.mark.parametrize(
    ("kind", "type_of", "spec"),
    [
        ("interclusterservice", "inter-cluster", {"mutualTLS": "true"}),
        ("intraclusterservice", "intra-cluster", {"headless": "true"}),
        ("externaloutboundaccess", "outbound", {"externalName": "api.example.org", "protocol": "TLS", "port": "443"}),
    ],
)
def test_the_form_of_the_design_is_read_by_folders(
    kind: str, type_of: str, spec: dict[str, Any], tmp_path: Path
) -> None:
    folder = tmp_path / "projects/p1/composite-apps/a1/v1/traffic-intent-groups/g1" / kind
    clients = folder / "callee" / "clientservice"
    clients.mkdir(parents=True)
    callee = {
        "metadata": {"name": "callee"},
        "spec": {"serviceName": "reviews", "protocol": "HTTP", "port": "9080", **spec},
    }
    client = {"serviceName": "page", "egressgateway": "true", "serviceAccount": "page"}
    if kind == "intraclusterservice":
        del client["egressgateway"]
    (folder / "callee.json").write_text(json.dumps(callee))
    (clients / "page.json").write_text(json.dumps({"metadata": {"name": "page"}, "spec": client}))
    found = imported(tmp_path)
    assert found.warnings == []
    ((_, intent),) = read_document(Intents, found.document).all()
    assert (intent.type, intent.name) == (type_of, "callee")
    assert intent.clients[0].service_accounts == ("page",)
    assert (intent.clients[0].egress_gateway is None) == (kind == "intraclusterservice")


def test_a_private_key_is_never_taken_over(tmp_path: Path) -> None:
    url = "projects/p/composite-apps/a/v1/traffic-group-intents/g/inbound-intents"
    certificates = {"externalCerts": {"servicePrivateKey": "c2VjcmV0", "serviceCertificate": "bm9uZQ=="}}
    spec = {
        "serviceName": "page",
        "externalName": "page.example.com",
        "externalSupport": True,
        "port": 80,
        "protocol": "HTTP",
        "management": {"sidecarProxy": "yes", "tlsType": "SIMPLE"},
        "external": certificates,
    }
    (tmp_path / "one.json").write_text(json.dumps({"url": url, "metadata": {"name": "door"}, "spec": spec}))
    found = imported(tmp_path / "one.json")
    assert "c2VjcmV0" not in str(found)
    assert found.document["groups"][0]["intents"][0]["certificate"] == {"mode": "SIMPLE", "secret": "door-certificate"}
    assert "holds a certificate's key" in found.warnings[0].rule
    assert found.document["domain"] == "example.com"


@pytest.mark.parametrize("text", ["{", "a: {{ .Name }}\n", "[]", '{"metadata": {"name": "x"}}'])
def test_a_file_of_something_else_is_rejected(text: str, tmp_path: Path) -> None:
    (tmp_path / "file.yaml").write_text(text)
    with pytest.raises(InvalidInputError):
        imported(tmp_path)
