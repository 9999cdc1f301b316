"""The surroundings of `tern`: its control plane, tenants and accounts."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from typing import Any

import pulumi
import yaml

from tests.corpus.blind_corpus.credentials import generated
from tests.corpus.blind_corpus.harmless import Harmless
from tests.corpus.blind_corpus.material import LETTERS
from tests.corpus.blind_corpus.objects import at_home, in_account
from tests.corpus.blind_corpus.scene import Scene
from tests.corpus.blind_corpus.values import AWS_ID, HEX, b64, drawn, uid

DOMAIN, MOSS, REED = "tern.example.com", "moss.example.com", "reed.example.com"
REGION, ACCOUNT, MOSS_ACCOUNT = "eu-west-3", "518204773160", "209417755831"
TERN = f"tern-{drawn('tern id', 8, HEX)}"
ISSUER = f"https://login.{DOMAIN}/realms/hosting"
CLIENT, DIRECTORY = uid("tern client"), uid("tern directory")
MOSS_DIRECTORY, MOSS_SUBSCRIPTION = uid("moss directory"), uid("moss subscription")


def digest(name: str) -> str:
    """The digest of a public image."""
    return f"sha256:{drawn(f'tern image {name}', 64, HEX)}"


def tern(scene: Scene) -> None:
    """The provider's cluster after a first day: charts were installed, and each got its Secret."""
    cp = scene.cp
    root, dns = cp.certificate("tern-root", authority=True), cp.opaque("tern dns", 40, LETTERS)
    data: dict[str, tuple[str, Mapping[str, Any]]] = {
        "cacerts": ("istio-system", {"ca-cert.pem": root, "ca-key.pem": cp.key("tern-root"), "root-cert.pem": root, "cert-chain.pem": root}),
        "external-dns": ("external-dns", {"credentials": f"[default]\nregion = {REGION}\naws_access_key_id = AKIA{cp.opaque('tern dns id', 16, AWS_ID)}\naws_secret_access_key = {dns}\n"}),
        "acme-account": ("cert-manager", {"tls.key": cp.key("tern acme"), "email": f"ops@{DOMAIN}"}),
        "grafana": ("monitoring", {"admin-user": "admin", "admin-password": cp.opaque("tern grafana", 40, LETTERS), "ldap-toml": ""}),
        "argocd-secret": ("argocd", {"admin.passwordMtime": "2026-04-02T08:00:00Z", "server.secretkey": b64(cp.raw("tern argocd")), "dex.github.clientID": drawn("tern github id", 20, HEX), "dex.github.clientSecret": cp.opaque("tern github", 40, HEX)}),
        "dex": ("login", {"config.yaml": yaml.safe_dump({"issuer": ISSUER, "storage": {"type": "kubernetes", "config": {"inCluster": True}}, "staticClients": [{"id": CLIENT, "name": "console", "redirectURIs": [f"https://console.{DOMAIN}/callback"], "secret": cp.opaque("tern dex", 36, LETTERS)}]})}),
        "harbor-robot": ("ci", {".dockerconfigjson": json.dumps({"auths": {f"registry.{DOMAIN}": {"username": "robot$ci", "auth": b64("robot$ci:" + cp.opaque("tern robot", 32, LETTERS))}}})}),
        "velero": ("velero", {"cloud": f"[default]\naws_access_key_id=AKIA{cp.opaque('tern velero id', 16, AWS_ID)}\naws_secret_access_key={cp.opaque('tern velero', 40, LETTERS)}\n"}),
        "kubeconfig-admin": ("platform", {"kubeconfig": cp.kubeconfig("tern-admin", f"https://api.{DOMAIN}:6443")}),
        "postgres": ("databases", {"username": "hosting", "password": cp.opaque("tern postgres", 32, LETTERS), "host": "postgres-rw.databases.svc", "port": "5432", "dbname": "hosting", "sslmode": "require"}),
        "webhook-serving": ("mesh-system", {"tls.crt": cp.certificate("tern-webhook", "tern-root"), "tls.key": cp.key("tern-webhook"), "ca.crt": root}),
        "oncall": ("monitoring", {"slack": f"https://hooks.example.org/services/T02/B03/{cp.opaque('tern slack', 24, LETTERS)}", "channel": "#hosting"}),
    }  # fmt: skip
    at_home(scene, "tern", DOMAIN, TERN, data)


def tenants(scene: Scene) -> dict[str, str]:
    """Each tenant with its cluster."""
    scene.join("reed", "https://reed.example.com:6443")
    return {"moss": "dp", "reed": "reed"}


moss = functools.partial(in_account, "moss")
"""A resource in an account of the tenant's."""
ours = functools.partial(generated, namespace="platform")
"""A generated password of the provider's, which a Secret of its own cluster keeps."""


def theirs(scene: Scene, name: str, length: int = 32, tenant: str = "moss") -> pulumi.Output[str]:
    """A password that the program generates for a tenant, and for nobody else."""
    return scene.password("dp", f"{tenant}-{name}", length).output("result")


harmless = Harmless(tern, "The tenant's {where} has {what}.")
plain, files, chart = harmless.plain, harmless.files, harmless.chart
FILES, DRAWN, MADE, HALVES, WIRED = (
    "files of public things",
    "names that were drawn",
    "facts of what was made",
    "certificates and public halves",
    "facts through code",
)
SLIPS, WRITTEN = "slips of code", "old ways of writing"
UMLAUTS = "aäbcdeéfghijklmnoöpqrsßtuüvwxyz"
INCIDENTS, OBJECTS, PODS, ACCOUNTS = (
    "after incidents",
    "into objects",
    "into Pods",
    "into tenants' accounts",
)
LOGIN, DELIVERY, CERTIFICATES, MESHED, GUARDS, CHARTS = (
    "ways to log in without a secret",
    "delivery",
    "certificates and trust",
    "the mesh's objects",
    "guards and budgets",
    "charts' values",
)


def role(name: str) -> str:
    return f"arn:aws:iam::{MOSS_ACCOUNT}:role/{name}-{drawn(f'moss role {name}', 7, HEX)}"


GENERATED, GIVEN, CLOUDS, SEVERAL, UP = (
    "generated for a tenant",
    "given by a tenant",
    "of a tenant's own accounts",
    "several tenants",
    "from a tenant up to the provider",
)
