"""Another tenant's object is 404 on every route: the routes come from the OpenAPI document, not from a list."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hosted_mesh_controller.cli.service import api_document
from hosted_mesh_controller.documents import KINDS
from hosted_mesh_controller.vocabulary import Role

from tests.unit.controller.issuer import Issuer, issuing
from tests.unit.controller.service import Service, documents

SERVICE = {"/healthz", "/metrics"}
OF_ACME = ("acme", "acme-reader", "acme-by-issuer", "acme-reader-by-issuer", "acme-by-claim")
"""Holders of tokens of one tenant: the controller's own tokens, and an issuer's."""


@cache
def routes() -> list[tuple[str, str]]:
    return [(method.upper(), path) for path, methods in api_document()["paths"].items() for method in methods]


def of_tenants() -> list[tuple[str, str]]:
    found = [(method, path) for method, path in routes() if "{tenant}" in path]
    assert len(found) >= 6 * len(KINDS) + 8
    return found


@pytest.fixture(scope="module")
def issuer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Issuer]:
    with issuing(tmp_path_factory.mktemp("issuer")) as made:
        yield made


@pytest.fixture
def service(tmp_path: Path, issuer: Issuer) -> Service:
    made = Service.make(tmp_path, issuers={"main": issuer.settings()})
    made.tokens["acme-by-issuer"] = issuer.token("acme-writers", exp=time.time() + 3600)
    made.tokens["acme-reader-by-issuer"] = issuer.token("acme-readers", exp=time.time() + 3600, sub="u-2")
    made.tokens["acme-by-claim"] = issuer.token(organisation="acme", exp=time.time() + 3600, sub="u-3")
    return made


@pytest.fixture
def filled(service: Service) -> Service:
    """Every kind of object exists for `other`; `acme` has none."""
    for kind in KINDS:
        operation = service.ordered("other", kind, documents(kind, "other"))
        service.end(operation["id"])
    return service


def filled_in(service: Service, path: str, tenant: str) -> str:
    """A path with the names of the objects of `other`."""
    kind = path.split("/")[4]
    names = {"tenant": tenant, "membership": "default"}
    names["operation"] = service.call("other", "GET", "/v1/tenants/other/operations").json()["items"][0]["id"]
    if kind in KINDS:
        names["name"] = service.call("other", "GET", f"/v1/tenants/other/{kind}").json()["items"][0]["name"]
    return re.sub(r"\{(\w+)\}", lambda found: names[found[1]], path)


def body_for(method: str, path: str, tenant: str) -> Any:
    kind = path.split("/")[4]
    if method not in ("POST", "PUT") or kind not in KINDS:
        return None
    if path.endswith("/upkeep"):
        return {"repair": "report"}
    found = documents(kind, tenant)
    return found["mesh"]["memberships"][0] if "{membership}" in path else found


def test_another_tenant_s_path_does_not_exist(filled: Service) -> None:
    for method, path in of_tenants():
        there, absent = filled_in(filled, path, "other"), filled_in(filled, path, "nobody")
        for holder in OF_ACME:
            body = body_for(method, path, "other")
            answer = filled.call(holder, method, there, body, If_Match='"1"')
            assert answer.status_code == 404, (holder, method, path)
            assert answer.content == filled.call(holder, method, absent, body, If_Match='"1"').content, (method, path)


def test_another_tenant_s_names_do_not_exist_below_one_s_own(filled: Service) -> None:
    for method, path in of_tenants():
        kind = KINDS.get(path.split("/")[4])
        is_the_providers = kind is not None and Role.TENANT not in kind.ordered_by
        if not re.search(r"\{(name|operation)\}", path) or (method != "GET" and is_the_providers):
            continue
        body = body_for(method, path, "acme")
        for holder in ("acme", "acme-by-issuer", "acme-by-claim"):
            answer = filled.call(holder, method, filled_in(filled, path, "acme"), body, If_Match='"1"')
            assert answer.status_code == 404, (holder, method, path)


def test_the_same_requests_of_the_owner_are_answered(service: Service) -> None:
    """Otherwise the 404s above would prove nothing."""
    for method, path in of_tenants():
        end_all(service)
        for kind in KINDS:
            service.call("provider", "POST", f"/v1/tenants/other/{kind}", documents(kind, "other"))
        end_all(service)
        target = filled_in(service, path, "other")
        headers = {}
        if method in ("PUT", "DELETE"):
            of_object = re.sub(r"/(memberships|upkeep).*", "", target)
            headers["If_Match"] = service.call("other", "GET", of_object).headers["ETag"]
        answer = service.call("provider", method, target, body_for(method, path, "other"), **headers)
        expected = {409} if method == "POST" and path.endswith(tuple(KINDS)) else {200, 202}
        if method == "DELETE" and "{membership}" in path:
            expected = {422}  # a mesh needs one
        assert answer.status_code in expected, (method, path, answer.text)


def end_all(service: Service) -> None:
    while service.queue.added:
        identifier = service.queue.added.pop()
        if service.call("other", "GET", f"/v1/tenants/other/operations/{identifier}").json()["ended"] is None:
            service.end(identifier)


def test_routes_without_a_tenant_are_the_provider_s_or_public(service: Service) -> None:
    for method, path in set(routes()) - set(of_tenants()):
        if path in SERVICE:
            assert service.call(None, method, path).status_code == 200
            continue
        for holder in (*OF_ACME, "other"):
            assert service.call(holder, method, path).status_code == 403, path
        assert service.call("provider", method, path).status_code == 200


def test_every_route_requires_a_token(filled: Service) -> None:
    for method, path in routes():
        if path in SERVICE:
            continue
        target = filled_in(filled, path, "other") if "{tenant}" in path else path
        for text in (None, "Bearer hmc_0123_x", "Basic eDp5", "Bearer a.b.c"):
            headers = {"Authorization": text} if text else {}
            answer = filled.http.request(method, target, headers=headers)
            assert answer.status_code == 401, (method, path)
            assert answer.headers["WWW-Authenticate"] == "Bearer"


def test_a_reader_changes_nothing(filled: Service) -> None:
    for method, path in writing(filled):
        for holder in ("acme-reader", "acme-reader-by-issuer"):
            answer = filled.call(holder, method, path.replace("/other/", "/acme/"), {}, If_Match='"1"')
            assert answer.status_code == 403, (holder, method, path)


def writing(service: Service) -> Iterator[tuple[str, str]]:
    for method, path in of_tenants():
        if method != "GET":
            yield method, filled_in(service, path, "other")


def test_the_metrics_have_no_names(filled: Service) -> None:
    text = filled.call(None, "GET", "/metrics").text
    assert 'hosted_mesh_objects{kind="meshes",state="ready"} 1.0' in text
    assert "other" not in text
    assert "acme" not in text
