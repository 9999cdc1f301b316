"""Harmless, beside a mesh team's secrets: twins of usual slips, second updates, and ways of wiring a program."""

from __future__ import annotations

import collections
import copy
import hashlib
import json
import operator
import string
from typing import Any

import pulumi
import yaml

from tests.corpus.strangers.credentials import kept, pair
from tests.corpus.strangers.material import LETTERS
from tests.corpus.strangers.objects import cloud, deployment, release
from tests.corpus.strangers.scene import Scene
from tests.corpus.strangers.stranger import clean
from tests.corpus.strangers.values import HEX, apply, b64, drawn, noise
from tests.corpus.world import Box

from .world import BOTH, CERTIFICATE, CLIENT, DOMAIN, ISSUER, LOOM, MAPLE, REGION, house, loom, maple, tenants, word

WIRING, LATER = "ninth: wiring", "ninth: later updates"


@clean(WIRING, "ninth-template-without-the-secret-place", "One text with places is filled twice: the mesh team's with its password, the tenant's with names of variables.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    text = string.Template("relay:\n  host: $host\n  user: $user\n  password: $password\n")
    password = house(scene, "relay")
    scene.secret("cp", "relay-file", {"relay.yaml": apply(password, lambda found: text.substitute(host=f"relay.{DOMAIN}", user="mesh", password=found))}, namespace="mail")  # fmt: skip
    scene.config_map("dp", "relay-file", {"relay.yaml": text.substitute(host=f"relay.{MAPLE}", user="shop", password="${RELAY_PASSWORD}")})  # fmt: skip


@clean(WIRING, "ninth-owners-field-decides", "Rows of logins have an owner; each cluster gets the rows of its owner by an equality.", pack=BOTH)  # fmt: skip
def _(scene: Scene) -> None:
    every = tenants(scene)
    rows = [(owner, kind, scene.password("cp" if owner == "mesh" else "dp", f"{owner}-{kind}").output("result")) for owner in ("mesh", *every) for kind in ("queue", "index")]  # fmt: skip
    for owner, side in {"mesh": "cp", **every}.items():
        scene.secret(side, "logins", {kind: value for who, kind, value in rows if who == owner})


@clean(WIRING, "ninth-attributes-by-getter", "Facts are taken of an object of settings by a getter of three names; its fourth, a password, stays.")  # fmt: skip
def _(scene: Scene) -> None:
    class Settings:
        host, region, client = f"api.{DOMAIN}", REGION, CLIENT
        password = house(scene, "settings")

    host, region, client = operator.attrgetter("host", "region", "client")(Settings)
    release(scene, "dp", "api-client", {"host": host, "region": region, "clientId": client})


@clean(WIRING, "ninth-popped-before-it-is-shared", "The password is taken out of a copy of the values before the copy goes to the tenant.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    values: dict[str, Any] = {"broker": {"host": f"bus.{DOMAIN}", "port": 9093, "password": house(scene, "bus")}, "replicas": 2}  # fmt: skip
    release(scene, "cp", "consumer", values)
    shared = {**values, "broker": dict(values["broker"])}
    shared["broker"].pop("password")
    release(scene, "dp", "consumer", {**shared, "brokerSecret": "maple-bus"})


@clean(WIRING, "ninth-transformation-for-the-teams-charts-only", "A transformation adds the mesh team's pull login to charts under its own box; the tenant's charts are elsewhere.")  # fmt: skip
def _(scene: Scene) -> None:
    login = house(scene, "charts-login")

    def with_login(args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult | None:
        if not args.type_.endswith(":Release"):
            return None
        given: Any = args.props
        return pulumi.ResourceTransformationResult({**given, "repositoryOpts": {"repo": f"https://charts.{DOMAIN}", "username": "mesh", "password": login}}, args.opts)  # fmt: skip

    box = Box("mesh-charts", opts=pulumi.ResourceOptions(transformations=[with_login]))
    release(scene, "cp", "ledger", {"replicas": 2}, parent=box)
    release(scene, "dp", "podinfo", {"replicas": 2})


@clean(WIRING, "ninth-counts-and-hash-of-names", "A restart annotation is a hash of the names of the mesh team's Secrets and of a public file.")  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    names = sorted(f"login-{at}" for at in range(3))
    for name in names:
        kept(scene, name)
    mark = hashlib.sha256(",".join([*names, LOOM]).encode()).hexdigest()[:16]
    deployment(scene, "dp", "status", {"args": ["--secrets", str(len(names))]}, {"checksum/names": mark})


@clean(WIRING, "ninth-secret-marked-but-public", "A host name and an issuer come out of secret configuration, since somebody encrypted all of it; the program says that they are public.", config=lambda cp, dp: {"endpoint": f"https://api.{DOMAIN}/v1", "issuer": ISSUER})  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    scene.config_map("dp", "endpoints", {key: pulumi.Output.unsecret(scene.config(key)) for key in ("endpoint", "issuer")})  # fmt: skip


@clean(WIRING, "ninth-component-that-keeps-one-output", "A component of the mesh team's has a key and a certificate; its only output is the certificate, which each tenant trusts.", pack=BOTH, rightly=CERTIFICATE)  # fmt: skip
def _(scene: Scene) -> None:
    class Authority(Box):
        def __init__(self) -> None:
            super().__init__("authority", "loom:index:Authority")
            key, cert = pair(scene, "cp", "fleet-root", authority=True)
            scene.object("cp", "v1:Secret", "fleet-root", {"stringData": {"tls.key": key.output("privateKeyPem"), "tls.crt": cert.output("certPem")}}, parent=self)  # fmt: skip
            self.pem = cert.output("certPem")
            self.register_outputs({"pem": self.pem})

    authority = Authority()
    for side in tenants(scene).values():
        scene.object(side, "trust.cert-manager.io/v1alpha1:Bundle", "fleet", {"spec": {"sources": [{"inLine": authority.pem}], "target": {"configMap": {"key": "ca.crt"}}}})  # fmt: skip


@clean(WIRING, "ninth-default-dictionary-of-lists", "Objects are collected by cluster in a dictionary of lists and written at the end, each to its own.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    wanted: dict[str, list[tuple[str, dict[str, Any]]]] = collections.defaultdict(list)
    wanted["cp"].append(("collector", {"token": house(scene, "collector-intake", "token", 40)}))
    wanted["dp"].append(("collector", {"token": word(scene, "collector", 40)}))
    for side, rows in wanted.items():
        for name, data in rows:
            scene.secret(side, f"{name}-auth", data)


@clean(WIRING, "ninth-dependency-on-a-secret", "The tenant's chart waits for the mesh team's Secret and its webhook; it has nothing of them.")  # fmt: skip
def _(scene: Scene) -> None:
    gate = scene.secret("cp", "webhook-auth", {"token": scene.password("cp", "mesh-webhook").output("result")})
    release(scene, "dp", "admission", {"url": f"https://admission.{DOMAIN}/v1", "caBundle": b64(noise("admission ca", 60))}, depends_on=[gate])  # fmt: skip


def _seasons(scene: Scene, season: str) -> None:
    loom(scene)
    made = scene.made("random:index/randomPassword:RandomPassword", "mesh-season", {"length": 32, "keepers": {"season": season}}, None, {"result": scene.cp.opaque(f"season {season}", 32, LETTERS)}, ["result"])  # fmt: skip
    scene.secret("cp", "season", {"password": made.output("result")})
    scene.config_map("dp", "season", {"rotated": season, "next": "2026-summer"})


@clean(LATER, "ninth-team-rotates-and-says-so", "At the second update the mesh team's password is another one; the tenant reads the name of the season.", before=lambda scene: _seasons(scene, "winter"))  # fmt: skip
def _(scene: Scene) -> None:
    _seasons(scene, "spring")


def _moving(scene: Scene, *, inline: bool) -> None:
    loom(scene)
    password = word(scene, "moving")
    auth = {"password": password} if inline else {"existingSecret": "moving"}
    if not inline:
        scene.secret("dp", "moving", {"password": password})
    release(scene, "dp", "moving", {"auth": auth})


@clean(LATER, "ninth-own-value-moves-into-a-secret", "At the second update the tenant's own password moves from values into a Secret of its cluster.", before=lambda scene: _moving(scene, inline=True))  # fmt: skip
def _(scene: Scene) -> None:
    _moving(scene, inline=False)


def _image(scene: Scene, version: str) -> None:
    loom(scene)
    inputs = {"tags": [f"registry.{DOMAIN}/proxy:{version}"], "push": True, "registries": [{"address": f"registry.{DOMAIN}", "username": "robot+mesh", "password": house(scene, "pusher")}]}  # fmt: skip
    made = cloud(scene, "docker-build:index:Image", "proxy", inputs, {"digest": f"sha256:{noise(f'proxy {version}', 32).hex()}"})  # fmt: skip
    deployment(scene, "dp", "proxy", {"image": pulumi.Output.concat(f"registry.{DOMAIN}/proxy@", made.output("digest"))}, {"loom.example.com/version": version})  # fmt: skip


@clean(LATER, "ninth-image-moves-on", "At the second update the image that the mesh team builds and pushes has another digest, which the tenant gets.", before=lambda scene: _image(scene, "1.24.1"))  # fmt: skip
def _(scene: Scene) -> None:
    _image(scene, "1.24.2")


def _members(scene: Scene, *names: str) -> None:
    loom(scene)
    every = tenants(scene)
    for name in names:
        scene.secret(every[name], "member", {"tenant": name, "key": scene.password("dp", f"{name}-member", 40).output("result")})  # fmt: skip
        scene.config_map(every[name], "members", {"members.json": json.dumps(sorted(names)), "mesh": LOOM})


@clean(LATER, "ninth-second-member-joins", "At the second update another tenant joins with a key of its own; both learn the names of all.", pack=BOTH, before=lambda scene: _members(scene, "maple"))  # fmt: skip
def _(scene: Scene) -> None:
    _members(scene, "maple", "rowan")


def _record(scene: Scene, address: str) -> None:
    loom(scene)
    house(scene, "dyndns", "token", 40, "external-dns")
    maple(scene, "aws:route53/record:Record", "mesh-record", {"zoneId": "Z04417MAPLE", "name": f"mesh.{MAPLE}", "type": "A", "ttl": 60, "records": [address]}, region=REGION)  # fmt: skip
    scene.config_map("dp", "addresses", {"xds": address})


@clean(LATER, "ninth-address-changes", "At the second update the mesh team's address is another one in the tenant's zone and map.", before=lambda scene: _record(scene, "198.51.100.10"))  # fmt: skip
def _(scene: Scene) -> None:
    _record(scene, "198.51.100.20")


def _versions(scene: Scene, values: dict[str, Any]) -> None:
    loom(scene)
    full = copy.deepcopy(values)
    release(scene, "cp", "mesh-api", {**full, "signingKey": house(scene, "api-signing", "key", 48)})
    release(scene, "dp", "mesh-agent", {**full, "revision": drawn(yaml.safe_dump(values), 12, HEX)})


@clean(LATER, "ninth-common-values-grow", "At the second update common values of both charts grow by switches; the mesh team's key is in its own only.", before=lambda scene: _versions(scene, {"ambient": False}))  # fmt: skip
def _(scene: Scene) -> None:
    _versions(scene, {"ambient": True, "accessLogs": {"format": "json", "omit": ["authorization", "cookie"]}})
