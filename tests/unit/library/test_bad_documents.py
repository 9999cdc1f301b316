"""Bad input: one clear error each, which names the field, the rule and the fix, and no value."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pulumi_hosted_mesh.charts.chart import source
from pulumi_hosted_mesh.problems import InvalidInputError
from pulumi_hosted_mesh.spec.fields import amount
from pulumi_hosted_mesh.spec.load import read_mesh, read_mesh_file, read_mesh_text

from tests.unit.library.documents import CERTIFICATE, document

HOST = "controlPlane.host"
ISTIOD = "controlPlane.istiod"
EXPOSURE = "controlPlane.exposure"
RANGES = f"{EXPOSURE}.sourceRanges"
PEM = "-----BEGIN CERTIFICATE-----\n"
GARBAGE = f"{PEM}czNjcjN0LXMzY3IzdA==\n-----END CERTIFICATE-----\n"
BAD: list[tuple[str, dict[str, Any], str, str]] = [
    # what is wrong, changes, the field that the error names, words of the rule or the fix
    ("unknown field", {"controlPlane.istiod.replica": 2}, "controlPlane.istiod.replica", "Did you mean replicas?"),
    ("unknown section", {"observability": {}}, "observability", "not a field"),
    (
        "unknown field, snake case",
        {"dataPlane.cluster_name": "x"},
        "dataPlane.cluster_name",
        "Did you mean clusterName?",
    ),
    ("missing field", {HOST: None}, HOST, "is required"),
    ("missing section", {"dataPlane": None}, "dataPlane", "is required"),
    ("text for a number", {"controlPlane.istiod.replicas": "2"}, "controlPlane.istiod.replicas", "whole number"),
    ("number for text", {HOST: 5}, HOST, "must be text"),
    ("text for true", {"controlPlane.exposure.openToAll": "yes"}, "controlPlane.exposure.openToAll", "true or false"),
    ("text for a list", {"controlPlane.exposure.sourceRanges": "10.0.0.0/8"}, "sourceRanges", "must be a list"),
    ("text for a section", {"controlPlane.istiod": "small"}, "controlPlane.istiod", "must be a mapping"),
    ("number too small", {"controlPlane.istiod.replicas": 0}, "controlPlane.istiod.replicas", "at least 1"),
    ("number too large", {"dataPlane.webhooks.timeoutSeconds": 31}, "timeoutSeconds", "at most 30"),
    ("unknown choice", {"dataPlane.webhooks.management": "me"}, "management", "'managed' or 'unmanaged'"),
    ("host without domain", {HOST: "istiod"}, HOST, "with a domain"),
    ("host in capitals", {HOST: "Istiod.example.com"}, HOST, "lower case"),
    ("host with a scheme", {HOST: "https://istiod.example.com"}, HOST, "without scheme"),
    ("host with a port", {HOST: "istiod.example.com:15012"}, HOST, "without scheme, port"),
    ("host with an underscore", {HOST: "istiod_1.example.com"}, HOST, "DNS name"),
    ("host with a label too long", {HOST: f"{'a' * 64}.example.com"}, HOST, "DNS name"),
    ("host of one cluster", {HOST: "istiod.mesh-demo.svc"}, HOST, "only one cluster knows"),
    ("IPv4 address as host", {HOST: "192.0.2.1"}, HOST, "is an IP address"),
    ("IPv6 address as host", {HOST: "2001:db8::1"}, HOST, "is an IP address"),
    ("bracketed address as host", {HOST: "[2001:db8::1]"}, HOST, "is an IP address"),
    ("mistyped address as host", {HOST: "10.0.0.256"}, HOST, "mistyped IP address"),
    ("address with zeros as host", {HOST: "010.0.0.1"}, HOST, "mistyped IP address"),
    ("no source ranges", {"controlPlane.exposure.sourceRanges": []}, "controlPlane.exposure", "openToAll: true"),
    ("ranges and open to all", {"controlPlane.exposure.openToAll": True}, "controlPlane.exposure", "contradicts"),
    ("everything as a range", {"controlPlane.exposure.sourceRanges": ["0.0.0.0/0"]}, "sourceRanges[0]", "openToAll"),
    ("host bits in a range", {"controlPlane.exposure.sourceRanges": ["10.0.0.1/8"]}, "sourceRanges[0]", "CIDR"),
    ("address as a range", {RANGES: ["203.0.113.7"]}, "sourceRanges[0]", "203.0.113.7/32"),
    ("netmask in a range", {RANGES: ["203.0.113.0/255.255.255.0"]}, "sourceRanges[0]", "CIDR"),
    ("zone in a range", {RANGES: ["fe80::%1/64"]}, "sourceRanges[0]", "CIDR"),
    ("everything in two ranges", {RANGES: ["0.0.0.0/1", "128.0.0.0/1"]}, "controlPlane.exposure", "every address"),
    (
        "everything of IPv6 in three ranges",
        {RANGES: ["10.0.0.0/8", "8000::/1", "4000::/2", "::/2"]},
        "controlPlane.exposure",
        "openToAll: true",
    ),
    ("annotation's key with a space", {f"{EXPOSURE}.annotations": {"a b": "c"}}, "annotations.a b", "Kubernetes name"),
    ("annotation's key too long", {f"{EXPOSURE}.annotations": {"a" * 64: "c"}}, "a" * 64, "at most 63"),
    ("annotation's key with two slashes", {f"{EXPOSURE}.annotations": {"a/b/c": "d"}}, "a/b/c", "Kubernetes name"),
    (
        "load balancer's class with a colon",
        {f"{EXPOSURE}.loadBalancerClass": "a:b"},
        "loadBalancerClass",
        "example.com/",
    ),
    (
        "load balancer's class in capitals",
        {f"{EXPOSURE}.loadBalancerClass": "A.b/c"},
        "loadBalancerClass",
        "lower case",
    ),
    ("network that is no label", {"dataPlane.network": "east 1"}, "dataPlane.network", "Kubernetes label"),
    ("network too long", {"dataPlane.network": "e" * 64}, "dataPlane.network", "at most 63"),
    (
        "API server at every address",
        {"controlPlane.networkPolicy.apiServerRanges": ["::/0"]},
        "controlPlane.networkPolicy.apiServerRanges[0]",
        "Leave it out",
    ),
    (
        "ranges of a port that is open to all",
        {
            "controlPlane.networkPolicy.apiServerRanges": ["198.51.100.0/24"],
            "dataPlane.access.apiServer": "https://api.user.example.com",
        },
        "(document)",
        "fetchJwks: false",
    ),
    (
        "API server without TLS",
        {"dataPlane.access.apiServer": "http://h:1"},
        "dataPlane.access.apiServer",
        "https://HOST",
    ),
    (
        "API server with a user",
        {"dataPlane.access.apiServer": "https://u:p@h"},
        "dataPlane.access.apiServer",
        "nothing more",
    ),
    (
        "API server with a path",
        {"dataPlane.access.apiServer": "https://h/x"},
        "dataPlane.access.apiServer",
        "nothing more",
    ),
    ("API server at no port", {"dataPlane.access.apiServer": "https://h:99999"}, "apiServer", "https://HOST:PORT"),
    (
        "key instead of certificate",
        {"dataPlane.access.certificateAuthority": "PRIVATE KEY"},
        "certificateAuthority",
        "private key",
    ),
    ("no PEM", {"dataPlane.access.certificateAuthority": "abc"}, "certificateAuthority", "PEM"),
    ("PEM of nothing", {"dataPlane.access.certificateAuthority": PEM}, "certificateAuthority", "cannot be read"),
    ("garbage as PEM", {"dataPlane.access.certificateAuthority": GARBAGE}, "certificateAuthority", "cannot be read"),
    (
        "second certificate cut off",
        {"dataPlane.access.certificateAuthority": CERTIFICATE + CERTIFICATE[:200]},
        "certificateAuthority",
        "whole file",
    ),
    (
        "certificate with a letter of another script",
        {"dataPlane.access.certificateAuthority": CERTIFICATE.replace("MII", "\N{GREEK CAPITAL LETTER MU}II")},
        "certificateAuthority",
        "cannot be read",
    ),
    ("chart without remote profile", {"charts.version": "1.23.4"}, "charts.version", "no remote profile"),
    ("chart that wants more rights", {"charts.version": "1.30.9"}, "charts.version", "Use 1.31.0 or later"),
    ("range of chart versions", {"charts.version": "^1.31"}, "charts.version", "one exact version"),
    ("plain http repository", {"charts.repository": "http://charts.example.com"}, "charts.repository", "https://"),
    ("repository without a host", {"charts.repository": "https:/charts"}, "charts.repository", "https://HOST"),
    ("password in the repository", {"charts.repository": "https://u:p@h/c"}, "charts.repository", "no user, password"),
    ("token in the repository", {"charts.repository": "https://h/c?sig=x"}, "charts.repository", "no user, password"),
    ("user of a registry", {"charts.repository": "oci://user@h/c"}, "charts.repository", "no user, password"),
    (
        "renewed after its end",
        {"trust.root": {"lifetimeDays": 9, "renewBeforeDays": 9}},
        "trust.root",
        "less than lifetimeDays",
    ),
    (
        "intermediate outlives root",
        {"trust.root": {"lifetimeDays": 800, "renewBeforeDays": 300}},
        "trust",
        "an intermediate outlives its root",
    ),
    (
        "workload outlives intermediate",
        {"trust.workloadLifetimeHours": 24 * 61},
        "trust",
        "workload's certificate outlives",
    ),
    ("name in capitals", {"name": "Demo"}, "name", "lower-case"),
    ("name with a dot", {"name": "de.mo"}, "name", "must be a Kubernetes name"),
    ("name too long", {"name": "a" * 59}, "name", "at most 58 characters"),
    ("name that begins with a digit", {"name": "1demo"}, "name", "begin with a letter"),
    (
        "gateway name with a slash",
        {"dataPlane.gateways": [{"name": "a/b"}]},
        "dataPlane.gateways[0].name",
        "Kubernetes name",
    ),
    *[
        (
            f"gateway name that is taken: {name}",
            {"dataPlane.gateways": [{"name": name}]},
            "gateways[0].name",
            "is taken",
        )
        for name in ("istiod", "istiod-canary", "default")
    ],
    (
        "gateway name that begins with a digit",
        {"dataPlane.gateways": [{"name": "1a"}]},
        "dataPlane.gateways[0].name",
        "begin with a letter",
    ),
    (
        "gateway name too long",
        {"dataPlane.gateways": [{"name": "a" * 54}]},
        "dataPlane.gateways[0].name",
        "at most 53 characters",
    ),
    (
        "gateways of one name",
        {"dataPlane.gateways": [{"name": "a"}, {"name": "a"}]},
        "(document)",
        "two gateways of one name",
    ),
    ("bad revision", {"revision": "1.31"}, "revision", "Kubernetes name"),
    ("revision too long", {"revision": "r" * 57}, "revision", "at most 56 characters"),
    ("bad quantity", {"controlPlane.istiod.resources": {"cpuLimit": "two"}}, "resources.cpuLimit", "quantity"),
    ("no CPU", {f"{ISTIOD}.resources": {"cpuRequest": "0m"}}, "resources.cpuRequest", "more than zero"),
    ("no memory", {f"{ISTIOD}.resources": {"memoryLimit": "0.0Gi"}}, "resources.memoryLimit", "more than zero"),
    (
        "thousandths of a byte",
        {f"{ISTIOD}.resources": {"memoryRequest": "512m"}},
        "memoryRequest",
        "Write it like 512Mi",
    ),
    (
        "CPU request above the limit",
        {f"{ISTIOD}.resources": {"cpuRequest": "1500m", "cpuLimit": "1"}},
        "controlPlane.istiod.resources",
        "raise cpuLimit",
    ),
    (
        "CPU request above the default limit",
        {f"{ISTIOD}.resources": {"cpuRequest": "2001m"}},
        "controlPlane.istiod.resources",
        "where not given they are 250m and 2",
    ),
    (
        "memory request above the default limit",
        {f"{ISTIOD}.resources": {"memoryRequest": "2200M"}},
        "controlPlane.istiod.resources",
        "raise memoryLimit",
    ),
    (
        "memory limit below the default request",
        {f"{ISTIOD}.resources": {"memoryLimit": "511Mi"}},
        "controlPlane.istiod.resources",
        "Lower memoryRequest",
    ),
    ("unknown log level", {f"{ISTIOD}.logLevel": "default:verbose"}, "logLevel", "one of none, error, warn, info"),
    ("log level in capitals", {f"{ISTIOD}.logLevel": "default:INFO"}, "logLevel", "one of none, error, warn, info"),
    ("log levels with spaces", {f"{ISTIOD}.logLevel": "a:info, b:info"}, "logLevel", "separated by commas"),
    ("chart's variable", {f"{ISTIOD}.environment": {"KUBECONFIG": "/x"}}, "environment.KUBECONFIG", "Leave it out"),
    (
        "variable that keeps the split",
        {f"{ISTIOD}.environment": {"USE_REMOTE_CERTS": "true"}},
        "environment.USE_REMOTE_CERTS",
        "is set already",
    ),
    ("variable with a quote", {f"{ISTIOD}.environment": {"A": 'say "b"'}}, "environment.A", "between quotes"),
    ("variable of two lines", {f"{ISTIOD}.environment": {"A": "b\nc"}}, "environment.A", "line breaks"),
    ("variable's name with a space", {f"{ISTIOD}.environment": {"A B": "c"}}, "environment.A B", "Choose another name"),
    ("profile of istiod's chart", {"chartValues.controlPlane": {"profile": "remote"}}, "controlPlane", "profile"),
    (
        "profile at the other place",
        {"chartValues.controlPlane": {"global": {"profile": "x"}}},
        "controlPlane",
        "profile",
    ),
    ("profile on the data plane", {"chartValues.dataPlane": {"profile": "demo"}}, "chartValues.dataPlane", "profile"),
    (
        "chart's variable in the chart's values",
        {"chartValues.controlPlane": {"env": {"EXTERNAL_ISTIOD": "false"}}},
        "chartValues.controlPlane",
        "sets EXTERNAL_ISTIOD",
    ),
    (
        "variable of the split from elsewhere",
        {"chartValues.controlPlane": {"envVarFrom": [{"name": "USE_REMOTE_CERTS", "valueFrom": {}}]}},
        "chartValues.controlPlane",
        "sets USE_REMOTE_CERTS",
    ),
    ("number for a quantity", {f"{ISTIOD}.resources": {"cpuLimit": 2}}, "cpuLimit", 'in quotes, like cpuLimit: "2".'),
    ("number for a version", {"charts.version": 1.30}, "charts.version", 'in quotes, like version: "...".'),
    ("true for a context", {"dataPlane.cluster": {"kubeconfig": True}}, "kubeconfig", 'like kubeconfig: "...".'),
    ("true for a variable", {f"{ISTIOD}.environment": {"A": True}}, "environment.A", "Put it in quotes."),
    ("number for a variable", {f"{ISTIOD}.environment": {"replicas": 5}}, "environment.replicas", "Put it in quotes."),
    ("nothing for text", {f"{ISTIOD}.logLevel": {}}, "logLevel", "Change its value"),
    (
        "renewal of the root before it begins",
        {"trust.root": {"lifetimeDays": 400}},
        "trust.root",
        "less than lifetimeDays",
    ),
    (
        "kubeconfig instead of its path",
        {"dataPlane.cluster": {"kubeconfig": "apiVersion: v1\nkind: Config"}},
        "dataPlane.cluster.kubeconfig",
        "path of a file, not its content",
    ),
]


@pytest.mark.parametrize(("changes", "field", "words"), [pytest.param(*rest, id=name) for name, *rest in BAD])
def test_one_clear_error(changes: dict[str, Any], field: str, words: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        read_mesh(document(changes))
    assert len(caught.value.problems) == 1
    problem = caught.value.problems[0]
    assert problem.field.endswith(field)
    assert words in str(problem)
    assert problem.fix


@pytest.mark.parametrize(("changes", "field", "words"), [pytest.param(*rest, id=name) for name, *rest in BAD])
def test_no_error_repeats_a_value(changes: dict[str, Any], field: str, words: str) -> None:
    secret = "s3cr3t-s3cr3t-s3cr3t"
    poisoned = {path: _poisoned(value, secret) for path, value in changes.items()}
    try:
        read_mesh(document(poisoned))
    except InvalidInputError as error:
        assert secret not in str(error)


def _poisoned(value: Any, secret: str) -> Any:
    if isinstance(value, str):
        return f"{secret}{value}"
    if isinstance(value, dict):
        return {key: _poisoned(inner, secret) for key, inner in value.items()}
    return [_poisoned(inner, secret) for inner in value] if isinstance(value, list) else value


def test_all_problems_at_once() -> None:
    with pytest.raises(InvalidInputError) as caught:
        read_mesh(document({"name": "Demo", HOST: "192.0.2.1"}))
    assert {problem.field for problem in caught.value.problems} == {"name", HOST}


@pytest.mark.parametrize("not_a_document", [None, [], "demo", 3])
def test_not_a_mapping(not_a_document: object) -> None:
    with pytest.raises(InvalidInputError, match="must be a mapping"):
        read_mesh(not_a_document)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    broken = tmp_path / "broken.yaml"
    broken.write_text("name: [demo\n")
    with pytest.raises(InvalidInputError, match=r"line 2.*is not valid YAML"):
        read_mesh_file(broken)
    with pytest.raises(InvalidInputError, match="cannot be read"):
        read_mesh_file(tmp_path / "missing.yaml")


def test_open_to_all_is_possible_when_said() -> None:
    mesh = read_mesh(document({"controlPlane.exposure": {"openToAll": True}}))
    assert mesh.control_plane.exposure.source_ranges == ()


@pytest.mark.parametrize(
    "changes",
    [
        {f"{ISTIOD}.logLevel": "debug"},
        {f"{ISTIOD}.logLevel": "default:none,validationController:debug,ip-autoallocate:fatal"},
        {f"{ISTIOD}.resources": {"cpuRequest": "2", "cpuLimit": "2000m", "memoryRequest": "1Gi", "memoryLimit": "1Gi"}},
        {f"{ISTIOD}.environment": {"GOMEMLIMIT": "1GiB", "CA_TRUSTED_NODE_ACCOUNTS": "a/b"}},
        {RANGES: ["0.0.0.0/1", "128.0.0.0/2", "2001:db8::/32", "203.0.113.7/32"]},
        {f"{EXPOSURE}.annotations": {"service.beta.kubernetes.io/aws-load-balancer-type": "external", "a_B.c": ""}},
        {f"{EXPOSURE}.loadBalancerClass": "service.k8s.aws/nlb"},
        {"dataPlane.access.certificateAuthority": CERTIFICATE + CERTIFICATE},
        {"dataPlane.network": ""},
        {"dataPlane.network": "East_1.a"},
        {"revision": "r" * 56},
        {"charts.repository": "oci://registry.example.com:5000/istio"},
        {HOST: "istiod.10.example.com"},
        {"chartValues.controlPlane": {"global": {"nativeNftables": True}, "env": {"A": "b"}, "envVarFrom": []}},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_what_is_meant_is_accepted(changes: dict[str, Any]) -> None:
    read_mesh(document(changes))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("charts.repository", "https://user:s3cr3t@charts.example.com"),
        ("charts.repository", "https://charts.example.com/?token=s3cr3t"),
        ("dataPlane.access.certificateAuthority", f"{PEM}s3cr3t"),
        (f"{ISTIOD}.environment", {"PASSWORD": 53124}),
    ],
)
def test_no_error_repeats_a_credential(field: str, value: Any) -> None:
    with pytest.raises(InvalidInputError) as caught:
        read_mesh(document({field: value}))
    assert "s3cr3t" not in str(caught.value)
    assert "53124" not in str(caught.value)


@pytest.mark.parametrize(
    ("quantity", "wanted"),
    [("500m", "0.5"), ("2", "2"), ("1.5", "1.5"), ("3k", "3000"), ("1G", "1e9"), ("1Ki", "1024"), ("2Gi", str(2**31))],
)
def test_quantities_in_their_base_unit(quantity: str, wanted: str) -> None:
    assert amount(quantity) == Decimal(wanted)


def test_a_part_of_an_authority_keeps_its_other_default() -> None:
    trust = read_mesh(
        document({"trust": {"root": {"lifetimeDays": 7300}, "intermediate": {"renewBeforeDays": 90}}})
    ).trust
    assert (trust.root.lifetime_days, trust.root.renew_before_days) == (7300, 400)
    assert (trust.intermediate.lifetime_days, trust.intermediate.renew_before_days) == (365, 90)


def test_a_key_given_twice() -> None:
    text = "name: demo\ncontrolPlane:\n  exposure: {sourceRanges: [203.0.113.0/24]}\n  exposure: {openToAll: true}\n"
    with pytest.raises(InvalidInputError) as caught:
        read_mesh_text(text)
    assert "exposure (line 4): is given twice" in str(caught.value)


def test_a_merged_key_is_not_given_twice() -> None:
    text = """
