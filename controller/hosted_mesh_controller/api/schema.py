"""The OpenAPI document: FastAPI's, with the documents' own schemas as bodies."""

from __future__ import annotations

from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pulumi_hosted_mesh import Model
from pydantic.json_schema import GenerateJsonSchema, models_json_schema

from hosted_mesh_controller.documents import KINDS, Kind
from hosted_mesh_controller.views import ProblemDetails, UpkeepPolicy, View

TITLE: Final = "hosted-mesh controller"
_REFERENCE: Final = "#/components/schemas/{model}"
_ERRORS: Final = {
    400: "The body is not valid JSON.",
    401: "The token is missing or not valid.",
    403: "The token's role has not this right.",
    404: "There is no such object for this token.",
    408: "The body did not arrive in time.",
    409: "The object exists, or is being deleted.",
    412: "The object has changed.",
    413: "The body is too large.",
    415: "The body is not JSON.",
    422: "Fields or parameters cannot be used; each with rule and fix.",
    428: "If-Match is required.",
    429: "Too many requests for this token.",
    503: "The keys of the token's issuer cannot be read now.",
}


def errors() -> dict[int | str, dict[str, Any]]:
    """The error answers of every route."""
    content = {"application/problem+json": {"schema": {"$ref": _REFERENCE.format(model=ProblemDetails.__name__)}}}
    return {status: {"description": text, "content": content} for status, text in _ERRORS.items()}


def body_of(name: str) -> dict[str, Any]:
    """The body of a route, by name of its schema."""
    schema = {"$ref": _REFERENCE.format(model=name)}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


def document(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI document of the application."""
    if app.openapi_schema is None:
        found = get_openapi(title=TITLE, version=app.version, description=app.description, routes=app.routes)
        schemas = found.setdefault("components", {}).setdefault("schemas", {})
        for name, schema in {**_documents(), **_view(ProblemDetails), **_view(UpkeepPolicy)}.items():
            schemas.setdefault(name, schema)
        for name in ("HTTPValidationError", "ValidationError"):
            schemas.pop(name, None)
        scheme = {
            "type": "http",
            "scheme": "bearer",
            "description": "A token of `hosted-mesh-controller token`, or of one of the settings' issuers (JWT).",
        }
        found["components"]["securitySchemes"] = {"token": scheme}
        for path, operations in found["paths"].items():
            for operation in operations.values():
                operation["security"] = [{"token": []}] if path.startswith("/v1/") else []
        app.openapi_schema = found
    return app.openapi_schema


def _documents() -> dict[str, Any]:
    """The schemas of documents, and of each kind's order."""
    models: list[type[Model]] = list({model for kind in KINDS.values() for model in kind.documents.values()})
    models.sort(key=lambda model: model.__name__)
    _, found = models_json_schema(
        [(model, "validation") for model in models],
        by_alias=True,
        ref_template=_REFERENCE,
        schema_generator=_WithoutTitles,
    )
    return {**found["$defs"], **{f"{kind.title}Order": _order(kind) for kind in KINDS.values()}}


def _order(kind: Kind) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    for key, model in kind.documents.items():
        reference = {"$ref": _REFERENCE.format(model=model.__name__)}
        properties[key] = {"type": "array", "items": reference} if key in kind.lists else reference
    return {
        "type": "object",
        "description": f"The documents of a stack of kind `{kind.stack}`. Clusters are names, not paths.",
        "properties": properties,
        "required": [key for key in kind.documents if key not in kind.optional],
        "additionalProperties": False,
    }


def _view(model: type[View]) -> dict[str, Any]:
    """The schemas of a view that no route names, and of its parts."""
    schema = model.model_json_schema(by_alias=True, ref_template=_REFERENCE)
    return {**schema.pop("$defs"), model.__name__: schema}


class _WithoutTitles(GenerateJsonSchema):
    """A generator without titles of fields, as for the documents' own schemas."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 (pydantic names it)
        return False
