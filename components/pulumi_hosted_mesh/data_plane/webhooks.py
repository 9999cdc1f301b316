"""The webhook configurations of the data plane's cluster, by URL, as plain manifests.

Istio's charts have them too. There timeouts are fixed, and the CA bundle is a chart value, unknown at the first
preview, which hides the whole chart. Integrators of `unmanaged` webhooks need the same manifests as tested here.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import pulumi

from pulumi_hosted_mesh import vocabulary
from pulumi_hosted_mesh.boundary.endpoint import ControlPlaneEndpoint
from pulumi_hosted_mesh.spec.data_plane import Webhooks
from pulumi_hosted_mesh.vocabulary import (
    DATA_PLANE,
    DEFAULT_REVISION,
    DEFAULT_TAG,
    GENERATION_ANNOTATION,
    INJECTION_LABEL,
    REVISION_LABEL,
    TAG_LABEL,
    WEBHOOK_SETTINGS_ANNOTATION,
    suffixed,
)

ADMISSION = "admissionregistration.k8s.io/v1"
INJECTION_KIND, VALIDATION_KIND = "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"
INJECT_LABEL = "sidecar.istio.io/inject"
ISTIO_GROUPS = ["security.istio.io", "networking.istio.io", "telemetry.istio.io", "extensions.istio.io"]
Manifest = dict[str, Any]


def ca_bundle(root_certificate: pulumi.Output[str]) -> pulumi.Output[str]:
    """The root certificate in the form of `clientConfig.caBundle`."""
    return root_certificate.apply(lambda pem: base64.b64encode(pem.encode()).decode())


def manifests(endpoint: ControlPlaneEndpoint, settings: Webhooks, bundle: pulumi.Input[str]) -> list[Manifest]:
    """All configurations of one revision: injection, one more for each of its tags, validation.

    While the tag `default` names another revision, the revision `default` has no injection of its own, or both would
    match the same Pods. Pulumi removes it after it has created the tag's, so there is no moment without injection.
    `bundle` may be an Output; all else is plain.
    """
    names = [None] if endpoint.document.injects else []
    injections = [injection(endpoint, settings, bundle, tag) for tag in (*names, *endpoint.document.tags)]
    return [*injections, validation(endpoint, settings, bundle)]


def is_of_a_tag(manifest: Manifest) -> bool:
    """Whether a configuration is a tag's, and so stays when another revision serves the tag."""
    return TAG_LABEL in manifest["metadata"]["labels"]


def injection(
    endpoint: ControlPlaneEndpoint, settings: Webhooks, bundle: pulumi.Input[str], tag: str | None = None
) -> Manifest:
    """Sidecars for new Pods in namespaces, or with labels, of this revision or one of its tags."""
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
        "metadata": _metadata(endpoint, name, common, tag),
        "webhooks": [
            {**common, "name": f"{case}.sidecar-injector.istio.io", **selectors}
            for case, selectors in _injection_selectors(tag or endpoint.revision).items()
        ],
    }


def validation(endpoint: ControlPlaneEndpoint, settings: Webhooks, bundle: pulumi.Input[str]) -> Manifest:
    """Validation of Istio objects of this revision, and for the default revision also of objects without one."""
    common = {
        "clientConfig": {"url": endpoint.validation_url, "caBundle": bundle},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "failurePolicy": settings.validation_failure_policy.value,
        "timeoutSeconds": settings.timeout_seconds,
        "matchPolicy": "Equivalent",
        "rules": [_rule(["CREATE", "UPDATE"], ISTIO_GROUPS, ["*"], ["*"])],
        "namespaceSelector": {},
    }
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
        "metadata": _metadata(endpoint, "istio-validator", common),
        "webhooks": [
            {"name": name, **common, "objectSelector": {"matchExpressions": expressions}}
            for name, expressions in names.items()
        ],
    }


def _injection_selectors(chosen_by: str) -> dict[str, Manifest]:
    """Selectors of each webhook in a configuration, with the same cases as Istio's chart.

    chosen_by: the revision or tag in the labels of namespaces and Pods.
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
        requested = {"key": INJECT_LABEL, "operator": "In", "values": ["true"]}
        cases["namespace"] = _selectors([enabled], [not_refused])
        cases["object"] = _selectors([unlabelled, unrevised], [requested, unrevised])
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


def settings_of(webhook: Mapping[str, Any]) -> str:
    """A webhook's settings in the document, as the annotation of its configuration has them."""
    return f"failurePolicy={webhook.get('failurePolicy')},timeoutSeconds={webhook.get('timeoutSeconds')}"


def _metadata(endpoint: ControlPlaneEndpoint, name: str, common: Manifest, tag: str | None = None) -> Manifest:
    """Names contain revision or tag, and namespace: a cluster may have several meshes and revisions.

    common: fields of all webhooks of the configuration.
    """
    labels = {**vocabulary.labels(endpoint.mesh, DATA_PLANE), REVISION_LABEL: endpoint.revision}
    generation = endpoint.document.generation
    annotations = {WEBHOOK_SETTINGS_ANNOTATION: settings_of(common)}
    others = {"annotations": annotations | ({GENERATION_ANNOTATION: generation} if generation else {})}
    if tag is not None:
        # istioctl lists tags by it (istioctl/pkg/tag).
        return {"name": f"{name}-{tag}-{endpoint.namespace}", "labels": {**labels, TAG_LABEL: tag}, **others}
    return {"name": f"{suffixed(name, endpoint.revision)}-{endpoint.namespace}", "labels": labels, **others}
