"""What this set's programs have in common: a team that hosts meshes and has read the README, and two tenants. No program."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import pulumi

from tests.corpus.strangers.credentials import generated
from tests.corpus.strangers.material import LETTERS, Material
from tests.corpus.strangers.objects import in_account
from tests.corpus.strangers.scene import Scene
from tests.corpus.strangers.values import HEX, drawn, uid

DOMAIN, ALDER, BIRCH = "osprey.example.com", "alder.example.com", "birch.example.com"
REGION, ACCOUNT, ALDER_ACCOUNT = "eu-west-1", "418820937755", "906143377120"
PROJECT, ALDER_PROJECT = "osprey-hub-118402", "alder-shop-550731"
ALDER_SUBSCRIPTION, ALDER_DIRECTORY = uid("alder subscription"), uid("alder directory")
MESH = "osprey-eu"
WORLD = Material("world", 0)
"""Keys of nobody in these programs: of public authorities and of people elsewhere."""
ROOTS = "".join(WORLD.certificate(f"fourteenth-public-root-{at}", authority=True) for at in range(2))
CERTIFICATE, PUBLIC = "a certificate differs when its key does", "a public key differs when its key does"


def digest(name: str) -> str:
    """The digest of a public image."""
    return f"sha256:{drawn(f'osprey image {name}', 64, HEX)}"


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


def home(scene: Scene, kind: str, name: str, inputs: Any, answers: Any = None, secret: Any = (), **login: Any) -> Any:
    """A resource in an account of the provider's, by a provider that has its name and logs in as it."""
    return in_account("osprey", scene, kind, name, inputs, answers, secret, owner="cp", **login)
