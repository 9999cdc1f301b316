"""Acts on the page: each from its button over its confirmation to the operation, and the entry of the audit log."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from hosted_mesh_controller.api import page_actions
from hosted_mesh_controller.api.page_session import COOKIE
from hosted_mesh_controller.store import orders
from hosted_mesh_controller.store.tables import operations
from hosted_mesh_controller.vocabulary import State
from sqlalchemy import update
from starlette.testclient import TestClient

from tests.unit.controller.browsing import ORIGIN, VALUE, PageBrowser, forms, stored
from tests.unit.controller.service import Service, documents

ACME = "/page/tenants/acme"
ORDERS = f"{ACME}/orders"
MESH = f"{ACME}/objects/meshes/acme-mesh"
REST = "/v1/tenants/acme/meshes/acme-mesh"
STEP = {"action": "create", "resource": "acme-<root>", "kind": "k", "fields": ["spec"]}


@pytest.fixture
def browser(service: Service) -> PageBrowser:
    return PageBrowser.of(service, "acme")


@pytest.fixture
def ready(service: Service) -> Service:
    """A mesh that is ready."""
    service.end(service.ordered("acme", "meshes", documents("meshes", "acme"))["id"])
    return service


def text_of(body: Any) -> str:
    return yaml.safe_dump(body, sort_keys=False)


def started(answer: Any) -> str:
    """The operation that an act's answer leads to."""
    assert answer.status_code == 303, answer.text
    path, _, identifier = answer.headers["Location"].rpartition("/")
    assert path == f"{ACME}/operations"
    return str(identifier)


def operation(service: Service, identifier: str) -> Any:
    return service.call("acme", "GET", f"/v1/tenants/acme/operations/{identifier}").json()


def mesh(service: Service) -> Any:
    return service.call("acme", "GET", REST).json()


def acts(service: Service) -> list[tuple[str, str]]:
    """Acts of the page's user in the audit log, and their objects."""
    entries = service.call("provider", "GET", "/v1/audit?limit=200").json()["items"]
    own = service.tokens["acme"].split("_")[1]
    return [(one["act"], one["object"]) for one in entries if (one["token"], one["role"]) == (own, "tenant")]


def test_an_order_from_a_document_over_its_preview(service: Service, browser: PageBrowser) -> None:
    assert f'href="{ORDERS}"' in browser.get(ACME).text
    body = documents("meshes", "acme")
    preview = started(browser.submit(ORDERS, kind="meshes", documents=text_of(body)))
    assert operation(service, preview)["action"] == "preview-up"
    path = f"{ACME}/operations/{preview}/order"
    assert path not in browser.get(f"{ACME}/operations/{preview}").text
    assert browser.get(path).status_code == browser.send(path, browser.proved(path)).status_code == 404

    service.end(preview, steps=[STEP], changes={"create": 1})
    assert f'href="{path}"' in browser.get(f"{ACME}/operations/{preview}").text
    shown = browser.get(path).text
    for words in ("Create meshes/acme-mesh?", "acme-&lt;root&gt;", body["mesh"]["revisions"][0]["host"], "Create it"):
        assert words in shown, words
    assert service.call("acme", "GET", "/v1/tenants/acme/meshes").json()["items"] == []
    made = started(browser.submit(path))
    assert operation(service, made)["action"] == "up"
    assert mesh(service)["documents"] == body
    assert acts(service) == [("dry-run", "meshes/acme-mesh"), ("create", "meshes/acme-mesh")]
    assert browser.get(path).status_code == 412, "the preview is of an object that did not exist"


def test_a_change_over_its_preview(ready: Service, browser: PageBrowser) -> None:
    body = documents("meshes", "acme")
    assert body["mesh"]["revisions"][0]["host"] in browser.get(f"{ORDERS}?kind=meshes&name=acme-mesh").text
    body["mesh"]["revisions"][0]["host"] = "istiod.new.example.com"
    preview = started(browser.submit(ORDERS, kind="meshes", documents=text_of(body)))
    ready.end(preview, steps=[STEP])
    path = f"{ACME}/operations/{preview}/order"
    first = browser.get(path)
    assert "Change it" in first.text
    ready.end(started(browser.submit(path)))
    assert (mesh(ready)["generation"], mesh(ready)["documents"]) == (2, body)
    # The confirmation is of generation 1, and so is the preview.
    again = browser.send(path, forms(first.text)[path])
    assert again.status_code == 412
    assert "preview again" in again.text


