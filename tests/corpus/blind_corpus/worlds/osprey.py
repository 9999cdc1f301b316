"""The surroundings of `osprey`: its control plane, tenants and accounts."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import pulumi

from tests.corpus.blind_corpus.credentials import generated
from tests.corpus.blind_corpus.material import LETTERS
from tests.corpus.blind_corpus.objects import in_account
from tests.corpus.blind_corpus.scene import Scene

DOMAIN, ALDER, BIRCH = "osprey.example.com", "alder.example.com", "birch.example.com"
REGION, ACCOUNT, ALDER_ACCOUNT = "eu-west-1", "418820937755", "906143377120"
MESH = "osprey-eu"


def hub(scene: Scene) -> None:
    """The provider's cluster: what runs there has its Secrets, with what is known to everybody beside them."""
    cp = scene.cp
    root = cp.certificate("osprey-root", authority=True)
    word = scene.password("cp", "hub-grafana").output("result")
    held: dict[str, tuple[str, Mapping[str, Any]]] = {
        "cacerts": ("istio-system", {"ca-cert.pem": root, "ca-key.pem": cp.key("osprey-root"), "root-cert.pem": root}),
        "grafana": ("monitoring", {"admin-user": "admin", "admin-password": word, "url": f"https://grafana.{DOMAIN}"}),
        "route53": (
            "external-dns",
            {"region": REGION, "zone": DOMAIN, "secret": cp.opaque("hub route53", 40, LETTERS)},
        ),
        "postgres": (
            "platform",
            {
                "host": f"pg.{DOMAIN}",
                "port": "5432",
                "username": "postgres",
                "password": cp.opaque("hub postgres", 32, LETTERS),
            },
        ),
        "flux-git": ("flux-system", {"identity": cp.key("hub flux"), "identity.pub": cp.public_ssh("hub flux")}),
        "vault": (
            "vault",
            {"address": f"https://vault.{DOMAIN}", "token": f"hvs.{cp.opaque('hub vault', 90, LETTERS)}"},
        ),
        "admin": ("fleet", {"value": cp.kubeconfig("hub-admin", f"https://api.{DOMAIN}:6443")}),
    }
    for name, (namespace, entries) in held.items():
        scene.secret("cp", f"hub-{name}", entries, namespace=namespace)


def both(scene: Scene) -> dict[str, str]:
    """Each tenant with its cluster."""
    scene.join("birch", "https://birch.example.com:6443")
    return {"alder": "dp", "birch": "birch"}


alder = functools.partial(in_account, "alder")
"""A resource in an account of the tenant's."""
hosted = functools.partial(generated, namespace="platform")
"""A generated password of the provider's, which a Secret of its own cluster keeps."""


def theirs(scene: Scene, name: str, length: int = 32, tenant: str = "alder") -> pulumi.Output[str]:
    """A password that the program generates for a tenant, and for nobody else."""
    return scene.password("dp", f"{tenant}-{name}", length).output("result")


HALVES, NAMED, EXPORTED = (
    "public halves",
    "names, ids and versions",
    "what other stacks export",
)
MANY, REPOSITORIES, CARRIED = (
    "many tenants and clusters",
    "repositories and pipelines",
    "read and carried by the hub",
)
STAYS, GROWS = "the provider's, at home", "how programs grow"
ISSUED = "issued for one tenant"
JOINED, NODES, MESHES = (
    "clusters joined to a hub",
    "nodes and their first scripts",
    "what meshes share",
)
SLIPS, LATER = "slips of code", "known at the update"
STORES, BUILDS, SHIPPERS = (
    "stores, zones and backups",
    "pipelines and registries",
    "shippers of logs and metrics",
)
MADE, ACCOUNTS = "made for a tenant", "answered by a tenant's account"
