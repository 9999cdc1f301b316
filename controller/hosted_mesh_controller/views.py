"""The interface's own models, which the service writes and the client reads."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from hosted_mesh_controller.vocabulary import Action, ObjectState, Repair, Role, State


class View(BaseModel):
    """The base: camelCase in JSON. The docstring below a field is its description."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, use_attribute_docstrings=True)


class FieldProblem(View):
    """One problem of one field."""

    field: str
    """Path of the field, such as `mesh.revisions[0].host`."""
    rule: str
    """The broken rule."""
    fix: str
    """The change that helps."""


class ProblemDetails(View):
    """An error, RFC 9457."""

    type: str = "about:blank"
    """Always `about:blank`: the status is the type."""
    title: str
    """The status in words."""
    status: int
    """The status."""
    detail: str
    """The reason."""
    problems: list[FieldProblem] = []
    """Every problem with the request's fields."""


class DriftStep(View):
    """A change by others, as the step that would mend it."""

    action: str
    """The engine's step, such as `update` or `create`."""
    resource: str
    """Name of the resource."""
    kind: str
    """Pulumi's type of it."""
    fields: list[str]
    """Paths of the changed fields, without values."""


class CertificateEnd(View):
    """The end of a certificate."""

    resource: str
    """Name of the resource."""
    ends: str
    """End of its validity, RFC 3339."""
    renew_from: str
    """Begin of its renewal, RFC 3339. The controller renews it by itself."""


class UpkeepPolicy(View):
    """The policy of an object for changes by others."""

    model_config = ConfigDict(extra="forbid")

    repair: Repair | None = None
    """`always` mends them, `report` leaves them; null for the policy of the controller's settings."""


class UpkeepState(View):
    """The upkeep of an object."""

    repair: Repair
    """The policy that applies: `always` or `report`."""
    checked: str | None
    """Time of the last check, RFC 3339; null before the first, and after a change."""
    drift: list[DriftStep]
    """Changes by others at the last check."""
    error: str | None
    """The reason of the last failure of upkeep; null after a success."""
    repairs: int
    """Repairs within the window of the budget."""
    held: bool
    """Whether the budget is used up: drift is reported only."""
    certificates: list[CertificateEnd]
    """Ends of the certificates in the stack."""


class OrderedObject(View):
    """An ordered object."""

    tenant: str
    """Its tenant."""
    kind: str
    """Its kind, as in paths."""
    name: str
    """Its name, unique among the tenant's objects of this kind."""
    generation: int
    """The number of its order. It is also its ETag."""
    ready_generation: int
    """The last order that the clusters have; 0 before the first."""
    state: ObjectState
    """`pending`, `ready`, `failed` or `deleting`."""
    operation: str | None
    """The last operation."""
    documents: dict[str, Any]
    """The documents as ordered, by key of the stack's file."""
    outputs: dict[str, Any]
    """Public outputs of the stack, such as endpoints and addresses."""
    upkeep: UpkeepState
    """Drift, its repair, and ends of certificates."""
    created: str
    """Time of the first order, RFC 3339."""
    changed: str
    """Time of the last order, RFC 3339."""


class ObjectPage(View):
    """A page of objects, by name."""

    items: list[OrderedObject]
    """The objects."""
    next: str | None = None
    """The value of `after` for the next page; none on the last one."""


class Operation(View):
    """An operation: one run of the engine on one stack."""

    id: str
    """Its id."""
    tenant: str
    """The tenant."""
    kind: str
    """Kind of the object."""
    name: str
    """Name of the object."""
    action: Action
    """Of orders: `up`, `destroy`, `preview-up`, `preview-destroy`. Of upkeep: `check`, `repair`, `renew`, `follow`."""
    state: State
    """`waiting`, `queued`, `running`, `succeeded`, `failed`, `cancelled` or `replaced` by a newer order."""
    generation: int
    """The order that it carries out."""
    attempts: int
    """Number of starts: more than one after an interruption."""
    created: str
    """Time of the order, RFC 3339."""
    started: str | None
    """Time of the first start."""
    ended: str | None
    """Time of the end."""
    error: str | None
    """The reason of a failure."""
    result: dict[str, Any] | None
    """Numbers of changed resources (`changes`); of a preview also its `steps`, with the paths of changed fields."""


class OperationPage(View):
    """A page of operations, newest first."""

    items: list[Operation]
    """The operations."""
    next: str | None = None
    """The value of `after` for the next page; none on the last one."""


class MembershipPage(View):
    """The memberships of a mesh."""

    items: list[dict[str, Any]]
    """The membership documents."""


class Cluster(View):
    """A cluster that documents may name."""

    name: str
    """Its name."""
    side: str
    """`control-plane` or `data-plane`."""


class ClusterPage(View):
    """The clusters of a tenant."""

    items: list[Cluster]
    """The clusters."""


class MeshNamespace(View):
    """A namespace with injection."""

    namespace: str
    """Its name."""
    proxies: int
    """Number of its Pods with a sidecar."""


class FoundMesh(View):
    """A revision of a mesh in a cluster, whoever made it."""

    mesh: str
    """Its mesh ID; without one, cluster and namespace."""
    trust_domain: str
    """Its trust domain; empty if no object has it."""
    cluster: str
    """Name of the cluster."""
    namespace: str
    """Namespace of istiod, or of the data plane's objects."""
    revision: str
    """Its revision."""
    role: str
    """`istiod`, `control-plane` or `data-plane`."""
    version: str
    """Version of istiod; empty on a data plane."""
    managed_by: str
    """The tool that installed it, such as `helm`."""
    ready: str
    """Ready Pods of istiod, such as `1/1`; empty without one."""
    istiod: str
    """Host of an istiod elsewhere; empty without one."""
    components: list[str]
    """istiod and related programs."""
    members: list[MeshNamespace]
    """Namespaces with injection."""
    peers: list[str]
    """Meshes and clusters in its configuration."""
    ordered: bool
    """Whether it is part of a mesh that this controller was ordered to make."""
    first_seen: str
    """Time of the first look that found it, RFC 3339."""
    last_seen: str
    """Time of the last look that found it."""


class FoundMeshPage(View):
    """The found meshes, by cluster."""

    items: list[FoundMesh]
    """The found meshes."""
    unreadable: list[str]
    """Clusters that the last look could not read: their items are those of an earlier one."""


class AuditEntry(View):
    """One act of a caller."""

    number: int
    """Its number."""
    time: str
    """Its time, RFC 3339."""
    token: str
    """Id of the token, which is no secret; of a user of an issuer, a digest of issuer and subject."""
    issuer: str | None
    """The claim `iss`, if an issuer's token was sent."""
    subject: str | None
    """The claim `sub` of that token."""
    role: Role
    """Role of the token."""
    tenant: str | None
    """Tenant of the object."""
    act: str
    """`create`, `change`, `delete`, `dry-run`, `cancel` or `policy`."""
    object: str
    """`kind/name`, or the operation."""
    operation: str | None
    """The operation that follows."""
    changed: list[str]
    """Paths of the changed fields, without values."""


class AuditPage(View):
    """A page of the audit log, oldest first."""

    items: list[AuditEntry]
    """The entries."""
    next: str | None = None
    """The value of `after` for the next page; none on the last one."""


class Health(View):
    """The service answers, and so does its database."""

    status: str = "ok"
    """`ok`."""
