"""The definition of `HostedMesh`: a mesh document in the user's cluster, of the fields that are the user's.

The name is the resource's, and the clusters are the controller's to set. Of the other fields, a user sets those that a
tenant may set by REST, without the fields in memberships that are marked as the control plane's operator's.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from pulumi_hosted_mesh import Mesh

from hosted_mesh_controller.documents import EACH, MESHES, Place
from hosted_mesh_controller.watcher.names import GROUP, HOSTED_MESH, VERSION, ResourceKind
from hosted_mesh_controller.watcher.structural_schema import Schema, SchemaReader, owners_fields

Config = dict[str, Any]
_BY_CONTROLLER: Final[frozenset[Place]] = frozenset({("mesh", "name"), ("mesh", "controlPlane", "cluster")})
_MEMBERSHIPS: Final = ("mesh", "memberships")
_REASONS: Final[dict[Place, str]] = {
    ("mesh", "name"): "is the name of the resource: leave it out, and set metadata.name",
    (*_MEMBERSHIPS, EACH, "cluster"): "is this cluster: leave it out",
}
LONGEST_NAME: Final = 58
"""The mesh's namespace is `mesh-NAME`."""
_NAME_OF: Final = "(has({0}.name) ? {0}.name : 'default')"


@cache
def users_fields() -> frozenset[Place]:
    """Places of the fields that a user sets in a HostedMesh."""
    assert MESHES.tenants_fields
    fields = MESHES.tenants_fields - _BY_CONTROLLER - {_MEMBERSHIPS}
    owned = {name for name in owners_fields(Mesh, _MEMBERSHIPS[-1]) if name != "cluster"}
    return frozenset(fields | {(*_MEMBERSHIPS, EACH, name) for name in owned})


@cache
def definition() -> Config:
    """The CustomResourceDefinition."""
    columns = [column("Host", ".spec.revisions[*].host", priority=1)]
    return custom_resource_definition(HOSTED_MESH, _resource(), columns)


def custom_resource_definition(kind: ResourceKind, schema: Schema, columns: list[Config]) -> Config:
    """The definition of a kind. schema: of the whole resource. columns: its own, after those of the state."""
    ready = '.status.conditions[?(@.type=="Ready")]'
    version = {
        "name": VERSION,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
        "additionalPrinterColumns": [
            column("State", ".status.state"),
            column("Ready", f"{ready}.status"),
            *columns,
            column("Drift", ".status.drift", kind="integer", priority=1),
            column("Reason", f"{ready}.message", priority=1),
            column("Age", ".metadata.creationTimestamp", kind="date"),
        ],
    }
    names = {"kind": kind.kind, "plural": kind.plural, "singular": kind.kind.lower(), "shortNames": [kind.short]}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{GROUP}"},
        "spec": {"group": GROUP, "scope": "Cluster", "names": names, "versions": [version]},
    }


def column(name: str, path: str, kind: str = "string", priority: int = 0) -> Config:
    made: Config = {"name": name, "type": kind, "jsonPath": path}
    return made | ({"priority": priority} if priority else {})


def _resource() -> Schema:
    description = "A mesh of this cluster's workloads, with its control plane at the provider."
    return whole_resource(description, spec_schema(), _STATUS)


def whole_resource(description: str, spec: Schema, status: Schema) -> Schema:
    """The schema of a resource, with the rule for its name."""
    text = f"self.metadata.name.size() <= {LONGEST_NAME} && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')"
    message = (
        f"metadata.name must have at most {LONGEST_NAME} lower-case letters, digits and '-', and begin with a letter"
    )
    return {
        "type": "object",
        "description": description,
        "required": ["spec"],
        "properties": {"spec": spec, "status": status},
        "x-kubernetes-validations": [{"rule": text, "message": message}],
    }


def spec_schema() -> Schema:
    """The schema of `spec`: the document's, with limits and the rules that need no other field's code."""
    found = SchemaReader(Mesh, ("mesh",), users_fields(), _REASONS).structural()
    fields = found["properties"]
    revisions, memberships, tags = fields["revisions"], fields["memberships"], fields["tags"]
    revisions |= {"maxItems": 4, "minItems": 1, "x-kubernetes-validations": [_unique("name"), _unique("host")]}
    one = revisions["items"]["properties"]
    one["name"]["maxLength"] = LONGEST_NAME
    one["host"]["maxLength"] = 253
    ranges = one["exposure"]["properties"]["sourceRanges"]
    ranges |= {"maxItems": 200}
    ranges["items"] |= {"maxLength": 43, "x-kubernetes-validations": [_RANGE]}
    memberships |= {"maxItems": 1}
    tags |= {"maxProperties": 16}
    tags["additionalProperties"]["maxLength"] = LONGEST_NAME
    return {**found, "x-kubernetes-validations": [_TAGS]}


_RANGE: Final = {
    "rule": "isCIDR(self) && cidr(self) == cidr(self).masked() && cidr(self).prefixLength() > 0",
    "message": "must be a range of addresses in CIDR form with no host bits set, such as 203.0.113.0/24",
}
_TAGS: Final = {
    "rule": "!has(self.tags) || !has(self.revisions) || self.tags.all(tag, self.revisions.exists(one, "
    f"{_NAME_OF.format('one')} == self.tags[tag]))",
    "message": "tags must name revisions of this mesh",
}


def _unique(field: str) -> Config:
    """The rule that no two revisions have one value."""
    if field == "name":
        one, other = _NAME_OF.format("one"), _NAME_OF.format("other")
        rule = f"self.all(one, self.exists_one(other, {one} == {other}))"
    else:
        same = "has(other.host) && other.host == one.host"
        rule = f"self.all(one, !has(one.host) || self.exists_one(other, {same}))"
    return {"rule": rule, "message": f"has two with one {field}: give each its own {field}"}


TEXT: Final = {"type": "string"}
NUMBER: Final = {"type": "integer", "format": "int64"}
CONDITIONS: Final[Schema] = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["type"],
    "items": {
        "type": "object",
        "required": ["type", "status", "reason", "message", "lastTransitionTime"],
        "properties": {
            "type": TEXT,
            "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
            "reason": TEXT,
            "message": TEXT,
            "lastTransitionTime": {"type": "string", "format": "date-time"},
            "observedGeneration": NUMBER,
        },
    },
}
STATUS_OF_ANY: Final[Schema] = {
    "observedGeneration": {**NUMBER, "description": "The generation that the conditions are about."},
    "state": {**TEXT, "description": "`pending`, `ready`, `failed`, `deleting` or `refused`."},
    "operation": {**TEXT, "description": "Id of the last operation, for `hosted-mesh logs`."},
    "drift": {**NUMBER, "description": "Number of objects that others changed, at the last check."},
    "repairs": {**NUMBER, "description": "Number of repairs."},
    "problems": {
        "type": "array",
        "description": "Reasons of a refusal, by field.",
        "items": {"type": "object", "properties": {"field": TEXT, "rule": TEXT, "fix": TEXT}},
    },
}
"""Fields of the status of each kind."""
_STATUS: Final[Schema] = {
    "type": "object",
    "description": "Public facts of the mesh, by the controller.",
    "properties": {
        **STATUS_OF_ANY,
        "endpoints": {
            "type": "array",
            "description": "Addresses of istiod for this cluster.",
            "items": {"type": "object", "properties": {"name": TEXT, "host": TEXT}},
        },
        "conditions": {
            **CONDITIONS,
            "description": "`Accepted`: the controller has ordered this generation. `Ready`: the clusters have it. "
            "`InSync`: the last check found no change by others.",
        },
    },
}
