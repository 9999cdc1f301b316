"""Objects and documents for several test modules."""

from __future__ import annotations

import copy
from typing import Any

from pulumi_hosted_mesh.federation.exports import offer
from pulumi_hosted_mesh.federation.manifests import objects
from pulumi_hosted_mesh.spec.federation import Federation, Offer
from pulumi_hosted_mesh.spec.load import read_document

Manifest = dict[str, Any]

AUDIENCE = {"mesh": "east", "identities": ["books/page"]}

REVIEWS = {"namespace": "books", "service": "reviews", "port": 9080, "to": [AUDIENCE]}

WISH = {"meshes": ["west"], "namespace": "books", "service": "reviews"}

HOST = "reviews.books.shops.example.com"


def peer(mesh: str, **fields: Any) -> Manifest:
    return {"mesh": mesh, "gateway": {"address": f"eastwest.{mesh}.example.com"}, **fields}


def document(*more: Manifest, **fields: Any) -> Manifest:
    peers = [peer("east", imports=[WISH]), peer("west", exports=[REVIEWS]), *more]
    return copy.deepcopy({"name": "shops", "domain": "shops.example.com", "peers": peers, **fields})


def federation(given: Manifest | None = None) -> Federation:
    return read_document(Federation, given or document(), "the federation")


def made(given: Manifest, mesh: str, offers: list[Offer] | None = None) -> list[Manifest]:
    known = federation(given)
    return objects(known, mesh, offers or [offer(known, one.mesh) for one in known.peers])


def labelled(to: list[Manifest]) -> Manifest:
    given = document(peer("north"))
    given["peers"][1]["exports"] = [{"namespace": "books", "labels": {"export": "yes"}, "to": to}]
    given["peers"][0]["imports"] = [{"meshes": ["west"], "ports": [9080]}]
    return given


SERVICE: Manifest = {
    "metadata": {"name": "reviews", "namespace": "books", "labels": {"export": "yes"}},
    "spec": {"ports": [{"name": "http", "port": 9080}]},
}
