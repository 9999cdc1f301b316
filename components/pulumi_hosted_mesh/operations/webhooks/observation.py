"""Makes a data plane's API server call istiod's webhooks: by dry runs, so nothing is stored."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pulumi_hosted_mesh.clusters.api_server import Answer, ApiServer, RefusedError
from pulumi_hosted_mesh.clusters.kubeconfig import Kubeconfig
from pulumi_hosted_mesh.operations.webhooks.crds import versions_of
from pulumi_hosted_mesh.spec.endpoint import EndpointDocument
from pulumi_hosted_mesh.vocabulary import REVISION_LABEL, namespace_of

WEBHOOKS = "/apis/admissionregistration.k8s.io/v1"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
# The API server waits for a webhook for 30 seconds at most, and may call several.
SECONDS = 100.0


@dataclass(frozen=True)
class WebhookObservation:
    """Facts, without secrets.

    configurations: all webhook configurations of the cluster, of both kinds. pods: answers to a Pod, by the revision or
    tag in its label; by "" for a Pod without a label, in the user's namespace. invalid, valid: answers to a Gateway of
    this revision; istiod repeats the invalid one's `word` in its reason. crds: versions of Istio's CRDs by name; None
    if they may not be listed.
    """

    namespace: str
    configurations: Sequence[Mapping[str, Any]]
    pods: Mapping[str, Answer]
    invalid: Answer
    valid: Answer
    word: str
    crds: Mapping[str, str] | None = None


def observe(endpoint: EndpointDocument, data_plane: Kubeconfig, namespace: str | None = None) -> WebhookObservation:
    """Sends the dry runs. The credential needs the rights to list webhook configurations, and to create Pods and
    Gateways in the namespace; and to list CRDs, for their versions.

    namespace: a user's namespace with labels for injection. Default: the mesh's own; there the Pod's label selects the
    revision. Raises: UnreachableError if the API server does not answer, or forbids the listing.
    """
    api = ApiServer(data_plane)
    place, word = namespace or namespace_of(endpoint.mesh), f"check-{secrets.token_hex(4)}"
    configurations = [
        {**one, "kind": kind}
        for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
        for one in api.list(f"{WEBHOOKS}/{kind.lower()}s")
    ]
    pods = f"/api/v1/namespaces/{place}/pods"
    gateways = f"/apis/networking.istio.io/v1/namespaces/{place}/gateways"
    return WebhookObservation(
        namespace=place,
        configurations=configurations,
        pods={
            wanted: api.dry_run(pods, _pod(word, wanted), SECONDS)
            for wanted in ([""] if namespace else endpoint.asked_by)
        },
        invalid=api.dry_run(gateways, _gateway(word, endpoint.revision, f"*/{word}/*"), SECONDS),
        valid=api.dry_run(gateways, _gateway(word, endpoint.revision, f"{word}.example.com"), SECONDS),
        word=word,
        crds=_crds(api),
    )


def _crds(api: ApiServer) -> Mapping[str, str] | None:
    """Versions of Istio's CRDs. Listing them is optional, so without the right it returns None."""
    try:
        return versions_of(api.list(DEFINITIONS, metadata_only=True))
    except RefusedError:
        return None


def _pod(name: str, wanted: str) -> dict[str, Any]:
    """A Pod that the restricted Pod security standard accepts."""
    container = {
        "name": "app",
        "image": "example.com/never-started:1",
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        "resources": {"requests": {"cpu": "1m", "memory": "1Mi"}, "limits": {"cpu": "1m", "memory": "1Mi"}},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {REVISION_LABEL: wanted} if wanted else {}},
        "spec": {
            "automountServiceAccountToken": False,
            "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
            "containers": [container],
        },
    }


def _gateway(name: str, revision: str, host: str) -> dict[str, Any]:
    """A Gateway that is valid if its host is: istiod rejects a second slash, but the CRD's schema accepts it."""
    port = {"number": 80, "protocol": "HTTP", "name": "http"}
    return {
        "apiVersion": "networking.istio.io/v1",
        "kind": "Gateway",
        "metadata": {"name": name, "labels": {REVISION_LABEL: revision}},
        "spec": {"servers": [{"port": port, "hosts": [host]}]},
    }
