"""The webhook configurations of the data plane's cluster, by URL, as plain manifests.

Istio's charts have them too, but there time-outs are fixed, a CA bundle would have to be a chart value (unknown at the
first preview, which hides the whole chart), and an integrator who takes them over would not get what we tested.
"""

from __future__ import annotations

import base64
from typing import Any

import pulumi

from pulumi_hosted_mesh import vocabulary
from pulumi_hosted_mesh.boundary.endpoint import ControlPlaneEndpoint
from pulumi_hosted_mesh.spec.data_plane import Webhooks
from pulumi_hosted_mesh.vocabulary import (
    DATA_PLANE,
    DEFAULT_REVISION,
    DEFAULT_TAG,
    INJECTION_LABEL,
    REVISION_LABEL,
    TAG_LABEL,
    suffixed,
)

ADMISSION = "admissionregistration.k8s.io/v1"
INJECTION_KIND, VALIDATION_KIND = "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"
INJECT_LABEL = "sidecar.istio.io/inject"
ISTIO_GROUPS = ["security.istio.io", "networking.istio.io", "telemetry.istio.io", "extensions.istio.io"]
Manifest = dict[str, Any]


def ca_bundle(root_certificate: pulumi.Output[str]) -> pulumi.Output[str]:
    """The root certificate as the API server wants it in `clientConfig.caBundle`."""
    return root_certificate.apply(lambda pem: base64.b64encode(pem.encode()).decode())


def manifests(endpoint: ControlPlaneEndpoint, settings: Webhooks, bundle: pulumi.Input[str]) -> list[Manifest]:
    """All configurations of one revision: injection, one more for each of its tags, validation.

    The revision `default` has none of its own while the tag of that name is another's, or both would be asked about the
    same Pods. Pulumi removes it after the tag's is there, so there is no moment without one.
    `bundle` may be an output; all else is plain.
    """
    names = [None] if endpoint.document.injects else []
    asked = [injection(endpoint, settings, bundle, tag) for tag in (*names, *endpoint.document.tags)]
    return [*asked, validation(endpoint, settings, bundle)]


def is_of_a_tag(manifest: Manifest) -> bool:
    """Whether a configuration is a tag's, and so stays when another revision serves the tag."""
    return TAG_LABEL in manifest["metadata"]["labels"]


def injection(
    endpoint: ControlPlaneEndpoint, settings: Webhooks, bundle: pulumi.Input[str], tag: str | None = None
) -> Manifest:
    """Sidecars for new Pods: of namespaces and of Pods that ask for this revision, or for a tag that names it."""
    common = {
        "clientConfig": {"url": endpoint.injection_url, "caBundle": bundle},
        "sideEffects": "None",
        "reinvocationPolicy": "Never",
        "admissionReviewVersions": ["v1"],
        "failurePolicy": settings.injection_failure_policy.value,
        "timeoutSeconds": settings.timeout_seconds,
        "matchPolicy": "Equivalent",
        "rules": [_rule(["CREATE"], [""], ["v1"], ["pods"])],
    }
    name = "istio-sidecar-injector" if tag is None else "istio-revision-tag"
    return {
        "apiVersion": ADMISSION,
        "kind": INJECTION_KIND,
        "metadata": _metadata(endpoint, name, tag),
        "webhooks": [
            {**common, "name": f"{case}.sidecar-injector.istio.io", **selectors}
            for case, selectors in _injection_selectors(tag or endpoint.revision).items()
        ],
    }


def validation(endpoint: ControlPlaneEndpoint, settings: Webhooks, bundle: pulumi.Input[str]) -> Manifest:
    """istiod checks each Istio object before it is stored: of this revision, or of none if this is the default one."""
    revision_matches = {
        "key": REVISION_LABEL,
        "operator": "In",
        "values": [endpoint.revision, *(tag for tag in endpoint.document.tags if tag != DEFAULT_TAG)],
    }
    names = {"rev.validation.istio.io": [revision_matches]}
    if endpoint.is_default:
        names["validation.istio.io"] = [{"key": REVISION_LABEL, "operator": "DoesNotExist"}]
    return {
        "apiVersion": ADMISSION,
        "kind": VALIDATION_KIND,
        "metadata": _metadata(endpoint, "istio-validator"),
        "webhooks": [
            {
                "name": name,
                "clientConfig": {"url": endpoint.validation_url, "caBundle": bundle},
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
                "failurePolicy": settings.validation_failure_policy.value,
                "timeoutSeconds": settings.timeout_seconds,
                "matchPolicy": "Equivalent",
                "rules": [_rule(["CREATE", "UPDATE"], ISTIO_GROUPS, ["*"], ["*"])],
                "namespaceSelector": {},
                "objectSelector": {"matchExpressions": expressions},
            }
            for name, expressions in names.items()
        ],
    }


def _injection_selectors(chosen_by: str) -> dict[str, Manifest]:
    """Which Pods each webhook of a configuration is asked about; the same cases as in Istio's own chart.

    chosen_by: the revision or tag that namespaces and Pods name.
    """
    wants = {"key": REVISION_LABEL, "operator": "In", "values": [chosen_by]}
    not_refused = {"key": INJECT_LABEL, "operator": "NotIn", "values": ["false"]}
    unrevised = {"key": REVISION_LABEL, "operator": "DoesNotExist"}
    unlabelled = {"key": INJECTION_LABEL, "operator": "DoesNotExist"}
    cases = {
        "rev.namespace": _selectors([wants, unlabelled], [not_refused]),
        "rev.object": _selectors([unrevised, unlabelled], [not_refused, wants]),
    }
    if chosen_by == DEFAULT_REVISION:
        enabled = {"key": INJECTION_LABEL, "operator": "In", "values": ["enabled"]}
        asked = {"key": INJECT_LABEL, "operator": "In", "values": ["true"]}
        cases["namespace"] = _selectors([enabled], [not_refused])
        cases["object"] = _selectors([unlabelled, unrevised], [asked, unrevised])
    return cases


def _selectors(namespace: list[Manifest], pod: list[Manifest]) -> Manifest:
    return {"namespaceSelector": {"matchExpressions": namespace}, "objectSelector": {"matchExpressions": pod}}


def _rule(operations: list[str], groups: list[str], versions: list[str], resources: list[str]) -> Manifest:
    return {
        "operations": operations,
        "apiGroups": groups,
        "apiVersions": versions,
        "resources": resources,
        "scope": "*",
    }


def _metadata(endpoint: ControlPlaneEndpoint, name: str, tag: str | None = None) -> Manifest:
    """Names carry revision or tag, and namespace, so that several meshes and revisions live in one cluster."""
    labels = {**vocabulary.labels(endpoint.mesh, DATA_PLANE), REVISION_LABEL: endpoint.revision}
    if tag is not None:
        # istioctl lists tags by it (istioctl/pkg/tag).
        return {"name": f"{name}-{tag}-{endpoint.namespace}", "labels": {**labels, TAG_LABEL: tag}}
    return {"name": f"{suffixed(name, endpoint.revision)}-{endpoint.namespace}", "labels": labels}
