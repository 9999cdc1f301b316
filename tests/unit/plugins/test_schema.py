"""Schemas: the same names and types as the installed SDKs have, which are made from the official ones."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pytest

from sandbox.plugins.bridged.provider import BridgedProvider
from sandbox.plugins.kubernetes.provider import VERSION, KubernetesProvider
from sandbox.plugins.protocol.engine import Engine
from sandbox.plugins.protocol.stubs import provider_pb2
from sandbox.plugins.random import types as random_types
from sandbox.plugins.tls import types as tls_types

BRIDGED = [
    *(("random", one.token.rpartition(":")[2]) for one in random_types.TYPES),
    *(("tls", one.token.rpartition(":")[2]) for one in tls_types.TYPES),
]
KINDS = [
    ("core/v1", "ConfigMap"),
    ("core/v1", "Secret"),
    ("core/v1", "Service"),
    ("core/v1", "Namespace"),
    ("core/v1", "ServiceAccount"),
    ("apps/v1", "Deployment"),
    ("apps/v1", "StatefulSet"),
    ("apps/v1", "DaemonSet"),
    ("batch/v1", "Job"),
    ("rbac.authorization.k8s.io/v1", "ClusterRole"),
    ("rbac.authorization.k8s.io/v1", "RoleBinding"),
    ("networking.k8s.io/v1", "NetworkPolicy"),
    ("policy/v1", "PodDisruptionBudget"),
    ("autoscaling/v2", "HorizontalPodAutoscaler"),
    ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"),
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
]
TYPES = [
    ("core/v1", "PodSpec"),
    ("core/v1", "Container"),
    ("core/v1", "ServiceSpec"),
    ("apps/v1", "DeploymentSpec"),
    ("meta/v1", "ObjectMeta"),
    ("meta/v1", "LabelSelector"),
    ("rbac.authorization.k8s.io/v1", "PolicyRule"),
    ("networking.k8s.io/v1", "NetworkPolicySpec"),
]

# Fields that the SDK has beside those of the sandbox's API server: removed ones (such as a NetworkPolicy's status),
# and some of a later version.
_OTHER_VERSIONS = {"clusterName", "evictionResponders", "ipFamily", "status", "topologyKeys", "workloadRef"}

Classes = Mapping[str, Mapping[str, str]]

# In a process of its own: the stand-ins load no more of the Python package pulumi than the protocol, the SDKs all.
_READ_SDKS = """
import importlib, json, sys
classes = {}
for name in sys.argv[1:]:
    module, _, last = name.rpartition(".")
    members = vars(getattr(importlib.import_module(module), last)).values()
    getters = [one.fget for one in members if hasattr(one, "fget")]
    classes[name] = {one._pulumi_name: str(one.__annotations__["return"]) for one in getters}
print(json.dumps(classes))
"""


def _folder(module: str) -> str:
    group, _, version = module.partition("/")
    return f"pulumi_kubernetes.{group.split('.')[0]}.{version}"


@pytest.fixture(scope="module")
def sdk() -> Classes:
    """The properties of the SDKs' classes by their names in the protocol, with their Python types."""
    names = [f"pulumi_{package}.{kind}{end}" for package, kind in BRIDGED for end in ("", "Args")]
    names += [f"{_folder(module)}.{kind}{end}" for module, kind in KINDS for end in ("", "InitArgs")]
    names += [f"{_folder(module)}.{name}Args" for module, name in TYPES]
    done = subprocess.run([sys.executable, "-c", _READ_SDKS, *names], capture_output=True, text=True, check=True)
    classes: Classes = json.loads(done.stdout)
    return classes


def _schema(provider: Any) -> dict[str, Any]:
    schema: dict[str, Any] = json.loads(provider.get_schema(provider_pb2.GetSchemaRequest()).schema)
    return schema


def _bridged(package: str) -> BridgedProvider:
    types = random_types if package == "random" else tls_types
    return BridgedProvider(package, types.TYPES)


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    return _schema(KubernetesProvider(Engine("")))


def _same(found: Mapping[str, Mapping[str, Any]], expected: Mapping[str, str]) -> None:
    assert set(found) <= set(expected)
    assert set(expected) - set(found) <= _OTHER_VERSIONS
    words = {"string": "str", "integer": "int", "boolean": "bool", "array": "Sequence[", "object": "Mapping["}
    for name, of in found.items():
        free = "$ref" in of or of.get("additionalProperties") == {"$ref": "pulumi.json#/Any"}
        word = f"Literal['{of['const']}']" if "const" in of else "" if free else words[of["type"]]
        assert word in expected[name], f"{name}: {of}, {expected[name]}"


@pytest.mark.parametrize(("package", "kind"), BRIDGED)
def test_bridged_types(sdk: Classes, package: str, kind: str) -> None:
    found = _schema(_bridged(package))["resources"][f"{package}:index/{kind[0].lower()}{kind[1:]}:{kind}"]
    _same(found["properties"], sdk[f"pulumi_{package}.{kind}"])
    _same(found["inputProperties"], sdk[f"pulumi_{package}.{kind}Args"])


@pytest.mark.parametrize(("module", "kind"), KINDS)
def test_kinds(sdk: Classes, schema: dict[str, Any], module: str, kind: str) -> None:
    found = schema["resources"][f"kubernetes:{module}:{kind}"]
    _same(found["properties"], sdk[f"{_folder(module)}.{kind}"])
    _same(found["inputProperties"], sdk[f"{_folder(module)}.{kind}InitArgs"])
    constants = (found["properties"]["apiVersion"]["const"], found["properties"]["kind"]["const"])
    assert constants == (module.removeprefix("core/"), kind)


@pytest.mark.parametrize(("module", "name"), TYPES)
def test_types_in_kinds(sdk: Classes, schema: dict[str, Any], module: str, name: str) -> None:
    _same(schema["types"][f"kubernetes:{module}:{name}"]["properties"], sdk[f"{_folder(module)}.{name}Args"])


def test_every_reference_leads_somewhere(schema: dict[str, Any]) -> None:
    def references(value: Any) -> set[str]:
        if not isinstance(value, dict):
            return set()
        return {value["$ref"]} if isinstance(value.get("$ref"), str) else set().union(*map(references, value.values()))

    there = {f"#/types/{token}" for token in schema["types"]} | {"pulumi.json#/Any", "pulumi.json#/Asset"}
    assert references(schema) <= there
    assert schema["version"] == VERSION


def test_a_secret_is_secret(schema: dict[str, Any]) -> None:
    fields = schema["resources"]["kubernetes:core/v1:Secret"]["properties"]
    assert fields["data"]["secret"]
    assert fields["stringData"]["secret"]
    password = _schema(_bridged("random"))["resources"]["random:index/randomPassword:RandomPassword"]
    assert password["properties"]["result"]["secret"]
