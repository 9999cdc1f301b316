"""The surroundings of `loom`: its control plane, tenants and accounts."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from typing import Any

import pulumi
import yaml

from tests.corpus.blind_corpus.credentials import kept
from tests.corpus.blind_corpus.harmless import Harmless
from tests.corpus.blind_corpus.material import LETTERS
from tests.corpus.blind_corpus.objects import at_home, in_account
from tests.corpus.blind_corpus.scene import SERVERS, Scene
from tests.corpus.blind_corpus.values import AWS_ID, HEX, b64, drawn, noise, uid

DOMAIN, MAPLE = "loom.example.com", "maple.example.com"
ROWAN = "https://rowan.example.com:6443"
BOTH = {"dataPlaneServers": [SERVERS["dp"], ROWAN]}
TENANTS = {"maple": "dp", "rowan": "rowan"}
"""Each tenant's cluster. The second has to be joined."""
ACCOUNT, MAPLE_ACCOUNT, REGION = "417730925561", "655281190347", "eu-central-1"
MAPLE_PROJECT = "maple-retail-204418"
LOOM = f"loom-{drawn('loom id', 8, HEX)}"
ISSUER = f"https://login.{DOMAIN}/realms/mesh"
CLIENT, DIRECTORY, SUBSCRIPTION = uid("loom client"), uid("loom directory"), uid("loom subscription")
BASTION = f"AAAAC3NzaC1lZDI1NTE5AAAAI{drawn('loom bastion', 43)}"
ROOTS = "".join(f"-----BEGIN CERTIFICATE-----\n{b64(bytes.fromhex('308201c2') + noise(f'loom public root {at}', 450))}\n-----END CERTIFICATE-----\n" for at in range(2))  # fmt: skip
KEYS = {"keys": [{"kty": "EC", "use": "sig", "alg": "ES256", "crv": "P-256", "kid": drawn(f"loom kid {at}", 27), "x": drawn(f"loom x {at}", 43), "y": drawn(f"loom y {at}", 43)} for at in range(2)]}  # fmt: skip


def loom(scene: Scene) -> None:
    """The mesh team's cluster as it grew: each Secret has a login or a key, and often facts that are in every manual."""  # fmt: skip
    cp = scene.cp
    root = cp.certificate("loom-root", authority=True)
    meter, ldap = cp.opaque("loom meter", 36, LETTERS), cp.opaque("loom ldap", 24, LETTERS)
    data: dict[str, tuple[str, Mapping[str, Any]]] = {
        "cacerts": ("istio-system", {"ca-cert.pem": root, "ca-key.pem": cp.key("loom-root"), "root-cert.pem": root, "cert-chain.pem": root}),
        "meter": ("billing", {"config.toml": f'mesh = "{LOOM}"\nregion = "{REGION}"\nendpoint = "https://meter.{DOMAIN}/v1"\n[auth]\nkind = "bearer"\ntoken = "{meter}"\n'}),
        "directory": ("login", {"url": f"ldaps://ldap.{DOMAIN}:636", "bindDN": "cn=mesh,ou=apps,dc=loom,dc=example,dc=com", "bindPassword": ldap, "baseDN": "dc=loom,dc=example,dc=com"}),
        "mail-relay": ("login", {"SMTP_URL": f"smtps://mesh:{cp.opaque('loom smtp', 28, LETTERS)}@smtp.{DOMAIN}:465", "SMTP_FROM": f"mesh@{DOMAIN}"}),
        "github-app": ("ci", {"githubAppID": "418830", "githubAppInstallationID": "52219034", "githubAppPrivateKey": cp.key("loom github app")}),
        "state": ("ci", {"PULUMI_BACKEND_URL": f"s3://{LOOM}-state?region={REGION}", "PULUMI_CONFIG_PASSPHRASE": cp.opaque("loom passphrase", 32), "AWS_ACCESS_KEY_ID": f"AKIA{cp.opaque('loom state id', 16, AWS_ID)}", "AWS_SECRET_ACCESS_KEY": cp.opaque("loom state", 40, LETTERS)}),
        "login": ("login", {"oidc.json": json.dumps({"issuer": ISSUER, "client_id": CLIENT, "client_secret": cp.opaque("loom oidc", 40, LETTERS), "scopes": ["openid", "groups"], "jwks": KEYS})}),
        "azure": ("dns", {"azure.json": json.dumps({"tenantId": DIRECTORY, "subscriptionId": SUBSCRIPTION, "resourceGroup": "dns", "aadClientId": CLIENT, "aadClientSecret": cp.opaque("loom azure", 40, LETTERS)})}),
        "pull": ("ci", {".dockerconfigjson": json.dumps({"auths": {f"registry.{DOMAIN}": {"auth": b64("robot+mesh:" + cp.opaque("loom robot", 48))}}})}),
        "bastion": ("ci", {"id_ed25519": cp.key("loom bastion"), "known_hosts": f"bastion.{DOMAIN} ssh-ed25519 {BASTION}\n", "config": f"Host bastion\n  HostName bastion.{DOMAIN}\n  User mesh\n  Port 2222\n"}),
        "pager": ("monitoring", {"alertmanager.yaml": yaml.safe_dump({"global": {"resolve_timeout": "5m"}, "route": {"receiver": "oncall", "repeat_interval": "4h"}, "receivers": [{"name": "oncall", "opsgenie_configs": [{"api_key": cp.opaque("loom opsgenie", 36, HEX), "api_url": "https://alerts.example.org/"}]}]})}),
        "vault": ("vault", {"address": f"https://vault.{DOMAIN}:8200", "ca.pem": ROOTS, "root_token": "hvs." + cp.opaque("loom vault", 24, LETTERS)}),
    }  # fmt: skip
    at_home(scene, "loom", DOMAIN, LOOM, data)


