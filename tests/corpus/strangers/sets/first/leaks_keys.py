"""Leaks of keys in forms other than PEM: keystores, raw bytes, numbers, fields of other formats."""

from __future__ import annotations

import base64
import json
from typing import Any

import pulumi
from cryptography.hazmat.primitives import serialization

from tests.corpus.strangers.material import TRADITIONAL
from tests.corpus.strangers.recover import Leaves, each
from tests.corpus.strangers.scene import Scene
from tests.corpus.strangers.stranger import leak

from .keystores import PASSWORD, jks, number, number_of_jwk, number_of_pem, of_jks, of_p12, p12

STORES, KEYS = "keystores", "keys in other forms"


def _config_map(scene: Scene, key: str, data: bytes) -> None:
    text = pulumi.Output.secret(base64.b64encode(data).decode())
    scene.object("dp", "v1:ConfigMap", "app", {"binaryData": {key: text}})


def _secret(scene: Scene, side: str, key: str, data: bytes) -> None:
    text = pulumi.Output.secret(base64.b64encode(data).decode())
    scene.object(side, "v1:Secret", "app", {"data": {key: text}, "type": "Opaque"})


@leak(
    STORES,
    "p12-of-the-same-store",
    "The provider's PKCS#12 file is at the user's too.",
    "PKCS#12",
    recover=each(of_p12),
)
def _(scene: Scene) -> None:
    store = p12(scene.cp, "gateway")
    _secret(scene, "cp", "keystore.p12", store)
    _secret(scene, "dp", "keystore.p12", store)


@leak(
    STORES,
    "p12-of-a-known-key",
    "The provider has the key as PEM; the user gets it in an unprotected PKCS#12 file.",
    "PKCS#12",
    recover=each(base64.b64decode, of_p12),
)
def _(scene: Scene) -> None:
    scene.held("gateway", "tls.key", scene.cp.key("gateway"))
    _config_map(scene, "keystore.p12", p12(scene.cp, "gateway"))


@leak(
    STORES,
    "p12-with-its-password-beside-it",
    "A protected PKCS#12 file with the authority's key, and its password in the entry beside it.",
    "PKCS#12",
    recover=each(lambda data: of_p12(data, PASSWORD)),
)
def _(scene: Scene) -> None:
    scene.held("ca", "tls.key", scene.cp.key("ca"))
    store = base64.b64encode(p12(scene.cp, "ca", PASSWORD)).decode()
    data = {"ca.p12": pulumi.Output.secret(store), "password": base64.b64encode(PASSWORD.encode()).decode()}
    scene.object("dp", "v1:Secret", "app", {"data": data})


@leak(
    STORES, "jks-of-the-same-store", "The provider's Java keystore is at the user's too.", "JKS", recover=each(of_jks)
)
def _(scene: Scene) -> None:
    store = jks(scene.cp, "gateway")
    _secret(scene, "cp", "keystore.jks", store)
    _secret(scene, "dp", "truststore.jks", store)


@leak(
    STORES,
    "jks-of-a-known-key",
    "The provider has the key as PEM; the user gets it in a Java keystore under Java's default password.",
    "JKS",
    recover=each(base64.b64decode, of_jks),
)
def _(scene: Scene) -> None:
    scene.held("gateway", "tls.key", scene.cp.key("gateway"))
    _config_map(scene, "keystore.jks", jks(scene.cp, "gateway"))


@leak(
    STORES,
    "p12-by-cert-manager",
    "A Certificate of the user's names a Secret into which the provider's keystore is copied, under keystore.p12.",
    "PKCS#12",
    recover=each(of_p12),
)
def _(scene: Scene) -> None:
    minted = scene.answered(
        "cp", "v1:Secret", "istiod-tls", {}, data={"keystore.p12": base64.b64encode(p12(scene.cp, "istiod")).decode()}
    )
    scene.object("dp", "v1:Secret", "istiod-tls", {"data": minted.output("data")})


def _hex(leaves: Leaves) -> bytes:
    return b"\n".join(leaf.hex().encode() for leaf in leaves.values())


def _aes(start: bytes) -> Any:
    def play(scene: Scene) -> None:
        key = start + scene.cp.raw("aes", 32)[len(start) :]
        scene.cp.given.append(key.hex())
        _secret(scene, "cp", "key", key)
        _secret(scene, "dp", "key", key)

    return play


for _name, _start in {
    "like-der": b"\x30\x82\x01",
    "like-gzip": b"\x1f\x8b\x08",
    "like-nothing": b"",
    "like-text": b"a1",
    "like-zip": b"PK\x03\x04",
}.items():
    _why = f"An AES key whose first bytes look {_name.replace('-', ' ')} is in Secrets of both sides."
    leak(KEYS, f"aes-key-{_name}", _why, "AES keys", recover=_hex)(_aes(_start))


