"""What the fourth set's programs have in common: the provider's cluster of a hosted mesh, and shapes of usual objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pulumi

from tests.corpus.world import Object

from .fieldwork import HEX, ISSUER, b64, drawn, release
from .material import LETTERS
from .scene import Scene

HUB, REGION, ACCOUNT = "hub.platform.example.com", "eu-west-1", "407408718192"
REGISTRY = "registry.platform.example.com"
AWS_ID = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
MESH = f"mesh-{drawn('mesh id', 6, HEX)}"


def hub(scene: Scene) -> None:
    """The provider's cluster: istiod with an authority, and a Secret in which most is known to everybody."""
    cp = scene.cp
    root = cp.certificate("mesh-ca", authority=True)
    files = {"ca-cert.pem": root, "ca-key.pem": cp.key("mesh-ca"), "root-cert.pem": root, "cert-chain.pem": root}
    scene.secret("cp", "cacerts", files, namespace="istio-system")
    data = {
        "host": HUB,
        "port": "443",
        "username": "platform",
        "password": cp.opaque("hub admin", 32, LETTERS),
        "issuer": ISSUER,
        "region": REGION,
        "account": ACCOUNT,
        "meshID": MESH,
        "algorithm": "RS256",
    }
    scene.secret("cp", "hub-admin", data, namespace="platform")
    values = {"global": {"meshID": MESH, "network": "hub", "externalIstiod": True}, "pilot": {"env": {"LOG": "info"}}}
    release(scene, "cp", "istiod", values)


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


def cloud(
    scene: Scene,
    kind: str,
    name: str,
    inputs: Mapping[str, Any],
    answers: Mapping[str, Any],
    secret: Sequence[str] = (),
) -> Object:
    """A resource in the provider's account."""
    return scene.made(kind, name, inputs, None, answers, secret, owner="cp")


def daemon(scene: Scene, side: str, name: str, env: Sequence[Mapping[str, Any]], **container: Any) -> Object:
    """An agent on each node."""
    labels = {"app.kubernetes.io/name": name}
    pod = {
        "serviceAccountName": name,
        "containers": [{"name": name, "image": f"{name}:7.1", "env": list(env), **container}],
    }
    body = {"spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": pod}}}
    return scene.object(side, "apps/v1:DaemonSet", name, body)


def pull_secret(host: Any, user: Any, password: Any) -> pulumi.Output[str]:
    """A Docker login, as programs write it."""
    login = pulumi.Output.all(host=host, user=user, password=password)
    return pulumi.Output.json_dumps(
        {
            "auths": login.apply(
                lambda a: {
                    a["host"]: {
                        "username": a["user"],
                        "password": a["password"],
                        "auth": b64(f"{a['user']}:{a['password']}"),
                    }
                }
            )
        }
    )
