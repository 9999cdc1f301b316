"""The surroundings of `wren`: its control plane, tenants and accounts."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from typing import Any

import pulumi
import yaml
from cryptography import x509

from tests.corpus.blind_corpus.credentials import generated
from tests.corpus.blind_corpus.harmless import Harmless
from tests.corpus.blind_corpus.material import LETTERS, Material
from tests.corpus.blind_corpus.objects import at_home, in_account
from tests.corpus.blind_corpus.scene import Scene
from tests.corpus.blind_corpus.values import AWS_ID, HEX, b64, drawn

DOMAIN, LIME, SORREL = "wren.example.com", "lime.example.com", "sorrel.example.com"
REGION, ACCOUNT, LIME_ACCOUNT = "eu-north-1", "730156648219", "164980237715"
WREN = f"wren-{drawn('wren id', 8, HEX)}"
ISSUER = f"https://id.{DOMAIN}/realms/mesh"
WORLD = Material("world", 0)
"""Keys of nobody in these programs: of public authorities and of people elsewhere."""
ROOTS = "".join(WORLD.certificate(f"public-root-{at}", authority=True) for at in range(2))
CERTIFICATE, PUBLIC = "a certificate differs when its key does", "a public key differs when its key does"


def wren(scene: Scene) -> None:
    """The provider's cluster: what runs there has its Secrets, in which much is known to everybody."""
    cp = scene.cp
    root, bucket = cp.certificate("wren-root", authority=True), f"wren-thanos-{drawn('wren bucket', 6, HEX)}"
    store = {"type": "S3", "config": {"bucket": bucket, "region": REGION, "endpoint": f"s3.{REGION}.amazonaws.com", "access_key": f"AKIA{cp.opaque('wren thanos id', 16, AWS_ID)}", "secret_key": cp.opaque("wren thanos", 40, LETTERS)}}  # fmt: skip
    data: dict[str, tuple[str, Mapping[str, Any]]] = {
        "cacerts": ("istio-system", {"ca-cert.pem": root, "ca-key.pem": cp.key("wren-root"), "root-cert.pem": root, "cert-chain.pem": root}),
        "cloudflare": ("external-dns", {"apiToken": cp.opaque("wren cloudflare", 40, LETTERS), "zone": DOMAIN}),
        "tsig": ("external-dns", {"keyname": f"wren.{DOMAIN}.", "algorithm": "hmac-sha256", "secret": b64(cp.raw("wren tsig"))}),
        "linkerd-identity-issuer": ("linkerd", {"crt.pem": cp.certificate("wren-linkerd", "wren-root", authority=True), "key.pem": cp.key("wren-linkerd"), "ca.crt": root}),
        "thanos-objstore": ("monitoring", {"objstore.yml": yaml.safe_dump(store)}),
        "keycloak": ("login", {"KC_DB_URL": f"jdbc:postgresql://pg.{DOMAIN}:5432/keycloak", "KC_DB_USERNAME": "keycloak", "KC_DB_PASSWORD": cp.opaque("wren keycloak", 32, LETTERS), "KC_HOSTNAME": f"id.{DOMAIN}"}),
        "flux-git": ("flux-system", {"identity": cp.key("wren flux"), "identity.pub": cp.public_ssh("wren flux"), "known_hosts": f"git.{DOMAIN} {WORLD.public_ssh('wren git')}\n"}),
        "vault-unseal": ("vault", {"token": f"hvs.{cp.opaque('wren vault', 90, LETTERS)}", "address": f"https://vault.{DOMAIN}"}),
        "datadog": ("monitoring", {"api-key": cp.opaque("wren datadog", 32, HEX), "app-key": cp.opaque("wren datadog app", 40, HEX), "site": "datadoghq.eu"}),
        "registry-admin": ("registry", {".dockerconfigjson": json.dumps({"auths": {f"registry.{DOMAIN}": {"auth": b64("robot$mesh:" + cp.opaque("wren robot", 32, LETTERS))}}})}),
        "hub-kubeconfig": ("fleet", {"value": cp.kubeconfig("wren-admin", f"https://api.{DOMAIN}:6443")}),
        "gossip": ("consul", {"key": b64(cp.raw("wren gossip")), "datacenter": "wren-eu"}),
    }  # fmt: skip
    at_home(scene, "wren", DOMAIN, WREN, data)


lime = functools.partial(in_account, "lime")
"""A resource in an account of the tenant's."""
hosted = functools.partial(generated, namespace="platform")
"""A generated password of the provider's, which a Secret of its own cluster keeps."""


def tenants_own(scene: Scene, name: str, length: int = 32, tenant: str = "lime") -> pulumi.Output[str]:
    """A password that the program generates for a tenant, and for nobody else."""
    return scene.password("dp", f"{tenant}-{name}", length).output("result")


def home(scene: Scene, kind: str, name: str, inputs: Mapping[str, Any], answers: Mapping[str, Any] | None = None, secret: tuple[str, ...] = (), **login: Any) -> Any:  # fmt: skip
    """A resource in an account of the provider's, by a provider that has its name and logs in as it."""
    return in_account("wren", scene, kind, name, inputs, answers, secret, owner="cp", **login)


harmless = Harmless(wren, "The tenant's {where} has {what}.")
plain, files, chart = harmless.plain, harmless.files, harmless.chart
ANSWERED, SPLIT, HALVES, KINDS, WIRED = (
    "answers of services with a login",
    "the public part of a secret document",
    "public halves of keys",
    "kinds, names and numbers of secrets",
    "facts through code",
)
HOSTS, KEYS, SCRIPTS, LOCKS, BOARDS = (
    "settings of servers",
    "public keys and signatures in files",
    "scripts and statements",
    "locks and checksums",
    "boards, rules and patterns",
)
ROOTS_files = x509.load_pem_x509_certificates(ROOTS.encode())
SERVICES, MACHINES, CLUSTERS, CARRIED = (
    "into services of a tenant",
    "into machines and functions",
    "into objects and charts",
    "carried by a hub",
)
SERVED, FORGES, CLUSTERS_own, BETWEEN, STAYS, UP = (
    "of a tenant's own services",
    "of a tenant's own forges",
    "generated for a tenant's cluster",
    "between clusters of one tenant",
    "the provider's, which stay",
    "up to the provider",
)


def given(**lengths: int) -> Callable[[Material, Material], dict[str, str]]:
    """Configuration of tokens that the tenant sent, by which the program logs in at the tenant's services."""
    return lambda cp, dp: {f"lime:{key}": dp.opaque(f"lime {key}", length, LETTERS) for key, length in lengths.items()}
