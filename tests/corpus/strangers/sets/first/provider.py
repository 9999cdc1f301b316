"""Harmless: what every honest provider's program does, secrets and the user's cluster in one stack included."""

from __future__ import annotations

import hashlib
from typing import Any

import pulumi

from tests.corpus.strangers.scene import Scene
from tests.corpus.strangers.stranger import clean
from tests.corpus.world import Box, Object

HONEST, FACTS = "honest providers", "facts of clouds and clusters"


def _held(scene: Scene) -> Object:
    return scene.secret("cp", "admin", {"password": scene.password("cp", "admin").output("result")})


@clean(HONEST, "order-only", "The user's object waits for the provider's Secret, and has nothing of it.")
def _(scene: Scene) -> None:
    scene.config_map("dp", "app", {"host": "istiod.example.com"}, depends_on=[_held(scene)])


@clean(HONEST, "name-of-a-secret", "The user's object has the name of the provider's Secret.")
def _(scene: Scene) -> None:
    found = scene.object("cp", "v1:Secret", "admin", {"stringData": {"p": scene.cp.opaque("admin")}})
    name = found.urn.apply(lambda urn: urn.rpartition("::")[2])
    scene.config_map("dp", "app", {"secretName": name})


@clean(
    HONEST,
    "hash-with-a-reason",
    "A hash of the provider's password, declassified with a reason, restarts Pods.",
    rightly="a hash of 24 random characters",
)
def _(scene: Scene) -> None:
    value = scene.password("cp", "admin").output("result")
    scene.secret("cp", "admin", {"password": value})
    digest = value.apply(lambda text: hashlib.sha256(text.encode()).hexdigest())
    notes = {"hosted-mesh.io/declassify": "data.digest: sha256 of 24 random characters, restarts Pods"}
    scene.config_map("dp", "app", {"digest": digest}, annotations=notes)


@clean(
    HONEST,
    "secret-in-the-providers-bucket",
    "The provider's password goes to a bucket that the pack is told is the provider's.",
    pack={"controlPlaneProviders": ["platform"]},
)
def _(scene: Scene) -> None:
    opts = scene.package("aws", "platform", owner="cp", region="eu-west-1")
    value = scene.password("cp", "admin").output("result")
    scene.secret("cp", "admin", {"password": value})
    scene.made("aws:s3/bucketObjectv2:BucketObjectv2", "kept", {"bucket": "platform", "content": value}, opts)
    scene.config_map("dp", "app", {"host": "istiod.example.com"})


@clean(
    HONEST,
    "secret-in-the-providers-vault",
    "The same with a Vault of the provider's.",
    pack={"controlPlaneProviders": ["platform-vault"]},
)
def _(scene: Scene) -> None:
    token = pulumi.Output.secret(scene.cp.opaque("vault"))
    opts = scene.package(
        "vault", "platform-vault", owner="cp", address="https://vault.platform.example.com", token=token
    )
    scene.made("vault:generic/secret:Secret", "admin", {"path": "kv/admin", "dataJson": scene.held()}, opts)
    scene.config_map("dp", "app", {"host": "istiod.example.com"})


@clean(HONEST, "component-over-both", "One component has the provider's Secret and the user's settings.")
def _(scene: Scene) -> None:
    box = Box("mesh")
    opts = {"parent": box}
    value = scene.password("cp", "admin").output("result")
    scene.object("cp", "v1:Secret", "admin", {"stringData": {"password": value}}, **opts)
    scene.object("dp", "v1:ConfigMap", "app", {"data": {"host": "istiod.example.com"}}, **opts)
    box.register_outputs({"password": value})


@clean(HONEST, "users-facts-to-the-provider", "The provider takes a fact from the user's ConfigMap, and secrets stay.")
def _(scene: Scene) -> None:
    found = scene.config_map("dp", "cluster-info", {"clusterId": "blue"})
    value = scene.password("cp", "admin").output("result")
    text = pulumi.Output.all(found.output("data"), value).apply(lambda both: f"{both[0]['clusterId']}:{both[1]}")
    scene.secret("cp", "admin", {"token": text})
    scene.config_map("dp", "app", {"host": "istiod.example.com"})


@clean(HONEST, "output-of-the-providers-stack", "The provider's own stack exports its password, marked.")
def _(scene: Scene) -> None:
    pulumi.export("admin", scene.held())
    pulumi.export("host", "istiod.example.com")


