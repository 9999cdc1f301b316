"""Webhooks of users' API servers for custom resources: the checks and the defaults that need the controller's facts.

An API server sends no credential to a webhook by URL. So the path has a token of role `admission`, for nothing else.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Request
from pulumi_hosted_mesh import InvalidInputError, Problem

from hosted_mesh_controller.api.access import Has
from hosted_mesh_controller.api.bodies import read_json
from hosted_mesh_controller.api.errors import not_found
from hosted_mesh_controller.settings import Settings, Watch
from hosted_mesh_controller.store.tokens import caller_of
from hosted_mesh_controller.vocabulary import Role
from hosted_mesh_controller.watcher.documents_of import checked_order, problems_of, require_free, require_own
from hosted_mesh_controller.watcher.intents_documents import NoMeshError, accepted
from hosted_mesh_controller.watcher.names import TRAFFIC_INTENTS

PREFIX: Final = "/admission/"
router: Final = APIRouter(prefix="/admission/{key}/{cluster}", tags=["admission"], include_in_schema=False)
_REFUSED: Final = 422
Config = dict[str, Any]


async def review(request: Request) -> Config:
    """The request of an AdmissionReview; 404 for another body."""
    body = await read_json(request)
    found = body.get("request") if isinstance(body, dict) else None
    if (
        not isinstance(found, dict)
        or not isinstance(found.get("object"), dict)
        or not isinstance(found.get("uid"), str)
    ):
        raise not_found()
    return found


def watch(key: str, cluster: str, has: Has) -> Watch:
    """The watch on the cluster of the path; 404 without a valid token of its tenant."""
    by = caller_of(has.database, key)
    entry = has.settings.clusters.get(cluster)
    if by is None or by.role is not Role.ADMISSION or entry is None or entry.watch is None:
        raise not_found()
    if entry.watch.tenant != by.tenant or not has.limiter.admit(by.token):
        raise not_found()
    return entry.watch


# The token comes first: nobody else's body is read.
Watched = Annotated[Watch, Depends(watch)]
Review = Annotated[Config, Depends(review)]


@router.post("/validate")
def validate(cluster: str, has: Has, found: Watched, asked: Review) -> Config:
    """Rejects a resource that the controller would refuse."""
    resource, before = asked["object"], asked.get("oldObject") or {}
    is_going = "deletionTimestamp" in (resource.get("metadata") or {})
    # A change of metadata alone must pass: the watcher removes its finalizer so.
    if is_going or (before and before.get("spec") == resource.get("spec")):
        return _answer(asked)
    if resource.get("kind") == TRAFFIC_INTENTS.kind:
        problems = _problems_of_intents(has, cluster, found, resource)
    else:
        problems = _problems_of_mesh(has, cluster, found, resource)
    if not problems:
        return _answer(asked)
    text = "; ".join(f"{one.field} {one.rule}. {one.fix}" for one in problems)
    return _answer(asked, allowed=False, status={"code": _REFUSED, "reason": "Invalid", "message": text})


def _problems_of_mesh(has: Has, cluster: str, found: Watch, resource: Config) -> Sequence[Problem]:
    try:
        key, documents = checked_order(has.settings, cluster, found, _named(resource))
        with has.database.reading() as connection:
            require_own(connection, key, cluster)
            require_free(connection, has.settings, key, documents)
    except InvalidInputError as error:
        return problems_of(error)
    return ()


def _problems_of_intents(has: Has, cluster: str, found: Watch, resource: Config) -> Sequence[Problem]:
    try:
        with has.database.reading() as connection:
            accepted(connection, has.settings, cluster, found, _named(resource))
    except NoMeshError:
        # The mesh may be in the same file: the resource waits for it.
        return ()
    except InvalidInputError as error:
        return error.problems
    return ()


@router.post("/mutate")
def mutate(has: Has, found: Watched, asked: Review) -> Config:
    """Sets the host of a new mesh's first revision below the tenant's domain, if it has one domain and no host."""
    patch = list(_host(asked["object"], has.settings, found))
    if not patch:
        return _answer(asked)
    encoded = base64.b64encode(json.dumps(patch).encode()).decode()
    return _answer(asked, patchType="JSONPatch", patch=encoded)


def _host(resource: Config, settings: Settings, watch: Watch) -> list[Config]:
    domains = settings.tenants[watch.tenant].domains
    spec = resource.get("spec")
    name = _named(resource)["metadata"]["name"]
    if len(domains) != 1 or not isinstance(spec, dict) or not name:
        return []
    host = f"istiod.{name}.{domains[0]}"
    revisions = spec.get("revisions")
    if revisions is None:
        return [{"op": "add", "path": "/spec/revisions", "value": [{"host": host}]}]
    is_one = isinstance(revisions, list) and len(revisions) == 1 and isinstance(revisions[0], dict)
    if is_one and "host" not in revisions[0]:
        return [{"op": "add", "path": "/spec/revisions/0/host", "value": host}]
    return []


def _named(resource: Config) -> Config:
    """The resource with a name, which is empty before an API server generates it."""
    metadata = resource.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return {**resource, "metadata": {"name": name if isinstance(name, str) else ""}}


def _answer(asked: Config, *, allowed: bool = True, **more: Any) -> Config:
    response = {"uid": asked["uid"], "allowed": allowed, **more}
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
