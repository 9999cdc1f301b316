"""Leaks of a provider in many clouds: slips of code, and secrets written so that they do not look like one."""

from __future__ import annotations

import base64
import copy
import dataclasses
import functools
import json
import re
from typing import Any

import pulumi
import yaml
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.serialization import pkcs12
from cryptography.x509 import load_pem_x509_certificate

from tests.corpus.strangers.credentials import kept
from tests.corpus.strangers.material import LETTERS
from tests.corpus.strangers.objects import deployment, release
from tests.corpus.strangers.recover import Leaves, after, each, strings_of_json
from tests.corpus.strangers.scene import Scene
from tests.corpus.strangers.stranger import leak
from tests.corpus.strangers.values import apply, b64, noise

from .world import DOMAIN, LIME, REGION, WREN, hosted, lime, tenants_own, wren

SLIPS, WRITTEN = "twelfth: slips of code", "twelfth: written otherwise"


def _scalar(key: Any) -> bytes:
    return f"{key.private_numbers().private_value:064x}".encode()


# Slips of code --------------------------------------------------------------------------------------------------------


@leak(SLIPS, "twelfth-default-list-that-grows", "A function's default is one list for all calls: what the provider's Deployment appended is in the tenant's too.", "mutable default arguments")  # fmt: skip
def _(scene: Scene) -> None:
    wren(scene)

    def run(side: str, name: str, *more: dict[str, Any], env: list[dict[str, Any]] = [{"name": "MESH", "value": WREN}]) -> None:  # noqa: B006  # fmt: skip
        env.extend(more)
        deployment(scene, side, name, {"env": list(env)})

    run("cp", "reconciler", {"name": "API_TOKEN", "value": hosted(scene, "reconciler", "token", 40)})
    run("dp", "reporter", {"name": "REPORT_TO", "value": f"https://reports.{DOMAIN}"})


@leak(SLIPS, "twelfth-copy-that-shares-its-inside", "Values are copied for the tenant before the password is filled in; the copy is shallow, so it is filled in there too.", "copy.copy")  # fmt: skip
def _(scene: Scene) -> None:
    values: dict[str, Any] = {"collector": {"url": f"https://logs.{DOMAIN}", "user": "writer"}, "replicas": 2}
    for_tenant = copy.copy(values)
    for_tenant["replicas"] = 1
    values["collector"]["password"] = hosted(scene, "log-writer", namespace="monitoring")
    release(scene, "cp", "shipper", values)
    release(scene, "dp", "shipper", for_tenant)


@leak(SLIPS, "twelfth-names-are-sorted-and-values-are-not", "Names of services are sorted, their logins are not: so the tenant's search has the login of the provider's hub.", "zip of sorted keys")  # fmt: skip
def _(scene: Scene) -> None:
    services = ["search", "hub", "shop"]
    logins = [tenants_own(scene, "search"), hosted(scene, "hub-login"), tenants_own(scene, "shop")]
    for name, login in zip(sorted(services), logins, strict=True):
        scene.secret("cp" if name == "hub" else "dp", f"{name}-login", {"username": name, "password": login})


@leak(SLIPS, "twelfth-cleaning-that-knows-one-word", "Settings are cleaned of passwords by a pattern before the tenant's cluster shows them; one line calls its password otherwise.", "redaction by patterns", config=lambda cp, dp: {"ini": f"[smtp]\nhost = smtp.{DOMAIN}\npassword = {cp.opaque('ini smtp', 24)}\n[bus]\nhost = bus.{DOMAIN}\npasswd = {cp.opaque('ini bus', 24)}\n"})  # fmt: skip
def _(scene: Scene) -> None:
    scene.secret("cp", "ini", {"mesh.ini": scene.config("ini")}, namespace="platform")
    cleaned = apply(scene.config("ini"), lambda text: re.sub(r"(?m)^password = .*$", "password = ***", text))
    scene.config_map("dp", "effective-settings", {"mesh.ini": cleaned})


@leak(SLIPS, "twelfth-error-that-quotes-its-document", "A document of the provider's is YAML where JSON was thought; the error with the whole document becomes a status in the tenant's cluster.", "JSONDecodeError.doc", recover=each(lambda text: yaml.safe_load(text.split(b"in: ", 1)[1])["token"].encode()))  # fmt: skip
def _(scene: Scene) -> None:
    document = scene.held("importer", "settings", yaml.safe_dump({"url": f"https://import.{DOMAIN}", "token": scene.cp.opaque("importer", 40, LETTERS)}))  # fmt: skip

    def status(text: str) -> str:
        try:
            return f"ready: {json.loads(text)['url']}"
        except json.JSONDecodeError as error:
            return f"{error.msg} in: {error.doc}"

    scene.config_map("dp", "importer-status", {"status": apply(document, status)})


