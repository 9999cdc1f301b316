"""What this set's programs have in common: the provider's cluster of a hosted mesh."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tests.corpus.strangers.material import LETTERS
from tests.corpus.strangers.objects import release
from tests.corpus.strangers.scene import Scene
from tests.corpus.strangers.sets.field.world import ISSUER
from tests.corpus.strangers.values import HEX, drawn
from tests.corpus.world import Object

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
        "issuer": ISSUER,
        "region": REGION,
        "account": ACCOUNT,
        "meshID": MESH,
        "algorithm": "RS256",
    }
    scene.secret("cp", "hub-admin", data, namespace="platform")
    values = {"global": {"meshID": MESH, "network": "hub", "externalIstiod": True}, "pilot": {"env": {"LOG": "info"}}}
    release(scene, "cp", "istiod", values)


def daemon(scene: Scene, side: str, name: str, env: Sequence[Mapping[str, Any]], **container: Any) -> Object:
    """An agent on each node."""
    labels = {"app.kubernetes.io/name": name}
    pod = {
        "serviceAccountName": name,
        "containers": [{"name": name, "image": f"{name}:7.1", "env": list(env), **container}],
    }
    body = {"spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": pod}}}
    return scene.object(side, "apps/v1:DaemonSet", name, body)
