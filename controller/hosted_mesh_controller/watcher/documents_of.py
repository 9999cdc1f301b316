"""The documents of a HostedMesh's order, and their checks."""

from __future__ import annotations

import copy
from typing import Any, Final

from pulumi_hosted_mesh import InvalidInputError, Problem
from sqlalchemy import Connection, select

from hosted_mesh_controller.documents import EACH, MESHES, SOURCE, Documents, checked, claims, not_the_tenants
from hosted_mesh_controller.settings import Settings, Watch
from hosted_mesh_controller.store import orders, sources, tables
from hosted_mesh_controller.store.orders import Key
from hosted_mesh_controller.vocabulary import Role
from hosted_mesh_controller.watcher.definition import users_fields
from hosted_mesh_controller.work.placing import taken_by_another

Resource = dict[str, Any]
_OWN: Final = frozenset(
    {("mesh", "name"), ("mesh", "controlPlane", "cluster"), ("mesh", "memberships", EACH, "cluster")}
)
"""The fields that `documents_of` sets."""


def documents_of(resource: Resource, cluster: str, watch: Watch) -> Documents:
    """The documents of an order: the resource's, with its name, its cluster and the control plane's.

    Raises: InvalidInputError for those fields in the resource.
    """
    spec = copy.deepcopy(resource.get("spec"))
    if not isinstance(spec, dict):
        raise InvalidInputError([Problem("mesh", "must be a mapping", "Write its fields as `name: value`")], SOURCE)
    problems = [
        Problem(f"mesh.{field}", "is set by the controller", "Leave it out")
        for field in ("name", "controlPlane")
        if field in spec
    ]
    memberships = spec.get("memberships") or [{}]
    if not isinstance(memberships, list) or len(memberships) != 1 or not isinstance(memberships[0], dict):
        fix = "Leave it out, or set one without a cluster"
        problems.append(Problem("mesh.memberships", "must be one: that of this cluster", fix))
    elif "cluster" in memberships[0]:
        problems.append(Problem("mesh.memberships[0].cluster", "is this cluster", "Leave it out"))
    if problems:
        raise InvalidInputError(problems, SOURCE)
    mesh = {
        **spec,
        "name": resource["metadata"]["name"],
        "controlPlane": {"cluster": {"kubeconfig": watch.control_plane}},
        "memberships": [{**memberships[0], "cluster": {"kubeconfig": cluster}}],
    }
    return {"mesh": mesh}


def checked_order(settings: Settings, cluster: str, watch: Watch, resource: Resource) -> tuple[Key, Documents]:
    """The object and the documents of a resource's order. Raises: InvalidInputError."""
    documents = documents_of(resource, cluster, watch)
    if problems := list(not_the_tenants(users_fields() | _OWN, documents)):
        raise InvalidInputError(problems, SOURCE)
    name = checked(MESHES, documents, settings, watch.tenant, Role.TENANT)
    return Key(watch.tenant, MESHES.name, name), documents


def require_own(connection: Connection, key: Key, cluster: str) -> None:
    """Raises InvalidInputError if the object exists and is no resource's of this cluster."""
    source = sources.find(connection, key)
    if orders.find(connection, key) is not None and (source is None or source.cluster != cluster):
        rule, fix = "is the name of a mesh that was ordered elsewhere", "Choose another name"
        raise InvalidInputError([Problem("mesh.name", rule, fix)], SOURCE)


def require_free(connection: Connection, settings: Settings, key: Key, documents: Documents) -> None:
    """Raises InvalidInputError if another object has one of the order's names."""
    fields = claims(MESHES, documents, settings, key.tenant)
    taken = connection.execute(select(tables.claims).where(tables.claims.c.claim.in_(list(fields))))
    problems = [taken_by_another(fields[row.claim]) for row in taken if Key(row.tenant, row.kind, row.name) != key]
    if problems:
        raise InvalidInputError(problems, SOURCE)


def problems_of(error: InvalidInputError) -> tuple[Problem, ...]:
    """The problems, with the resource's fields."""
    return tuple(Problem(_field(one.field), one.rule, one.fix) for one in error.problems)


def _field(field: str) -> str:
    """A field of the documents as one of the resource."""
    if field in ("mesh.name", "(name)"):
        return "metadata.name"
    return f"spec{field.removeprefix('mesh')}" if field == "mesh" or field.startswith("mesh.") else field