name: demo
controlPlane:
  istiod:
    resources: &small {cpuLimit: "1", memoryLimit: 1Gi}
    environment: &more
      <<: {A: merged, B: merged}
      A: own
  host: istiod.demo.example.com
  exposure: {sourceRanges: [203.0.113.0/24]}
dataPlane: {access: {apiServer: "https://api.user.example.com"}}
chartValues:
  controlPlane: {env: {<<: *more, A: again}, resources: {<<: *small, cpuLimit: "2"}}
"""
    mesh = read_mesh_text(text)
    assert mesh.control_plane.istiod.environment == {"A": "own", "B": "merged"}
    assert mesh.chart_values.control_plane["env"] == {"A": "again", "B": "merged"}


@pytest.mark.parametrize(
    ("version", "words"),
    [
        ("1.30.2", "base/Chart.yaml: is too old"),
        ("1.23.0", "no remote profile"),
        ("", "one exact version"),
        ("1.31.0", None),
        ("1.32.0-rc.1", None),
        ("1.0.0", None),
    ],
)
def test_the_version_of_charts_in_a_directory(version: str, words: str | None, tmp_path: Path) -> None:
    for name in ("base/Chart.yaml", "istiod/files/profile-remote.yaml"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(f"name: base\nversion: {version}\n")
    charts = read_mesh(document({"charts.path": str(tmp_path)})).charts
    if words is None:
        assert source(charts, "base") == {"chart": str(tmp_path / "base")}
    else:
        with pytest.raises(InvalidInputError, match=words):
            source(charts, "base")
