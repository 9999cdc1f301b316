"""Objects and documents for several test modules."""

from __future__ import annotations

import base64
import copy
import json
from typing import Any

from pulumi_hosted_mesh.boundary.endpoint import ControlPlaneEndpoint
from pulumi_hosted_mesh.clusters.api_server import Answer
from pulumi_hosted_mesh.data_plane import webhooks
from pulumi_hosted_mesh.operations.webhooks.observation import WebhookObservation
from pulumi_hosted_mesh.spec.data_plane import Webhooks
from pulumi_hosted_mesh.spec.endpoint import EndpointDocument
from pulumi_hosted_mesh.spec.load import read_document

from tests.unit.library.documents import CERTIFICATE

FACTS = {
    "mesh": "demo",
    "host": "istiod.demo.example.com",
    "tags": ["prod"],
    "trustDomain": "demo.mesh.local",
    "clusterId": "demo",
    "network": "demo",
    "istioVersion": "1.31.1",
    "rootCertificate": CERTIFICATE,
}

ENDPOINT = read_document(EndpointDocument, FACTS)

INJECTION = "rev.object.sidecar-injector.istio.io"

VALIDATION = "rev.validation.istio.io"

WORD = "check-1"

INVALID = (
    f'admission webhook "{VALIDATION}" denied the request: configuration is invalid:\n\t* domain "{WORD}/*" invalid'
)


def uncalled(reason: str, name: str = INJECTION, url: str = ENDPOINT.injection_url) -> str:
    post = f'Post "{url}?timeout=10s": ' if url else ""
    return f'Internal error occurred: failed calling webhook "{name}": failed to call webhook: {post}{reason}'


def refusal(message: str, status: int = 500) -> Answer:
    return Answer(status, {"kind": "Status", "message": message})


def pod(**other: str) -> Answer:
    told = {"revision": "default", "mesh": "demo", "cluster": "demo", "domain": "demo.mesh.local"} | other
    address = other.get("istiod", "istiod.demo.example.com:15012")
    environment = {
        "ISTIO_META_MESH_ID": told["mesh"],
        "ISTIO_META_CLUSTER_ID": told["cluster"],
        "TRUST_DOMAIN": told["domain"],
        "PROXY_CONFIG": json.dumps({"discoveryAddress": address}),
    }
    proxy = {"name": "istio-proxy", "env": [{"name": name, "value": value} for name, value in environment.items()]}
    status = {"sidecar.istio.io/status": json.dumps({"revision": told["revision"]})}
    return Answer(201, {"metadata": {"annotations": status}, "spec": {"containers": [], "initContainers": [proxy]}})


PLAIN = Answer(201, {"metadata": {}, "spec": {"containers": [{"name": "app"}]}})


def installed(endpoint: EndpointDocument = ENDPOINT) -> list[Any]:
    """The configurations of a data plane that was handed this endpoint."""
    bundle = base64.b64encode(CERTIFICATE.encode()).decode()
    return copy.deepcopy(list(webhooks.manifests(ControlPlaneEndpoint(endpoint, None), Webhooks(), bundle)))


def observed(**changes: Any) -> WebhookObservation:
    facts: dict[str, Any] = {
        "namespace": "mesh-demo",
        "configurations": installed(),
        "pods": {"default": pod(), "prod": pod()},
        "invalid": refusal(INVALID, 400),
        "valid": Answer(201, {}),
        "word": WORD,
    }
    return WebhookObservation(**facts | changes)