@clean(
    HONEST,
    "output-of-the-users-stack",
    "The user's stack exports hosts and a certificate.",
    stack="data-plane",
    rightly="a certificate",
)
def _(scene: Scene) -> None:
    scene.secret("cp", "istiod", {"tls.key": pulumi.Output.secret(scene.cp.key("istiod"))})
    scene.config_map("dp", "app", {"host": "istiod.example.com"})
    pulumi.export("mesh", {"host": "istiod.example.com", "root": scene.cp.certificate("istiod")})


@clean(HONEST, "external-dns-without-credentials", "external-dns at the user's reads objects and has no credential.")
def _(scene: Scene) -> None:
    scene.held("dns", "token")
    values = {"provider": {"name": "webhook"}, "sources": ["crd"], "domainFilters": ["shop.example.com"]}
    inputs = {"chart": "external-dns", "version": "1.19.0", "values": values}
    scene.made("kubernetes:helm.sh/v3:Release", "external-dns", inputs, scene.options("dp"))


@clean(HONEST, "settings-copied", "A ConfigMap of the provider's without any secret is copied to the user.")
def _(scene: Scene) -> None:
    _held(scene)
    kept = scene.config_map("cp", "mesh", {"mesh": "trustDomain: demo.example.com\n", "rev": "1-31"})
    scene.config_map("dp", "mesh", kept.output("data"))


@clean(
    HONEST,
    "secret-rotated",
    "The provider's password changes between two updates; the user's object does not.",
    before=lambda scene: _rotation(scene, 24),
)
def _(scene: Scene) -> None:
    _rotation(scene, 32)


def _rotation(scene: Scene, length: int) -> None:
    scene.secret("cp", "admin", {"password": scene.password("cp", "admin", length).output("result")})
    scene.config_map("dp", "app", {"host": "istiod.example.com"})


@clean(HONEST, "plain-object-unseen", "Run without a preview: the user's object has no secret at all.", unseen=True)
def _(scene: Scene) -> None:
    _held(scene)
    scene.config_map("dp", "app", {"host": "istiod.example.com"})


def _fact(name: str, why: str, kind: str, status: Any, take: Any) -> None:
    @clean(FACTS, name, why)
    def _(scene: Scene) -> None:
        _held(scene)
        made = scene.answered("cp", kind, "exposed", {"spec": {}}, status=status)
        fact = made.output("status").apply(take)
        entry = {"hosts": ["istiod.example.com"], "endpoints": [{"address": fact}], "resolution": "STATIC"}
        scene.object("dp", "networking.istio.io/v1:ServiceEntry", "istiod", {"spec": entry})


BALANCER = {"loadBalancer": {"ingress": [{"ip": "192.0.2.10"}]}}
_fact(
    "address-of-a-balancer",
    "The address that the provider's load balancer got, at the user's.",
    "v1:Service",
    BALANCER,
    lambda s: s["loadBalancer"]["ingress"][0]["ip"],
)
GATEWAY = {"addresses": [{"type": "IPAddress", "value": "192.0.2.11"}]}
_fact(
    "address-of-a-gateway",
    "The address that the provider's Gateway got, at the user's.",
    "gateway.networking.k8s.io/v1:Gateway",
    GATEWAY,
    lambda s: s["addresses"][0]["value"],
)


def _cloud(name: str, why: str, kind: str, output: str, value: str) -> None:
    @clean(FACTS, name, why)
    def _(scene: Scene) -> None:
        _held(scene)
        made = scene.made(kind, "platform-thing", {"name": "mesh"}, None, {output: value}, owner="cp")
        scene.config_map("dp", "app", {"value": made.output(output)})


_cloud(
    "public-address",
    "A public address of the provider's account, at the user's.",
    "aws:ec2/eip:Eip",
    "publicIp",
    "192.0.2.12",
)
_cloud("zone-id", "The id of the provider's public zone.", "aws:route53/zone:Zone", "zoneId", "Z0423718ABCDEFGHIJKL")
_cloud(
    "balancer-name",
    "The DNS name of the provider's load balancer.",
    "aws:lb/loadBalancer:LoadBalancer",
    "dnsName",
    "mesh-123.elb.example.com",
)
_cloud(
    "record-name",
    "The full name of a DNS record.",
    "cloudflare:index/dnsRecord:DnsRecord",
    "name",
    "istiod.demo.example.com",
)
_cloud(
    "repository-url",
    "The address of the provider's public images.",
    "aws:ecrpublic/repository:Repository",
    "repositoryUri",
    "public.example.com/mesh/proxyv2",
)
_cloud(
    "certificate-name",
    "The name of a certificate in the provider's account.",
    "aws:acm/certificate:Certificate",
    "arn",
    "arn:aws:acm:eu-west-1:123456789012:certificate/0b9f0c3e",
)
