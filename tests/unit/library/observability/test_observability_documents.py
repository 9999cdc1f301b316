"""Observability documents that are rejected, each with one line."""

from __future__ import annotations

from typing import Any

import pytest
from pulumi_hosted_mesh.problems import InvalidInputError
from pulumi_hosted_mesh.spec.load import read_document
from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.spec.observability import Observability

from tests.unit.library.documents import CERTIFICATE
from tests.unit.library.documents import document as mesh_document
from tests.unit.library.observability.documents import document, read

KIALI = {"readers": ["login"]}
TRACES = {"to": "traces.example.com:4317"}
BAD: dict[str, tuple[dict[str, Any], str]] = {
    "port of istiod": (document({"port": 15012}), "collector.port: is a port of istiod or"),
    "port of no one": (document({"port": 70000}), "collector.port: must be at most 65535"),
    "port as text": (document({"port": "15018"}), "collector.port: must be a whole number, without quotes"),
    "address as host": (document({"host": "203.0.113.7"}), "collector.host: is an IP address"),
    "host of one cluster": (document({"host": "collector.obs.svc"}), "collector.host: is a name that only one cluster"),
    "no host": (document({"host": None}), "collector: host is required by a collector. Add host, or set placement"),
    "no image": (document({"image": None}), "collector: image is required by a collector"),
    "image without tag": (document({"image": "collector"}), "collector.image: must be an image with a tag or a digest"),
    "no exposure": (document({"exposure": None}), "collector: exposure is required on the control plane"),
    "open to all": (document({"exposure": {}}), "collector.exposure: sourceRanges is empty"),
    "key to the data plane": (
        document({"placement": "data-plane"}, prometheus={"placement": "data-plane"}),
        "collector: serverSecret is required on the data plane",
    ),
    "long retention": (document(prometheus={"retentionDays": 401}), "prometheus.retentionDays: must be at most 400"),
    "no retention": (document(prometheus={"retentionDays": 0}), "prometheus.retentionDays: must be at least 1"),
    "storage": (document(prometheus={"storage": "ten"}), "prometheus.storage: must be a Kubernetes quantity"),
    "interval": (document(prometheus={"scrapeInterval": "15"}), "prometheus.scrapeInterval: must be a number of sec"),
    "unknown part": (document(grafana={}), "grafana: is not a field of the document"),
    "misspelt part": (document(promethius={}), "promethius: is not a field of the document. Did you mean prometheus?"),
    "unknown placement": (document({"placement": "cloud"}), "collector.placement: must be one of"),
    "nothing": ({"mesh": "demo"}, "(document): has no part that is on"),
    "Prometheus alone": (document({"placement": "none"}), "(document): prometheus has nothing to read without a coll"),
    "apart": (
        document(prometheus={"placement": "data-plane"}),
        "(document): prometheus and collector have different placements",
    ),
    "Kiali alone": (
        {"mesh": "demo", "accessLogs": "gateways", "kiali": KIALI},
        "(document): kiali has no traffic to show without prometheus on the control plane",
    ),
    "Kiali without Prometheus": (
        document(prometheus={"placement": "none"}, kiali=KIALI),
        "(document): kiali has no traffic to show without prometheus on the control plane",
    ),
    "Kiali on the data plane": (
        document(kiali={**KIALI, "placement": "data-plane"}),
        "kiali: placement data-plane is not possible",
    ),
    "unknown login": (document(kiali={"login": "openshift"}), "kiali.login: must be one of 'anonymous' or 'token'"),
    "open Kiali": (document(kiali={}), "kiali: readers is required with login: anonymous"),
    "data plane twice": (document(kiali={**KIALI, "dataPlanes": ["a", "a"]}), "kiali: dataPlanes has a name twice"),
    "token for two": (
        document(kiali={"login": "token", "dataPlanes": ["a", "b"]}),
        "kiali: dataPlanes has several names, but a token is valid in one cluster",
    ),
    "home as data plane": (
        document(kiali={**KIALI, "dataPlanes": ["control-plane"]}),
        "kiali: dataPlanes has control-plane, Kiali's name of its own cluster",
    ),
    "cluster named as home": (
        document(kiali=KIALI, clusterId="control-plane"),
        "(document): clusterId is control-plane, Kiali's name of its own cluster",
    ),
    "unknown field of Kiali": (
        document(kiali={**KIALI, "strategy": "token"}),
        "kiali.strategy: is not a field of the document",
    ),
    "traces without collector": (
        {"mesh": "demo", "accessLogs": "gateways", "traces": {"to": "traces.example.com:4317"}},
        "(document): traces has no collector to send spans to. Add collector, or remove traces.",
    ),
    "traces to no one": (document(traces={}), "traces.to: is required"),
    "traces without port": (
        document(traces={"to": "traces.example.com"}),
        "traces.to: must be HOST:PORT of an OTLP rec",
    ),
    "traces to a URL": (document(traces={"to": "http://x:4317"}), "traces.to: must be HOST:PORT of an OTLP receiver"),
    "traces to a high port": (
        document(traces={"to": "x.example.com:70000"}),
        "traces.to: must be HOST:PORT of an OTLP",
    ),
    "no sampling": (
        document(traces={**TRACES, "samplingPercent": 0}),
        "traces.samplingPercent: must be a number above 0, at most",
    ),
    "much sampling": (
        document(traces={**TRACES, "samplingPercent": 101}),
        "traces.samplingPercent: must be a number above 0, at most",
    ),
    "sampling as text": (
        document(traces={**TRACES, "samplingPercent": "ten"}),
        "traces.samplingPercent: must be a number",
    ),
    "plaintext outside": (
        document(traces={**TRACES, "plaintext": True}),
        "traces: plaintext is for a Service of the collector's own cluster, and to is none",
    ),
    "plaintext to a name like a Service's": (
        document(traces={"to": "jaeger.tracing.svc.example.com:4317", "plaintext": True}),
        "traces: plaintext is for a Service of the collector's own cluster, and to is none",
    ),
    "authority for plaintext": (
        document(traces={"to": "jaeger.tracing.svc:4317", "plaintext": True, "certificateAuthority": CERTIFICATE}),
        "traces: certificateAuthority has no effect with plaintext",
    ),
    "key for traces": (
        document(traces={**TRACES, "certificateAuthority": f"{CERTIFICATE}\n-----BEGIN PRIVATE KEY-----"}),
        "traces.certificateAuthority: holds a private key",
    ),
    "small queue": (document(traces={**TRACES, "queueBytes": 10}), "traces.queueBytes: must be at least 1048576"),
    "few bytes": (document(traces={**TRACES, "bytesPerSecond": 10}), "traces.bytesPerSecond: must be at least 65536"),
    "login for traces": (document(traces={**TRACES, "token": "x"}), "traces.token: is not a field of the document"),
    "mesh's namespace": (document(namespace="mesh-demo"), "(document): namespace is the mesh's, with a quota"),
    "the tenant's mesh's namespace": (
        document(tenant="acme", namespace="tenant-acme--demo"),
        "(document): namespace is the mesh's, with a quota",
    ),
    "tenant with two hyphens": (document(tenant="a--b"), "tenant: has `--`, which separates tenant and mesh"),
    "long names": (
        {**document(tenant="a" * 40), "mesh": "b" * 30},
        "(document): namespace would be obs--" + "a" * 40,
    ),
    "limits": (
        document({"limits": {"series": 100, "proxySeries": 200}}),
        "collector.limits: proxySeries is more than series",
    ),
    "resources": (
        document({"resources": {"cpuRequest": "2"}}),
        "collector.resources: cpuRequest is more than cpuLimit. Lower cpuRequest.",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_a_mistake_is_one_line(case: str) -> None:
    given, words = BAD[case]
    with pytest.raises(InvalidInputError) as error:
        read_document(Observability, given)
    (problem,) = error.value.problems
    assert str(problem).startswith(words)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("metrics", "words"),
    [
        ({}, "revisions[0].proxies.metrics.host: is required"),
        ({"host": "10.0.0.1"}, "revisions[0].proxies.metrics.host: is an IP address"),
        ({"host": "c.example.com", "port": 15017}, "revisions[0].proxies.metrics.port: is a port of istiod"),
        ({"host": "c.example.com", "source": "filter"}, "revisions[0].proxies.metrics.source: must be one of"),
    ],
    ids=["no host", "address", "port", "source"],
)
def test_a_mistake_in_the_mesh_document_is_one_line(metrics: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInputError) as error:
        read_document(Mesh, mesh_document({"revisions.0.proxies": {"metrics": metrics}}))
    (problem,) = error.value.problems
    assert str(problem).startswith(words)


def test_defaults_follow_the_mesh() -> None:
    found = read_document(Observability, {"mesh": "demo", "accessLogs": "gateways"})
    assert (found.domain, found.cluster_name, found.own_namespace) == ("demo.mesh.local", "demo", "obs-demo")


def test_two_tenants_meshes_of_one_name_share_nothing() -> None:
    found = [read(tenant=one) for one in (None, "acme", "bank")]
    assert [one.own_namespace for one in found] == ["obs-demo", "obs--acme--demo", "obs--bank--demo"]
    assert [one.owner for one in found] == ["demo", "acme--demo", "bank--demo"]
    domains = ["demo.mesh.local", "demo.acme.mesh.local", "demo.bank.mesh.local"]
    assert [one.domain for one in found] == domains
    meshes = [read_document(Mesh, mesh_document() | ({"tenant": one} if one else {})) for one in (None, "acme")]
    assert [one.domain.removeprefix(one.name) for one in meshes] == [one.removeprefix("demo") for one in domains[:2]]
