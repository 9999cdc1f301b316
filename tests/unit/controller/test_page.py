"""The web page: content and escaping."""

from __future__ import annotations

import base64
import os
import re
from pathlib import Path
from typing import Any

import pytest
from hosted_mesh_controller.store import orders
from hosted_mesh_controller.store.tokens import create_token
from hosted_mesh_controller.vocabulary import Role, State

from tests.unit.controller.service import Service, documents

STEP = {"action": "update", "resource": "istiod-<b>", "kind": "k", "fields": ["spec.ports"]}
END = {"resource": "acme-root", "ends": 1_900_000_000.0, "renew_from": 1_850_000_000.0}


def get(service: Service, holder: str | None, path: str) -> Any:
    headers = {}
    if holder:
        headers["Authorization"] = "Basic " + base64.b64encode(f"x:{service.tokens[holder]}".encode()).decode()
    return service.http.get(path, headers=headers, follow_redirects=False)


@pytest.fixture
def filled(service: Service) -> Service:
    """A mesh of each tenant, with drift, certificates, a preview and a failed change."""
    for tenant in ("acme", "other"):
        body = documents("meshes", tenant)
        service.end(service.ordered(tenant, "meshes", body)["id"], certificates=[END], changes={"create": 7})
        path = f"/v1/tenants/{tenant}/meshes/{tenant}-mesh"
        seen = service.call(tenant, "PUT", f"{path}?dryRun=true", body).json()
        service.end(seen["id"], changes={"update": 2}, steps=[STEP])
        with service.database.writing() as connection:
            key = orders.Key(tenant, "meshes", f"{tenant}-mesh")
            check = orders.add_operation(connection, key, orders.Action.CHECK, 1, body)
        service.end(check, drift=[STEP], certificates=[END])
    failed = service.call("acme", "PUT", "/v1/tenants/acme/meshes/acme-mesh", body_of("acme"), If_Match='"1"').json()
    orders.start(service.database, failed["id"])
    orders.add_event(
        service.database, failed["id"], {"type": "message", "severity": "error", "text": "<script>alert(1)</script>"}
    )
    step = {"type": "step", "phase": "begin", "action": "update", "resource": "istiod", "kind": "k"}
    orders.add_event(service.database, failed["id"], step)
    orders.finish(service.database, failed["id"], orders.Outcome(State.FAILED, {}, "</td> no API server"))
    service.names["operation"] = failed["id"]
    return service


def body_of(tenant: str) -> Any:
    return documents("meshes", tenant)


def test_the_page_of_a_tenant(filled: Service) -> None:
    answer = get(filled, "acme-reader", "/page/tenants/acme")
    assert answer.status_code == 200
    for text in (
        "acme-mesh",
        "failed",
        "1 of 2",
        "istiod-&lt;b&gt;",
        "spec.ports",
        "2 update",
        "acme-root",
        "2030-03-17",
    ):
        assert text in answer.text, text
    assert "other-mesh" not in answer.text
    assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'; style-src 'sha256-")
    assert get(filled, "acme", "/page").headers["Location"] == "/page/tenants/acme"
    assert "/page/tenants/other" in get(filled, "provider", "/page").text


def test_the_page_of_an_operation_escapes_its_texts(filled: Service) -> None:
    text = get(filled, "acme", f"/page/tenants/acme/operations/{filled.names['operation']}").text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "&lt;/td&gt; no API server" in text
    assert "<script" not in text
    assert "begin  update" in text
    assert 'http-equiv="refresh"' not in text


def test_a_token_of_webhooks_opens_no_page(filled: Service) -> None:
    """API servers have it in a URL."""
    filled.tokens["webhooks"] = create_token(filled.database, Role.ADMISSION, "acme")[1]
    for path in ("/page", "/page/tenants/acme"):
        assert get(filled, "webhooks", path).status_code == 401


def test_the_interface_does_not_accept_a_browser_s_password(filled: Service) -> None:
    assert get(filled, "acme", "/v1/tenants/acme/meshes").status_code == 401


def test_the_pages_as_files(filled: Service, tmp_path: Path) -> None:
    """Whole documents. With HOSTED_MESH_PAGES they are written there, to be looked at in a browser."""
    folder = Path(os.environ.get("HOSTED_MESH_PAGES", tmp_path))
    for name, path in (("tenant", ""), ("operation", f"/operations/{filled.names['operation']}")):
        text = get(filled, "acme", f"/page/tenants/acme{path}").text
        for tag in ("table", "tr", "td", "ul", "pre", "html"):
            assert len(re.findall(rf"<{tag}[ >]", text)) == text.count(f"</{tag}>"), tag
        (folder / f"{name}.html").write_text(text)
