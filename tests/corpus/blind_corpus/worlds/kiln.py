"""The surroundings of `kiln`: its control plane, tenants and accounts."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from typing import Any

from tests.corpus.blind_corpus import program
from tests.corpus.blind_corpus.harmless import Harmless
from tests.corpus.blind_corpus.material import LETTERS
from tests.corpus.blind_corpus.objects import at_home, in_account
from tests.corpus.blind_corpus.program import Play
from tests.corpus.blind_corpus.scene import SERVERS, Scene
from tests.corpus.blind_corpus.values import AWS_ID, HEX, b64, drawn
from tests.corpus.world import Object

DOMAIN, FERN = "kiln.example.com", "fern.example.com"
WEST, OTTER, SLATE = "https://west.kiln.example.com:6443", "https://otter.example.com:6443", "https://k8s.slate.example.com"  # fmt: skip
TENANTS = {"fern": "dp", "otter": "otter", "slate": "slate"}
"""Each tenant's cluster. All but the first have to be joined."""
PACK: Mapping[str, Any] = {
    "controlPlaneServers": [SERVERS["cp"], WEST],
    "dataPlaneServers": [SERVERS["dp"], OTTER, SLATE],
    "controlPlaneProviders": ["kiln-*"],
    "dataPlaneProviders": [f"{name}-*" for name in TENANTS],
    "dataPlaneStacks": ["*/data-plane", *(f"acme/{name}-*" for name in TENANTS)],
    "controlPlaneConfigKeys": ["kiln:*"],
}
REGION, ACCOUNT, FERN_ACCOUNT = "eu-north-1", "290114736650", "873305119422"
KILN = f"kiln-{drawn('kiln id', 8, HEX)}"
ISSUER = f"https://id.{DOMAIN}/realms/kiln"
AGE = f"age1{drawn('kiln age', 58, 'qpzry9x8gf2tvdw0s3jn54khce6mua7l')}"
CERTIFICATE, PUBLIC, DIGEST = "a certificate differs when its key does", "a public key differs when its key does", "a hash that its object declassifies"  # fmt: skip


def leak(theme: str, name: str, why: str, source: str, **more: Any) -> Callable[[Play], Play]:
    """A program that leaks, in spite of the team's settings."""
    return program.leak(theme, name, why, source, **{"pack": PACK, **more})


def clean(theme: str, name: str, why: str, **more: Any) -> Callable[[Play], Play]:
    """A harmless program, with the team's settings."""
    return program.clean(theme, name, why, **{"pack": PACK, **more})


