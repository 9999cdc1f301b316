"""Leaks on a provider's first day: slips of code, and old ways of writing a secret that only look like protection."""

from __future__ import annotations

import base64
import binascii
import itertools
import json
import re
import shlex
from typing import Any
from xml.etree import ElementTree
from xml.sax.saxutils import quoteattr

import pulumi
import yaml

from tests.corpus.strangers.credentials import kept, raw
from tests.corpus.strangers.material import LETTERS
from tests.corpus.strangers.objects import deployment, release
from tests.corpus.strangers.recover import after, each, strings_of_json, strings_of_yaml
from tests.corpus.strangers.scene import SERVERS, Scene
from tests.corpus.strangers.stranger import leak
from tests.corpus.strangers.values import apply, b64, drawn
from tests.corpus.world import Box

from .world import DOMAIN, MOSS, MOSS_SUBSCRIPTION, TERN, moss, ours, tern, theirs

SLIPS, WRITTEN = "eleventh: slips of code", "eleventh: old ways of writing"
UMLAUTS = "aäbcdeéfghijklmnoöpqrsßtuüvwxyz"

# Slips of code --------------------------------------------------------------------------------------------------------


@leak(SLIPS, "eleventh-letters-are-stripped-not-a-prefix", "Whose a login is shows by a prefix, which `lstrip` takes away: it takes letters, and the provider's `smtp` starts with one.", "str.lstrip")  # fmt: skip
def _(scene: Scene) -> None:
    logins = {"moss-search": theirs(scene, "search"), "smtp-relay": ours(scene, "smtp-relay", namespace="mail"), "tern-registry": ours(scene, "registry", namespace="ci")}  # fmt: skip
    scene.secret("dp", "logins", {key: value for key, value in logins.items() if key.lstrip("moss-") != key})  # noqa: B005


@leak(SLIPS, "eleventh-inherited-values", "A class of values for tenants inherits the provider's and replaces hosts; it forgets that the parent has a password.", "inheritance", before=tern)  # fmt: skip
def _(scene: Scene) -> None:
    class Values:
        host = f"db.{DOMAIN}"

        def values(self) -> dict[str, Any]:
            return {"database": {"host": self.host, "port": 5432, "user": "hosting", "password": ours(scene, "values-db")}}  # fmt: skip

    class TenantValues(Values):
        host = f"db.{MOSS}"

        def values(self) -> dict[str, Any]:
            return {**super().values(), "tenant": "moss"}

    release(scene, "dp", "scheduler", TenantValues().values())


@leak(SLIPS, "eleventh-proxy-in-a-kubeconfig", "A kubeconfig for the tenant's people is cleaned of its users; the provider's proxy, with its login, stays in the cluster's part.", "kubeconfig proxy-url", recover=each(strings_of_yaml, after(b"http://hosting:", lambda text: text.split(b"@")[0])))  # fmt: skip
def _(scene: Scene) -> None:
    def config(login: str) -> str:
        return yaml.safe_dump({"apiVersion": "v1", "kind": "Config", "clusters": [{"name": "moss", "cluster": {"server": SERVERS["dp"], "proxy-url": f"http://hosting:{login}@proxy.{DOMAIN}:3128"}}], "users": [{"name": "moss", "user": {"token": scene.dp.opaque("moss admin", 40)}}], "contexts": [{"name": "moss", "context": {"cluster": "moss", "user": "moss"}}]})  # fmt: skip

    def without_users(text: str) -> str:
        document = yaml.safe_load(text)
        return yaml.safe_dump({**document, "users": []})

    full = apply(ours(scene, "proxy"), config)
    scene.secret("cp", "kubeconfig-of-moss", {"config": full}, namespace="moss")
    scene.config_map("dp", "kubeconfig", {"config": apply(full, without_users)})


