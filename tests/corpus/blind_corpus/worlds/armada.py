"""The surroundings of `armada`: its control plane, tenants and accounts."""

from __future__ import annotations

import json

import yaml

from tests.corpus.blind_corpus.harmless import Harmless
from tests.corpus.blind_corpus.material import LETTERS
from tests.corpus.blind_corpus.objects import release
from tests.corpus.blind_corpus.scene import SERVERS, Scene
from tests.corpus.blind_corpus.values import AWS_ID, HEX, b64, drawn, uid

DOMAIN = "fleet.example.com"
ACCOUNT, TENANT_ACCOUNT, REGION, ZONE = "640184295713", "218906477350", "eu-central-1", "Z08413772Q6WJX5M1K4TN"
VPC = f"vpc-{drawn('fleet vpc', 17, HEX)}"
SUBNETS = [f"subnet-{drawn(f'fleet subnet {at}', 17, HEX)}" for at in range(3)]
FLEET = f"fleet-{drawn('fleet id', 8, HEX)}"
SSO = f"https://sso.{DOMAIN}/realms/fleet"
AUDIENCE = uid("fleet audience")
PUBLIC = "a public key differs when its key does"


def control_plane(scene: Scene) -> None:
    """istiod's cluster: an authority, logins of GitOps, stores and telemetry, among words that all clusters share."""
    cp = scene.cp
    root = cp.certificate("fleet-ca", authority=True)
    authority = {"ca-cert.pem": root, "ca-key.pem": cp.key("fleet-ca"), "root-cert.pem": root, "cert-chain.pem": root}
    scene.secret("cp", "cacerts", authority, namespace="istio-system")
    logins = {
        "issuer": SSO,
        "clientID": "argocd",
        "audience": AUDIENCE,
        "clientSecret": cp.opaque("fleet sso", 32, LETTERS),
        "fleet": FLEET,
        "zone": ZONE,
    }
    scene.secret("cp", "fleet-sso", logins, namespace="argocd")
    settings = {
        "region": REGION,
        "account": ACCOUNT,
        "vpc": VPC,
        "subnets": SUBNETS,
        "telemetry": {"url": f"https://metrics.{DOMAIN}/api/v1/push", "password": cp.opaque("fleet push", 40, LETTERS)},
        "walg": {"bucket": f"{FLEET}-wal", "key": "AKIA" + cp.opaque("walg id", 16, AWS_ID), "secret": cp.opaque("walg", 40, LETTERS)},
        "cache": {"host": f"cache.{DOMAIN}", "port": 6380, "user": "default", "password": cp.opaque("fleet cache", 32)},
    }  # fmt: skip
    scene.secret("cp", "fleet-settings", {"settings.yaml": yaml.safe_dump(settings)}, namespace="fleet-system")
    cluster = json.dumps({"bearerToken": cp.jwt("argocd-manager"), "tlsClientConfig": {"caData": b64(root)}})
    labels = {"argocd.argoproj.io/secret-type": "cluster", "fleet.example.com/tier": "control-plane"}
    data = {"name": "control-plane", "server": SERVERS["cp"], "config": cluster}
    scene.secret("cp", "cluster-control-plane", data, labels=labels, namespace="argocd")
    release(scene, "cp", "istiod", {"global": {"meshID": FLEET, "externalIstiod": True}, "pilot": {"replicaCount": 2}})


harmless = Harmless(control_plane)
plain_object, plain_chart = harmless.plain, harmless.chart
TRUST, LOGINS = "trust and certificates", "clients and issuers"
GITOPS, STORES, TRUST_leaks_places, DATA, TELEMETRY = (
    "slips of GitOps",
    "slips of stores",
    "slips of trust",
    "logins of the hub's data",
    "logins of the hub's telemetry",
)
MESHES, POLICIES, TEXTS, CHARTS = (
    "objects of a mesh",
    "policies",
    "long texts",
    "values of charts",
)
DATA_own, TELEMETRY_own, VENDORS = "the tenant's data", "the tenant's telemetry", "the tenant's vendors"