@leak(KEYS, "key-in-sec1-der", "The key that the provider has in PEM goes out in DER.", "DER", recover=each(number))
def _(scene: Scene) -> None:
    scene.held("ca", "tls.key", scene.cp.key("ca"))
    _secret(scene, "dp", "blob", scene.cp.key_der("ca", TRADITIONAL))


@leak(
    KEYS,
    "private-number-in-decimal",
    "The private number of the authority's key, in decimal digits.",
    "another encoding of the same key",
    recover=each(lambda text: f"{int(text):064x}".encode()),
)
def _(scene: Scene) -> None:
    scene.held("ca", "tls.key", scene.cp.key("ca"))
    value = scene.cp.ec("ca").private_numbers().private_value
    scene.config_map("dp", "app", {"parameter": pulumi.Output.secret(str(value))})


@leak(
    KEYS,
    "private-jwk-in-a-set",
    "A JWKS, public by its name, in which one key kept its private part.",
    "JWKS",
    recover=each(lambda text: number_of_jwk(json.loads(text)["keys"][1]["d"])),
)
def _(scene: Scene) -> None:
    scene.held("issuer", "key.pem", scene.cp.key("issuer"))
    keys = [scene.cp.jwk("old", private=False), scene.cp.jwk("issuer", private=True)]
    scene.config_map("dp", "jwks", {"jwks.json": pulumi.Output.secret(json.dumps({"keys": keys}))})


@leak(
    KEYS,
    "encrypted-pem-with-its-passphrase",
    "An encrypted key, and the passphrase in the entry beside it.",
    "neighbours",
    recover=each(lambda text: number_of_pem(text, b"mesh-passphrase-1")),
)
def _(scene: Scene) -> None:
    scene.held("ca", "tls.key", scene.cp.key("ca"))
    protect = serialization.BestAvailableEncryption(b"mesh-passphrase-1")
    pem = scene.cp.ec("ca").private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, protect)
    data = {"tls.key": pulumi.Output.secret(pem.decode()), "passphrase": "mesh-passphrase-1"}
    scene.secret("dp", "app", data)


@leak(
    KEYS,
    "pem-on-one-line",
    "The provider's key with its line breaks written as \\n in a YAML file.",
    "PEM",
    recover=each(lambda text: text.split(b'"')[1].replace(b"\\n", b"\n")),
)
def _(scene: Scene) -> None:
    key = scene.key("cp", "istiod").output("privateKeyPem")
    scene.secret("cp", "istiod", {"tls.key": key})
    line = key.apply(lambda pem: 'key: "' + pem.replace("\n", "\\n") + '"\n')
    scene.secret("dp", "app", {"values.yaml": line})


@leak(
    KEYS,
    "pem-without-its-frame",
    "The base64 of the provider's key, without BEGIN and END.",
    "PEM",
    recover=each(base64.b64decode, number),
)
def _(scene: Scene) -> None:
    pem = scene.cp.key("istiod")
    scene.held("istiod", "tls.key", pem)
    body = "".join(pem.splitlines()[1:-1])
    scene.secret("dp", "app", {"seed": pulumi.Output.secret(body)})


@leak(
    KEYS,
    "key-under-a-certificates-name",
    "The entry is called tls.crt; behind the certificate stands the provider's key.",
    "names that lie",
)
def _(scene: Scene) -> None:
    key = scene.key("cp", "istiod").output("privateKeyPem")
    scene.secret("cp", "istiod", {"tls.key": key})
    scene.secret("dp", "app", {"tls.crt": pulumi.Output.concat(scene.cp.certificate("istiod"), key)})


@leak(
    KEYS,
    "somebody-elses-key-beside-a-leaf",
    "A certificate of the user's stands beside the provider's key: a pair by its names, but not by its numbers.",
    "keys matched to their certificates by the public key",
)
def _(scene: Scene) -> None:
    token = scene.reference("ca", "organization/ca/prod", {"key": scene.cp.key("issuer")}, ["key"])
    data = {"tls.crt": scene.dp.certificate("shop"), "tls.key": token.get_output("key")}
    scene.secret("dp", "app", data, kind="kubernetes.io/tls")


@leak(
    KEYS,
    "ssh-key-of-the-deployer",
    "The deployer's SSH key, by which the provider's repositories are written, in a Secret of the user's.",
    "names that lie",
    config=lambda cp, dp: {"platform:deployKey": cp.key("deploy")},
    pack={"controlPlaneConfigKeys": ["platform:*"]},
)
def _(scene: Scene) -> None:
    data = {"ssh-privatekey": scene.config("platform:deployKey")}
    scene.secret("dp", "git", data, kind="kubernetes.io/ssh-auth")
