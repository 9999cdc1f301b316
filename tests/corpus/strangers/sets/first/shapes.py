"""Harmless: what looks random, coded or encrypted, and opens nothing."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import uuid
import zlib
from collections.abc import Callable

from tests.corpus.strangers.scene import Scene
from tests.corpus.strangers.stranger import clean

SHAPES = "random-looking values"
Make = Callable[[Scene], str]


def _bytes(name: str, length: int) -> bytes:
    return hashlib.shake_256(name.encode()).digest(length)


def _b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _png(_: Scene) -> str:
    pixels = zlib.compress(b"".join(b"\x00" + _bytes(f"row{row}", 64) for row in range(64)))
    chunk = len(pixels).to_bytes(4) + b"IDAT" + pixels + zlib.crc32(b"IDAT" + pixels).to_bytes(4)
    return "data:image/png;base64," + _b64(b"\x89PNG\r\n\x1a\n" + chunk)


def _armored(kind: str, length: int) -> str:
    body = _b64(_bytes(kind, length))
    lines = "\n".join(body[at : at + 64] for at in range(0, len(body), 64))
    return f"-----BEGIN {kind}-----\n\n{lines}\n-----END {kind}-----\n"


def _sops(_: Scene) -> str:
    def hidden(name: str, size: int) -> str:
        return f"ENC[AES256_GCM,data:{_b64(_bytes(name, size))},iv:{_b64(_bytes(name + 'iv', 32))},tag:{_b64(_bytes(name + 't', 16))},type:str]"

    key = {"recipient": "age1" + _bytes("age", 29).hex(), "enc": _armored("AGE ENCRYPTED FILE", 200)}
    return json.dumps({"database": {"password": hidden("p", 24)}, "sops": {"age": [key], "mac": hidden("mac", 64)}})


DASHBOARD = {"title": "Mesh", "uid": "rYdddlPWk", "panels": [{"id": at, "type": "graph", "targets": [{"expr": f"sum(rate(x{at}[5m]))"}]} for at in range(30)]}  # fmt: skip
VALUES: list[tuple[str, str, Make]] = [
    ("uuid", "a UUID", lambda s: str(uuid.UUID(bytes=_bytes("uuid", 16), version=4))),
    ("uuids", "a list of UUIDs", lambda s: ",".join(str(uuid.UUID(bytes=_bytes(f"u{at}", 16), version=4)) for at in range(20))),
    ("image-digest", "an image by its digest", lambda s: "registry.example.com/shop@sha256:" + _bytes("image", 32).hex()),
    ("git-revision", "a revision of a repository", lambda s: _bytes("git", 20).hex()),
    ("config-checksum", "a checksum that restarts Pods", lambda s: hashlib.sha256(b"settings of the shop").hexdigest()),
    ("integrity", "the integrity of a script", lambda s: "sha384-" + _b64(_bytes("sri", 48))),
    ("go-sums", "a list of module checksums", lambda s: "\n".join(f"example.com/m{at} v1.{at}.0 h1:{_b64(_bytes(f'm{at}', 32))}" for at in range(12))),
    ("icon", "an icon as a data URL", _png),
    ("packed-dashboard", "a packed dashboard", lambda s: _b64(gzip.compress(json.dumps(DASHBOARD).encode(), mtime=0))),
    ("webassembly", "a small module of WebAssembly", lambda s: _b64(b"\0asm\1\0\0\0" + _bytes("wasm", 900))),
    ("descriptor", "a protobuf descriptor", lambda s: _b64(b"\n\x0bshop/v1.proto\x12\x07shop.v1" + _bytes("proto", 300))),
    ("sealed-value", "a sealed value, which only the user's controller opens", lambda s: "Ag" + _b64(_bytes("sealed", 600))),
    ("sops-file", "a file encrypted by SOPS for the user's key", _sops),
    ("age-file", "a file encrypted by age", lambda s: _armored("AGE ENCRYPTED FILE", 400)),
    ("pgp-public-key", "a PGP public key", lambda s: _armored("PGP PUBLIC KEY BLOCK", 700)),
    ("pgp-signature", "a PGP signature", lambda s: _armored("PGP SIGNATURE", 300)),
    ("age-recipient", "a recipient of age", lambda s: "age1" + _bytes("recipient", 29).hex()),
    ("kms-blob", "a value encrypted by a key service", lambda s: "AQICAH" + _b64(_bytes("kms", 180))),
    ("vault-transit", "a value encrypted by Vault", lambda s: "vault:v1:" + _b64(_bytes("transit", 60))),
    ("placeholder", "a place for a token that is filled in elsewhere", lambda s: "token: ${ISTIOD_TOKEN}\npassword: <your password>\n"),
    ("documentation", "a handbook that shows how a key file begins", lambda s: "The file begins with -----BEGIN PRIVATE KEY----- and must not be shared.\n"),
    ("password-policy", "rules about passwords", lambda s: "password_min_length=14\npassword_history=5\ntoken_ttl=3600\nsecret_rotation_days=90\n"),
    ("public-client-id", "the public id of an OAuth client", lambda s: _bytes("client", 12).hex() + ".apps.example.com"),
    ("analytics-id", "the public key of an analytics service", lambda s: "phc_" + _b64(_bytes("analytics", 30)).replace("/", "x").replace("+", "y")),
    ("ulid", "an id that sorts by time", lambda s: "01J" + base64.b32encode(_bytes("ulid", 15)).decode()[:23]),
    ("numbers", "numbers with many digits", lambda s: "4739201847563920184756,192837465564738291029384756\n"),
]  # fmt: skip


def _row(name: str, what: str, make: Make) -> None:
    @clean(SHAPES, f"{name}-in-settings", f"The user's ConfigMap has {what}; no secret is in it.")
    def _(scene: Scene) -> None:
        scene.held()
        scene.config_map("dp", "app", {"value": make(scene), "note": "see the handbook"})


for _given in VALUES:
    _row(*_given)


def _generated(name: str, kind: str, output: str, value: str, inputs: dict[str, object]) -> None:
    @clean(SHAPES, f"{name}-on-both-sides", f"A generated {name.replace('-', ' ')} is in names of both sides.")
    def _(scene: Scene) -> None:
        made = scene.made(kind, "suffix", inputs, None, {output: value})
        suffix = made.output(output)
        data = {"instance": suffix, "token": scene.password("cp", "admin").output("result")}
        first = scene.secret("cp", "admin", data)
        labels = {"example.com/instance": suffix}
        scene.config_map("dp", "app", {"instance": suffix}, depends_on=[first], labels=labels)


_generated("random-id", "random:index/randomId:RandomId", "hex", "9f86d081884c7d65", {"byteLength": 8})
_generated("random-pet", "random:index/randomPet:RandomPet", "id", "needlessly-sweet-walrus", {"length": 3})
_generated("random-uuid", "random:index/randomUuid:RandomUuid", "result", "0b9f0c3e-7f7f-4c53-9a0e-0d3c1b9d6a55", {})
_generated("random-port", "random:index/randomInteger:RandomInteger", "result", "31234", {"min": 30000, "max": 32767})
_generated("random-word", "random:index/randomString:RandomString", "result", "k3x9q2", {"length": 6, "special": False})
_generated("time", "time:index/static:Static", "rfc3339", "2026-01-01T00:00:00Z", {})


@clean(SHAPES, "references-to-secrets", "The user's objects name Secrets and stores, and have none of their values.")
def _(scene: Scene) -> None:
    scene.held()
    reference = {"secretKeyRef": {"name": "database", "key": "password"}}
    container = {"name": "a", "image": "a:1", "env": [{"name": "DB_PASSWORD", "valueFrom": reference}]}
    scene.object("dp", "v1:Pod", "app", {"spec": {"containers": [container]}})
    remote = {"key": "shop/database", "property": "password", "version": "uuid/0b9f0c3e-7f7f-4c53-9a0e-0d3c1b9d6a55"}
    spec = {"secretStoreRef": {"name": "vault"}, "data": [{"secretKey": "password", "remoteRef": remote}]}
    scene.object("dp", "external-secrets.io/v1:ExternalSecret", "database", {"spec": spec})


@clean(SHAPES, "sealed-secret", "A SealedSecret of the user's: ciphertext for a key in the user's cluster.")
def _(scene: Scene) -> None:
    scene.held()
    spec = {"encryptedData": {"password": "Ag" + _b64(_bytes("sealed-password", 520))}}
    scene.object("dp", "bitnami.com/v1alpha1:SealedSecret", "database", {"spec": spec})
