"""Bookinfo's parts in three meshes: productpage and details in east, reviews in west and north, ratings in north."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lightkube.resources.core_v1 import Pod

from sandbox.clusters import Topology
from sandbox.proof.deployed import NotObserved
from sandbox.proof.identity import AGENT
from tests.live.federation.meshes.federated import (
    CALLED,
    CALLER,
    DOMAIN,
    EGRESS_PORTS,
    HOST,
    NAMESPACE,
    PORT,
    PORTS,
    STRANGER,
    Meshes,
    gateway_address,
)

PLACES = {"east": "data-plane", "west": "data-plane-2", "north": "data-plane-3"}
PROGRAMS = {"east": (CALLER, STRANGER, "details"), "west": (CALLED,), "north": (CALLED, "ratings", "mongodb")}
# East and west are in one region, north is far.
LOCALITIES = {"east": ("eu", "a"), "west": ("eu", "b"), "north": ("us", "a")}
RATINGS, RENAMED = f"ratings.{NAMESPACE}.{DOMAIN}", "stars.partner.sandbox.test"
MONGODB, MONGODB_PORT = f"mongodb.{NAMESPACE}.{DOMAIN}", PORTS["mongodb"][1]
TRY = 3
"""Seconds in which an answer of reviews has to begin."""
ASKING = Path(__file__).parents[1] / "programs/keep_asking.py"


def topology() -> Topology:
    """A cluster for each mesh, each in its place, and the control plane's."""
    places = {PLACES[mesh]: {"region": region, "zones": (zone,)} for mesh, (region, zone) in LOCALITIES.items()}
    plain = Topology.of(4)
    return Topology(clusters=tuple(one.model_copy(update=places.get(one.name, {})) for one in plain.clusters))


def bookinfo(*meshes: str, egress: bool = False) -> dict[str, Any]:
    """The document of those that take part: all three, or east and north after west has left.

    egress: east's calls leave through its egress gateway, by a port for each peer, for two serve reviews.
    """
    page = {"mesh": "east", "identities": [f"{NAMESPACE}/{CALLER}"]}
    review = {"mesh": "west", "identities": [f"{NAMESPACE}/{CALLED}"]}
    others = [mesh for mesh in meshes if mesh != "east"]
    between = {"tryTimeoutSeconds": TRY} if len(others) > 1 else {}
    reviews = {"namespace": NAMESPACE, "service": CALLED, "port": PORT, "to": [page]}
    ratings = {**reviews, "service": "ratings", "to": [page, review] if "west" in meshes else [page]}
    mongodb = {**reviews, "service": "mongodb", "port": MONGODB_PORT, "protocol": "TCP"}
    ratings_of_north = {"meshes": ["north"], "namespace": NAMESPACE, "service": "ratings"}
    parts: dict[str, dict[str, Any]] = {
        "east": {
            "imports": [
                {"meshes": others, "namespace": NAMESPACE, "service": CALLED, **between},
                {**ratings_of_north, "host": RENAMED},
                {**ratings_of_north, "service": "mongodb"},
            ]
        },
        "west": {"exports": [reviews], "imports": [ratings_of_north]},
        "north": {"exports": [reviews, ratings, mongodb]},
    }
    if egress:
        parts["east"]["egress"] = {"gateway": "egress", "ports": {"north": EGRESS_PORTS[1]}}
    peers = [
        {
            "mesh": mesh,
            "gateway": {"address": gateway_address(mesh)},
            "locality": "/".join(LOCALITIES[mesh]),
            **parts[mesh],
        }
        for mesh in meshes
    ]
    # West's import of ratings has no setting of its own, so it shares objects. East's imports have their own.
    return {"name": "shops", "domain": DOMAIN, "objects": "shared", "peers": peers}


def reviewer(meshes: Meshes) -> str:
    """The mesh whose reviews answers productpage. Raises NotObserved for any other answer than 200."""
    status, body, headers = meshes.call(CALLER)
    if status != 200:
        raise NotObserved(f"productpage got {status}: {body[:160]}")
    (mesh,) = (one for one in PLACES if headers["x-forwarded-client-cert"].startswith(f"By=spiffe://{one}.mesh.local/"))
    return mesh


def rating_of_review(meshes: Meshes) -> dict[str, str]:
    """The headers that ratings got of west's reviews, which productpage asked. Raises NotObserved without an answer."""
    status, body, _ = meshes.call(CALLER, path=f"/fetch?url=http://{RATINGS}:{PORT}/")
    answer = json.loads(body) if status == 200 else {}
    if answer.get("status") != 200:
        raise NotObserved(f"reviews got no rating: {status} {body[:160]}")
    return {name.lower(): value for name, value in json.loads(answer["body"])["headers"].items()}


@contextmanager
def asking(meshes: Meshes, host: str = HOST) -> Iterator[dict[str, int]]:
    """Productpage asks a service again and again meanwhile; afterwards: how often it got which answer of which Pod."""
    page = meshes.deployed.program_of(meshes.pod("east", CALLER), AGENT)
    url = f"http://127.0.0.1:{PORT}/fetch?url=http://{host}:{PORT}/"
    command = [*meshes.deployed.enter(page), sys.executable, "-I", str(ASKING), url]
    counts: dict[str, int] = {}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            # On a busy machine the program may start after the change that it has to see.
            assert process.stdout is not None
            assert process.stdout.readline() == "begun\n"
            yield counts
        finally:
            said, _ = process.communicate(timeout=60)
    counts |= json.loads(said)


def configuration(meshes: Meshes, mesh: str, name: str, namespace: str) -> str:
    """All that the proxy of a Pod has been told. name: its label app."""
    return of_proxy(meshes, mesh, name, namespace, "/config_dump?include_eds")


def of_proxy(meshes: Meshes, mesh: str, name: str, namespace: str, path: str) -> str:
    """A page of the proxy of a Pod. name: its label app."""
    pods = list(meshes.client(mesh).list(Pod, namespace=namespace, labels={"app": name}))
    if len(pods) != 1:
        raise NotObserved(f"{name} of {mesh} has {len(pods)} Pods")
    return meshes.deployed.of_proxy(meshes.deployed.program_of(pods[0], AGENT), path)