def test_another_run(ready: Service, browser: PageBrowser) -> None:
    assert f'href="{MESH}/apply"' in browser.get(MESH).text
    failed = ready.call("acme", "PUT", REST, documents("meshes", "acme"), If_Match='"1"').json()
    ready.end(failed["id"], State.FAILED)
    shown = browser.get(f"{MESH}/apply").text
    assert "order 1 of 2" in shown
    form = forms(shown)[f"{MESH}/apply"]
    made = operation(ready, started(browser.send(f"{MESH}/apply", form)))
    assert (made["action"], made["generation"], made["state"]) == ("up", 3, "queued")
    assert mesh(ready)["documents"] == documents("meshes", "acme")
    # A second click is about an order that has gone by.
    assert browser.send(f"{MESH}/apply", form).status_code == 412


def test_a_preview(ready: Service, browser: PageBrowser) -> None:
    before = mesh(ready)
    made = started(browser.submit(f"{MESH}/preview", at=MESH))
    assert operation(ready, made)["action"] == "preview-up"
    ready.end(made, steps=[STEP], changes={"create": 1})
    assert mesh(ready) == before
    assert "acme-&lt;root&gt;" in browser.get(f"{ACME}/operations/{made}").text


def test_a_cancellation(ready: Service, browser: PageBrowser) -> None:
    identifier = ready.call("acme", "PUT", f"{REST}?dryRun=true", documents("meshes", "acme")).json()["id"]
    path = f"{ACME}/operations/{identifier}/cancel"
    assert f'href="{path}"' in browser.get(f"{ACME}/operations/{identifier}").text
    assert started(browser.submit(path)) == identifier
    assert operation(ready, identifier)["state"] == "cancelled"
    assert acts(ready)[-1] == ("cancel", f"operations/{identifier}")
    assert path not in browser.get(f"{ACME}/operations/{identifier}").text


def test_a_running_operation_is_interrupted(ready: Service, browser: PageBrowser) -> None:
    made = started(browser.submit(f"{MESH}/preview", at=MESH))
    orders.start(ready.database, made)
    browser.submit(f"{ACME}/operations/{made}/cancel")
    assert orders.wants_cancel(ready.database, made)


def test_a_removal_lists_its_effects_and_requires_the_name(ready: Service, browser: PageBrowser) -> None:
    path = f"{MESH}/remove"
    before = stored(ready)
    shown = browser.get(path).text
    host = documents("meshes", "acme")["mesh"]["revisions"][0]["host"]
    for words in (
        "acme.meshes.acme-mesh",
        "hub (control-plane), north (data-plane)",
        f"istiod at {host}",
        "trust.root.protect",
        "There is no preview of this removal",
    ):
        assert words in shown, words
    for name in ("", "acme", "Acme-mesh", "other-mesh"):
        answer = browser.submit(path, name=name)
        assert answer.status_code == 422, name
        for words in ("nothing was done", "must be acme-mesh", "Type the name"):
            assert words in answer.text, words
    assert browser.send(path, forms(shown)[path]).status_code == 422
    assert stored(ready) == before

    preview = started(browser.submit(f"{MESH}/preview-removal", at=path))
    ready.end(preview, steps=[{**STEP, "action": "delete"}])
    assert f'href="{path}"' in browser.get(f"{ACME}/operations/{preview}").text
    assert "<b>delete</b> acme-&lt;root&gt;" in browser.get(path).text
    assert operation(ready, started(browser.submit(path, name="acme-mesh")))["action"] == "destroy"
    assert mesh(ready)["state"] == "deleting"
    assert acts(ready)[-1] == ("delete", "meshes/acme-mesh")
    assert browser.submit(path, name="acme-mesh").status_code == 409


