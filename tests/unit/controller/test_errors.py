"""Errors: each status as problem+json, with field, rule and fix where a field is wrong; no value of the request."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hosted_mesh_controller.api import bodies

from tests.unit.controller.service import Service, documents

MESHES = "/v1/tenants/acme/meshes"
MESH = f"{MESHES}/acme-mesh"
JSON = {"Content-Type": "application/json"}


def problem(answer: Any, status: int) -> Any:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    found = answer.json()
    assert (found["type"], found["status"]) == ("about:blank", status)
    assert found["title"]
    assert found["detail"]
    return found


def raw(service: Service, content: bytes, **headers: str) -> Any:
    own = {**JSON, "Authorization": f"Bearer {service.tokens['acme']}", **headers}
    return service.http.post(MESHES, content=content, headers=own)


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"\xff", b'{"mesh": NaN}', b'{"mesh": 1e999}', b'{"mesh": "\\ud800"}', b"[" * 100_000, b"1" * 5000],
    ids=["empty", "cut", "no UTF-8", "NaN", "too large a number", "lone surrogate", "deep", "digits"],
)
def test_400_for_no_json(service: Service, content: bytes) -> None:
    problem(raw(service, content), 400)


def test_400_for_two_members_of_one_name(service: Service) -> None:
    found = problem(raw(service, b'{"mesh": {"name": "a", "host": 1, "name": "b"}}'), 400)
    assert found["detail"] == "the body has two members 'name' in one object"


def test_401_without_a_valid_token(service: Service) -> None:
    assert problem(service.call(None, "GET", MESHES), 401)["detail"].startswith("requires a valid token")


def test_403_for_a_kind_of_the_provider(service: Service) -> None:
    answer = service.call("acme", "POST", "/v1/tenants/acme/dns", documents("dns", "acme"))
    assert "provider" in problem(answer, 403)["detail"]


def test_404_and_405(service: Service) -> None:
    problem(service.call("acme", "GET", MESH), 404)
    problem(service.call("acme", "GET", "/v1/nothing"), 404)
    problem(service.call("acme", "PATCH", MESH), 405)


def test_409_for_one_that_exists_or_goes(service: Service) -> None:
    service.ordered("acme", "meshes", documents("meshes", "acme"))
    assert "PUT" in problem(service.call("acme", "POST", MESHES, documents("meshes", "acme")), 409)["detail"]
    service.call("acme", "DELETE", MESH, If_Match='"1"')
    for method, body in (("PUT", documents("meshes", "acme")), ("DELETE", None)):
        problem(service.call("acme", method, MESH, body, If_Match='"1"'), 409)


def test_412_and_428_protect_a_change_of_somebody_else(service: Service) -> None:
    service.ordered("acme", "meshes", documents("meshes", "acme"))
    for method, body in (("PUT", documents("meshes", "acme")), ("DELETE", None)):
        problem(service.call("acme", method, MESH, body), 428)
        for stale in ('"2"', "1", 'W/"1"', ""):
            problem(service.call("acme", method, MESH, body, If_Match=stale), 412)
    assert service.call("acme", "PUT", MESH, documents("meshes", "acme"), If_Match='"7", "1"').status_code == 202


def test_413_for_a_large_body(service: Service) -> None:
    assert raw(service, b'"' + b"x" * (bodies.LARGEST - 2) + b'"').status_code == 422
    problem(raw(service, b'"' + b"x" * bodies.LARGEST + b'"'), 413)


def test_415_for_another_type(service: Service) -> None:
    problem(raw(service, b"{}", **{"Content-Type": "text/yaml"}), 415)


def test_429_for_too_many(tmp_path: Path) -> None:
    service = Service.make(tmp_path, requestsPerSecond=1)
    answers = [service.call("acme", "GET", MESHES) for _ in range(15)]
    assert [one.status_code for one in answers[:10]] == [200] * 10
    assert problem(answers[-1], 429)
    assert answers[-1].headers["Retry-After"] == "1"
    assert service.call("other", "GET", "/v1/tenants/other/meshes").status_code == 200


def test_500_without_the_reason(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Any:
        raise RuntimeError("a password")

    monkeypatch.setattr("hosted_mesh_controller.store.orders.find", broken)
    answer = service.call("acme", "GET", MESH)
    problem(answer, 500)
    assert "password" not in answer.text


def test_422_names_field_rule_and_fix(service: Service) -> None:
    body = documents("meshes", "acme")
    body["mesh"]["revisions"][0]["host"] = "10.0.0.1"
    body["mesh"]["memberships"][0]["accss"] = {}
    body["more"] = 1
    found = problem(service.call("acme", "POST", MESHES, body), 422)["problems"]
    assert {one["field"]: (one["rule"], one["fix"]) for one in found} == {
        "more": ("is not a key of this kind", "The keys are mesh"),
        "mesh.revisions[0].host": (
            "is an IP address, but both sides connect by name",
            "Give a DNS name that resolves to the load balancer from the data plane",
        ),
        "mesh.memberships[0].accss": ("is not a field of the document", "Did you mean access?"),
    }


def test_422_repeats_no_value(service: Service) -> None:
    body = documents("meshes", "acme")
    body["mesh"]["name"] = "S3CRET!"
    body["mesh"]["memberships"][0]["cluster"]["kubeconfig"] = "S3CRET"
    assert "S3CRET" not in json.dumps(problem(service.call("acme", "POST", MESHES, body), 422))
    assert "S3CRET" not in json.dumps(problem(service.call("acme", "GET", f"{MESHES}?limit=S3CRET"), 422))


@pytest.mark.parametrize(
    "bad",
    [
        {f"field{number}": 1 for number in range(3000)},
        {"memberships": [{"field": 1}] * 3000},
        {"revisions": [{"host": 1, "exposure": 1}] * 3000},
    ],
    ids=["unknown fields", "memberships", "revisions"],
)
def test_422_has_a_hundred_problems_at_most(
    service: Service, monkeypatch: pytest.MonkeyPatch, bad: dict[str, Any]
) -> None:
    """The search for a near name is slow, and a body has room for a hundred thousand of them."""
    searched: list[str] = []

    def search(name: str, *_: Any, **__: Any) -> list[str]:
        searched.append(name)
        return []

    monkeypatch.setattr("difflib.get_close_matches", search)
    body = documents("meshes", "acme")
    body["mesh"] |= bad
    found = problem(service.call("acme", "POST", MESHES, body), 422)["problems"]
    assert len(found) == 101
    assert found[-1]["field"] == "(document)"
    assert found[-1]["rule"].endswith("problems more")
    assert len(searched) <= 100


@pytest.mark.parametrize("body", [None, [], "x", 1, {}, {"mesh": None}, {"mesh": []}, {"mesh": {"revisions": 1}}])
def test_422_for_other_forms(service: Service, body: Any) -> None:
    answer = raw(service, json.dumps(body).encode())
    assert problem(answer, 422)["problems"]
    assert service.queue.added == []


def test_422_for_a_new_name(service: Service) -> None:
    service.ordered("acme", "meshes", documents("meshes", "acme"))
    answer = service.call("acme", "PUT", MESH, documents("meshes", "acme", "renamed"), If_Match='"1"')
    assert problem(answer, 422)["problems"][0]["rule"] == "would rename acme-mesh"


def test_422_for_a_page_after_nothing(service: Service) -> None:
    for after in ("a", "0" * 32):
        answer = service.call("acme", "GET", f"/v1/tenants/acme/operations?after={after}")
        assert problem(answer, 422)["problems"][0]["field"] == "after"
