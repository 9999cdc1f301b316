"""Rights on all routes of the page, which come from the application: tokens, tenants, roles, other sites' requests."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from hosted_mesh_controller.api.page_session import COOKIE, PROOF

from tests.unit.controller.browsing import ORIGIN, PageBrowser, routes, stored
from tests.unit.controller.service import Service, documents

READING = (
    *("/page", "/page/tenants/{tenant}", "/page/tenants/{tenant}/objects/{kind}/{name}"),
    "/page/tenants/{tenant}/operations/{operation}",
)
# The fields of each form besides the proof.
FIELDS = {"remove": {"name": "{name}"}, "upkeep": {"repair": "always"}}


@pytest.fixture
def filled(service: Service) -> Service:
    """Each tenant has a mesh, a successful preview, and an operation that has not started."""
    for tenant in ("acme", "other"):
        body = documents("meshes", tenant)
        service.end(service.ordered(tenant, "meshes", body)["id"])
        path = f"/v1/tenants/{tenant}/meshes/{tenant}-mesh?dryRun=true"
        for name in ("previewed", "waiting"):
            service.names[f"{tenant} {name}"] = service.call(tenant, "PUT", path, body).json()["id"]
            if name == "previewed":
                service.end(service.names[f"{tenant} {name}"], steps=[])
    return service


def place(service: Service, path: str, owner: str, below: str | None = None) -> str:
    """A route's path with the names of an owner's objects, below a tenant."""
    state = "previewed" if path.endswith("/order") else "waiting"
    names = {"tenant": below or owner, "kind": "meshes", "name": f"{owner}-mesh"}
    names["operation"] = service.names[f"{owner} {state}"]
    return re.sub(r"\{(\w+)\}", lambda found: names[found[1]], path)


def sent(
    browser: PageBrowser, service: Service, path: str, owner: str, below: str | None = None, version: int = 1
) -> dict[str, str]:
    """The whole form of a route, with a valid proof of this browser."""
    target = place(service, path, owner, below)
    last = act(path)
    found = browser.proved(target, str(version) if last in ("apply", "remove", "order") else "")
    if last == "orders":
        found |= {"kind": "meshes", "documents": str(documents("meshes", owner))}
    return found | {name: place(service, text, owner) for name, text in FIELDS.get(last, {}).items()}


def act(path: str) -> str:
    return path.rsplit("/", 1)[1]


def posts(service: Service) -> Iterator[str]:
    found = [path for method, path in routes(service) if method == "POST"]
    assert len(found) >= 8
    yield from found


def test_each_route_requires_a_token_as_password(filled: Service) -> None:
    browser = PageBrowser.of(filled, "acme")
    for method, path in routes(filled):
        target = place(filled, path, "acme")
        browser.http.headers.pop("Authorization", None)
        for header in ("", "Basic x", "Basic eDp5", "Basic /w==", f"Bearer {filled.tokens['acme']}"):
            headers = {"Origin": ORIGIN} | ({"Authorization": header} if header else {})
            body = sent(browser, filled, path, "acme") if method == "POST" else None
            answer = browser.http.request(method, target, headers=headers, data=body)
            assert answer.status_code == 401, (method, path, header)
            assert answer.headers["WWW-Authenticate"].startswith("Basic ")


def test_another_tenant_s_pages_do_not_exist(filled: Service) -> None:
    before = stored(filled)
    for method, path in routes(filled):
        if "{tenant}" not in path:
            continue
        for holder in ("acme", "acme-reader"):
            browser = PageBrowser.of(filled, holder)
            answers = []
            for tenant in ("other", "nobody"):
                target = place(filled, path, "other", tenant)
                form = sent(browser, filled, path, "other", tenant)
                answers.append(browser.get(target) if method == "GET" else browser.send(target, form))
            assert answers[0].status_code == 404, (holder, method, path)
            assert answers[0].content == answers[1].content, (holder, method, path)
    assert stored(filled) == before


def test_another_tenant_s_names_do_not_exist_below_one_s_own(filled: Service) -> None:
    before = stored(filled)
    browser = PageBrowser.of(filled, "acme")
    for method, path in routes(filled):
        if not re.search(r"\{(name|operation)\}", path):
            continue
        target, form = place(filled, path, "other", "acme"), sent(browser, filled, path, "other", "acme")
        answer = browser.get(target) if method == "GET" else browser.send(target, form)
        assert answer.status_code == 404, (method, path)
    assert browser.get("/page/tenants/acme/orders?kind=meshes&name=other-mesh").status_code == 404
    assert stored(filled) == before


def test_a_reader_changes_nothing_and_sees_no_button(filled: Service) -> None:
    """Also with the proof of a form, which no page gives a reader."""
    before = stored(filled)
    browser = PageBrowser.of(filled, "acme-reader")
    for method, path in routes(filled):
        target = place(filled, path, "acme")
        if path in READING:
            assert not re.search("<form|<button|class=.button", browser.get(target).text), path
            continue
        answer = browser.get(target) if method == "GET" else browser.send(target, sent(browser, filled, path, "acme"))
        assert answer.status_code == 403, (method, path)
        assert "requires a token with role provider or tenant" in answer.text
    assert stored(filled) == before


def test_the_same_requests_of_the_owner_are_answered(filled: Service) -> None:
    """Otherwise the refusals prove nothing. A cancellation comes first, and a removal last."""
    browser = PageBrowser.of(filled, "acme")
    for method, path in routes(filled):
        if method == "GET":
            assert browser.get(place(filled, path, "acme")).status_code == (303 if path == "/page" else 200), path
    order = ("cancel", "orders", "order", "preview", "preview-removal", "upkeep", "apply", "remove")
    assert sorted(order) == sorted(act(path) for path in posts(filled))
    for path in sorted(posts(filled), key=lambda one: order.index(act(one))):
        before = stored(filled)
        version = {"apply": 2, "remove": 3}.get(act(path), 1)
        answer = browser.send(place(filled, path, "acme"), sent(browser, filled, path, "acme", version=version))
        assert answer.status_code == 303, (path, answer.text)
        assert stored(filled) != before, path


def test_a_get_changes_nothing(filled: Service) -> None:
    before = stored(filled)
    browser = PageBrowser.of(filled, "provider")
    for method, path in routes(filled):
        assert method in ("GET", "POST")
        for query in ("", "?name=acme-mesh&kind=meshes&repair=always"):
            answer = browser.http.request("GET", place(filled, path, "acme") + query)
            assert answer.status_code in ((200,) if method == "GET" else (200, 405)), path
    assert stored(filled) == before


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://elsewhere.example"},
        {"Origin": "null"},
        {"Origin": None},
        {"Origin": ORIGIN.replace("http:", "https:")},
        {"Origin": f"{ORIGIN}:8080"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
    ],
    ids=str,
)
def test_another_site_s_request_is_refused(filled: Service, headers: dict[str, str | None]) -> None:
    """Even with the right cookie and proof."""
    before = stored(filled)
    browser = PageBrowser.of(filled, "acme")
    for path in posts(filled):
        answer = browser.send(place(filled, path, "acme"), sent(browser, filled, path, "acme"), **headers)
        assert answer.status_code == 403, path
        assert "does not come from this page" in answer.text
    assert stored(filled) == before


@pytest.mark.parametrize(
    "fault", ["no proof", "empty", "other cookie", "no cookie", "other path", "other token", "version"]
)
def test_a_request_without_the_form_s_proof_is_refused(filled: Service, fault: str) -> None:
    before = stored(filled)
    provider = PageBrowser.of(filled, "provider")
    for path in posts(filled):
        browser = PageBrowser.of(filled, "acme")
        target, form = place(filled, path, "acme"), sent(browser, filled, path, "acme")
        if fault == "no proof":
            del form[PROOF]
        elif fault == "empty":
            form[PROOF] = ""
        elif fault == "other cookie":
            browser.http.cookies.set(COOKIE, "d" * 43)
        elif fault == "no cookie":
            browser.http.cookies.clear()
        elif fault == "other path":
            form |= browser.proved(f"{target}x", form["version"])
        elif fault == "other token":
            form |= provider.proved(target, form["version"])
        else:
            form["version"] += "1"
        answer = browser.send(target, form)
        assert answer.status_code == 403, path
        assert "out of date" in answer.text
    assert stored(filled) == before


def test_only_a_form_of_limited_size_is_read(filled: Service) -> None:
    before = stored(filled)
    browser = PageBrowser.of(filled, "acme")
    for path in posts(filled):
        target, form = place(filled, path, "acme"), sent(browser, filled, path, "acme")
        for media_type in ("application/json", "text/plain", "multipart/form-data; boundary=x"):
            assert browser.send(target, form, Content_Type=media_type).status_code == 415, path
        assert browser.send(target, form | {"more": "x" * 1_100_000}).status_code == 413, path
        assert browser.send(target, form | {f"f{number}": "" for number in range(20)}).status_code == 400, path
    assert stored(filled) == before
