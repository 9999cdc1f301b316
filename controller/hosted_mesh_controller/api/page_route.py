"""Routes whose errors are pages too: a status, a reason, and problems with field, rule and fix; never a trace."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute

from hosted_mesh_controller.api import page_parts
from hosted_mesh_controller.api.errors import REFUSALS, ApiError, described, failed


class PageRoute(APIRoute):
    """A route of the page."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler, with each error as a page."""
        handler = super().get_route_handler()

        async def answered(request: Request) -> Response:
            try:
                return await handler(request)
            except REFUSALS as error:
                return refused(described(error))
            except Exception as error:
                return refused(failed(request, error))

        return answered


def refused(error: ApiError) -> Response:
    """The page of an error."""
    text = page_parts.refusal(error.status.phrase, error.detail, error.problems)
    return page_parts.answer(text, error.status, error.headers)
