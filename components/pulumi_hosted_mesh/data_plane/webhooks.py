"""The webhook configurations of the user's cluster, by URL, as plain manifests.

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
from pulumi_hosted_mesh.vocabulary import DATA_PLANE, DEFAULT_REVISION, INJECTION_LABEL, REVISION_LABEL

ADMISSION = "admissionregistration.k8s.io/v1"
INJECT_LABEL = "sidecar.istio.io/inject"
ISTIO_GROUPS = ["security.istio.io", "networking.istio.io", "telemetry.istio.io", "extensions.istio.io"]
Manifest = dict[str, Any]


def ca_bundle(root_certificate: pulumi.Output[str]) -> pulumi.Output[str]:
    """The root certificate as the API server wants it in `clientConfig.caBundle`."""
    return root_certificate.apply(lambda pem: base64.b64encode(pem.encode()).decode())


def manifests(endpoint: ControlPlaneEndpoint, settings: Webhooks, bundle: pulumi.Input[str]) -> list[Manifest]:
    """Both configurations. `bundle` may be an output; all else is plain."""
    return [injection(endpoint, settings, bundle), validation(endpoint, settings, bundle)]


def injection(endpoint: ControlPlaneEndpoint, settings: Webhooks, bundle: pulumi.Input[str]) -> Manifest:
    """Sidecars for new Pods: of namespaces and of Pods that ask for this revision."""
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
    return {
        "apiVersion": ADMISSION,
        "kind": "MutatingWebhookConfiguration",
        "metadata": _metadata(endpoint, "istio-sidecar-injector"),
        "webhooks": [
            {**common, "name": f"{name}.sidecar-injector.istio.io", **selectors}
            for name, selectors in _injection_selectors(endpoint.revision).items()
        ],
    }


def validation(endpoint: ControlPlaneEndpoint, settings: Webhooks, bundle: pulumi.Input[str]) -> Manifest:
    """istiod checks each Istio object before it is stored: of this revision, or of none if this is the default one."""
    revision_matches = {"key": REVISION_LABEL, "operator": "In", "values": [endpoint.revision]}
    names = {"rev.validation.istio.io": [revision_matches]}
    if endpoint.revision == DEFAULT_REVISION:
        names["validation.istio.io"] = [{"key": REVISION_LABEL, "operator": "DoesNotExist"}]
    return {
        "apiVersion": ADMISSION,
        "kind": "ValidatingWebhookConfiguration",
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


def _injection_selectors(revision: str) -> dict[str, Manifest]:
    """Which Pods each webhook of the configuration is asked about; the same cases as in Istio's own chart."""
    wants = {"key": REVISION_LABEL, "operator": "In", "values": [revision]}
    not_refused = {"key": INJECT_LABEL, "operator": "NotIn", "values": ["false"]}
    unrevised = {"key": REVISION_LABEL, "operator": "DoesNotExist"}
    unlabelled = {"key": INJECTION_LABEL, "operator": "DoesNotExist"}
    cases = {
        "rev.namespace": _selectors([wants, unlabelled], [not_refused]),
        "rev.object": _selectors([unrevised, unlabelled], [not_refused, wants]),
    }
    if revision == DEFAULT_REVISION:
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


def _metadata(endpoint: ControlPlaneEndpoint, name: str) -> Manifest:
    """Names carry revision and namespace, so that several revisions live in one cluster."""
    revision = "" if endpoint.revision == DEFAULT_REVISION else f"-{endpoint.revision}"
    labels = {**vocabulary.labels(endpoint.name, DATA_PLANE), REVISION_LABEL: endpoint.revision}
    return {"name": f"{name}{revision}-{endpoint.namespace}", "labels": labels}
