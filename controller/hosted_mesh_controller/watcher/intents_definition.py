"""The definition of `TrafficIntents`: a part of an intents document, in the cluster of the called services.

The intents document and the services of an inventory are the user's. The project, the clusters and the federations are
not: they follow from the mesh, which the controller has.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from pulumi_hosted_mesh import Intents, Inventory

from hosted_mesh_controller.documents import EACH, Place
from hosted_mesh_controller.watcher.definition import (
    CONDITIONS,
    NUMBER,
    STATUS_OF_ANY,
    TEXT,
    column,
    custom_resource_definition,
    whole_resource,
)
from hosted_mesh_controller.watcher.names import TRAFFIC_INTENTS
from hosted_mesh_controller.watcher.structural_schema import PROVIDERS, Schema, SchemaReader

Config = dict[str, Any]
_GROUPS: Final = ("intents", "groups", EACH)
USERS: Final[frozenset[Place]] = frozenset(
    {
        ("intents", "application"),
        ("intents", "domain"),
        ("intents", "defaultDeny"),
        ("intents", "namespaces"),
        ("intents", "outboundTraffic"),
        *[(*_GROUPS, name) for name in ("name", "description", "intents")],
        ("inventory", "services"),
    }
)
"""Places of the fields that a user sets, in the documents of an order."""
REASONS: Final[dict[Place, str]] = {
    ("intents", "project"): "is the name of the mesh: leave it out, and set spec.mesh",
    ("intents", "version"): "is of a whole document, and this is a part of one: leave it out",
    (*_GROUPS, "project"): "is the name of the mesh: leave it out",
    ("inventory", "clusters"): "follows from the mesh: leave it out",
    ("inventory", "federations"): PROVIDERS,
    ("inventory", "source"): "is of an inventory file: leave it out",
}
"""Reasons of a rejection, other than the provider."""
MOST_GROUPS, MOST_INTENTS = 16, 32


@cache
def intents_definition() -> Config:
    """The CustomResourceDefinition."""
    description = "Calls to services of this cluster's mesh: one part of the mesh's intents."
    columns = [
        column("Mesh", ".status.mesh"),
        column("Intents", ".status.intents", kind="integer"),
        column("Compiled", '.status.conditions[?(@.type=="Compiled")].status'),
        column("Clusters", ".status.clusters[*].name", priority=1),
    ]
    return custom_resource_definition(TRAFFIC_INTENTS, whole_resource(description, intents_spec(), _STATUS), columns)


@cache
def intents_spec() -> Schema:
    """The schema of `spec`: both documents' fields beside each other, with limits and rules."""
    document = SchemaReader(Intents, ("intents",), USERS, REASONS).structural()["properties"]
    inventory = SchemaReader(Inventory, ("inventory",), USERS, REASONS).structural()["properties"]
    mesh = {"type": "string", "maxLength": 58, "description": "Name of the mesh. By default the cluster's only one."}
    fields = {"mesh": mesh, **document, **inventory}
    fields["namespaces"] |= {"maxItems": 100}
    fields["groups"] |= {"maxItems": MOST_GROUPS}
    group = fields["groups"]["items"]["properties"]
    group["intents"] |= {"maxItems": MOST_INTENTS, "x-kubernetes-validations": [_UNIQUE_NAMES]}
    intent = group["intents"]["items"]
    _limit(intent["properties"])
    intent["x-kubernetes-validations"] = _rules(_INTENT)
    clients = intent["properties"]["clients"]["items"]
    clients["x-kubernetes-validations"] = _rules(_CLIENT)
    services = fields["services"]
    services |= {"maxItems": 200, "x-kubernetes-validations": [_UNIQUE_SERVICES]}
    for name in ("name", "namespace"):
        services["items"]["properties"][name]["maxLength"] = 63
    return {"type": "object", "properties": fields, "x-kubernetes-validations": _rules(_SPEC)}


def _limit(fields: Schema) -> None:
    """Sizes of an intent's lists and names: an API server estimates the costs of the rules by them."""
    fields["name"]["maxLength"] = 63
    fields["service"]["properties"]["name"]["maxLength"] = 63
    for name, size in (("clients", 64), ("access", 32), ("weights", 20), ("serviceAccounts", 64)):
        fields[name]["maxItems"] = size


def _rules(found: dict[str, str]) -> list[Config]:
    return [{"rule": rule, "message": message} for rule, message in found.items()]


_UNIQUE_NAMES: Final = {
    "rule": "self.all(one, self.exists_one(other, other.name == one.name))",
    "message": "has two intents of one name: give each its own name",
}
_UNIQUE_SERVICES: Final = {
    "rule": "self.all(one, self.exists_one(other, other.name == one.name && other.__namespace__ == one.__namespace__))",
    "message": "has a service twice: make them one",
}
_SPEC: Final = {
    "!has(oldSelf.mesh) || (has(self.mesh) && self.mesh == oldSelf.mesh)": "mesh cannot change: create "
    "another resource",
    "has(self.domain) || !has(self.groups) || !self.groups.exists(group, has(group.intents) && "
    "group.intents.exists(one, one.type == 'inbound'))": "domain is required for an inbound intent: add it",
}
_INTENT: Final = {
    "self.type != 'outbound' || (has(self.external) && !has(self.service))": "an outbound intent has external, and "
    "no service: change one of them",
    "self.type == 'outbound' || (has(self.service) && !has(self.external))": "this intent requires service, and has "
    "no external: change one of them",
    "self.type == 'inbound' || (has(self.clients) && size(self.clients) > 0)": "has no clients, so nobody may call: "
    "add a client",
    "!has(self.service) || self.service.name != self.name": "has the name of its service: give it a name of its own",
    "!has(self.weights) || self.weights.map(one, one.weight).sum() == 100": "weights must add up to 100",
    "self.type == 'inbound' || (!has(self.gateway) && !has(self.certificate))": "gateway and certificate are for "
    "inbound: leave them out",
}
_CLIENT: Final = {"has(self.service) != has(self.host)": "requires either service or host: give one of the two"}
_STATUS: Final[Schema] = {
    "type": "object",
    "description": "Public facts of the intents, by the controller.",
    "properties": {
        **STATUS_OF_ANY,
        "mesh": {**TEXT, "description": "Name of the mesh."},
        "intents": {**NUMBER, "description": "Number of intents in the accepted generation."},
        "pending": {
            "type": "array",
            "description": "Intents that wait for the placement of a service.",
            "items": {"type": "object", "properties": {"intent": TEXT, "reason": TEXT}},
        },
        "clusters": {
            "type": "array",
            "description": "Clusters with the objects of these intents, after the first success.",
            "items": {"type": "object", "properties": {"name": TEXT, "objects": NUMBER}},
        },
        "conditions": {
            **CONDITIONS,
            "description": "`Accepted`: the controller has ordered this generation. `Compiled`: all of its intents "
            "have objects. `Ready`: the clusters have them. `InSync`: the last check found no change by others.",
        },
    },
}
