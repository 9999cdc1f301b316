"""Errors as problem+json, with field, rule and fix."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pulumi_hosted_mesh import InvalidInputError, Problem, field_path
from starlette.exceptions import HTTPException

from hosted_mesh_controller.json_logs import facts
from hosted_mesh_controller.views import FieldProblem, ProblemDetails

LOG: Final = logging.getLogger(__name__)
MEDIA_TYPE: Final = "application/problem+json"
_MOST_PROBLEMS: Final = 100
NO_SUCH: Final = "there is no such object for this token"


class ApiError(Exception):
    """An answer with an error status."""

    def __init__(
        self,
        status: HTTPStatus,
        detail: str,
        problems: Sequence[Problem] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status, self.detail, self.problems, self.headers = status, detail, tuple(problems), dict(headers or {})


def not_found() -> ApiError:
    """The one answer for absent objects and for those of other tenants."""
    return ApiError(HTTPStatus.NOT_FOUND, NO_SUCH)


REFUSALS: Final = (ApiError, InvalidInputError, RequestValidationError)


def described(error: Exception) -> ApiError:
    """One of the REFUSALS as status, reason and problems."""
    if isinstance(error, ApiError):
        return error
    if isinstance(error, InvalidInputError):
        return ApiError(HTTPStatus.UNPROCESSABLE_ENTITY, f"{error.source} cannot be used", error.problems)
    assert isinstance(error, RequestValidationError)
    problems = [_parameter(one) for one in error.errors()]
    return ApiError(HTTPStatus.UNPROCESSABLE_ENTITY, "a parameter cannot be used", problems)


def failed(request: Request, error: Exception) -> ApiError:
    """The answer to a request that raised another exception. The log has it, the answer has not."""
    route = getattr(request.scope.get("route"), "path", "(none)")
    LOG.error("request failed", extra=facts(route=route), exc_info=error)
    return ApiError(HTTPStatus.INTERNAL_SERVER_ERROR, "the service failed; its log has the reason")


def answer(
    status: int, detail: str, problems: Sequence[Problem] = (), headers: Mapping[str, str] | None = None
) -> JSONResponse:
    """An error as a response."""
    found = [FieldProblem(field=one.field, rule=one.rule, fix=one.fix) for one in problems[:_MOST_PROBLEMS]]
    if len(problems) > len(found):
        rule = f"has {len(problems) - len(found)} problems more"
        found.append(FieldProblem(field="(document)", rule=rule, fix="Correct these first"))
    details = ProblemDetails(title=HTTPStatus(status).phrase, status=status, detail=detail, problems=found)
    content = details.model_dump(mode="json", by_alias=True)
    return JSONResponse(content, status, headers=dict(headers or {}), media_type=MEDIA_TYPE)


def install(app: FastAPI) -> None:
    """Registers the handlers."""

    def refused(_request: Request, error: Exception) -> JSONResponse:
        found = described(error)
        return answer(found.status, found.detail, found.problems, found.headers)

    for refusal in REFUSALS:
        app.add_exception_handler(refusal, refused)

    @app.exception_handler(HTTPException)
    def http(_request: Request, error: HTTPException) -> JSONResponse:
        return answer(error.status_code, HTTPStatus(error.status_code).phrase.lower(), (), error.headers)

    @app.exception_handler(Exception)
    def unexpected(request: Request, error: Exception) -> JSONResponse:
        found = failed(request, error)
        return answer(found.status, found.detail)


def _parameter(error: Mapping[str, Any]) -> Problem:
    """A problem with a parameter of the path, the query or a header. It omits the value."""
    return Problem(field_path([*map(str, error["loc"])]), error["msg"].lower(), "Correct it as the schema describes")