def test_only_the_confirmation_has_the_proof_of_its_act(ready: Service, browser: PageBrowser) -> None:
    """So no button and no other form skips it."""
    pages = (ACME, MESH, ORDERS, *(f"{MESH}/{act}" for act in ("apply", "remove", "upkeep")))
    found = {path: fields for page in pages for path, fields in forms(browser.get(page).text).items()}
    assert len(found) == 6
    before = stored(ready)
    for target in found:
        for path, fields in found.items():
            if path != target:
                whole = fields | {"name": "acme-mesh", "repair": "always"}
                assert browser.send(target, whole).status_code == 403, (path, target)
    assert stored(ready) == before


def test_the_policy_for_drift(ready: Service, browser: PageBrowser) -> None:
    assert "settings: report" in browser.get(f"{MESH}/upkeep").text
    for sent, policy in (("always", "always"), ("", "report"), ("report", "report")):
        assert browser.submit(f"{MESH}/upkeep", repair=sent).headers["Location"] == MESH
        assert mesh(ready)["upkeep"]["repair"] == policy
    assert acts(ready)[-1] == ("policy", "meshes/acme-mesh")
    wrong = browser.submit(f"{MESH}/upkeep", repair="never")
    assert wrong.status_code == 422
    assert "<code>repair</code>" in wrong.text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("mesh: [", "is not valid YAML"),
        ("mesh: {name: a, name: b}", "is given twice"),
        ("mesh: .nan", "has a value that JSON has not"),
        ("- 1", "must be a mapping of keys to documents"),
        ("mesh: {name: </textarea><script>alert(1)</script>}", "mesh.revisions"),
        ("mesh: {name: a, istiod: 1}", "mesh.istiod"),
    ],
)
def test_errors_of_documents_are_above_their_text(
    service: Service, browser: PageBrowser, text: str, words: str
) -> None:
    before = stored(service)
    answer = browser.submit(ORDERS, kind="meshes", documents=text)
    assert answer.status_code == 422
    for part in (words, "<th>field</th><th>rule</th><th>fix</th>", "the request cannot be used"):
        assert part in answer.text, part
    assert text.partition("<")[0] in answer.text, "the text is kept"
    assert "<script" not in answer.text
    assert answer.text.count("</textarea>") == 1
    assert stored(service) == before
    # The form of the error works as the first one.
    again = forms(answer.text)[ORDERS] | {"kind": "meshes", "documents": text_of(documents("meshes", "acme"))}
    started(browser.send(ORDERS, again))


def test_a_kind_of_the_provider(ready: Service, browser: PageBrowser) -> None:
    """Visible, without buttons; and no form of a tenant orders it."""
    ready.end(ready.ordered("acme", "dns", documents("dns", "acme"))["id"])
    path = f"{ACME}/objects/dns/dns"
    assert browser.get(path).status_code == 200
    assert "<form" not in browser.get(path).text
    assert '<option value="dns"' not in browser.get(ORDERS).text
    before = stored(ready)
    for act in ("preview", "apply", "preview-removal", "remove", "upkeep"):
        fields = browser.proved(f"{path}/{act}", "1") | {"name": "dns", "repair": "always"}
        assert browser.send(f"{path}/{act}", fields).status_code == 403, act
        assert browser.get(f"{path}/{act}").status_code == (405 if act.startswith("preview") else 403), act
    refused = browser.submit(ORDERS, kind="dns", documents=text_of(documents("dns", "acme")))
    assert refused.status_code == 403
    assert stored(ready) == before
    assert "<form" in PageBrowser.of(ready, "provider").get(path).text


def test_a_tenant_s_documents_have_the_tenant_s_limits(service: Service, browser: PageBrowser) -> None:
    body = documents("meshes", "acme")
    body["mesh"]["trust"] = {"root": {"protect": False}}
    answer = browser.submit(ORDERS, kind="meshes", documents=text_of(body))
    assert answer.status_code == 422
    assert "is set by the provider" in answer.text
    # Neither by a preview of the provider's.
    seen = service.call("provider", "POST", "/v1/tenants/acme/meshes?dryRun=true", body).json()
    service.end(seen["id"], steps=[])
    assert browser.submit(f"{ACME}/operations/{seen['id']}/order").status_code == 422
    assert service.call("acme", "GET", "/v1/tenants/acme/meshes").json()["items"] == []


