"""The API server of a data plane is made to call istiod's webhooks: by dry runs, so nothing is stored."""

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
# The API server waits for a webhook for 30 seconds at most, and may have several to ask.
SECONDS = 100.0


@dataclass(frozen=True)
class Observed:
    """Facts. Nothing in it is a secret.

    configurations: all webhook configurations of the cluster, of both kinds. pods: answers to a Pod by the revision or
    tag that it asked for; by "" to one that asks for none, in a namespace of the user's. invalid, valid: answers to a
    Gateway of this revision; `word` stands in the invalid one where istiod's reason repeats it. crds: versions of
    Istio's definitions by name; None where they may not be listed.
    """

    namespace: str
    configurations: Sequence[Mapping[str, Any]]
    pods: Mapping[str, Answer]
    invalid: Answer
    valid: Answer
    word: str
    crds: Mapping[str, str] | None = None


def observe(endpoint: EndpointDocument, data_plane: Kubeconfig, namespace: str | None = None) -> Observed:
    """Asks the API server. It needs these rights: list webhook configurations, create Pods and Gateways there;
    and list CRDs to know which are there, and their version.

    namespace: whose labels decide, as they do for the user's Pods; by default the mesh's own, where a Pod says itself
    which revision it wants. Raises: UnreachableError if the API server does not answer, or the listing is not allowed.
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
    return Observed(
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
    """Beside the question: who may not list them is not told of them."""
    try:
        return versions_of(api.list(DEFINITIONS, metadata_only=True))
    except RefusedError:
        return None


def _pod(name: str, wanted: str) -> dict[str, Any]:
    """One that the restricted Pod security standard accepts."""
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
    """One whose validity is the host's: istiod refuses a second slash, which the CRD's schema lets pass."""
    port = {"number": 80, "protocol": "HTTP", "name": "http"}
    return {
        "apiVersion": "networking.istio.io/v1",
        "kind": "Gateway",
        "metadata": {"name": name, "labels": {REVISION_LABEL: revision}},
        "spec": {"servers": [{"port": port, "hosts": [host]}]},
    }
