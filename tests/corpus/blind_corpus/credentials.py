"""Secrets of one side's as programs of many sets make them: typed in, generated, minted, or signed by an authority."""

from __future__ import annotations

import base64
from typing import Any

import pulumi

from tests.corpus.world import Object

from .material import LETTERS
from .scene import Scene
from .values import b64


def minted(scene: Scene, side: str, account: str) -> pulumi.Output[str]:
    """The token that a cluster makes for a service account."""
    kind = {
        "type": "kubernetes.io/service-account-token",
        "metadata": {"annotations": {"kubernetes.io/service-account.name": account}},
    }
    made = scene.owner(side)
    data = {"token": b64(made.jwt(account)), "ca.crt": b64(made.certificate("kubernetes", authority=True))}
    secret = scene.answered(side, "v1:Secret", account, kind, data=data)
    return secret.output("data").apply(lambda found: base64.b64decode((found or {}).get("token", "")).decode())


def kept(scene: Scene, name: str, key: str = "password", length: int = 32, alphabet: str = LETTERS) -> Any:
    """A secret that is typed in, and that a Secret of the provider's cluster keeps."""
    return scene.held(name, key, scene.cp.opaque(name, length, alphabet))


def generated(scene: Scene, name: str, key: str = "password", length: int = 32, **more: Any) -> pulumi.Output[str]:
    """A generated password that a Secret of the provider's cluster keeps. more: of the Secret."""
    value = scene.password("cp", name, length).output("result")
    scene.secret("cp", name, {key: value}, **more)
    return value


def own(scene: Scene, name: str, length: int = 32) -> pulumi.Output[str]:
    """A generated password of the user's."""
    return scene.password("dp", name, length).output("result")


def raw(scene: Scene, side: str, name: str, length: int = 32) -> Object:
    """Random bytes of one side's."""
    material = scene.owner(side)
    made = material.raw(name, length)
    material.given.append(b64(made))
    answers = {"base64": b64(made), "hex": made.hex()}
    return scene.made(
        "random:index/randomBytes:RandomBytes", name, {"length": length}, None, answers, ["base64", "hex"]
    )


def pair(scene: Scene, side: str, name: str, *, authority: bool = False) -> tuple[Object, Object]:
    """A generated key and its own certificate."""
    key = scene.key(side, name)
    inputs = {
        "privateKeyPem": key.output("privateKeyPem"),
        "isCaCertificate": authority,
        "validityPeriodHours": 2160,
        "earlyRenewalHours": 720,
        "allowedUses": ["cert_signing"] if authority else ["server_auth", "client_auth"],
        "subject": {"commonName": name},
    }
    answers = {"certPem": scene.owner(side).certificate(name, authority=authority)}
    kind = "tls:index/selfSignedCert:SelfSignedCert"
    return key, scene.made(kind, f"{name}-cert", inputs, None, answers, ["privateKeyPem"])


def issued(scene: Scene, side: str, name: str, ca_key: Object, ca_cert: Object, issuer: str) -> tuple[Object, Object]:
    """A generated key and a certificate that an authority of the same side signed."""
    key = scene.key(side, name)
    asked = scene.made(
        "tls:index/certRequest:CertRequest",
        f"{name}-request",
        {"privateKeyPem": key.output("privateKeyPem"), "dnsNames": [f"{name}.svc"], "subject": {"commonName": name}},
        None,
        {"certRequestPem": "-----BEGIN CERTIFICATE REQUEST-----\nMIIB\n-----END CERTIFICATE REQUEST-----\n"},
        ["privateKeyPem"],
    )
    inputs = {
        "certRequestPem": asked.output("certRequestPem"),
        "caPrivateKeyPem": ca_key.output("privateKeyPem"),
        "caCertPem": ca_cert.output("certPem"),
        "validityPeriodHours": 2160,
        "allowedUses": ["server_auth"],
    }
    answers = {"certPem": scene.owner(side).certificate(name, issuer)}
    kind = "tls:index/locallySignedCert:LocallySignedCert"
    return key, scene.made(kind, f"{name}-cert", inputs, None, answers, ["caPrivateKeyPem"])
