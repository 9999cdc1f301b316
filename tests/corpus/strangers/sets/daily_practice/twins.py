"""Harmless twins: both sides have something of one form, each with a secret of its own, and most of the text is the same."""

from __future__ import annotations

import base64
import functools
import gzip
import json
from collections.abc import Callable
from typing import Any

import pulumi
import yaml
from cryptography.hazmat.primitives import serialization

from tests.corpus.strangers.material import LETTERS, Material
from tests.corpus.strangers.scene import Scene
from tests.corpus.strangers.stranger import clean

from .leaks_files import OPEN, SERVICES, SOURCES, kept

TWINS = "twins with other secrets"
OWN = {"annotations": {"hosted-mesh.io/data-plane-owned": "made in the shop's own account for the shop"}}


def _b64(data: bytes | str) -> str:
    return base64.b64encode(data.encode() if isinstance(data, str) else data).decode()


def _twin(
    name: str, what: str, entry: str, text: Callable[[Material], str], *, second: bool = False, **metadata: Any
) -> None:
    more: dict[str, Any] = {"before": "the same"} if second else {}

    @clean(TWINS, f"twin-{name}", f"Both sides have {what}, each with a secret of its own.", **more)
    def _(scene: Scene) -> None:
        kept(scene, "platform", {entry: text(scene.cp)})
        scene.secret("dp", "shop", {entry: pulumi.Output.secret(text(scene.dp))}, **metadata)


for _at, (_name, _what, _entry, _text) in enumerate(SOURCES):
    _twin(_name, _what, _entry, lambda m, n=_name, t=_text: t(m.opaque(n, 14, LETTERS)), second=_at % 5 == 0)


def _drawing(material: Material, name: str) -> Callable[..., str]:
    at = iter(range(9))
    return lambda length, letters: material.opaque(f"{name}{next(at)}", length, letters)


for _at, (_name, _what, _made) in enumerate(OPEN):
    _twin(
        f"address-{_name}",
        f"an address that opens ({_name})",
        ("url", "address", "webhook-url")[_at % 3],
        lambda m, n=_name, t=_made: t(_drawing(m, n)),
    )
for _name, _what, _made in SERVICES:
    _twin(
        f"token-{_name}",
        f"a token of one service ({_name})",
        "token",
        lambda m, n=_name, t=_made: t(_drawing(m, n)),
        **OWN,
    )

EKS = (
    "k8s-aws-v1."
    + base64.urlsafe_b64encode(
        b"https://sts.eu-west-1.amazonaws.com/?Action=GetCallerIdentity&Version=2011-06-15&X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential="
    )
    .rstrip(b"=")
    .decode()
)


@functools.cache
def _openssh_of(label: str) -> str:
    """Kept, since each time that it is written it has another random number in it."""
    owner, _, seed = label.partition("/")
    key = Material(owner, int(seed)).ec("ssh")
    form = serialization.PrivateFormat.OpenSSH
    return key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()).decode()


def _openssh(material: Material) -> str:
    material.ec("ssh")
    return _openssh_of(material.label)


def _release(material: Material) -> str:
    record = {
        "name": "grafana",
        "chart": {"metadata": {"name": "grafana", "version": "8.0.0"}, "templates": ["{{ .Values }}"] * 20},
        "config": {"adminPassword": material.opaque("g", 24, LETTERS)},
    }
    return _b64(_b64(gzip.compress(json.dumps(record).encode(), mtime=0)))