def test_offers_of_a_run_are_no_offers_of_an_order(service: Service, browser: PageBrowser) -> None:
    """An offer in an order would hold for ever; those of a run follow the Services."""
    service.give_mesh("acme", "east")
    body = documents("federations", "acme")
    preview = started(browser.submit(ORDERS, kind="federations", documents=text_of(body)))
    with service.database.writing() as connection:
        run = json.dumps({**body, "offers": [{"mesh": "west", "services": []}]})
        connection.execute(update(operations).where(operations.c.id == preview).values(documents=run))
    service.end(preview, steps=[])
    made = operation(service, started(browser.submit(f"{ACME}/operations/{preview}/order")))
    ordered = service.call("acme", "GET", f"/v1/tenants/acme/federations/{made['name']}").json()
    assert "offers" not in ordered["documents"]
    refused = browser.submit(ORDERS, kind="federations", documents=text_of({**body, "offers": []}))
    assert refused.status_code == 422
    assert "<code>offers</code>" in refused.text


def test_a_failure_of_the_service_has_no_trace(
    ready: Service, browser: PageBrowser, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise ZeroDivisionError("secret-detail")

    monkeypatch.setattr(page_actions, "cancelled", fail)
    made = started(browser.submit(f"{MESH}/preview", at=MESH))
    answer = browser.submit(f"{ACME}/operations/{made}/cancel")
    assert answer.status_code == 500
    assert "the service failed; its log has the reason" in answer.text
    assert answer.headers["content-type"].startswith("text/html")
    for words in ("secret-detail", "ZeroDivisionError", "Traceback", ".py"):
        assert words not in answer.text


def test_the_headers_allow_forms_of_this_host_and_no_script(ready: Service, browser: PageBrowser) -> None:
    for path in (ACME, MESH, ORDERS, f"{MESH}/remove", f"{MESH}-nothing"):
        answer = browser.get(path)
        policy = dict(part.strip().split(" ", 1) for part in answer.headers["Content-Security-Policy"].split(";"))
        assert {policy.pop(name) for name in ("default-src", "frame-ancestors", "base-uri")} == {"'none'"}, path
        assert policy.pop("form-action") == "'self'"
        assert policy.pop("style-src").startswith("'sha256-")
        assert policy == {}
        assert answer.headers["Referrer-Policy"] == "same-origin", "no-referrer would send Origin: null"
        assert answer.headers["Cache-Control"] == "no-store"
        for words in ("<script", " style=", " onclick=", " onsubmit=", "javascript:"):
            assert words not in answer.text


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_the_cookie_of_a_session(ready: Service, browser: PageBrowser, scheme: str) -> None:
    origin, headers = ORIGIN.replace("http", scheme), dict(browser.http.headers)
    http = TestClient(ready.app, origin, headers=headers, follow_redirects=False)
    first = http.get(f"{MESH}/remove")
    header = first.headers["Set-Cookie"]
    begin = "__Host-" if scheme == "https" else ""
    assert header.startswith(f"{begin}{COOKIE}=")
    assert ("Secure" in header) == (scheme == "https")
    for attribute in ("HttpOnly", "SameSite=strict", "Path=/"):
        assert attribute in header
    assert "Domain" not in header
    assert ready.tokens["acme"] not in header + first.text
    assert "Set-Cookie" not in http.get(f"{MESH}/remove").headers
    sent = forms(first.text)[f"{MESH}/remove"] | {"name": "acme-mesh"}
    assert http.post(f"{MESH}/remove", data=sent, headers={"Origin": origin}).status_code == 303
    # A cookie of another form is replaced, not signed.
    forged = TestClient(ready.app, origin, headers=headers, cookies={f"{begin}{COOKIE}": f"{VALUE}x"})
    assert "Set-Cookie" in forged.get(f"{MESH}/upkeep").headers


def test_the_pages_of_acts_are_whole_documents(ready: Service, browser: PageBrowser) -> None:
    for path in (ACME, MESH, ORDERS, *(f"{MESH}/{act}" for act in ("apply", "remove", "upkeep"))):
        text = browser.get(path).text
        for tag in ("form", "label", "select", "textarea", "button", "p", "ul", "table", "div", "html"):
            assert text.count(f"<{tag} ") + text.count(f"<{tag}>") == text.count(f"</{tag}>"), (path, tag)