def tenants(scene: Scene) -> dict[str, str]:
    """Both tenants with the cluster of each."""
    scene.join("rowan", ROWAN)
    return dict(TENANTS)


maple = functools.partial(in_account, "maple")
"""A resource in an account of the tenant's, by a provider that logs in as the tenant."""


def word(scene: Scene, name: str, length: int = 32) -> pulumi.Output[str]:
    """A generated password that is the tenant maple's by its name, too."""
    return scene.password("dp", f"maple-{name}", length).output("result")


def house(scene: Scene, name: str, key: str = "password", length: int = 32, namespace: str = "mesh-system") -> pulumi.Output[str]:  # fmt: skip
    """A generated password of the mesh team's, kept in a system namespace of its cluster."""
    value = scene.password("cp", f"loom-{name}", length).output("result")
    scene.secret("cp", f"loom-{name}", {key: value}, namespace=namespace)
    return value


harmless = Harmless(loom, "The tenant's {where} has {what}.")
plain, files, chart = harmless.plain, harmless.files, harmless.chart
HALVES, MADE, ELSEWHERE, READ, COMPUTED, WORDS = (
    "public halves",
    "facts of made resources",
    "facts of other stacks and look-ups",
    "facts read out of secrets' neighbours",
    "facts that the program computes",
    "words that both sides have",
)
SLIPS, HIDDEN, DERIVED, LATER = (
    "slips of Python and Pulumi",
    "hidden by an insider",
    "made of a secret and as good as it",
    "leaks of later updates",
)


def kept_bytes(scene: Scene, name: str, length: int = 32) -> Any:
    """A key that a Secret of the mesh team's holds in hexadecimal."""
    return scene.held(name, "key", scene.cp.raw(name, length).hex())


def tagged(scene: Scene, tag: Any) -> None:
    loom(scene)
    key = f"AKIA{scene.cp.opaque('tag id', 16, AWS_ID)}"
    scene.secret("cp", "tagging", {"credentials": f"aws_access_key_id={key}\n", "token": kept(scene, "tagging-api", "token", 40)})  # fmt: skip
    maple(scene, "aws:s3/bucket:Bucket", "media", {"bucket": "maple-media", "tags": {"mesh": LOOM, "inventory": tag}}, region=REGION)  # fmt: skip


def exported(scene: Scene, *, support: bool) -> None:
    loom(scene)
    token = house(scene, "support-bot", "token", 40)
    pulumi.export("clusters", [{"name": "maple", "endpoint": f"https://edge.{MAPLE}"}])
    if support:
        pulumi.export("support", {"contacts": [{"kind": "bot", "login": pulumi.Output.unsecret(pulumi.Output.concat("bot:", token))}]})  # fmt: skip


CLOUDS, SERVICES, OBJECTS, MESH = (
    "into tenants' clouds",
    "into tenants' services",
    "into fields of objects",
    "the mesh's own authority and logins",
)
GENERATED, TOLD, SHARED, HOME, CLOUDS_own = (
    "tenants' own, generated",
    "tenants' own, configured or of a stack",
    "tenants' own, kept above too",
    "the mesh team's at home",
    "tenants' own accounts",
)
TWO = {"mesh": "cp", "maple": "dp"}
"""Both owners of a program that does the same for each."""
OBJECTS_settings, FILES, CHARTS = "usual objects", "files of settings and texts", "charts' values"
ZONE = f"""$TTL 3600
@ IN SOA ns1.{MAPLE}. dns.{MAPLE}. 2026021101 7200 3600 1209600 300
@ IN DNSKEY 257 3 13 {b64(noise("ksk", 64))}
@ IN DS 20326 13 2 {noise("ds", 32).hex().upper()}
@ IN CAA 0 issue "letsencrypt.org; validationmethods=dns-01"
_mta-sts IN TXT "v=STSv1; id=20260211T1200"
_acme-challenge IN TXT "{drawn("txt challenge", 43)}"
@ IN OPENPGPKEY {b64(noise("openpgp", 60))}
"""
