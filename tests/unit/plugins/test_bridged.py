"""Bridged resource types: checks, plans, what is saved, and the refusal of what is not there."""

from __future__ import annotations

from typing import Any

import pytest

from sandbox.plugins.bridged.provider import BridgedProvider
from sandbox.plugins.bridged.resources import changes, check_inputs, outputs, planned_inputs
from sandbox.plugins.protocol.errors import NotImplementedHere, ProviderError
from sandbox.plugins.protocol.stubs import provider_pb2
from sandbox.plugins.protocol.values import UNKNOWN, Secret
from sandbox.plugins.random import types as random_types
from sandbox.plugins.tls import types as tls_types

TYPES = {kind.token.rpartition(":")[2]: kind for kind in (*random_types.TYPES, *tls_types.TYPES)}


@pytest.mark.parametrize(
    ("kind", "inputs", "properties"),
    [
        ("RandomPassword", {"length": 8}, []),
        ("RandomPassword", {}, ["length"]),
        ("RandomPassword", {"length": UNKNOWN}, []),
        ("RandomPassword", {"length": 0}, ["length"]),
        ("RandomPassword", {"length": "8"}, ["length"]),
        ("RandomPassword", {"length": 8, "lenght": 8}, ["lenght"]),
        ("PrivateKey", {"algorithm": "RSA"}, []),
        ("PrivateKey", {"algorithm": "DSA"}, ["algorithm"]),
        ("PrivateKey", {"algorithm": "ECDSA", "ecdsaCurve": "P1"}, ["ecdsaCurve"]),
        ("CertRequest", {}, ["privateKeyPem"]),
        ("CertRequest", {"privateKeyPem": "x", "privateKeyPemWo": "y"}, ["privateKeyPemWo"]),
        ("CertRequest", {"privateKeyPem": Secret(UNKNOWN)}, []),
    ],
)
def test_checks(kind: str, inputs: dict[str, Any], properties: list[str]) -> None:
    assert [name for name, _ in check_inputs(TYPES[kind], inputs)] == properties


@pytest.mark.parametrize(
    ("kind", "state", "inputs", "expected"),
    [
        ("PrivateKey", {"algorithm": "RSA", "rsaBits": 2048, "ecdsaCurve": "P224"}, {"algorithm": "RSA"}, {}),
        (
            "PrivateKey",
            {"algorithm": "RSA", "rsaBits": 2048, "ecdsaCurve": "P224"},
            {"algorithm": "RSA", "rsaBits": 2048},
            {},
        ),
        (
            "PrivateKey",
            {"algorithm": "RSA", "rsaBits": 2048, "ecdsaCurve": "P224"},
            {"algorithm": "RSA", "rsaBits": 4096},
            {"rsaBits": True},
        ),
        ("RandomId", {"byteLength": 4}, {"byteLength": 4, "keepers": {}}, {"keepers": False}),
        ("RandomId", {"byteLength": 4, "keepers": {"a": "1"}}, {"byteLength": 4}, {"keepers": True}),
        ("RandomId", {"byteLength": 4}, {"byteLength": UNKNOWN}, {"byteLength": True}),
    ],
)
def test_changes(kind: str, state: dict[str, Any], inputs: dict[str, Any], expected: dict[str, bool]) -> None:
    assert changes(TYPES[kind], state, inputs) == expected


def test_the_old_word_for_numeric_counts() -> None:
    planned = planned_inputs(TYPES["RandomPassword"], {"length": 3, "number": False})
    assert planned["numeric"] is False
    assert planned["number"] is False


def test_secret_outputs() -> None:
    kind = TYPES["SelfSignedCert"]
    inputs = {"privateKeyPem": "key", "subject": {"commonName": Secret("x")}}
    state = outputs(kind, inputs, {"privateKeyPem": "key", "subject": {"commonName": "x"}}, {"certPem": "cert"})
    assert state == {"privateKeyPem": Secret("key"), "subject": Secret({"commonName": "x"}), "certPem": "cert"}


@pytest.fixture
def provider() -> BridgedProvider:
    return BridgedProvider("random", random_types.TYPES)


def _urn(token: str) -> str:
    return f"urn:pulumi:stack::project::{token}::name"


def test_an_unknown_type_is_refused_by_name(provider: BridgedProvider) -> None:
    with pytest.raises(NotImplementedHere, match="random:index/randomPet:RandomPet"):
        provider.check(provider_pb2.CheckRequest(urn=_urn("random:index/randomPet:RandomPet")))
    with pytest.raises(NotImplementedHere, match="tls:index/getCertificate"):
        provider.invoke(provider_pb2.InvokeRequest(tok="tls:index/getCertificate:getCertificate"))


def test_the_type_in_a_urn_is_that_of_the_child(provider: BridgedProvider) -> None:
    parent = _urn("hosted-mesh:index:A$random:index/randomPet:RandomPet") + ":ns/name::odd"
    with pytest.raises(NotImplementedHere, match="the resource type random:index/randomPet:RandomPet;"):
        provider.check(provider_pb2.CheckRequest(urn=parent))


def test_inputs_are_saved_without_defaults(provider: BridgedProvider) -> None:
    urn = _urn("random:index/randomPassword:RandomPassword")
    request = provider_pb2.CheckRequest(urn=urn)
    request.news.fields["length"].number_value = 8
    checked = provider.check(request)
    assert list(checked.inputs.fields) == ["length"]
    made = provider.create(provider_pb2.CreateRequest(urn=urn, properties=checked.inputs))
    assert made.id == "none"
    assert made.properties.fields["minLower"].number_value == 0
    assert made.properties.fields["__meta"].string_value == '{"schema_version":"3"}'


def test_a_preview_knows_what_does_not_depend_on_chance(provider: BridgedProvider) -> None:
    request = provider_pb2.CreateRequest(urn=_urn("random:index/randomPassword:RandomPassword"), preview=True)
    request.properties.fields["length"].number_value = 8
    response = provider.create(request)
    assert response.id == ""
    assert response.properties.fields["upper"].bool_value is True


def test_what_is_ignored_is_no_change(provider: BridgedProvider) -> None:
    request = provider_pb2.DiffRequest(urn=_urn("random:index/randomId:RandomId"))
    request.olds.fields["byteLength"].number_value, request.news.fields["byteLength"].number_value = 4, 8
    assert list(provider.diff(request).replaces) == ["byteLength"]
    request.ignoreChanges.append("byteLength")
    assert provider.diff(request).changes == provider_pb2.DiffResponse.DIFF_NONE
    request.ignoreChanges.append("keepers.a")
    with pytest.raises(NotImplementedHere, match="ignoreChanges for keepers"):
        provider.diff(request)


def test_what_lives_in_state_alone_cannot_be_imported() -> None:
    provider = BridgedProvider("tls", tls_types.TYPES)
    with pytest.raises(ProviderError, match="cannot be imported"):
        provider.read(provider_pb2.ReadRequest(urn=_urn("tls:index/privateKey:PrivateKey"), id="x"))


def test_versions_are_those_of_the_official_plug_ins(provider: BridgedProvider) -> None:
    assert provider.get_plugin_info(None).version == "4.21.4"
