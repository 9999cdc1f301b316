"""The advisory rules: each speaks for what it is about, and for nothing else."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from hosted_mesh_policies.evaluation.context import Context
from hosted_mesh_policies.evaluation.rule import Rule, judge
from hosted_mesh_policies.evaluation.settings import Settings
from hosted_mesh_policies.plan.clusters import ClusterConfig
from hosted_mesh_policies.plan.model import Provider, Resource, Stack
from hosted_mesh_policies.rules.advice import CERTIFICATES, CHART_VERSIONS, DISRUPTION, QUOTAS

from tests.support.authorities import DAY, NOW, Authority, pem

OURS = Provider("urn:pulumi:s::p::pulumi:providers:kubernetes::ours", "pulumi:providers:kubernetes", "ours", {})
SETTINGS = Settings(clusters=ClusterConfig(control_plane_providers=("ours",)))
CERTIFICATE = "tls:index/selfSignedCert:SelfSignedCert"


def _said(rule: Rule, *resources: tuple[str, dict[str, Any]]) -> list[str]:
    made = tuple(
        Resource(f"urn:{n}", kind, str(n), inputs=inputs, provider=OURS) for n, (kind, inputs) in enumerate(resources)
    )
    return [finding.path for finding in judge(rule, Context(Stack("s", made), SETTINGS))]


def _istiod(replicas: int, image: str = "a/pilot:1") -> tuple[str, dict[str, Any]]:
    container = {"name": "discovery", "image": image}
    spec = {"replicas": replicas, "template": {"spec": {"containers": [container]}}}
    return "kubernetes:apps/v1:Deployment", {"metadata": {"name": "istiod", "namespace": "m"}, "spec": spec}


@pytest.mark.parametrize(
    ("inputs", "paths"),
    [
        ({"validityPeriodHours": 24, "earlyRenewalHours": 8}, []),
        ({"validityPeriodHours": 24}, ["earlyRenewalHours"]),
        ({"validityPeriodHours": 24, "earlyRenewalHours": 24}, ["earlyRenewalHours"]),
        ({"validityPeriodHours": 24 * 500, "earlyRenewalHours": 8}, ["validityPeriodHours"]),
        ({"validityPeriodHours": 24 * 500, "earlyRenewalHours": 8, "isCaCertificate": True}, []),
    ],
)
def test_certificates(inputs: dict[str, Any], paths: list[str]) -> None:
    assert _said(CERTIFICATES, (CERTIFICATE, inputs)) == paths


@pytest.mark.parametrize(("days", "paths"), [(29, ['stringData["ca-cert.pem"]']), (31, [])])
def test_a_renewal_that_is_due(days: int, paths: list[str]) -> None:
    """Of a certificate that was brought, too; the root above it has its own life."""
    root = Authority("root", ends=NOW + 400 * DAY)
    brought = Authority("brought", by=root, ends=NOW + days * DAY)
    files = {"ca-cert.pem": pem(brought.certificate).decode(), "root-cert.pem": pem(root.certificate).decode()}
    secret = {"metadata": {"name": "cacerts", "namespace": "m"}, "stringData": files}
    assert _said(CERTIFICATES, ("kubernetes:core/v1:Secret", secret)) == paths
    encoded = {key: base64.b64encode(text.encode()).decode() for key, text in files.items()}
    stored = {"metadata": secret["metadata"], "data": encoded}
    assert _said(CERTIFICATES, ("kubernetes:core/v1:Secret", stored)) == [
        one.replace("stringData", "data") for one in paths
    ]


def test_quota() -> None:
    namespace = ("kubernetes:core/v1:Namespace", {"metadata": {"name": "m", "labels": {"hosted-mesh.io/mesh": "m"}}})
    quota = ("kubernetes:core/v1:ResourceQuota", {"metadata": {"name": "q", "namespace": "m"}})
    assert _said(QUOTAS, namespace) == [""]
    assert _said(QUOTAS, namespace, quota) == []


def test_disruption_budget() -> None:
    budget = ("kubernetes:policy/v1:PodDisruptionBudget", {"metadata": {"name": "b", "namespace": "m"}})
    assert _said(DISRUPTION, _istiod(1)) == []
    assert _said(DISRUPTION, _istiod(2)) == ["spec.replicas"]
    assert _said(DISRUPTION, _istiod(2), budget) == []


def test_versions() -> None:
    chart = "kubernetes:helm.sh/v4:Chart"
    assert _said(CHART_VERSIONS, (chart, {"chart": "istiod"})) == ["version"]
    assert (
        _said(CHART_VERSIONS, (chart, {"chart": "istiod", "version": "1.31.0"}), (chart, {"chart": "./charts/x"})) == []
    )
    assert _said(CHART_VERSIONS, (chart, {"chart": "https://charts.example.com/istiod-1.31.0.tgz"})) == []
    assert _said(CHART_VERSIONS, _istiod(1, "a/pilot")) == ["spec.template.spec.containers.image"]
