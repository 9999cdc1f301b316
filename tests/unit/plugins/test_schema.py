"""Schemas: the same names and types as the installed SDKs have, which are made from the official ones."""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from typing import Any

import pytest

from sandbox.plugins.bridged.provider import BridgedProvider
from sandbox.plugins.protocol.stubs import provider_pb2
from sandbox.plugins.random import types as random_types
from sandbox.plugins.tls import types as tls_types

BRIDGED = [
    *(("random", one.token.rpartition(":")[2]) for one in random_types.TYPES),
    *(("tls", one.token.rpartition(":")[2]) for one in tls_types.TYPES),
]


def _sdk(package: str, name: str) -> dict[str, str]:
    """The properties of a class of an SDK by their names in the protocol, with their Python types."""
    members = vars(getattr(importlib.import_module(f"pulumi_{package}"), name)).values()
    getters = [one.fget for one in members if hasattr(one, "fget")]
    return {one._pulumi_name: str(one.__annotations__["return"]) for one in getters}


def _resource(package: str, kind: str) -> dict[str, Any]:
    types = random_types if package == "random" else tls_types
    answer = BridgedProvider(package, types.TYPES).get_schema(provider_pb2.GetSchemaRequest())
    resources: dict[str, dict[str, Any]] = json.loads(answer.schema)["resources"]
    return resources[f"{package}:index/{kind[0].lower()}{kind[1:]}:{kind}"]


def _same(found: Mapping[str, Mapping[str, Any]], expected: Mapping[str, str]) -> None:
    assert set(found) == set(expected)
    words = {"string": "str", "integer": "int", "boolean": "bool", "array": "Sequence[", "object": "Mapping["}
    for name, of in found.items():
        free = of.get("additionalProperties") == {"$ref": "pulumi.json#/Any"}
        word = "" if free else words[of["type"]]
        assert word in expected[name], f"{name}: {of}, {expected[name]}"


@pytest.mark.parametrize(("package", "kind"), BRIDGED)
def test_types(package: str, kind: str) -> None:
    found = _resource(package, kind)
    _same(found["properties"], _sdk(package, kind))
    _same(found["inputProperties"], _sdk(package, f"{kind}Args"))


def test_a_secret_is_secret() -> None:
    assert _resource("random", "RandomPassword")["properties"]["result"]["secret"]
    assert _resource("tls", "SelfSignedCert")["inputProperties"]["privateKeyPem"]["secret"]
    assert "secret" not in _resource("tls", "SelfSignedCert")["properties"]["certPem"]
