"""Objects and documents for several test modules."""

from __future__ import annotations

from typing import Any

from hosted_mesh_plan.tree import UNKNOWN

AWAY: dict[str, tuple[str, dict[str, Any]]] = {
    "argo": ("argoproj.io/v1alpha1:Application", {"destination": {"server": "https://dp.example.com:6443"}}),
    "argo, nobody's": ("argoproj.io/v1alpha1:Application", {"destination": {"server": "https://x.example.com"}}),
    "argo, by name": ("argoproj.io/v1alpha1:Application", {"destination": {"name": "shop"}}),
    "argo, not known yet": ("argoproj.io/v1alpha1:Application", {"destination": {"server": UNKNOWN}}),
    "argo, a set": (
        "argoproj.io/v1alpha1:ApplicationSet",
        {"template": {"spec": {"destination": {"name": "{{name}}"}}}},
    ),
    "flux": ("helm.toolkit.fluxcd.io/v2:HelmRelease", {"kubeConfig": {"secretRef": {"name": "shop"}}}),
    "flux, patches": ("kustomize.toolkit.fluxcd.io/v1:Kustomization", {"kubeConfig": {"secretRef": {"name": "shop"}}}),
    "crossplane": ("kubernetes.crossplane.io/v1alpha2:Object", {"providerConfigRef": {"name": "shop"}}),
    "crossplane, a chart": ("helm.crossplane.io/v1beta1:Release", {"providerConfigRef": {"name": "shop"}}),
    "ocm": ("work.open-cluster-management.io/v1:ManifestWork", {}),
    "fleet": ("fleet.cattle.io/v1alpha1:Bundle", {}),
    "karmada": ("work.karmada.io/v1alpha1:Work", {}),
    "sveltos": ("config.projectsveltos.io/v1beta1:ClusterProfile", {}),
    "cluster api": ("bootstrap.cluster.x-k8s.io/v1beta1:KubeadmConfigTemplate", {}),
    "kubefed": ("types.kubefed.io/v1beta1:FederatedSecret", {}),
    "kubevela": ("core.oam.dev/v1beta1:Application", {"policies": [{"properties": {"clusters": ["shop"]}}]}),
}

HERE: dict[str, tuple[str, dict[str, Any]]] = {
    "argo": ("argoproj.io/v1alpha1:Application", {"destination": {"server": "https://kubernetes.default.svc"}}),
    "argo, by address": (
        "argoproj.io/v1alpha1:Application",
        {"destination": {"server": "https://cp.example.com:6443"}},
    ),
    "argo, by name": ("argoproj.io/v1alpha1:Application", {"destination": {"name": "in-cluster"}}),
    "argo, nowhere": ("argoproj.io/v1alpha1:Application", {"destination": {"namespace": "shop"}}),
    "flux": ("helm.toolkit.fluxcd.io/v2:HelmRelease", {}),
    "crossplane": ("kubernetes.crossplane.io/v1alpha2:Object", {"providerConfigRef": {"name": "itself"}}),
    "crossplane, named in the settings": (
        "kubernetes.crossplane.io/v1:Object",
        {"providerConfigRef": {"name": "hub-1"}},
    ),
    "kubevela": ("core.oam.dev/v1beta1:Application", {"policies": [{"properties": {"clusters": ["local"]}}]}),
}

TAKEN: dict[str, tuple[str, dict[str, Any]]] = {
    "flux": (
        "helm.toolkit.fluxcd.io/v2:HelmRelease",
        {"kubeConfig": {"secretRef": {"name": "shop"}}, "valuesFrom": [{"kind": "Secret", "name": "values"}]},
    ),
    "crossplane": (
        "helm.crossplane.io/v1beta1:Release",
        {
            "providerConfigRef": {"name": "shop"},
            "forProvider": {"set": [{"valueFrom": {"secretKeyRef": {"name": "values", "namespace": "shop"}}}]},
        },
    ),
    "cluster api": (
        "addons.cluster.x-k8s.io/v1beta1:ClusterResourceSet",
        {"resources": [{"kind": "Secret", "name": "values"}]},
    ),
    "sveltos": (
        "config.projectsveltos.io/v1beta1:ClusterProfile",
        {"policyRefs": [{"kind": "Secret", "name": "values", "namespace": "shop"}]},
    ),
    "karmada": (
        "policy.karmada.io/v1alpha1:PropagationPolicy",
        {"resourceSelectors": [{"kind": "Secret", "labelSelector": {"matchLabels": {"to": "shop"}}}]},
    ),
    "kubefleet": (
        "placement.kubernetes-fleet.io/v1:ClusterResourcePlacement",
        {"resourceSelectors": [{"kind": "Namespace", "name": "remote"}]},
    ),
}
