"""Harmless facts of things that hold a secret: addresses, ids and dates of the provider's databases, keys and charts."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pulumi

from tests.corpus.strangers.material import LETTERS
from tests.corpus.strangers.scene import Scene
from tests.corpus.strangers.stranger import clean

from .leaks_files import kept

FACTS = "facts of what holds a secret"
Inputs = Callable[[Any], dict[str, Any]]
ROWS: list[tuple[str, str, str, Inputs, str, Any]] = [
    ("address-of-a-database", "the host of the provider's database, which is made with a password", "aws:rds/instance:Instance", lambda v: {"username": "mesh", "password": v}, "address", "mesh.c9akciq32.eu-west-1.rds.amazonaws.com"),
    ("arn-of-a-certificate", "the ARN of a certificate that was imported with its key", "aws:acm/certificate:Certificate", lambda v: {"privateKey": v, "certificateBody": "x"}, "arn", "arn:aws:acm:eu-west-1:123456789012:certificate/0b9f0c3e-7f7f-4c53-9a0e-0d3c1b9d6a55"),
    ("name-of-a-tunnel", "the host name of a tunnel, which is made with a secret", "cloudflare:index/zeroTrustTunnelCloudflared:ZeroTrustTunnelCloudflared", lambda v: {"name": "mesh", "tunnelSecret": v}, "cname", "0b9f0c3e-7f7f-4c53-9a0e-0d3c1b9d6a55.cfargotunnel.com"),
    ("arn-of-a-secret", "the ARN of a secret in a store", "aws:secretsmanager/secretVersion:SecretVersion", lambda v: {"secretId": "mesh", "secretString": v}, "arn", "arn:aws:secretsmanager:eu-west-1:123456789012:secret:mesh-x7k2m9"),
    ("brokers-of-a-bus", "the brokers of a bus, whose users have passwords", "confluentcloud:index/kafkaCluster:KafkaCluster", lambda v: {"displayName": "mesh", "config": {"sasl": v}}, "bootstrapEndpoint", "SASL_SSL://pkc-4k2x9.eu-west-1.aws.confluent.cloud:9092"),
    ("host-of-a-cache", "the endpoint of a cache with a token", "aws:elasticache/replicationGroup:ReplicationGroup", lambda v: {"description": "mesh", "authToken": v}, "primaryEndpointAddress", "master.mesh.x7k2m9.euw1.cache.amazonaws.com"),
    ("id-of-an-application", "the public id of an application that has a password", "azuread:index/application:Application", lambda v: {"displayName": "mesh", "passwords": [{"displayName": v}]}, "clientId", "0b9f0c3e-7f7f-4c53-9a0e-0d3c1b9d6a55"),
    ("version-of-a-chart", "the revision of a release that takes a password", "kubernetes:helm.sh/v3:Release", lambda v: {"chart": "istiod", "version": "1.31.0", "values": {"token": v}}, "status", {"revision": 3, "version": "1.31.0"}),
    ("names-of-a-charts-objects", "the names of what a release made", "kubernetes:helm.sh/v3:Release", lambda v: {"chart": "istiod", "version": "1.31.0", "values": {"token": v}}, "resourceNames", {"Service/v1": ["istiod"], "Secret/v1": ["istiod-token"]}),
    ("name-of-a-user", "the name of a role in the provider's database", "postgresql:index/role:Role", lambda v: {"name": "mesh", "password": v}, "name", "mesh"),
]  # fmt: skip


def _fact(name: str, what: str, kind: str, inputs: Inputs, output: str, answer: Any, *, second: bool) -> None:
    more: dict[str, Any] = {"before": "the same"} if second else {}

    @clean(FACTS, name if not second else f"{name}-second-time", f"The user gets {what}.", **more)
    def _(scene: Scene) -> None:
        value = scene.password("cp", "held").output("result")
        opts = scene.options("cp") if kind.startswith("kubernetes:") else None
        given = inputs(value)
        made = scene.made(kind, "mesh-held", given, opts, {} if output in given else {output: answer}, owner="cp")
        scene.secret("cp", "held", {"password": value})
        scene.config_map("dp", "facts", {"fact": made.output(output).apply(str)})


for _row in ROWS:
    _fact(*_row, second=False)
    _fact(*_row, second=True)


@clean(FACTS, "certificates-end", "The end and the fingerprint of a certificate whose key is the provider's.")
def _(scene: Scene) -> None:
    key = scene.key("cp", "istiod")
    scene.secret("cp", "istiod", {"tls.key": key.output("privateKeyPem")})
    inputs = {
        "privateKeyPem": key.output("privateKeyPem"),
        "validityPeriodHours": 2160,
        "earlyRenewalHours": 720,
        "allowedUses": [],
    }
    answers = {"certPem": scene.dp.certificate("istiod"), "validityEndTime": "2027-01-01T00:00:00Z"}
    made = scene.made(
        "tls:index/selfSignedCert:SelfSignedCert", "istiod-cert", inputs, None, answers, ["privateKeyPem"]
    )
    scene.config_map("dp", "facts", {"end": made.output("validityEndTime")})


@clean(FACTS, "uid-of-a-secret", "The name and the uid of the provider's Secret.", before="the same")
def _(scene: Scene) -> None:
    kept(scene, "istiod", {"token": scene.cp.opaque("t", 32, LETTERS)})
    made = scene.answered(
        "cp",
        "v1:ConfigMap",
        "marker",
        {"data": {"a": "b"}},
        metadata={"name": "marker", "uid": "0b9f0c3e-7f7f-4c53-9a0e-0d3c1b9d6a55", "resourceVersion": "184467"},
    )
    scene.config_map("dp", "facts", {"uid": made.output("metadata").apply(lambda m: m.get("uid", "none"))})


@clean(FACTS, "host-out-of-all", "Of a host and a password, put together, the user gets the host.", before="the same")
def _(scene: Scene) -> None:
    value = scene.password("cp", "held").output("result")
    scene.secret("cp", "held", {"password": value})
    both = pulumi.Output.all("istiod.example.com", value)
    scene.config_map("dp", "facts", {"host": both.apply(lambda found: found[0])})


@clean(
    FACTS,
    "configured-host-beside-a-password",
    "One secret object of the configuration has a host and a password; the user gets the host.",
    config=lambda cp, dp: {"mesh:db": '{"host":"db.example.com","password":"' + cp.opaque("db", 24, LETTERS) + '"}'},
)
def _(scene: Scene) -> None:
    found = scene.config("mesh:db").apply(json.loads)
    scene.secret("cp", "db", {"password": found.apply(lambda db: db["password"])})
    scene.config_map("dp", "facts", {"host": found.apply(lambda db: db["host"])})


@clean(
    FACTS, "facts-of-a-client-in-a-secret", "A client's number and address, which only the update knows, in a Secret."
)
def _(scene: Scene) -> None:
    answers = {"resourceServerId": "0b9f0c3e-7f7f-4c53-9a0e-0d3c1b9d6a55", "baseUrl": "https://id.example.com/mesh"}
    made = scene.made("keycloak:openid/client:Client", "client", {"clientId": "mesh"}, None, answers, owner="cp")
    facts = {"id": made.output("resourceServerId"), "url": made.output("baseUrl")}
    scene.secret("dp", "facts", facts)