ROWS: list[tuple[str, str, str, Callable[[Material], str], dict[str, Any]]] = [
    ("jwt", "a service account's token of one issuer", "token", lambda m: m.jwt("reader"), OWN),
    ("eks-token", "a login at a cluster, which begins with the same address", "token", lambda m: EKS + m.opaque("eks", 80, LETTERS), OWN),
    ("key-in-der", "a key in DER, in base64, whose first bytes are the curve's", "key", lambda m: _b64(m.key_der("k")), OWN),
    ("key-in-hexadecimal-der", "a key in DER, in hexadecimal digits", "key", lambda m: m.key_der("k").hex(), OWN),
    ("openssh-key", "a key of OpenSSH, which begins as all do", "ssh-privatekey", _openssh, {"kind": "kubernetes.io/ssh-auth"}),
    ("google-key-file", "a key file of a cloud", "key.json", lambda m: json.dumps({"type": "service_account", "project_id": "p", "private_key_id": m.opaque("kid", 40, "0123456789abcdef"), "private_key": m.key("gcp"), "client_email": "dns@p.iam.gserviceaccount.com", "token_uri": "https://oauth2.googleapis.com/token", "auth_provider_x509_cert_url": "https://www.googleapis.com/oauth2/v1/certs"}), OWN),
    ("service-bus", "a connection string of a bus", "connection", lambda m: f"Endpoint=sb://{'platform'}.servicebus.windows.net/;SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey={_b64(m.raw('bus'))}", OWN),
    ("storage-account", "a connection string of a storage account", "connection", lambda m: f"DefaultEndpointsProtocol=https;AccountName=shared;AccountKey={_b64(m.raw('az', 64))};EndpointSuffix=core.windows.net", OWN),
    ("release-record", "a record of a release, packed", "release", _release, {}),
    ("postgres-address", "an address of one database, with a user of its own", "url", lambda m: f"postgres://mesh:{m.opaque('pg', 20, LETTERS)}@db.example.com:5432/mesh?sslmode=verify-full&application_name=mesh", {}),
    ("cookie-settings", "settings in YAML with a cookie's secret", "config.yaml", lambda m: yaml.safe_dump({"provider": "oidc", "oidc_issuer_url": "https://id.example.com", "client_id": "mesh", "cookie_secret": m.opaque("c", 32, LETTERS), "email_domains": ["*"], "upstreams": ["http://127.0.0.1:8080"]}), {}),
    ("nginx-with-header", "a server's file with a secret header", "nginx.conf", lambda m: f"server {{\n  listen 8443 ssl;\n  location / {{\n    proxy_set_header X-Upstream-Auth {m.opaque('n', 24, LETTERS)};\n    proxy_pass https://istiod.example.com:15012;\n  }}\n}}\n", {}),
    ("lua-with-hmac", "a script with the secret of a signature", "filter.lua", lambda m: f'local secret = "{m.opaque("l", 32, LETTERS)}"\nfunction envoy_on_request(handle)\n  local id = handle:headers():get("x-request-id")\n  handle:headers():add("x-sig", hmac(secret, id))\nend\n', {}),
    ("sql-with-hash", "a script with a hashed password", "init.sql", lambda m: f"CREATE ROLE mesh LOGIN PASSWORD 'SCRAM-SHA-256$4096:{_b64(m.raw('salt', 16))}${_b64(m.raw('stored'))}:{_b64(m.raw('server'))}';\n", {}),
    ("aes-key", "thirty-two bytes", "key", lambda m: _b64(m.raw("aes")), {}),
    ("gossip-and-tokens", "JSON of one form", "config.json", lambda m: json.dumps({"primary_datacenter": "platform", "encrypt": _b64(m.raw("g")), "acl": {"tokens": {"agent": m.opaque("agent", 36)}}}), {}),
    ("shadow-lines", "lines of password hashes", "shadow", lambda m: f"root:*:19000:0:99999:7:::\nops:$6$rounds=4096${m.opaque('s', 16, LETTERS)}${m.opaque('h', 86, LETTERS)}:19000:0:99999:7:::\n", {}),
    ("kubeconfig-like-settings", "settings with addresses of both clusters", "settings.yaml", lambda m: yaml.safe_dump({"clusters": [{"name": "platform", "server": "https://cp.example.com:6443"}, {"name": "shop", "server": "https://dp.example.com:6443"}], "pollSeconds": 30, "sharedSecret": m.opaque("x", 32, LETTERS)}), {}),
]  # fmt: skip
for _at, (_name, _what, _entry, _of, _metadata) in enumerate(ROWS):
    _twin(_name, _what, _entry, _of, second=_at % 4 == 0, **_metadata)


@clean(
    TWINS,
    "twin-passwords-generated",
    "Each side has a generated password with signs, in a chart's values and in a file of one form.",
)
def _(scene: Scene) -> None:
    for side in ("cp", "dp"):
        signs = scene.owner(side).opaque("signs", 24, LETTERS + "!@#$%&*()-_=+[]{}<>:?")
        made = scene.made(
            "random:index/randomPassword:RandomPassword",
            f"{side}-password",
            {"length": 24},
            None,
            {"result": signs},
            ["result"],
        )
        text = pulumi.Output.format(
            "host=db.example.com\nuser=mesh\npassword={0}\nsslmode=verify-full\n", made.output("result")
        )
        scene.secret(side, "db", {"db.conf": text})
        values = {"auth": {"username": "mesh", "password": made.output("result"), "database": "mesh"}}
        scene.made(
            "kubernetes:helm.sh/v3:Release",
            f"{side}-pg",
            {"chart": "postgresql", "version": "16.0.0", "values": values},
            scene.options(side),
        )


@clean(
    TWINS,
    "twin-charts",
    "One chart on both sides with the same values but for the password, which is typed in on both.",
)
def _(scene: Scene) -> None:
    for side in ("cp", "dp"):
        values = {
            "grafana.ini": {"server": {"root_url": "https://grafana.example.com"}},
            "adminUser": "admin",
            "adminPassword": pulumi.Output.secret(scene.owner(side).opaque("g", 24, LETTERS)),
            "persistence": {"size": "10Gi"},
        }
        scene.made(
            "kubernetes:helm.sh/v3:Release",
            f"{side}-grafana",
            {"chart": "grafana", "version": "8.0.0", "values": values},
            scene.options(side),
        )


@clean(
    TWINS, "twin-deployments", "One Deployment on both sides, with a variable that names a Secret of each side's own."
)
def _(scene: Scene) -> None:
    for side in ("cp", "dp"):
        scene.secret(
            side, "agent-token", {"token": pulumi.Output.secret(scene.owner(side).opaque("agent", 40, LETTERS))}
        )
        env = [
            {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "agent-token", "key": "token"}}},
            {"name": "SITE", "value": "example.eu"},
            {"name": "DD_CLUSTER_NAME", "value": "platform-shop"},
        ]
        labels = {"app": "agent"}
        template = {
            "metadata": {"labels": labels},
            "spec": {"containers": [{"name": "agent", "image": "agent:7.60.0", "env": env}]},
        }
        scene.object(
            side, "apps/v1:Deployment", "agent", {"spec": {"selector": {"matchLabels": labels}, "template": template}}
        )
