"""Small intents and inventories, as YAML documents would give them."""

from __future__ import annotations

import copy
from typing import Any

from pulumi_hosted_mesh.intents.compiled import Compiled
from pulumi_hosted_mesh.intents.compiler import compile_intents
from pulumi_hosted_mesh.spec.intents import Intents
from pulumi_hosted_mesh.spec.inventory import Inventory
from pulumi_hosted_mesh.spec.load import read_document

Document = dict[str, Any]
REVIEWS = {"name": "reviews", "namespace": "books", "port": 9080}
INTRA: Document = {
    "type": "intra-cluster",
    "name": "page-reviews",
    "service": REVIEWS,
    "clients": [{"service": "page"}],
}
OUTBOUND: Document = {
    "type": "outbound",
    "name": "catalogue",
    "external": {"host": "api.example.org"},
    "clients": [{"service": "page", "namespace": "books"}],
}
INBOUND: Document = {"type": "inbound", "name": "shop", "service": {"name": "page", "namespace": "books", "port": 9080}}


def service(name: str, *clusters: str, namespace: str = "books", **more: Any) -> Document:
    ports = [{"port": 9080}]
    return {
        "name": name,
        "namespace": namespace,
        "clusters": list(clusters),
        "serviceAccount": name,
        "ports": ports,
        **more,
    }


def inventory(**changes: Any) -> Inventory:
    """Mesh shop has east and north, mesh data has west; a federation joins them, and nobody mesh alone."""
    document = {
        "clusters": [
            {
                "name": "east",
                "mesh": "shop",
                "gateways": [
                    {"name": "ingress", "role": "ingress", "addresses": ["198.51.100.7"]},
                    {"name": "egress", "role": "egress"},
                ],
            },
            {"name": "north", "mesh": "shop"},
            {"name": "west", "mesh": "data", "gateways": [{"name": "eastwest", "role": "east-west"}]},
            {"name": "south", "mesh": "alone"},
        ],
        "services": [
            service("page", "east"),
            service("reviews", "east", "north", versions=["v1", "v2"]),
            service("ratings", "west"),
            service("shared", "east", "west"),
            service("lonely", "south"),
            service("later"),
        ],
        "federations": [{"name": "shops", "domain": "shops.example.com", "meshes": ["shop", "data"]}],
    }
    return read_document(Inventory, {**document, **changes}, "the inventory")


def document(*intents: Document, **more: Any) -> Document:
    return {
        "project": "shop",
        "application": "books",
        "domain": "example.com",
        "groups": [{"name": "all", "intents": copy.deepcopy(list(intents))}],
        **more,
    }


def intents(*given: Document, **more: Any) -> Intents:
    return read_document(Intents, document(*given, **more), "the intents")


def compiled(*given: Document, **more: Any) -> Compiled:
    return compile_intents(intents(*given, **more), inventory())


def by_kind(result: Compiled, kind: str, cluster: str = "east") -> list[Document]:
    return [one for one in result.objects.get(cluster, []) if one["kind"] == kind]
