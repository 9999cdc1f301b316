"""The surroundings of `orchard`: its control plane, tenants and accounts."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from typing import Any

import yaml

from tests.corpus.blind_corpus.credentials import generated, raw
from tests.corpus.blind_corpus.harmless import Harmless
from tests.corpus.blind_corpus.material import LETTERS
from tests.corpus.blind_corpus.objects import in_account, release
from tests.corpus.blind_corpus.scene import Scene
from tests.corpus.blind_corpus.values import AWS_ID, HEX, b64, drawn, uid

DOMAIN = "hosted.example.com"
TENANT = "orchard.example.com"
ACCOUNT, TENANT_ACCOUNT, REGION = "551907342286", "730046618829", "us-west-2"
LOGIN = f"https://login.{DOMAIN}/realms/hosted"
CLIENT, SUBSCRIPTION, DIRECTORY = uid("saas client"), uid("saas subscription"), uid("saas directory")
MESH = f"hosted-{drawn('saas mesh', 8, HEX)}"
WORDS = [
    "anchor",
    "basket",
    "candle",
    "dragon",
    "ember",
    "falcon",
    "garden",
    "hammer",
    "island",
    "jacket",
    "kettle",
    "ladder",
    "magnet",
    "needle",
    "orbit",
    "paddle",
    "quartz",
    "rocket",
    "saddle",
    "timber",
    "umbrella",
    "velvet",
    "walnut",
    "yellow",
    "zephyr",
    "apron",
    "beacon",
    "copper",
    "dolphin",
    "engine",
    "feather",
    "glacier",
    "harbor",
    "ivory",
    "jungle",
    "kernel",
    "lantern",
    "meadow",
    "nectar",
    "olive",
    "pepper",
    "quiver",
    "ribbon",
    "silver",
    "tunnel",
    "upland",
    "violet",
    "willow",
    "yonder",
    "zigzag",
    "arrow",
    "bridge",
    "cactus",
    "desert",
    "eagle",
    "forest",
    "gravel",
    "hollow",
    "insect",
    "jasmine",
    "kitten",
    "lemon",
    "marble",
]
HOSTS = f"git.{DOMAIN} ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{drawn('saas known host', 43)}\n"
ROOTS = "".join(f"-----BEGIN CERTIFICATE-----\n{b64(bytes.fromhex('308201a4') + drawn(f'public root {at}', 420).encode())}\n-----END CERTIFICATE-----\n" for at in range(3))  # fmt: skip
KEYS = {"keys": [{"kty": "RSA", "use": "sig", "alg": "RS256", "kid": drawn(f"idp kid {at}", 43), "n": drawn(f"idp n {at}", 342), "e": "AQAB"} for at in range(2)]}  # fmt: skip
ENTRY = """#!/bin/sh
set -eu
: "${PGPASSWORD:?is missing}"
until pg_isready -q -h "$PGHOST" -U "$PGUSER"; do sleep 2; done
exec /usr/local/bin/serve --listen :8080 --token-file /var/run/secrets/tokens/api --log-level "${LOG_LEVEL:-info}"
"""


def phrase(made: Any, name: str) -> str:
    """Six words for people to type."""
    return str(made._give("-".join(WORDS[byte % len(WORDS)] for byte in made.raw(name, 6))))


def vendor(scene: Scene) -> None:
    """The vendor's cluster: an authority, logins in many forms, and public things in the same Secrets."""
    cp = scene.cp
    root = cp.certificate("hosted-root", authority=True)
    data: dict[str, Mapping[str, Any]] = {
        "cacerts": {"ca-cert.pem": root, "ca-key.pem": cp.key("hosted-root"), "root-cert.pem": root, "cert-chain.pem": root},
        "login-client": {"issuer": LOGIN, "client_id": CLIENT, "client_secret": cp.opaque("login client", 40, LETTERS), "cookie": b64(cp.raw("cookie")), "jwks.json": json.dumps(KEYS)},
        "billing": {"mode": "live", "key": "sk_live_" + cp.opaque("billing", 32, LETTERS), "webhook": "whsec_" + cp.opaque("billing hook", 32, LETTERS)},
        "state-db": {"PGHOST": f"state.{DOMAIN}", "PGPORT": "5432", "PGUSER": "postgres", "PGDATABASE": "meshes", "PGPASSWORD": cp.opaque("state db", 24), "entrypoint.sh": ENTRY},
        "unseal": {"passphrase": phrase(cp, "unseal words"), "keys": json.dumps([b64(cp.raw(f"unseal {at}")) for at in range(3)])},
        "objects": {"objstore.yml": yaml.safe_dump({"type": "S3", "config": {"bucket": f"{MESH}-blocks", "endpoint": f"s3.{REGION}.amazonaws.com", "access_key": "AKIA" + cp.opaque("objects id", 16, AWS_ID), "secret_key": cp.opaque("objects", 40, LETTERS)}})},
        "bus": {"jaas.conf": f'KafkaClient {{ org.apache.kafka.common.security.scram.ScramLoginModule required username="billing" password="{cp.opaque("bus", 32)}"; }};', "bootstrap": f"bus.{DOMAIN}:9093"},
        "forge": {"identity": cp.key("forge deploy"), "identity.pub": cp.public_ssh("forge deploy"), "known_hosts": HOSTS},
        "registry": {".dockerconfigjson": json.dumps({"auths": {f"registry.{DOMAIN}": {"username": "robot$hosted", "auth": b64("robot$hosted:" + cp.opaque("hosted robot", 32))}}})},
        "trust": {"ca-bundle.crt": ROOTS, "truststore.password": "changeit", "pin": cp.opaque("hsm pin", 12, "0123456789")},
        "realm": {"realm.json": json.dumps({"realm": "hosted", "sslRequired": "external", "defaultSignatureAlgorithm": "RS256", "supportedLocales": ["de", "en", "fr", "ja", "pt-BR"], "clients": [{"clientId": "portal", "secret": cp.opaque("realm portal", 32, LETTERS), "redirectUris": [f"https://portal.{DOMAIN}/*"]}]})},
        "dns": {"provider": "rfc2136", "zone": DOMAIN, "algorithm": "hmac-sha256", "secret": b64(cp.raw("dns tsig"))},
    }  # fmt: skip
    for name, entries in data.items():
        scene.secret("cp", f"hosted-{name}", entries, namespace="hosted")
    scene.secret("cp", "hosted-session", {"hmac": raw(scene, "cp", "hosted-session-key").output("hex")})
    scene.secret("cp", "hosted-admin", {"username": "admin", "password": scene.password("cp", "hosted-admin").output("result")})  # fmt: skip
    values = {
        "global": {"meshID": MESH, "externalIstiod": True, "network": "hosted"},
        "pilot": {"env": {"AUDIT": "on"}},
    }
    release(scene, "cp", "istiod", values)


