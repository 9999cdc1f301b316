"""The tool that manages an installation of Istio, from its labels and annotations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pulumi_hosted_mesh.vocabulary import MANAGED_BY, MANAGED_BY_LABEL

UNKNOWN = "unknown"
HELM_LABEL = "app.kubernetes.io/managed-by"
HELM_RELEASE = "meta.helm.sh/release-name"
SAIL_GROUP = "sailoperator.io/"


def manager_of(manifest: Mapping[str, Any]) -> str:
    """`hosted-mesh`, `sail-operator`, `maistra`, `istioctl`, `argocd`, `flux`, `helm`, `helm template` or `unknown`.

    The order matters: operators and GitOps tools use Helm's charts, and their objects have Helm's labels too.
    """
    metadata = manifest.get("metadata") or {}
    labels, annotations = metadata.get("labels") or {}, metadata.get("annotations") or {}
    owners = metadata.get("ownerReferences") or []
    if labels.get(MANAGED_BY_LABEL) == MANAGED_BY:
        return MANAGED_BY
    if labels.get(HELM_LABEL) == "sail-operator" or any(
        str(one.get("apiVersion", "")).startswith(SAIL_GROUP) for one in owners
    ):
        return "sail-operator"
    if "maistra.io/owner" in labels:
        return "maistra"
    # operator/pkg/install/install.go: istioctl and Istio's former operator set this label.
    if labels.get("operator.istio.io/managed") == "Reconcile":
        return "istioctl"
    if "argocd.argoproj.io/instance" in labels or "argocd.argoproj.io/tracking-id" in annotations:
        return "argocd"
    if "helm.toolkit.fluxcd.io/name" in labels:
        return "flux"
    if labels.get(HELM_LABEL) == "Helm":
        return "helm" if HELM_RELEASE in annotations else "helm template"
    return UNKNOWN
