"""Leaks in configuration files, with the provider's secret as one line among others; and secrets in pieces."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import pulumi

from tests.corpus.strangers.recover import Leaves, Recover, after, as_written, each, pieces
from tests.corpus.strangers.scene import Scene
from tests.corpus.strangers.stranger import leak

FILES, PIECES, NEIGHBOURS = "configuration files", "pieces", "harmless neighbours"
Text = Callable[[Scene, str], str]


def _basic(text: bytes) -> bytes:
    return base64.b64decode(text)


ROWS: list[tuple[str, Text, Recover]] = [
    ("dotenv-with-a-jwt", lambda s, v: f"HOST=istiod\nSESSION={s.dp.jwt('shop')}\nUPSTREAM={v}\n", as_written),
    ("netrc", lambda s, v: f"machine charts.example.com login robot password {v}\n", as_written),
    ("pgpass", lambda s, v: f"db.example.com:5432:mesh:admin:{v}\n", as_written),
    ("jdbc-properties", lambda s, v: f"url=jdbc:postgresql://db/mesh?user=admin&sslmode=require&pw={v}\n", as_written),
    ("my-cnf", lambda s, v: f"[client]\nuser=admin\npassword = {v}\n", as_written),
    ("npmrc", lambda s, v: f"//npm.example.com/:_authToken={v}\nregistry=https://npm.example.com\n", as_written),
    ("pip-conf", lambda s, v: f"[global]\nindex-url = https://robot:{v}@pypi.example.com/simple\n", as_written),
    ("git-credentials", lambda s, v: f"https://robot:{v}@git.example.com\n", as_written),
    ("docker-config", lambda s, v: json.dumps({"auths": {"r.example.com": {"auth": base64.b64encode(f"robot:{v}".encode()).decode()}}}), each(after(b'"auth": "', _basic))),
    ("basic-header", lambda s, v: f"proxy_set_header Authorization 'Basic {base64.b64encode(f'robot:{v}'.encode()).decode()}';", each(after(b"Basic ", _basic))),
    ("tsig-key", lambda s, v: f'key "external-dns" {{ algorithm hmac-sha256; secret "{base64.b64encode(v.encode()).decode()}"; }};', each(after(b'secret "', _basic))),
    ("wireguard", lambda s, v: f"[Interface]\nPrivateKey = {base64.b64encode(v.encode()).decode()}\nAddress = 10.0.0.2/32\n", each(after(b"PrivateKey = ", _basic))),
    ("encryption-configuration", lambda s, v: f"kind: EncryptionConfiguration\nresources:\n- providers:\n  - aescbc:\n      keys:\n      - {{name: k, secret: {base64.b64encode(v.encode()).decode()}}}\n", each(after(b"secret: ", lambda t: _basic(t.rstrip(b"}"))))),
    ("systemd-unit", lambda s, v: f"[Service]\nEnvironment=XDS_AUTH={v}\nExecStart=/usr/bin/agent\n", as_written),
    ("log-of-a-run", lambda s, v: f'time="2026-01-01" level=info msg="config: {{Tsig:{v} Interval:1m0s}}"\n', as_written),
    ("xml", lambda s, v: f"<server><id>m</id><password>{v}</password></server>", each(lambda t: t.split(b"<password>")[1])),
    ("shell-history", lambda s, v: f"cd /srv\nvault login {v}\nls\n", as_written),
    ("curl-configuration", lambda s, v: f"user = robot:{v}\nurl = https://istiod.example.com\n", as_written),
]  # fmt: skip


def _row(name: str, text: Text, recover: Recover) -> None:
    why = f"The provider's token is a line of the user's file ({name.replace('-', ' ')})."

    @leak(FILES, name, why, "JWT in dotenv" if "jwt" in name else FILES, recover=recover)
    def _(scene: Scene) -> None:
        written = scene.held().apply(lambda token: text(scene, token))
        scene.secret("dp", "app", {"file": written, "owner": "shop"})


for _given in ROWS:
    _row(*_given)


def _split(name: str, why: str, cut: Callable[[str], list[str]], recover: Recover, *, objects: bool = False) -> None:
    @leak(PIECES, name, why, "credentials split across keys and objects", recover=recover)
    def _(scene: Scene) -> None:
        parts = scene.held().apply(cut)
        count = len(cut("x" * 28))
        values = [parts.apply(lambda found, at=at: found[at]) for at in range(count)]
        if objects:
            for at, value in enumerate(values):
                scene.config_map("dp", f"part-{at}", {"value": value})
        else:
            scene.config_map("dp", "app", {f"k{at}": value for at, value in enumerate(values)})


def _step(size: int) -> Callable[[str], list[str]]:
    return lambda text: [text[at : at + size] for at in range(0, len(text), size)]


def _b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


_split("halves-in-two-keys", "Half of the token is in each of two entries.", _step(14), pieces(".k0", ".k1"))
_split(
    "halves-in-two-objects",
    "Half of the token is in each of two ConfigMaps.",
    _step(14),
    pieces("part-0.data.value", "part-1.data.value"),
    objects=True,
)
_split(
    "seven-letters-a-key",
    "The token is in four entries, each too short to be looked for.",
    _step(7),
    pieces(".k0", ".k1", ".k2", ".k3"),
)
_split(
    "one-letter-a-key", "One letter of the token is in each entry.", _step(1), pieces(*(f".k{at}" for at in range(28)))
)
_split(
    "coded-halves",
    "Each half is in base64 by itself.",
    lambda t: [_b64(t[:15]), _b64(t[15:])],
    pieces(".k0", ".k1", undo=base64.b64decode),
)
_split("halves-in-wrong-order", "The second half stands first.", lambda t: [t[14:], t[:14]], pieces(".k1", ".k0"))
_split(
    "every-second-letter",
    "The even letters are in one entry, the odd ones in the other.",
    lambda t: [t[::2], t[1::2]],
    lambda leaves: _zipped(leaves),
)
_split(
    "coded-halves-in-two-objects",
    "Each half is in base64, in a ConfigMap of its own.",
    lambda t: [_b64(t[:14]), _b64(t[14:])],
    pieces("part-0.data.value", "part-1.data.value", undo=base64.b64decode),
    objects=True,
)


def _zipped(leaves: Leaves) -> bytes:
    even, odd = (next(leaf for place, leaf in leaves.items() if place.endswith(end)) for end in (".k0", ".k1"))
    return bytes(byte for pair in zip(even, odd, strict=True) for byte in pair)


def _beside(name: str, why: str, neighbours: Callable[[Scene], dict[str, Any]], **held: str) -> None:
    @leak(NEIGHBOURS, name, why, "Secret data with one harmless neighbour")
    def _(scene: Scene) -> None:
        value = scene.password("cp", "admin").output("result")
        scene.secret("cp", "admin", {"password": value})
        scene.secret("dp", "app", {**neighbours(scene), held.get("key", "value"): value})


_beside(
    "beside-a-users-password",
    "The provider's password stands beside the user's own.",
    lambda s: {"own": s.password("dp", "shop").output("result")},
)
_beside(
    "beside-a-random-id",
    "The provider's password stands beside a random id.",
    lambda s: {"id": s.dp.public("id")},
    key="suffix",
)
_beside(
    "beside-the-users-pair",
    "The provider's password stands beside the user's certificate and key.",
    lambda s: {"tls.crt": s.dp.certificate("shop"), "tls.key": pulumi.Output.secret(s.dp.key("shop"))},
    key="ca.crt",
)
_beside(
    "beside-a-host-name",
    "The provider's password stands beside a host name, and is called one.",
    lambda s: {"host": "istiod.example.com"},
    key="host-2",
)


@leak(
    NEIGHBOURS,
    "whole-secret-copied",
    "All data of a Secret of the provider's is copied, harmless entries and the key.",
    "Secret data with one harmless neighbour",
)
def _(scene: Scene) -> None:
    key = scene.key("cp", "istiod")
    data = {"ca.crt": scene.cp.certificate("istiod"), "tls.key": key.output("privateKeyPem"), "zone": "example.com"}
    found = scene.secret("cp", "istiod", data)
    scene.object("dp", "v1:Secret", "istiod", {"stringData": found.output("stringData")})


@leak(
    NEIGHBOURS,
    "annotated-for-its-neighbour",
    "The annotation data-plane-owned is meant for the user's password; the provider's stands in the same Secret.",
    "Secret data with one harmless neighbour",
)
def _(scene: Scene) -> None:
    value = scene.password("cp", "admin").output("result")
    scene.secret("cp", "admin", {"password": value})
    own = scene.password("dp", "shop").output("result")
    notes = {"hosted-mesh.io/data-plane-owned": "the password of the shop's own database"}
    scene.secret("dp", "app", {"password": own, "upstream": value}, annotations=notes)