@leak(SLIPS, "eleventh-null-does-not-delete", "Overrides of the tenant's set the password to null to delete it; the merge leaves out nulls, and so keeps the provider's.", "Helm null values")  # fmt: skip
def _(scene: Scene) -> None:
    base = {"broker": {"host": f"bus.{DOMAIN}", "username": "hosting", "password": kept(scene, "bus")}, "replicas": 3}  # fmt: skip
    overrides: dict[str, dict[str, Any]] = {"broker": {"host": f"bus.{MOSS}", "password": None}}

    def merged(under: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
        nested = {key: merged(under[key], value) if isinstance(value, dict) else value for key, value in over.items()}  # fmt: skip
        return {**under, **{key: value for key, value in nested.items() if value is not None}}

    release(scene, "cp", "consumer", base)
    release(scene, "dp", "consumer", merged(base, overrides))


@leak(SLIPS, "eleventh-cleaned-copy-is-not-used", "A component takes the password out of a copy of its arguments, and then gives the arguments to the tenant's chart.", "unused copies")  # fmt: skip
def _(scene: Scene) -> None:
    class Agent(Box):
        def __init__(self, name: str, **values: Any) -> None:
            super().__init__(name, "tern:mesh:Agent")
            public = dict(values)
            public.pop("adminPassword", None)
            release(scene, "dp", "agent", values)
            self.register_outputs(public)

    Agent("agent", adminUser="admin", adminPassword=ours(scene, "agent-admin"), mesh=TERN)


@leak(SLIPS, "eleventh-filled-up-with-the-platforms", "Tenants' services and their logins are joined row by row; where logins are fewer, the provider's fills up.", "zip_longest")  # fmt: skip
def _(scene: Scene) -> None:
    rows = itertools.zip_longest(["shop", "search", "wiki"], [theirs(scene, "shop"), theirs(scene, "search")], fillvalue=ours(scene, "default-login"))  # fmt: skip
    for service, login in rows:
        scene.secret("dp", f"{service}-login", {"username": str(service), "password": login})


@leak(SLIPS, "eleventh-all-that-a-component-has", "The tenant's stack exports what a component has as attributes; among addresses is the administrator's password.", "stack outputs", stack="data-plane")  # fmt: skip
def _(scene: Scene) -> None:
    class Console(Box):
        def __init__(self) -> None:
            super().__init__("console", "tern:mesh:Console")
            self.url, self.login = f"https://console.{DOMAIN}", ours(scene, "console-admin")
            self.register_outputs({"url": self.url})

    shown = {key: value for key, value in vars(Console()).items() if not key.startswith("_")}
    pulumi.export("console", shown)


@leak(SLIPS, "eleventh-connection-that-nobody-marked", "A look-up lists the keys of the provider's bus; nobody marked its answer, and the tenant's chart gets the connection as an address.", "azure-native list functions", at="either", recover=each(after(b"SharedAccessKey=")))  # fmt: skip
def _(scene: Scene) -> None:
    tern(scene)
    connection = f"Endpoint=sb://tern-usage.servicebus.windows.net/;SharedAccessKeyName=manage;SharedAccessKey={scene.cp._give(b64(scene.cp.raw('usage bus')))}"  # fmt: skip
    found = scene.invoke("azure-native:eventhub:listNamespaceKeys", {"keyName": "manage", "primaryConnectionString": connection}, secret=False)  # fmt: skip
    scene.secret("cp", "usage-bus", {"connection": found.apply(lambda keys: keys["primaryConnectionString"])}, namespace="billing")  # fmt: skip
    release(scene, "dp", "usage-reporter", {"eventhub": {"address": found.apply(lambda keys: keys["primaryConnectionString"])}})  # fmt: skip


# Old ways of writing --------------------------------------------------------------------------------------------------


def _unmasked(text: bytes) -> bytes:
    return bytes(byte ^ 0x5F for byte in base64.b64decode(re.findall(rb"\{xor\}([^\"]+)", text)[0]))


@leak(WRITTEN, "eleventh-masked-in-a-servers-file", "A server's file at the tenant's has the password of the provider's directory as its tool writes it: each byte with a fixed mask.", "Liberty {xor}", recover=each(_unmasked))  # fmt: skip
def _(scene: Scene) -> None:
    masked = apply(ours(scene, "ldap-bind", namespace="login"), lambda word: "{xor}" + b64(bytes(byte ^ 0x5F for byte in word.encode())))  # fmt: skip
    xml = pulumi.Output.concat('<server><ldapRegistry host="ldap.', DOMAIN, '" port="636" bindDN="cn=hosting,ou=apps" bindPassword="', masked, '"/></server>')  # fmt: skip
    scene.config_map("dp", "server-config", {"server.xml": xml})


_TABLE = b"dsfd;kfoA,.iyewrkldJKDHSUBsgvca69834ncxv9873254k;fg87"


def _routed(text: bytes) -> bytes:
    found = re.findall(rb"password 7 ([0-9A-F]+)", text)[0]
    start, body = int(found[:2]), bytes.fromhex(found[2:].decode())
    return bytes(byte ^ _TABLE[(start + at) % len(_TABLE)] for at, byte in enumerate(body))


@leak(WRITTEN, "eleventh-password-of-type-seven", "A router of the tenant's peers with the provider's; its settings have the password in the form that routers show it.", "Cisco type 7", recover=each(_routed))  # fmt: skip
def _(scene: Scene) -> None:
    def seven(word: str) -> str:
        body = bytes(byte ^ _TABLE[(4 + at) % len(_TABLE)] for at, byte in enumerate(word.encode()))
        return f"04{body.hex().upper()}"

    text = pulumi.Output.concat("router bgp 64512\n neighbor 198.51.100.9 remote-as 64620\n neighbor 198.51.100.9 password 7 ", apply(kept(scene, "peering", length=20), seven), "\n!\n")  # fmt: skip
    scene.config_map("dp", "router", {"startup-config": text})


@leak(WRITTEN, "eleventh-here-document-for-uudecode", "A script for old hosts carries a file as uudecode wants it; the file is the login of the provider's packages.", "uuencode", recover=each(lambda text: b"".join(binascii.a2b_uu(line) for line in text.split(b"auth.conf\n")[1].split(b"`\n")[0].splitlines())))  # fmt: skip
def _(scene: Scene) -> None:
    def script(word: str) -> str:
        data = f"machine apt.{DOMAIN} login hosting password {word}\n".encode()
        lines = "".join(binascii.b2a_uu(data[at : at + 45]).decode() for at in range(0, len(data), 45))
        return f"#!/bin/sh\ncd /etc/apt/auth.conf.d && uudecode <<'END'\nbegin 600 auth.conf\n{lines}`\nend\nEND\n"

    scene.config_map("dp", "host-setup", {"setup.sh": apply(ours(scene, "apt"), script)})


@leak(WRITTEN, "eleventh-seed-as-one-number", "A chart wants its seed as a number; the provider's random bytes are written as one with 78 digits.", "big numbers", recover=each(lambda text: int(text).to_bytes(32).hex().encode()))  # fmt: skip
def _(scene: Scene) -> None:
    seed = raw(scene, "cp", "beacon-seed")
    scene.secret("cp", "beacon-seed", {"seed": seed.output("hex")}, namespace="mesh-system")
    release(scene, "dp", "beacon", {"seed": apply(seed.output("hex"), lambda found: str(int(found, 16))), "period": "30s"})  # fmt: skip


@leak(WRITTEN, "eleventh-quotes-of-a-shell", "A password with quotes is quoted for a shell, then for the shell that starts the first; a map at the tenant's has the line.", "shell quoting", recover=each(lambda text: shlex.split(shlex.split(text.decode())[-1])[-1].encode()))  # fmt: skip
def _(scene: Scene) -> None:
    word = scene.cp._give("'".join(scene.cp.opaque(f"quoted {at}", 9, LETTERS) for at in range(4)))
    held = scene.held("quoted", "password", word)
    scene.config_map("dp", "login-job", {"run.sh": apply(held, lambda found: shlex.join(["sh", "-c", shlex.join(["hosting", "login", "--password", found])]))})  # fmt: skip


@leak(WRITTEN, "eleventh-umlauts-in-json-in-xml", "A password of umlauts is JSON with its letters as numbers, and that an attribute of a build's XML in the tenant's variable.", "JSON and XML escapes", config=lambda cp, dp: {"mailPassword": cp.opaque("mail umlauts", 28, UMLAUTS)}, recover=each(lambda text: ElementTree.fromstring(text).attrib["value"].encode(), strings_of_json))  # fmt: skip
def _(scene: Scene) -> None:
    scene.secret("cp", "mail", {"password": scene.config("mailPassword")}, namespace="mail")
    xml = apply(scene.config("mailPassword"), lambda word: f"<param name='mail' value={quoteattr(json.dumps({'user': 'hosting', 'password': word}))}/>")  # fmt: skip
    deployment(scene, "dp", "build-agent", {"env": [{"name": "BUILD_PARAMETERS", "value": xml}]})
    moss(scene, "azure-native:automation:Variable", "build-agent", {"resourceGroupName": "moss", "automationAccountName": "moss", "variableName": "Agent", "value": json.dumps(drawn("agent id", 12))}, subscriptionId=MOSS_SUBSCRIPTION)  # fmt: skip
