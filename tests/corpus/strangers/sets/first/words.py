"""Harmless: both sides say the same words. The provider's Secret holds them beside a real secret; so do the user's objects.

What is shared is a name, a host, a setting, boilerplate; none of it opens anything.
"""

from __future__ import annotations

import json
from typing import Any

import pulumi
import yaml

from tests.corpus.strangers.scene import Scene
from tests.corpus.strangers.stranger import clean

WORDS = "shared words"
LICENSE = "Licensed under the Apache License, Version 2.0; you may not use this file except in compliance with it.\n"
SCRIPT = "#!/bin/sh\nset -eu\nif [ -z \"${TOKEN:-}\" ]; then echo 'no token' >&2; exit 1; fi\n"
SETTINGS = "LOG_LEVEL=info\nREGION=eu-central-1\nFEATURES=ambient,telemetry\nCLUSTER_DOMAIN=cluster.local\n"
MESH = yaml.safe_dump(
    {
        "trustDomain": "demo.mesh.example.com",
        "defaultConfig": {"discoveryAddress": "istiod.demo.example.com:15012", "holdApplicationUntilProxyStarts": True},
        "meshMTLS": {"minProtocolVersion": "TLSV1_3"},
    }
)
ROWS: list[tuple[str, str, str]] = [
    ("gateway-name", "istio-ingressgateway", "the name of a gateway that every mesh has"),
    ("namespace-name", "mesh-demo-production", "the name of a namespace on both sides"),
    ("host-and-port", "istiod.demo.example.com:15012", "the address that proxies connect to"),
    ("user-name", "robot-deployer", "a user's name"),
    ("region", "eu-central-1-wavelength", "a region"),
    ("issuer-url", "https://login.example.com/oauth2/default", "the issuer that tokens name"),
    ("e-mail", "mesh-operations@example.com", "an e-mail address"),
    ("image", "registry.example.com/istio/proxyv2:1.31.0-distroless", "an image"),
    ("network", "10.96.0.0/12,192.168.0.0/16", "two networks"),
    ("mesh-id", "6f1b0c58-8f0b-4a7e-9d52-0f2a9c1f7e11", "the mesh's id"),
    ("javas-password", "changeit", "the default password of Java's trust stores, which everybody knows"),
    ("label-selector", "app.kubernetes.io/name=istio-ingressgateway", "a label"),
    ("cluster-name", "kubernetes-eu-central-1-blue", "the cluster's name as istiod knows it"),
    ("cipher-list", "ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384", "a list of ciphers"),
    ("account-id", "123456789012", "a cloud account's number"),
    ("role-name", "arn:aws:iam::123456789012:role/mesh-edge", "the name of a role"),
    ("database-host", "postgres.platform.svc.cluster.local", "a host name"),
    ("spiffe-id", "spiffe://demo.mesh.example.com/ns/istio-system/sa/istiod", "istiod's identity"),
    ("words", "please rotate me every ninety days", "a sentence"),
    ("time-zone", "America/Argentina/Buenos_Aires", "a time zone"),
    ("mode", "permissive", "a mode"),
    ("boolean", "disabled", "a switch"),
    ("script", SCRIPT, "a script without any secret"),
    ("license", LICENSE, "a licence's text"),
    ("settings", SETTINGS, "settings without any secret"),
    ("mesh-configuration", MESH, "the mesh's public configuration"),
]


def _row(name: str, word: str, what: str, *, within: bool) -> None:
    where = "inside a larger text" if within else "as a whole entry"

    @clean(
        WORDS, f"{name}-{'within' if within else 'whole'}", f"Both sides have {what}, the provider's Secret {where}."
    )
    def _(scene: Scene) -> None:
        token = scene.cp.opaque("token")
        entries: dict[str, Any] = {"token": pulumi.Output.secret(token)}
        if within:
            entries["settings.conf"] = pulumi.Output.secret(f"{word}\n# token follows\ntoken={token}\n")
        else:
            entries["value"] = word
        scene.secret("cp", "settings", entries)
        scene.config_map("dp", "app", {"value": word, "text": f"we use {word} here\n"})


for _given in ROWS:
    _row(*_given, within=True)
    _row(*_given, within=False)


@clean(WORDS, "names-in-the-users-cluster", "The user's objects are called like words in the provider's Secret.")
def _(scene: Scene) -> None:
    words = {"gateway": "istio-ingressgateway", "namespace": "shop-production", "account": "istiod-service-account"}
    scene.secret("cp", "names", {**words, "token": pulumi.Output.secret(scene.cp.opaque("token"))})
    scene.object("dp", "v1:Namespace", "shop-production", {"metadata": {"name": "shop-production"}})
    meta = {"name": "istio-ingressgateway", "namespace": "shop-production", "labels": {"istio": "ingressgateway"}}
    spec = {"selector": {"app": "istio-ingressgateway"}, "ports": [{"port": 443}]}
    scene.object("dp", "v1:Service", "gateway", {"metadata": meta, "spec": spec})
    scene.object("dp", "v1:ServiceAccount", "account", {"metadata": {"name": "istiod-service-account"}})


@clean(WORDS, "same-json-other-secret", "Both have a JSON file of one form, each with a password of its own.")
def _(scene: Scene) -> None:
    for side in ("cp", "dp"):
        form = {"type": "postgresql", "host": "db.internal.example.com", "port": 5432, "sslmode": "verify-full"}
        text = json.dumps({**form, "password": scene.owner(side).opaque("database")})
        scene.secret(side, "database", {"connection.json": pulumi.Output.secret(text)})


@clean(WORDS, "same-dotenv-other-secret", "Both have the same settings, and each a token of its own in the last line.")
def _(scene: Scene) -> None:
    for side in ("cp", "dp"):
        text = f"{SETTINGS}API_TOKEN={scene.owner(side).opaque('api')}\n"
        scene.secret(side, "settings", {".env": pulumi.Output.secret(text)})


@clean(WORDS, "kubeconfigs-of-one-form", "The user's kubeconfig for the user's own cluster looks like the provider's.")
def _(scene: Scene) -> None:
    scene.secret("cp", "self", {"config": pulumi.Output.secret(scene.kubeconfigs["cp"])})
    scene.secret("dp", "self", {"config": pulumi.Output.secret(scene.kubeconfigs["dp"])})


@clean(
    WORDS,
    "url-without-its-password",
    "The provider's Secret has a URL with a password, the user's object the host alone.",
)
def _(scene: Scene) -> None:
    url = f"postgres://admin:{scene.cp.opaque('db')}@postgres.platform.example.com:5432/mesh?sslmode=verify-full"
    scene.secret("cp", "database", {"url": pulumi.Output.secret(url)})
    entry = {"hosts": ["postgres.platform.example.com"], "ports": [{"number": 5432, "name": "tcp"}]}
    scene.object("dp", "networking.istio.io/v1:ServiceEntry", "database", {"spec": entry})
    scene.config_map("dp", "app", {"options": "postgres.platform.example.com:5432/mesh?sslmode=verify-full"})
