"""The OpenAPI document, and requests made from it: none gets a 500, each answer is documented."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import schemathesis
import yaml
from hosted_mesh_controller import views
from hosted_mesh_controller.cli.api_page import page
from hosted_mesh_controller.cli.service import api_document
from hosted_mesh_controller.documents import KINDS, checked
from hosted_mesh_controller.settings import Settings, read_settings
from hosted_mesh_controller.vocabulary import Role
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from schemathesis import GenerationMode

from sandbox.bootstrap import CHECKOUT
from tests.support.nightly import all_but
from tests.unit.controller.service import Service, documents

FEW, MANY = 12, 60
"""Examples of each operation, with each change and nightly; a third of them with bodies, which take long to make."""
DOCUMENT = api_document()
ROUTES = [(method, path) for path, methods in DOCUMENT["paths"].items() for method in methods]


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Service:
    service = Service.make(tmp_path_factory.mktemp("fuzzed"))
    service.names = {kind: service.ordered("acme", kind, documents(kind, "acme"))["name"] for kind in KINDS}
    return service


@cache
def schema() -> Any:
    """Of all operations: reading it takes longer than the requests of one."""
    return schemathesis.openapi.from_dict(DOCUMENT)


def requests_of(method: str, path: str) -> Any:
    """Requests of one operation, made from the schema: fitting ones and others."""
    operation = schema()[path][method]
    return st.one_of(
        operation.as_strategy(generation_mode=GenerationMode.POSITIVE),
        operation.as_strategy(generation_mode=GenerationMode.NEGATIVE),
    )


@pytest.mark.parametrize(("method", "path"), ROUTES, ids=[f"{method} {path}" for method, path in ROUTES])
@pytest.mark.parametrize("examples", all_but({FEW}, [FEW, MANY]))
def test_no_request_fails_the_service(fuzzed: Service, method: str, path: str, examples: int) -> None:
    """Most requests are of a tenant about its own objects, or they would all end at the first check."""
    operation = DOCUMENT["paths"][path][method]
    kind = path.split("/")[4] if path.count("/") > 3 else ""

    @settings(max_examples=examples // 3 if "requestBody" in operation else examples, phases=[Phase.generate])
    @given(case=requests_of(method, path), holder=HOLDERS, known=st.sampled_from([True, True, False]))
    def request(case: Any, holder: tuple[str, str], known: bool) -> None:
        if "tenant" in (case.path_parameters or {}):
            case.path_parameters["tenant"] = holder[1]
        if known and "name" in (case.path_parameters or {}):
            case.path_parameters["name"] = fuzzed.names[kind]
        if path.endswith("/events"):
            case.query = {**(case.query or {}), "wait": "false"}
        answer = case.call(headers={"Authorization": f"Bearer {fuzzed.tokens[holder[0]]}"}, app=fuzzed.app)
        judge(answer.status_code, answer.headers["content-type"][0], answer.text, operation)

    request()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("examples", all_but({FEW}, [FEW, MANY]))
def test_no_document_fails_the_service(fuzzed: Service, kind: str, examples: int) -> None:
    """Documents that fit, but for one part."""
    operation = DOCUMENT["paths"][f"/v1/tenants/{{tenant}}/{kind}"]["post"]
    good = documents(kind, "acme")

    @settings(max_examples=12 * examples, phases=[Phase.generate])
    @given(place=st.sampled_from(sorted(places(good), key=str)), value=JSON, holder=HOLDERS)
    def request(place: tuple[str | int, ...], value: Any, holder: tuple[str, str]) -> None:
        body = copy.deepcopy(good)
        part: Any = body
        for step in place[:-1]:
            part = part[step]
        part[place[-1]] = value
        answer = fuzzed.call(holder[0], "POST", f"/v1/tenants/{holder[1]}/{kind}", body)
        judge(answer.status_code, answer.headers["content-type"], answer.text, operation)

    request()


def judge(status: int, media_type: str, text: str, operation: Any) -> None:
    assert status < 500, text
    # 405: the router's, for a method made up by the schema's negation.
    assert str(status) in {*operation["responses"], "405"}, text
    if status >= 400:
        assert media_type == "application/problem+json"


def places(part: Any) -> Iterator[tuple[str | int, ...]]:
    inner: Any = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
    for step, value in inner:
        yield (step,)
        yield from ((step, *rest) for rest in places(value))


HOLDERS = st.sampled_from(
    [*[("acme", "acme")] * 6, ("provider", "acme"), ("acme-reader", "acme"), ("other", "other"), ("acme", "other")]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(["acme", "north", "hub", ""]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["name", "x"]), inner, max_size=2),
    max_leaves=4,
)


def test_the_document_is_openapi_3_1_with_bearer_tokens() -> None:
    found = api_document()
    assert found["openapi"].startswith("3.1")
    assert found["components"]["securitySchemes"]["token"]["scheme"] == "bearer"
    identifiers = [one["operationId"] for path in found["paths"].values() for one in path.values()]
    assert len(identifiers) == len(set(identifiers))
    assert all(one.get("summary") for path in found["paths"].values() for one in path.values())


def test_every_reference_leads_somewhere() -> None:
    found = api_document()

    def references(part: Any) -> set[str]:
        if isinstance(part, dict):
            own = {part["$ref"]} if isinstance(part.get("$ref"), str) else set()
            return own.union(*(references(one) for one in part.values()))
        return set().union(*(references(one) for one in part)) if isinstance(part, list) else set()

    schemas = found["components"]["schemas"]
    wanted = {one.removeprefix("#/components/schemas/") for one in references(found)}
    assert wanted <= schemas.keys()
    assert {one.__name__ for one in vars(views).values() if isinstance(one, type)} & wanted >= {
        "Operation",
        "OrderedObject",
        "ProblemDetails",
        "FieldProblem",
    }


@pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
def test_the_schema_of_an_order_accepts_the_examples(kind: Any) -> None:
    body = {"$ref": f"#/components/schemas/{kind.title}Order", "components": DOCUMENT["components"]}
    validator = Draft202012Validator(body)
    order = documents(kind.name, "acme")
    assert list(validator.iter_errors(order)) == []
    assert list(validator.iter_errors({**order, "more": 1}))
    assert list(validator.iter_errors({}))


def test_the_page_is_the_document_s() -> None:
    """After a change: python -m hosted_mesh_controller.cli.api_page > docs/controller-api.md"""
    assert (CHECKOUT / "docs/controller-api.md").read_text() == page()
    assert "|  |" not in page()


def test_the_settings_of_the_page_are_the_model_s(tmp_path: Path) -> None:
    text = (CHECKOUT / "docs/controller.md").read_text()
    (example,) = re.findall(r"^```yaml\n(data:.*?)^```", text, re.MULTILINE | re.DOTALL)
    (tmp_path / "settings.yaml").write_text(example)
    settings = read_settings(tmp_path / "settings.yaml")
    table = text.partition("| setting |")[2].partition("\n\n")[0]
    rows = {
        name for row in table.splitlines() for name in re.findall(r"`(\w+)`", row.split("|")[1] if "|" in row else "")
    }
    assert rows | {"tls"} == {str(field.alias) for field in Settings.model_fields.values()}
    (order,) = re.findall(r"^```yaml\n(mesh:.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert checked(KINDS["meshes"], yaml.safe_load(order), settings, "acme", Role.TENANT) == "shop"
