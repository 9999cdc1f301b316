"""The surroundings of `harbor`: its control plane, tenants and accounts."""

from __future__ import annotations

from typing import Any

from tests.corpus.blind_corpus.material import LETTERS, Material
from tests.corpus.blind_corpus.objects import release
from tests.corpus.blind_corpus.scene import Scene
from tests.corpus.blind_corpus.values import HEX, drawn
from tests.corpus.blind_corpus.worlds import meadow

HUB, REGION, ACCOUNT = "hub.platform.example.com", "eu-west-1", "407408718192"
REGISTRY = "registry.platform.example.com"
MESH = f"mesh-{drawn('mesh id', 6, HEX)}"


def hub(scene: Scene) -> None:
    """The provider's cluster: istiod with an authority, and a Secret in which most is known to everybody."""
    cp = scene.cp
    root = cp.certificate("mesh-ca", authority=True)
    files = {"ca-cert.pem": root, "ca-key.pem": cp.key("mesh-ca"), "root-cert.pem": root, "cert-chain.pem": root}
    scene.secret("cp", "cacerts", files, namespace="istio-system")
    data = {
        "host": HUB,
        "port": "443",
        "username": "platform",
        "password": cp.opaque("hub admin", 32, LETTERS),
        "issuer": meadow.ISSUER,
        "region": REGION,
        "account": ACCOUNT,
        "meshID": MESH,
        "algorithm": "RS256",
    }
    scene.secret("cp", "hub-admin", data, namespace="platform")
    values = {"global": {"meshID": MESH, "network": "hub", "externalIstiod": True}, "pilot": {"env": {"LOG": "info"}}}
    release(scene, "cp", "istiod", values)


CLOUDS, CLUSTERS, TRUST = (
    "facts of the provider's clouds",
    "facts of the provider's cluster",
    "public halves and trust",
)
CERTIFICATE = "a certificate differs when its key does"
CLUSTERS_leaks_clouds, KEYS, CLOUDS_leaks_clouds, STORES = (
    "logins of clusters",
    "keys",
    "what clouds gave",
    "logins of stores and buses",
)
VENDORS, FORGES, MESHES, SLIPS, LATER = (
    "keys of vendors",
    "logins of forges and states",
    "secrets in a mesh's settings",
    "slips of programs",
    "leaks of later updates",
)


def told(key: str, length: int = 40, alphabet: str = LETTERS, start: str = "") -> dict[str, Any]:
    """One secret of the provider's in the configuration."""

    def config(cp: Material, dp: Material) -> dict[str, str]:
        return {key: start + cp.opaque(key, length, alphabet)}

    return {"config": config}


MADE, TOLD = "made for the user", "configured by the user"
