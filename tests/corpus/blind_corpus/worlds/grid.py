"""What this set's programs have in common: a platform with a dictionary of tenants, their clusters and accounts."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from typing import Any

import pulumi
import yaml

from tests.corpus.strangers.harmless import Harmless
from tests.corpus.strangers.material import LETTERS
from tests.corpus.strangers.objects import in_account, release
from tests.corpus.strangers.scene import SERVERS, Scene
from tests.corpus.strangers.values import AWS_ID, HEX, b64, drawn, uid
from tests.corpus.world import Object

DOMAIN, BIRCH = "grid.example.com", "birch.example.com"
ALDER = "https://alder.example.com:6443"
BOTH = {"dataPlaneServers": [SERVERS["dp"], ALDER]}
TENANTS = {"birch": "dp", "alder": "alder"}
"""Each tenant's cluster. The second has to be joined."""
ACCOUNT, BIRCH_ACCOUNT, REGION = "309458127764", "862170394415", "eu-north-1"
PROJECT, BIRCH_PROJECT = "grid-core-481920", "birch-shop-775013"
GRID = f"grid-{drawn('grid id', 8, HEX)}"
ISSUER = f"https://id.{DOMAIN}/realms/grid"
CLIENT, DIRECTORY = uid("grid client"), uid("grid directory")
ZONE_ID, CF_ACCOUNT = drawn("grid zone", 32, HEX), drawn("grid cloudflare", 32, HEX)
FLAGS = {"new-ingress": {"state": "ENABLED", "variants": {"on": True, "off": False}, "defaultVariant": "off"}}
ROOTS = "".join(f"-----BEGIN CERTIFICATE-----\n{b64(bytes.fromhex('308201fe') + drawn(f'grid public root {at}', 510).encode())}\n-----END CERTIFICATE-----\n" for at in range(2))  # fmt: skip
CERTIFICATE, PUBLIC = "a certificate differs when its key does", "a public key differs when its key does"


def core(scene: Scene) -> None:
    """The platform's cluster: an authority and logins, and in the same Secrets what tenants may know as well."""
    cp = scene.cp
    root = cp.certificate("grid-root", authority=True)
    db = cp.opaque("grid db", 32, LETTERS)
    data: dict[str, tuple[str, Mapping[str, Any]]] = {
        "cacerts": ("istio-system", {"ca-cert.pem": root, "ca-key.pem": cp.key("grid-root"), "root-cert.pem": root, "cert-chain.pem": root}),
        "grid-api": ("grid", {".env": f"GRID_ID={GRID}\nISSUER={ISSUER}\nCLIENT_ID={CLIENT}\nREGION={REGION}\nCLIENT_SECRET={cp.opaque('grid client', 40, LETTERS)}\nSIGNING_KEY={b64(cp.raw('grid signing'))}\n", "port": "8443"}),
        "grid-db": ("grid", {"DATABASE_URL": f"postgresql://grid:{db}@db.{DOMAIN}:5432/grid?sslmode=verify-full", "PGHOST": f"db.{DOMAIN}", "PGUSER": "grid", "PGPASSWORD": db}),
        "grid-dns": ("external-dns", {"cloudflare.json": json.dumps({"account": CF_ACCOUNT, "zone": ZONE_ID, "name": DOMAIN, "token": cp.opaque("grid cloudflare", 40, LETTERS)})}),
        "grid-flags": ("grid", {"flagd.json": json.dumps({"flags": FLAGS, "sources": [{"uri": f"https://flags.{DOMAIN}", "bearerToken": cp.opaque("grid flags", 36)}]})}),
        "grid-alerts": ("monitoring", {"alertmanager.yaml": yaml.safe_dump({"route": {"receiver": "pager", "group_by": ["alertname"]}, "receivers": [{"name": "pager", "pagerduty_configs": [{"routing_key": cp.opaque("grid pager", 32, HEX), "severity": "critical"}]}]})}),
        "grid-robot": ("grid", {".dockerconfigjson": json.dumps({"auths": {f"registry.{DOMAIN}": {"username": "robot$grid", "auth": b64("robot$grid:" + cp.opaque("grid robot", 32, LETTERS))}}})}),
        "grid-deployer": ("ci", {"credentials": f"[default]\nregion = {REGION}\naws_access_key_id = AKIA{cp.opaque('grid aws id', 16, AWS_ID)}\naws_secret_access_key = {cp.opaque('grid aws', 40, LETTERS)}\n", "account": ACCOUNT}),
        "grid-git": ("flux-system", {"identity": cp.key("grid git"), "identity.pub": cp.public_ssh("grid git"), "known_hosts": f"git.{DOMAIN} ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{drawn('grid git host', 43)}\n"}),
        "grid-trust": ("cert-manager", {"ca-certificates.crt": ROOTS, "password": "changeit", "pin": cp.opaque("grid pin", 8, "0123456789")}),
    }  # fmt: skip
    for name, (namespace, entries) in data.items():
        scene.secret("cp", name, entries, namespace=namespace)
    admin = scene.password("cp", "grid-admin").output("result")
    scene.secret("cp", "grid-admin", {"username": "admin", "password": admin, "url": f"https://console.{DOMAIN}"})
    release(scene, "cp", "istiod", {"global": {"meshID": GRID, "externalIstiod": True}, "console": {"password": admin}})


def tenants(scene: Scene) -> dict[str, str]:
    """Both tenants with the cluster of each."""
    scene.join("alder", ALDER)
    return dict(TENANTS)


birch = functools.partial(in_account, "birch")
"""A resource in an account of the tenant's, by a provider that logs in as the tenant."""


def pod(scene: Scene, kind: str, name: str, container: Mapping[str, Any], *, side: str = "dp", **spec: Any) -> Object:
    """A Job or a CronJob with one container."""
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": name, "image": f"{name}:1.4", **container}]}}
    job = {"backoffLimit": 2, "template": template, **spec}
    body = job if kind == "Job" else {"schedule": "17 3 * * *", "jobTemplate": {"spec": job}}
    return scene.object(side, f"batch/v1:{kind}", name, {"spec": body})


def twins(scene: Scene, prefix: str, length: int = 32) -> dict[str, pulumi.Output[str]]:
    """A generated password for the platform and for the tenant birch; the platform's is kept in its own cluster."""
    made = {side: scene.password(side, f"{prefix}-{side}", length).output("result") for side in ("cp", "dp")}
    scene.secret("cp", prefix, {"password": made["cp"]})
    return made


_harmless = Harmless("eighth", core, "The tenant's {where} has {what}.")
plain, files, chart = _harmless.plain, _harmless.files, _harmless.chart