def workshop(scene: Scene) -> None:
    """The team's cluster: in each Secret something opens a door, beside what is in every manual."""
    cp = scene.cp
    root, dba = cp.certificate("kiln-root", authority=True), cp.opaque("kiln dba", 48, LETTERS)
    data: dict[str, tuple[str, Mapping[str, Any]]] = {
        "cacerts": ("istio-system", {"ca-cert.pem": root, "ca-key.pem": cp.key("kiln-root"), "root-cert.pem": root, "cert-chain.pem": root}),
        "superuser": ("databases", {"username": "postgres", "password": dba, "host": "pg-rw.databases", "port": "5432", "dbname": "*", "pgpass": f"pg-rw.databases:5432:*:postgres:{dba}\n", "jdbc-uri": f"jdbc:postgresql://pg-rw.databases:5432/app?user=postgres&password={dba}"}),
        "metrics-writer": ("monitoring", {"url": "https://prometheus-prod-24.example.net/api/prom/push", "username": "1284417", "password": "glc_" + b64(json.dumps({"o": "714250", "n": "kiln-writer", "k": cp.opaque("kiln glc", 24, LETTERS), "m": {"r": REGION}}))}),
        "route53": ("cert-manager", {"access-key-id": f"AKIA{cp.opaque('kiln dns id', 16, AWS_ID)}", "secret-access-key": cp.opaque("kiln dns", 40, LETTERS), "hostedZoneID": "Z08812KILN"}),
        "repo-creds": ("argocd", {"url": "https://git.example.org/acme", "type": "git", "githubAppID": "771204", "githubAppInstallationID": "41120937", "githubAppPrivateKey": cp.key("kiln forge")}),
        "sops-age": ("flux-system", {"age.agekey": f"# created: 2026-01-12T09:30:00Z\n# public key: {AGE}\nAGE-SECRET-KEY-1{cp.opaque('kiln age', 58, 'QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L')}\n"}),
        "registry-core": ("registry", {"secret": cp.opaque("kiln core", 16), "CSRF_KEY": cp.opaque("kiln csrf", 32, LETTERS), "REGISTRY_CREDENTIAL_USERNAME": "registry_user", "REGISTRY_CREDENTIAL_PASSWORD": cp.opaque("kiln registry", 32)}),
        "stacks-operator": ("pulumi", {"PULUMI_ACCESS_TOKEN": "pul-" + cp.opaque("kiln pul", 40, HEX), "PULUMI_ORG": "acme"}),
        "tsig": ("dns", {"named.conf.key": f'key "kiln." {{\n\talgorithm hmac-sha256;\n\tsecret "{b64(cp.raw("kiln tsig"))}";\n}};\n'}),
        "bus-users": ("streams", {"users.properties": f"admin={cp.opaque('kiln bus', 32)}\n", "bootstrap": f"bus.{DOMAIN}:9093", "mechanism": "SCRAM-SHA-512"}),
        "signer": ("login", {"jwks.json": json.dumps({"keys": [cp.jwk("kiln signer", private=True)]}), "issuer": ISSUER}),
    }  # fmt: skip
    at_home(scene, "kiln", DOMAIN, KILN, data)


def tenants(scene: Scene) -> dict[str, str]:
    """All tenants with the cluster of each."""
    scene.join("otter", OTTER)
    scene.join("slate", SLATE)
    return dict(TENANTS)


def account(scene: Scene, team: str, *resource: Any, **more: Any) -> Object:
    """A resource in an account of the team's or of a tenant's, as `in_account` has it."""
    return in_account(team, scene, *resource, owner="cp" if team == "kiln" else "dp", **more)


def declassified(place: str, reason: str) -> dict[str, str]:
    return {"hosted-mesh.io/declassify": f"{place}: {reason}"}


def owned(reason: str) -> dict[str, str]:
    return {"hosted-mesh.io/data-plane-owned": reason}


harmless = Harmless(workshop, "The tenant's {where} has {what}.")
plain, files, chart = (functools.partial(one, pack=PACK) for one in (harmless.plain, harmless.files, harmless.chart))
OBJECTS, FILES, CHARTS, HALVES, MADE = (
    "usual objects",
    "files of texts and settings",
    "charts' values",
    "public halves and declassified digests",
    "facts of the team's accounts",
)
PROXY = f"""upstream api {{ server api.{DOMAIN}:443; }}
server {{
  listen 8443 ssl;
  ssl_certificate /run/tls/tls.crt;
  ssl_certificate_key /run/tls/tls.key;
  auth_request /auth;
  auth_request_set $token $upstream_http_x_auth_request_access_token;
  location /api {{ proxy_set_header Authorization "Bearer $token"; proxy_pass https://api; }}
  location = /auth {{ internal; proxy_pass {ISSUER}/userinfo; proxy_set_header Cookie $http_cookie; }}
}}
"""
ACCOUNTS, OBJECTS_leaks_places, DERIVED = (
    "into tenants' accounts",
    "into tenants' objects",
    "derived, sealed or encoded",
)
SAID, WIRED, CARRIED = (
    "beside the settings and notes",
    "slips of wiring",
    "carried by operators and stacks",
)
GENERATED, TOLD, STACKS, ACCOUNTS_own = (
    "tenants' own, generated",
    "tenants' own, configured",
    "tenants' own, of their stacks",
    "tenants' own accounts",
)
HOME, TWINS, WIRING, READ, LATER = (
    "the team's at home",
    "twins of slips",
    "components and transformations",
    "look-ups, reads and exports",
    "later updates",
)
