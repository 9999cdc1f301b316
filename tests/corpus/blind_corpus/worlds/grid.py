"""The surroundings of `grid`: its control plane, tenants and accounts."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from typing import Any

import pulumi
import yaml

from tests.corpus.blind_corpus.harmless import Harmless
from tests.corpus.blind_corpus.material import LETTERS
from tests.corpus.blind_corpus.objects import in_account, release
from tests.corpus.blind_corpus.scene import Scene
from tests.corpus.blind_corpus.values import AWS_ID, HEX, b64, drawn, noise, uid

DOMAIN, BIRCH = "grid.example.com", "birch.example.com"
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


birch = functools.partial(in_account, "birch")
"""A resource in an account of the tenant's, by a provider that logs in as the tenant."""


def twins(scene: Scene, prefix: str, length: int = 32) -> dict[str, pulumi.Output[str]]:
    """A generated password for the platform and for the tenant birch; the platform's is kept in its own cluster."""
    made = {side: scene.password(side, f"{prefix}-{side}", length).output("result") for side in ("cp", "dp")}
    scene.secret("cp", prefix, {"password": made["cp"]})
    return made


harmless = Harmless(core, "The tenant's {where} has {what}.")
plain, files, chart = harmless.plain, harmless.files, harmless.chart
FILES, CONFIGS = "files of public things", "kubeconfigs and settings without a login"
SQL = """CREATE EXTENSION IF NOT EXISTS pgcrypto;
CREATE TABLE account (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), password_hash text NOT NULL, totp_secret bytea);
CREATE FUNCTION check_password(given text, kept text) RETURNS bool AS $$ SELECT kept = crypt(given, kept) $$ LANGUAGE sql;  # fmt: skip
ALTER ROLE app SET statement_timeout = '30s';
GRANT SELECT (id) ON account TO reporting;
INSERT INTO migration (version, checksum) VALUES ('20260114T0930', '%s');
"""
WORDS = {"password": "Passwort", "token": "Token", "login.failed": "Anmeldung gescheitert: falsches Passwort", "secret.hint": "Geheimnis: mindestens 12 Zeichen", "session.expired": "Die Sitzung ist abgelaufen"}  # fmt: skip
SCRIPT = """#!/usr/bin/env bash
set -euo pipefail
: "${VAULT_ADDR:?}" "${ROLE:=orders}"
JWT=$(cat /var/run/secrets/kubernetes.io/serviceaccount/token)
TOKEN=$(curl -fsS "$VAULT_ADDR/v1/auth/kubernetes/login" -d "{\\"role\\": \\"$ROLE\\", \\"jwt\\": \\"$JWT\\"}" | jq -r .auth.client_token)  # fmt: skip
PASSWORD=$(curl -fsS -H "X-Vault-Token: $TOKEN" "$VAULT_ADDR/v1/kv/data/orders" | jq -r .data.data.password)
export DATABASE_URL="postgresql://orders:${PASSWORD}@db.birch.svc:5432/orders"
exec "$@"
"""
LOOPS, ARGUMENTS, STACKS, LATER = (
    "slips of loops and merges",
    "slips of functions and components",
    "slips between stacks",
    "leaks of later updates",
)


def pipeline(scene: Scene, value: Any) -> None:
    core(scene)
    inputs = {"repository": "birch/shop", "variableName": "GRID_ENDPOINT", "value": value}
    birch(scene, "github:index/actionsVariable:ActionsVariable", "endpoint", inputs, owner="birch")


ACCOUNTS, SERVICES, FORMS, OBJECTS = (
    "slips into tenants' clouds",
    "slips into tenants' services",
    "forms of usual tools",
    "slips into usual objects",
)
OBJECTS_objects, TRUST, WATCH, CHARTS = (
    "usual objects",
    "public trust",
    "rules and dashboards",
    "charts' values",
)
DIGEST = f"sha256:{noise('grid image', 32).hex()}"


def many() -> dict[str, Any]:
    return {f"service-{at}": {"image": f"registry.{DOMAIN}/s{at}@sha256:{noise(f'many {at}', 32).hex()}", "port": 8000 + at, "nodeID": drawn(f"node {at}", 24), "secretName": f"service-{at}-credentials"} for at in range(30)}  # fmt: skip


OWN, ACCOUNTS_own, UP = "tenants' own secrets", "tenants' own accounts", "upwards, which is allowed"
WIRING, STACKS_wiring, CLOUDS, LATER_wiring = (
    "wiring of tenants",
    "facts of other stacks",
    "facts of clouds and services",
    "later updates",
)
