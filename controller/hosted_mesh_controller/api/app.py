"""The application: all routes, errors, logs of requests."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from typing import Final

from fastapi import FastAPI, Request, Response

from hosted_mesh_controller import metrics
from hosted_mesh_controller.api import (
    admission,
    discovery,
    errors,
    memberships,
    objects,
    operations,
    page,
    page_actions,
    provider,
    schema,
)
from hosted_mesh_controller.api.access import Services
from hosted_mesh_controller.documents import KINDS
from hosted_mesh_controller.json_logs import facts
from hosted_mesh_controller.settings import Settings
from hosted_mesh_controller.store.database import Database
from hosted_mesh_controller.work.queue import Queue

LOG: Final = logging.getLogger(__name__)
_DESCRIPTION: Final = "Orders meshes, federations, DNS and intents. Each order is one operation on one Pulumi stack."


def application(settings: Settings, database: Database, queue: Queue) -> FastAPI:
    """The application on a database and a queue."""
    app = FastAPI(
        title=schema.TITLE,
        version=version("hosted-mesh-controller"),
        description=_DESCRIPTION,
        openapi_url="/v1/openapi.json",
        docs_url=None,  # these pages load scripts from another host
        redoc_url=None,
        responses=schema.errors(),
    )
    app.state.services = Services(settings, database, queue)
    app.openapi = lambda: schema.document(app)  # type: ignore[method-assign]  # FastAPI documents this way
    errors.install(app)
    for kind in KINDS.values():
        app.include_router(objects.routes(kind))
    for router in (
        memberships.router,
        operations.router,
        discovery.router,
        provider.router,
        page.router,
        page_actions.router,
        admission.router,
    ):
        app.include_router(router)
    app.middleware("http")(_log)
    return app


async def _log(request: Request, forward: Callable[[Request], Awaitable[Response]]) -> Response:
    """Logs and counts a request: its route, without query and headers."""
    began = time.monotonic()
    response = await forward(request)
    seconds = time.monotonic() - began
    route = getattr(request.scope.get("route"), "path", "(none)")
    metrics.REQUESTS.labels(request.method, route, str(response.status_code)).inc()
    metrics.REQUEST_SECONDS.labels(request.method, route).observe(seconds)
    response.headers["X-Content-Type-Options"] = "nosniff"
    answer = {"status": response.status_code, "seconds": round(seconds, 3)}
    # The path of an admission has a token in it.
    path = route if request.url.path.startswith(admission.PREFIX) else request.url.path
    LOG.info("request", extra=facts(method=request.method, path=path, **answer))
    return response