account = functools.partial(in_account, "orchard")
"""A resource in an account of the tenant's, by a provider that logs in as the tenant."""
harmless = Harmless(vendor)
plain, files, chart = harmless.plain, harmless.files, harmless.chart
SETTINGS, TEXTS, CHARTS, PUBLIC = (
    "files of settings",
    "long texts",
    "values of charts",
    "copies of public things",
)
CODE, STACKS, LATER = "slips of programs", "slips between stacks", "leaks of later updates"


def agent(scene: Scene) -> None:
    vendor(scene)
    generated(scene, "agent-enrol", "key", 40)
    release(scene, "dp", "mesh-agent", {"enrol": {"existingSecret": "enrol"}, "logLevel": "info"})


DATA, WATCH, FORMS = (
    "slips of data services",
    "slips of observation",
    "forms that tools read",
)
DELIVERY, CLUSTERS, SERVICES, CLOUDS = (
    "slips of delivery",
    "slips of cluster managers",
    "slips of services' accounts",
    "slips of clouds",
)
MESHES, NETWORKS, TRUST = (
    "slips in objects of a mesh",
    "slips of networks",
    "slips of certificates",
)
DATA_own, LOGINS, TRUST_own, WATCH_own, UP, LATER_own = (
    "the tenant's own data services",
    "the tenant's own logins",
    "the tenant's own certificates",
    "the tenant's own observation",
    "from the data plane to the control plane",
    "the tenant's own rotations",
)
CODE_wiring, STACKS_wiring, CLOUDS_wiring, SERVICES_wiring, LATER_wiring = (
    "wiring",
    "facts of other stacks",
    "clouds beside it",
    "accounts of other services",
    "later updates",
)
