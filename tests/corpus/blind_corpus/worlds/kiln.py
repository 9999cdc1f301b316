"""What this set's programs have in common: a team's two clusters, three tenants, and what the team tells the pack.

The team has read the documentation: its file of settings says whose each cluster, account and stack is, and objects
have a reason where one is asked for. The file is the same for all programs.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from typing import Any

from tests.corpus.strangers import stranger
from tests.corpus.strangers.harmless import Harmless
from tests.corpus.strangers.material import LETTERS
from tests.corpus.strangers.objects import at_home, in_account
from tests.corpus.strangers.scene import SERVERS, Scene
from tests.corpus.strangers.stranger import Play
from tests.corpus.strangers.values import AWS_ID, HEX, b64, drawn, noise, uid
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
CLIENT, DIRECTORY = uid("kiln client"), uid("kiln directory")
AGE = f"age1{drawn('kiln age', 58, 'qpzry9x8gf2tvdw0s3jn54khce6mua7l')}"
ROOTS = "".join(f"-----BEGIN CERTIFICATE-----\n{b64(bytes.fromhex('308201b6') + noise(f'kiln public root {at}', 438))}\n-----END CERTIFICATE-----\n" for at in range(2))  # fmt: skip
KEYS = {"keys": [{"kty": "EC", "use": "sig", "alg": "ES256", "crv": "P-256", "kid": drawn(f"kiln kid {at}", 27), "x": drawn(f"kiln x {at}", 43), "y": drawn(f"kiln y {at}", 43)} for at in range(2)]}  # fmt: skip
CERTIFICATE, PUBLIC, DIGEST = "a certificate differs when its key does", "a public key differs when its key does", "a hash that its object declassifies"  # fmt: skip


def leak(theme: str, name: str, why: str, source: str, **more: Any) -> Callable[[Play], Play]:
    """A program that leaks, in spite of the team's settings."""
    return stranger.leak(theme, name, why, source, **{"pack": PACK, **more})


def clean(theme: str, name: str, why: str, **more: Any) -> Callable[[Play], Play]:
    """A harmless program, with the team's settings."""
    return stranger.clean(theme, name, why, **{"pack": PACK, **more})


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


def west(scene: Scene) -> str:
    """The team's second cluster."""
    scene.join("west", WEST, owner="cp")
    return "west"


def account(scene: Scene, team: str, *resource: Any, **more: Any) -> Object:
    """A resource in an account of the team's or of a tenant's, as `in_account` has it."""
    return in_account(team, scene, *resource, owner="cp" if team == "kiln" else "dp", **more)


def declassified(place: str, reason: str) -> dict[str, str]:
    return {"hosted-mesh.io/declassify": f"{place}: {reason}"}


def owned(reason: str) -> dict[str, str]:
    return {"hosted-mesh.io/data-plane-owned": reason}


def workload(scene: Scene, side: str, name: str, container: Mapping[str, Any], pod: Mapping[str, Any], notes: Mapping[str, str]) -> Object:  # fmt: skip
    """A Deployment with annotations of its own, and others of its Pods."""
    labels = {"app": name}
    template = {"metadata": {"labels": labels, "annotations": dict(pod)}, "spec": {"containers": [{"name": name, "image": f"{name}:1.0", **container}]}}  # fmt: skip
    return scene.object(side, "apps/v1:Deployment", name, {"metadata": {"annotations": dict(notes)}, "spec": {"selector": {"matchLabels": labels}, "template": template}})  # fmt: skip


_harmless = Harmless("tenth", workshop, "The tenant's {where} has {what}.")
plain, files, chart = (functools.partial(one, pack=PACK) for one in (_harmless.plain, _harmless.files, _harmless.chart))
