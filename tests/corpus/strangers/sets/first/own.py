"""Harmless: secrets of the user's own, made or given by the user, in the user's cluster."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import pulumi

from tests.corpus.strangers.scene import SERVERS, USERS_STACK, Scene
from tests.corpus.strangers.stranger import clean

from .keystores import jks, p12

OWN = "the user's own"
THIRD = "https://shop-batch.example.com:6443"
OWN_SERVERS = {"dataPlaneServers": [SERVERS["dp"], THIRD]}
Entries = Callable[[Scene], dict[str, Any]]


def _login(scene: Scene) -> str:
    auth = base64.b64encode(f"shop:{scene.dp.opaque('registry')}".encode()).decode()
    return json.dumps({"auths": {"registry.shop.example.com": {"username": "shop", "auth": auth}}})


def _bearer(scene: Scene) -> str:
    return json.dumps({"bearerToken": scene.dp.opaque("batch", 40), "tlsClientConfig": {"insecure": False}})


def _htpasswd(scene: Scene) -> str:
    return "shop:$2y$05$" + scene.dp.opaque("htpasswd", 53)


ROWS: list[tuple[str, str, str, Entries]] = [
    ("database-password", "the password of the shop's database", "Opaque", lambda s: {"password": s.dp.opaque("db")}),
    ("database-url", "a URL with the password of the shop's database", "Opaque", lambda s: {"url": f"postgres://shop:{s.dp.opaque('db')}@db.shop/shop"}),
    ("pull-secret", "the login of the shop's registry", "kubernetes.io/dockerconfigjson", lambda s: {".dockerconfigjson": _login(s)}),
    ("basic-auth", "the login of the shop's intranet", "kubernetes.io/basic-auth", lambda s: {"username": "shop", "password": s.dp.opaque("basic")}),
    ("deploy-key", "a deploy key of the shop's repository", "kubernetes.io/ssh-auth", lambda s: {"ssh-privatekey": s.dp.key("deploy")}),
    ("tls-pair", "the shop's certificate and key", "kubernetes.io/tls", lambda s: {"tls.crt": s.dp.certificate("shop"), "tls.key": s.dp.key("shop")}),
    ("tls-chain", "the shop's certificate with its chain, and the key", "kubernetes.io/tls", lambda s: {"tls.crt": s.dp.certificate("shop", "shop-ca") + s.dp.certificate("shop-ca", authority=True), "tls.key": s.dp.key("shop")}),
    ("password-file", "a password file", "Opaque", lambda s: {"auth": _htpasswd(s)}),
    ("aes-key", "an AES key of the shop's", "Opaque", lambda s: {"key": base64.b64encode(s.dp.raw("aes")).decode()}),
    ("cookie-secret", "the secret that signs the shop's cookies", "Opaque", lambda s: {"cookie-secret": s.dp.opaque("cookie", 32)}),
    ("smtp-login", "the shop's mail login", "Opaque", lambda s: {"SMTP_USER": "shop", "SMTP_PASS": s.dp.opaque("smtp")}),
    ("keystore", "the shop's PKCS#12 keystore and its password", "Opaque", lambda s: {"store.p12": base64.b64encode(p12(s.dp, "shop")).decode(), "password": s.dp.opaque("p")}),
    ("java-keystore", "the shop's Java keystore", "Opaque", lambda s: {"store.jks": base64.b64encode(jks(s.dp, "shop")).decode(), "password": "changeit"}),
    ("repository-token", "the shop's access token for its repository", "Opaque", lambda s: {"username": "git", "password": "ghp_" + s.dp.opaque("git", 36)}),
    ("redis-configuration", "a configuration file with the shop's password", "Opaque", lambda s: {"redis.conf": f"requirepass {s.dp.opaque('redis')}\nmaxmemory 1gb\n"}),
]  # fmt: skip


def _row(name: str, what: str, kind: str, entries: Entries) -> None:
    @clean(OWN, f"own-{name}", f"The user's Secret has {what}, from the program; the provider has secrets of its own.")
    def _(scene: Scene) -> None:
        scene.held()
        data = {key: pulumi.Output.secret(value) for key, value in entries(scene).items()}
        scene.secret("dp", "shop", data, kind=kind)


for _given in ROWS:
    _row(*_given)


@clean(OWN, "own-generated-password", "A generated password of the user's own is in the user's Secret.")
def _(scene: Scene) -> None:
    scene.secret("cp", "admin", {"password": scene.password("cp", "admin").output("result")})
    scene.secret("dp", "shop", {"password": scene.password("dp", "shop").output("result")})


@clean(
    OWN, "own-generated-password-second-time", "The same at the second update, when all is known.", before="the same"
)
def _(scene: Scene) -> None:
    scene.secret("cp", "admin", {"password": scene.password("cp", "admin").output("result")})
    scene.secret("dp", "shop", {"password": scene.password("dp", "shop").output("result")})


@clean(OWN, "own-generated-pair", "The user's key and certificate are generated and stay in the user's cluster.")
def _(scene: Scene) -> None:
    scene.secret("cp", "istiod", {"tls.key": scene.key("cp", "istiod").output("privateKeyPem")})
    key = scene.key("dp", "shop")
    inputs = {
        "privateKeyPem": key.output("privateKeyPem"),
        "validityPeriodHours": 2160,
        "earlyRenewalHours": 720,
        "allowedUses": [],
    }
    answers = {"certPem": scene.dp.certificate("shop")}
    made = scene.made("tls:index/selfSignedCert:SelfSignedCert", "shop-cert", inputs, None, answers, ["privateKeyPem"])
    data = {"tls.crt": made.output("certPem"), "tls.key": key.output("privateKeyPem")}
    scene.secret("dp", "shop", data, kind="kubernetes.io/tls")


@clean(
    OWN,
    "own-configuration",
    "A password from the configuration that only the user's cluster gets.",
    config=lambda cp, dp: {"shop:db": dp.opaque("db")},
)
def _(scene: Scene) -> None:
    scene.held()
    scene.secret("dp", "shop", {"password": scene.config("shop:db")})


@clean(
    OWN, "own-kubeconfig-of-a-third-cluster", "The user's own second cluster, known as the user's.", pack=OWN_SERVERS
)
def _(scene: Scene) -> None:
    scene.secret("dp", "batch", {"config": pulumi.Output.secret(scene.dp.kubeconfig("batch", THIRD))})


@clean(OWN, "own-argocd-cluster", "The user's Argo CD knows the user's second cluster by a token.", pack=OWN_SERVERS)
def _(scene: Scene) -> None:
    scene.held()
    labels = {"argocd.argoproj.io/secret-type": "cluster"}
    data = {"name": "batch", "server": THIRD, "config": pulumi.Output.secret(_bearer(scene))}
    scene.secret("dp", "batch", data, labels=labels)


@clean(OWN, "own-release-values", "A release on the user's cluster takes the user's own generated password.")
def _(scene: Scene) -> None:
    scene.held()
    password = scene.password("dp", "shop").output("result")
    values = {"auth": {"username": "shop", "password": password}, "primary": {"persistence": {"size": "8Gi"}}}
    inputs = {"chart": "postgresql", "version": "16.0.0", "values": values}
    scene.made("kubernetes:helm.sh/v3:Release", "postgresql", inputs, scene.options("dp"))


@clean(OWN, "own-stack", "A stack of the user's gives its own password to the user's cluster.")
def _(scene: Scene) -> None:
    scene.held()
    own = scene.reference(USERS_STACK, USERS_STACK, {"password": scene.dp.opaque("shop")}, ["password"])
    scene.secret("dp", "shop", {"password": own.get_output("password")})


@clean(OWN, "own-token-copied-within", "A token that the user's cluster minted is copied within that cluster.")
def _(scene: Scene) -> None:
    scene.held()
    kind = {"type": "kubernetes.io/service-account-token"}
    minted = scene.answered(
        "dp", "v1:Secret", "reader", kind, data={"token": base64.b64encode(scene.dp.jwt("reader").encode()).decode()}
    )
    scene.object("dp", "v1:Secret", "copy", {"data": minted.output("data"), "metadata": {"namespace": "monitoring"}})


@clean(
    OWN,
    "own-database-in-the-users-account",
    "The user's database is in the user's account, which the pack is told.",
    pack={"dataPlaneProviders": ["shop-aws"]},
)
def _(scene: Scene) -> None:
    scene.held()
    opts = scene.package("aws", "shop-aws", region="eu-west-1")
    password = scene.password("dp", "shop").output("result")
    scene.made("aws:rds/instance:Instance", "shop-db", {"username": "shop", "password": password}, opts)
    scene.secret("dp", "shop", {"password": password})


@clean(OWN, "own-authority-with-a-reason", "The user's own authority, said to be the user's with a reason.")
def _(scene: Scene) -> None:
    scene.held()
    notes = {"hosted-mesh.io/data-plane-owned": "the shop's own authority for its internal names"}
    data = {
        "tls.crt": scene.dp.certificate("shop-ca", authority=True),
        "tls.key": pulumi.Output.secret(scene.dp.key("shop-ca")),
    }
    scene.secret("dp", "shop-ca", data, kind="kubernetes.io/tls", annotations=notes)


@clean(
    OWN, "own-unseen-with-a-reason", "Run without a preview, and said to be the user's own with a reason.", unseen=True
)
def _(scene: Scene) -> None:
    notes = {"hosted-mesh.io/data-plane-owned": "the password of the shop's own database"}
    scene.secret("dp", "shop", {"password": scene.password("dp", "shop").output("result")}, annotations=notes)


@clean(
    OWN,
    "own-secret-beside-a-public-fact",
    "The user's password stands beside the mesh's certificate.",
    rightly="a certificate",
)
def _(scene: Scene) -> None:
    scene.secret("cp", "istiod", {"tls.key": pulumi.Output.secret(scene.cp.key("istiod"))})
    password = scene.password("dp", "shop").output("result")
    scene.secret("dp", "shop", {"password": password, "ca.crt": scene.cp.certificate("istiod")})


@clean(
    OWN,
    "users-credential-at-the-provider",
    "istiod's credential for the user's cluster is minted there and kept by the provider.",
)
def _(scene: Scene) -> None:
    kind = {
        "type": "kubernetes.io/service-account-token",
        "metadata": {"annotations": {"kubernetes.io/service-account.name": "istiod"}},
    }
    token = base64.b64encode(scene.dp.jwt("istiod").encode()).decode()
    minted = scene.answered("dp", "v1:Secret", "istiod-token", kind, data={"token": token})
    config = minted.output("data").apply(
        lambda data: f"server: {SERVERS['dp']}\ntoken: {base64.b64decode((data or {}).get('token', '')).decode()}\n"
    )
    scene.secret("cp", "istio-kubeconfig", {"config": config})
    scene.config_map("dp", "mesh", {"clusterName": "shop"})
