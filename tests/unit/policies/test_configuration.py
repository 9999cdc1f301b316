"""The pack's configuration: what does not fit is refused by name, and a level holds for both halves of a policy."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import grpc
import pytest
from hosted_mesh_policies.configuration import UnusableConfigurationError, at_their_levels, check
from hosted_mesh_policies.pack.protocol import analyzer_pb2
from hosted_mesh_policies.pack.sdk import policies
from hosted_mesh_policies.pack.server import Analyzer

FLOW = "control-plane-secrets-do-not-flow-to-data-plane"
CLUSTERS = "providers-reach-their-own-cluster"
WEBHOOKS = "data-plane-webhooks-by-url"


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"tenants-are-appart": {}}, "tenants-are-appart: is not a policy; did you mean tenants-are-apart?"),
        ({WEBHOOKS: {"mostTimeout": 3}}, "mostTimeout: is not a setting; did you mean mostTimeoutSeconds?"),
        ({WEBHOOKS: {"mostTimeoutSeconds": "3"}}, "mostTimeoutSeconds: must be an integer of at least 1"),
        ({WEBHOOKS: {"mostTimeoutSeconds": 0}}, "mostTimeoutSeconds: must be an integer of at least 1"),
        ({WEBHOOKS: {"mostTimeoutSeconds": -1.0}}, "mostTimeoutSeconds: must be an integer of at least 1"),
        ({WEBHOOKS: {"mostTimeoutSeconds": math.inf}}, "mostTimeoutSeconds: must be an integer of at least 1"),
        ({WEBHOOKS: {"failurePolicies": "Fail"}}, "failurePolicies: must be an array of strings"),
        ({WEBHOOKS: "madatory"}, "must be an object of settings or one of mandatory, advisory, disabled"),
        ({WEBHOOKS: {"enforcementLevel": "loud"}}, "one of mandatory, advisory, disabled"),
        ({f"{WEBHOOKS}-before-write": {"mostTimeoutSeconds": 3}}, "is not a setting"),
        (
            {"secrets-of-unproven-owner-are-not-written": {"withoutPreview": "x"}},
            "refuse-secrets or refuse-all or allow",
        ),
    ],
)
def test_what_does_not_fit_is_named(given: dict[str, Any], why: str) -> None:
    with pytest.raises(UnusableConfigurationError, match=why):
        check(given)


@pytest.mark.parametrize(
    "server",
    [
        *("https://[::1", "https://10.0.0.1:x", "https://10.0.0.1:70000", "https://*.example.com"),
        *("ftp://cp", "", "https://", "https://{host}:6443", "my cluster"),
    ],
)
@pytest.mark.parametrize("key", ["controlPlaneServers", "dataPlaneServers"])
def test_a_server_is_an_address(key: str, server: str) -> None:
    with pytest.raises(UnusableConfigurationError) as told:
        check({CLUSTERS: {key: ["https://cp.example.com", server]}})
    wanted = "must be an API server's address, such as https://10.0.0.1:6443"
    assert str(told.value) == f"{CLUSTERS}.{key}[1]: {wanted}"


def test_addresses_pass() -> None:
    servers = [
        "https://10.0.0.1:6443",
        "http://cp",
        "CP.example.com:6443",
        "https://[fd00::1]:6443",
        "[::1]:6443",
        "cp",
    ]
    servers += ["https://rancher.example.com/k8s/clusters/c-1", "https://cp_1.example.com./"]
    check({CLUSTERS: {"controlPlaneServers": servers}})


@pytest.mark.parametrize("login", ["*", "*:*", "Role", "Role:", ":shop", "our role:shop", "Function:x", "Cluster:x"])
def test_a_login_is_a_type_and_a_name(login: str) -> None:
    with pytest.raises(UnusableConfigurationError) as told:
        check({FLOW: {"dataPlaneLogins": ["Role:shop-*", login]}})
    wanted = "must be a login's type and name, such as RobotAccount:shop-pull"
    assert str(told.value) == f"{FLOW}.dataPlaneLogins[1]: {wanted}"


@pytest.mark.parametrize(
    "said",
    ["", "shop", "shop=", "=https://10.0.0.2:6443", "a b=x", "shop=*", "shop=own-*", "shop=https://[::1", "a=b=://"],
)
def test_a_tenant_has_a_name_and_a_cluster(said: str) -> None:
    with pytest.raises(UnusableConfigurationError) as told:
        check({CLUSTERS: {"dataPlaneTenants": ["shop=https://10.0.0.2:6443", "shop=10.0.0.3:6443", said]}})
    wanted = "must be a tenant and its cluster, such as shop=https://10.0.0.2:6443"
    assert str(told.value) == f"{CLUSTERS}.dataPlaneTenants[2]: {wanted}"


def test_all_problems_are_told_at_once_and_none_quotes_a_value() -> None:
    with pytest.raises(UnusableConfigurationError) as told:
        check({"a": {}, "b": {}, WEBHOOKS: {"mostTimeoutSeconds": "hunter2"}})
    assert len(str(told.value).splitlines()) == 3
    assert "hunter2" not in str(told.value)


def test_a_pack_of_ones_own_refuses_it_too() -> None:
    assert policies({"controlPlaneServers": ("https://cp.example.com",), "mostTimeoutSeconds": 3})
    with pytest.raises(UnusableConfigurationError) as told:
        policies({"controlPlaneServer": ["https://cp.example.com"], "mostTimeoutSeconds": 0})
    misspelt, number = str(told.value).splitlines()
    assert misspelt == "controlPlaneServer: is not a setting; did you mean controlPlaneServers?"
    assert number == "mostTimeoutSeconds: must be an integer of at least 1"


def test_what_fits_passes() -> None:
    settings = {"enforcementLevel": "advisory", "mostTimeoutSeconds": 3.0, "failurePolicies": ["Fail"]}
    check({"all": "mandatory", WEBHOOKS: settings, f"{WEBHOOKS}-before-write": "disabled"})


def test_a_scan_takes_levels_from_the_file() -> None:
    given = {"all": "advisory", WEBHOOKS: {"enforcementLevel": "mandatory"}, "tenants-are-apart": "disabled"}
    rules = {rule.name: rule.mandatory for rule in at_their_levels(given)}
    assert "tenants-are-apart" not in rules
    assert [name for name, mandatory in rules.items() if mandatory] == [WEBHOOKS]


def _configured(**levels: int) -> Analyzer:
    analyzer = Analyzer({})
    request: Any = analyzer_pb2.ConfigureAnalyzerRequest()
    for name in (WEBHOOKS, f"{WEBHOOKS}-before-write"):
        half = "before" if name.endswith("before-write") else "stack"
        request.policyConfig[name].enforcementLevel = levels.get(half, analyzer_pb2.MANDATORY)
    analyzer.configure(request, None)
    return analyzer


@pytest.mark.parametrize("half", ["stack", "before"])
def test_a_level_that_is_given_to_one_half_holds_for_both(half: str) -> None:
    analyzer = _configured(**{half: analyzer_pb2.ADVISORY})
    rule = next(rule for rule in at_their_levels({}) if rule.name == WEBHOOKS)
    assert analyzer._level(WEBHOOKS, rule) == analyzer_pb2.ADVISORY
    assert analyzer._level(f"{WEBHOOKS}-before-write", rule) == analyzer_pb2.ADVISORY


def test_each_half_keeps_a_level_of_its_own() -> None:
    analyzer = _configured(stack=analyzer_pb2.ADVISORY, before=analyzer_pb2.DISABLED)
    rule = next(rule for rule in at_their_levels({}) if rule.name == WEBHOOKS)
    assert analyzer._level(WEBHOOKS, rule) == analyzer_pb2.ADVISORY
    assert analyzer._level(f"{WEBHOOKS}-before-write", rule) == analyzer_pb2.DISABLED


def test_the_engine_is_told_what_does_not_fit() -> None:
    request = analyzer_pb2.ConfigureAnalyzerRequest()
    request.policyConfig[WEBHOOKS].properties.update({"mostTimeout": 3})
    told: list[Any] = []

    def abort(code: Any, text: str) -> None:
        told.extend((code, text))
        raise RuntimeError

    with pytest.raises(RuntimeError):
        Analyzer({}).configure(request, SimpleNamespace(abort=abort))
    assert told[0] is grpc.StatusCode.INVALID_ARGUMENT
    assert f"{WEBHOOKS}.mostTimeout" in told[1]
