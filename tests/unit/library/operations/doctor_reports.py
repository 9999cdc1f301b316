"""Objects and documents for several test modules."""

from __future__ import annotations

import copy
from datetime import UTC, datetime, timedelta
from typing import Any

from cryptography.hazmat.primitives import serialization
from pulumi_hosted_mesh.federation.exports import with_declared
from pulumi_hosted_mesh.federation.manifests import objects
from pulumi_hosted_mesh.operations.doctor.access import AccessObservation
from pulumi_hosted_mesh.operations.doctor.configuration import ProxyConfiguration
from pulumi_hosted_mesh.operations.doctor.connection import GatewayConnection
from pulumi_hosted_mesh.operations.doctor.observation import ControlPlaneObservation, MeshObservation
from pulumi_hosted_mesh.operations.doctor.proxies import Proxy

from tests.support.authorities import DAY, NOW, Authority, pem
from tests.unit.library.federation.documents import REVIEWS, Manifest, document, federation

ROOT = Authority("root", ends=NOW + 1000 * DAY)

PAGE = Proxy("books", "page-1", "page", "default", True)


def files(authority: Authority, root: Authority = ROOT) -> dict[str, str]:
    key = authority.key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )
    certificate = pem(authority.certificate).decode()
    found = {"ca-cert.pem": certificate, "cert-chain.pem": certificate, "ca-key.pem": key.decode()}
    return found | {"root-cert.pem": pem(root.certificate).decode()}


SIGNED = files(Authority("east", ROOT, ends=NOW + 300 * DAY))

# What this project puts into a mesh's namespace of the control plane.
OWN_POLICY = {
    "metadata": {"name": "istiod"},
    "spec": {
        "podSelector": {},
        "policyTypes": ["Ingress", "Egress"],
        "ingress": [{"ports": [{"protocol": "TCP", "port": 15012}, {"protocol": "TCP", "port": 15017}]}],
        "egress": [{"ports": [{"protocol": "UDP", "port": 53}]}, {"ports": [{"protocol": "TCP", "port": 6443}]}],
    },
}


def given() -> Manifest:
    """East exports and imports, so that every kind of object is there."""
    both = document()
    both["peers"][0]["exports"] = [{**REVIEWS, "service": "page", "to": [{"mesh": "west", "identities": ["a/*"]}]}]
    return both


def well(what: Manifest | None = None) -> MeshObservation:
    known = federation(what or given())
    service = {
        "spec": {"ports": [{"port": 15021}, {"port": 15443}]},
        "status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.7"}]}},
    }
    istiod = {"metadata": {"name": "istiod", "namespace": "mesh-east"}, "status": {"readyReplicas": 1}}
    labels = {"app": "istiod", "istio.io/rev": "default"}
    return MeshObservation(
        objects=tuple(copy.deepcopy(objects(known, "east", with_declared(known, [])))),
        service=service,
        deployment={"status": {"readyReplicas": 1}, "spec": _template({"app": "eastwest"})},
        policies=(),
        root=pem(ROOT.certificate).decode(),
        resolved={"eastwest.east.example.com": ("192.0.2.7",), "eastwest.west.example.com": ("192.0.2.8",)},
        reached={
            f"eastwest.{mesh}.example.com": GatewayConnection(
                None, "192.0.2.7:15443", known.peer(mesh).gateway_identity
            )
            for mesh in ("east", "west")
        },
        proxies=(PAGE, Proxy("books", "new-1", "new", "canary", None)),
        revisions=frozenset({"default", "canary"}),
        wishes={"books": "default", "shop": "prod"},
        answered=frozenset({"default", "canary", "prod"}),
        tags={"prod": "canary"},
        clocks={"data plane": timedelta(seconds=0.3), "control plane": timedelta(seconds=-20)},
        now=datetime.now(UTC),
        control_plane=ControlPlaneObservation(
            cacerts=SIGNED,
            istiods=({**istiod, "spec": _template(labels, SCOPED)},),
            policies=(OWN_POLICY,),
            access=AccessObservation(None, "https://192.0.2.20:6443", "https://192.0.2.20:6443"),
        ),
        configured=(ProxyConfiguration(PAGE),),
    )


SCOPED: Manifest = {
    "containers": [{"name": "discovery", "env": [{"name": "PILOT_SCOPE_GATEWAY_TO_NAMESPACE", "value": "true"}]}]
}


def _template(labels: dict[str, str], spec: Manifest | None = None) -> Manifest:
    return {"template": {"metadata": {"labels": labels}, **({"spec": spec} if spec else {})}}


def service(**status: Any) -> Manifest:
    return {"spec": {"ports": [{"port": 15443}]}, "status": status}
