"""Manifests: YAML as Kubernetes reads it, names of children, and the order that they are made in."""

from __future__ import annotations

from typing import Any

import pytest

from sandbox.plugins.kubernetes.charts.components import as_resource
from sandbox.plugins.kubernetes.charts.manifests import dependencies, expanded, parse
from sandbox.plugins.protocol.errors import NotImplementedHere, ProviderError
from sandbox.plugins.protocol.values import Secret


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", True),
        ("off", False),
        ("true", True),
        ("null", None),
        ("~", None),
        ("0644", 420),
        ("0o644", 420),
        ("0x1f", 31),
        ("-3", -3),
        ("1e3", 1000.0),
        ("1.5", 1.5),
        ("12:30:45", "12:30:45"),  # no base-60 numbers
        ("2020-01-01", "2020-01-01"),  # no dates
        ("1.2.3", "1.2.3"),
        ("08", 8.0),  # no octal number, so a float
        ("'1'", "1"),
        ("1_000", 1000),
    ],
)
def test_scalars(text: str, value: object) -> None:
    assert parse(f"a: {text}") == [{"a": value}]
    assert type(parse(f"a: {text}")[0]["a"]) is type(value)


def test_documents() -> None:
    assert parse("---\n# nothing\n---\na: 1\n---\n\n---\nb: 2\n") == [{"a": 1}, {"b": 2}]


@pytest.mark.parametrize("text", ["a: b: c", "- a", "just text"])
def test_what_is_no_manifest_is_refused(text: str) -> None:
    with pytest.raises(ProviderError, match="decoding YAML"):
        parse(text)


def test_lists_are_expanded() -> None:
    inner = {"kind": "List", "items": [{"kind": "A"}]}
    assert expanded([{"kind": "List", "items": [inner, {"kind": "B"}]}, {"kind": "C"}]) == [
        {"kind": "A"},
        {"kind": "B"},
        {"kind": "C"},
    ]


def _object(kind: str, name: str, namespace: str = "", api_version: str = "v1", **more: Any) -> dict[str, Any]:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {}), **more.pop("metadata", {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **more}


@pytest.mark.parametrize(
    ("obj", "prefix", "token", "name"),
    [
        (_object("ConfigMap", "a", "n"), "app", "kubernetes:core/v1:ConfigMap", "app:n/a"),
        (_object("Namespace", "a"), "app", "kubernetes:core/v1:Namespace", "app:a"),
        (_object("Deployment", "a", "n", "apps/v1"), "app", "kubernetes:apps/v1:Deployment", "app:n/a"),
        (
            _object("Gateway", "g", "n", "networking.istio.io/v1"),
            "x",
            "kubernetes:networking.istio.io/v1:Gateway",
            "x:n/g",
        ),
    ],
)
def test_children_are_named_as_by_the_official_plug_in(obj: dict[str, Any], prefix: str, token: str, name: str) -> None:
    assert as_resource(obj, prefix)[:2] == (token, name)


def test_data_of_secrets_is_secret_from_the_start() -> None:
    properties = as_resource(_object("Secret", "a", data={"k": "dg=="}), "app")[2]
    assert properties["data"] == Secret({"k": "dg=="})


def test_waiting_is_switched_off_for_all_children() -> None:
    properties = as_resource(_object("ConfigMap", "a", metadata={"annotations": None}), "", skip_await=True)[2]
    assert properties["metadata"]["annotations"] == {"pulumi.com/skipAwait": "true"}


def test_order() -> None:
    definition = _object(
        "CustomResourceDefinition", "widgets.x", spec={"group": "x", "names": {"kind": "Widget"}, "scope": "Namespaced"}
    ) | {"apiVersion": "apiextensions.k8s.io/v1"}
    objects = [
        _object("Widget", "w", "n", "x/v1"),
        definition,
        _object("ConfigMap", "a", "n"),
        _object("Namespace", "n"),
    ]
    assert dependencies(objects) == {0: {1, 3}, 1: set(), 2: {3}, 3: set()}


@pytest.mark.parametrize("name", ["depends-on", "apply-time-mutation"])
def test_an_order_that_an_annotation_asks_for_is_refused(name: str) -> None:
    annotations = {f"config.kubernetes.io/{name}": "/Namespace/n"}
    with pytest.raises(NotImplementedHere, match=name):
        dependencies([_object("ConfigMap", "a", metadata={"annotations": annotations})])