@leak(SLIPS, "twelfth-settings-as-they-print", "For finding faults a Pod's note has the settings as Python prints them; the class of the settings has the provider's password.", "repr of dataclasses", recover=each(after(b"password='")))  # fmt: skip
def _(scene: Scene) -> None:
    @dataclasses.dataclass
    class Settings:
        host: str
        password: str
        retries: int = 3

    note = apply(hosted(scene, "sync"), lambda word: repr(Settings(f"sync.{DOMAIN}", word)))
    deployment(scene, "dp", "sync", {"args": ["--in-cluster"]}, {"debug/settings": note})


# Written otherwise ----------------------------------------------------------------------------------------------------


def _woven(leaves: Leaves) -> bytes:
    first, second = (next(leaf for place, leaf in leaves.items() if place.endswith(end)) for end in ("first", "second"))
    return bytes(letter for two in zip(first, second, strict=True) for letter in two)


@leak(WRITTEN, "twelfth-every-other-letter", "A start script weaves a token of the provider's together from two maps, each with every other letter.", "split secrets", recover=_woven)  # fmt: skip
def _(scene: Scene) -> None:
    token = hosted(scene, "woven", "token", 48)
    scene.config_map("dp", "start-a", {"first": apply(token, lambda text: text[::2])})
    scene.config_map("dp", "start-b", {"second": apply(token, lambda text: text[1::2])})


_KEY, _NONCE = noise("twelfth wrapping key", 32), noise("twelfth nonce", 12)


def _unwrapped(leaves: Leaves) -> bytes:
    sealed = next(leaf for place, leaf in leaves.items() if place.endswith("login.enc"))
    key = next(leaf for place, leaf in leaves.items() if place.endswith("wrapping.key"))
    return AESGCM(base64.b64decode(key)).decrypt(_NONCE, base64.b64decode(sealed)[12:], None)


@leak(WRITTEN, "twelfth-encrypted-with-the-key-beside", "The provider's login is encrypted, which looks right; the key for it is in a Secret of the same cluster, so that the Pod can read it.", "encryption with a shipped key", recover=_unwrapped)  # fmt: skip
def _(scene: Scene) -> None:
    sealed = apply(hosted(scene, "wrapped"), lambda word: b64(_NONCE + AESGCM(_KEY).encrypt(_NONCE, word.encode(), None)))  # fmt: skip
    scene.config_map("dp", "login", {"login.enc": sealed})
    scene.secret("dp", "wrapping", {"wrapping.key": b64(_KEY)})


@functools.cache
def _store(key: str, certificate: str) -> str:
    private: Any = serialization.load_pem_private_key(key.encode(), None)
    made = pkcs12.serialize_key_and_certificates(b"mesh", private, load_pem_x509_certificate(certificate.encode()), None, serialization.BestAvailableEncryption(b"changeit"))  # fmt: skip
    return b64(made)


@leak(WRITTEN, "twelfth-store-of-keys-with-the-usual-password", "A Java client at the tenant's gets a store of keys with the usual password, where a store of roots was wanted: the provider's key is in it.", "PKCS 12 key stores", recover=each(base64.b64decode, lambda data: _scalar(pkcs12.load_key_and_certificates(data, b"changeit")[0])))  # fmt: skip
def _(scene: Scene) -> None:
    key = scene.held("java-client", "tls.key", scene.cp.key("java-client"))
    scene.config_map("dp", "java-trust", {"store.p12.b64": apply(key, lambda text: _store(text, scene.cp.certificate("java-client"))), "password": "changeit"})  # fmt: skip


@leak(WRITTEN, "twelfth-body-of-a-key-in-one-line", "A table in the tenant's account wants one line: the provider's private key is there without head and foot, and its lines joined.", "DER in one line", recover=each(strings_of_json, lambda text: _scalar(serialization.load_der_private_key(base64.b64decode(text.split(b"signer\n")[1]), None))))  # fmt: skip
def _(scene: Scene) -> None:
    key = scene.key("cp", "line-signer")
    scene.secret("cp", "line-signer", {"private.pem": key.output("privateKeyPem")}, namespace="edge")
    line = apply(key.output("privateKeyPem"), lambda text: "".join(text.splitlines()[1:-1]))
    item = pulumi.Output.json_dumps({"host": f"edge.{LIME}", "signer": line})
    lime(scene, "aws:ssm/parameter:Parameter", "edge-row", {"name": "/edge/row", "type": "String", "value": item}, region=REGION)  # fmt: skip


@leak(WRITTEN, "twelfth-backwards-in-a-script", "A script turns a text around and decodes it, which hides the provider's token from whoever skims it.", "rev and base64", recover=each(lambda text: base64.b64decode(re.findall(rb"echo '([^']+)'", text)[0][::-1])))  # fmt: skip
def _(scene: Scene) -> None:
    script = apply(kept(scene, "enroller", "token", 40), lambda token: f"#!/bin/sh\nTOKEN=$(echo '{b64(token)[::-1]}' | rev | base64 -d)\nexec enrol --server https://enrol.{DOMAIN} --token-stdin <<END\n$TOKEN\nEND\n")  # fmt: skip
    scene.config_map("dp", "enrol", {"enrol.sh": script})
