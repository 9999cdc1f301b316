"""What this set's programs have in common: a mesh team's cluster, two tenants, and accounts at services of both."""  # fmt: skip

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from typing import Any

import pulumi
import yaml

from tests.corpus.strangers.harmless import Harmless
from tests.corpus.strangers.material import LETTERS
from tests.corpus.strangers.objects import at_home, in_account
from tests.corpus.strangers.scene import SERVERS, Scene
from tests.corpus.strangers.values import AWS_ID, HEX, b64, drawn, noise, uid

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
OIDC = f"oidc.eks.{REGION}.amazonaws.com/id/{drawn('loom eks', 32, '0123456789ABCDEF')}"
BASTION = f"AAAAC3NzaC1lZDI1NTE5AAAAI{drawn('loom bastion', 43)}"
ROOTS = "".join(f"-----BEGIN CERTIFICATE-----\n{b64(bytes.fromhex('308201c2') + noise(f'loom public root {at}', 450))}\n-----END CERTIFICATE-----\n" for at in range(2))  # fmt: skip
KEYS = {"keys": [{"kty": "EC", "use": "sig", "alg": "ES256", "crv": "P-256", "kid": drawn(f"loom kid {at}", 27), "x": drawn(f"loom x {at}", 43), "y": drawn(f"loom y {at}", 43)} for at in range(2)]}  # fmt: skip
CERTIFICATE, PUBLIC = "a certificate differs when its key does", "a public key differs when its key does"


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


_harmless = Harmless("ninth", loom, "The tenant's {where} has {what}.")
plain, files, chart = _harmless.plain, _harmless.files, _harmless.chart
