"""Inputs in the spelling of the API server: what is dropped, what is kept, what is spelled anew."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from sandbox.plugins.kubernetes.fields.inputs import normalize, to_object, to_properties
from sandbox.plugins.kubernetes.scheme import is_built_in
from sandbox.plugins.protocol.values import UNKNOWN, Secret


def _pod(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": [], **spec}}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"hostNetwork": False}, {}),  # a value, written only when true
        ({"hostNetwork": True}, {"hostNetwork": True}),
        ({"automountServiceAccountToken": False}, {"automountServiceAccountToken": False}),  # a pointer
        ({"terminationGracePeriodSeconds": 0}, {"terminationGracePeriodSeconds": 0}),
        ({"nodeSelector": {}}, {}),
        ({"serviceAccountName": ""}, {}),
        ({"serviceAccountName": None}, {}),
        ({"noSuchField": 1}, {}),
        ({"securityContext": {}}, {"securityContext": {}}),
        (
            {"volumes": [{"name": "a", "emptyDir": {"sizeLimit": "1024Mi"}}]},
            {"volumes": [{"name": "a", "emptyDir": {"sizeLimit": "1Gi"}}]},
        ),
    ],
)
def test_a_pod_is_spelled_as_its_type_spells_it(given: dict[str, Any], expected: dict[str, Any]) -> None:
    assert normalize(_pod(**given))["spec"] == {"containers": [], **expected}


def test_an_object_that_does_not_fit_its_type_is_left_alone() -> None:
    """The API server will refuse it, with a better message than anybody else could give."""
    pod = _pod(hostNetwork="no", serviceAccountName="")
    assert normalize(pod)["spec"] == {"containers": [], "hostNetwork": "no", "serviceAccountName": ""}


def test_unknown_inputs_keep_their_spelling() -> None:
    assert normalize(_pod(hostNetwork=False, nodeName=UNKNOWN))["spec"]["hostNetwork"] is False


def test_custom_resources_keep_their_spelling() -> None:
    widget = {"apiVersion": "tests.example/v1", "kind": "Widget", "spec": {"cpu": "1000m", "empty": {}, "off": False}}
    assert normalize(dict(widget)) == widget


def test_read_only_metadata_goes() -> None:
    pod = _pod()
    pod["metadata"] |= {"uid": "1", "resourceVersion": "2", "managedFields": [], "creationTimestamp": None}
    assert normalize(pod)["metadata"] == {"name": "a"}


def test_string_data_becomes_data() -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "data": {"a": "YQ==", "b": "Yg=="}, "stringData": {"b": "new"}}
    encoded = base64.b64encode(b"new").decode()
    assert normalize(secret) == {"apiVersion": "v1", "kind": "Secret", "data": {"a": "YQ==", "b": encoded}}


def test_data_is_encoded_without_white_space() -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "data": {"a": "aGVs\nbG8=\n"}}
    assert normalize(secret)["data"] == {"a": "aGVsbG8="}


def test_a_definition_loses_what_the_server_drops() -> None:
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "spec": {"preserveUnknownFields": False, "group": "g"},
        "status": {},
    }
    identity = {key: definition[key] for key in ("apiVersion", "kind")}
    assert normalize(definition) == {**identity, "spec": {"group": "g"}}


def test_dashed_fields_have_an_underscored_name_in_properties() -> None:
    properties = {"schema": [{"x_kubernetes_list_type": Secret("map")}]}
    obj = {"schema": [{"x-kubernetes-list-type": "map"}]}
    assert to_object(properties) == obj
    assert to_properties(obj) == {"schema": [{"x_kubernetes_list_type": "map"}]}


@pytest.mark.parametrize(
    ("api_version", "kind", "expected"),
    [("v1", "Pod", True), ("core/v1", "Pod", True), ("apps/v1", "Deployment", True), ("a.b/v1", "Pod", False)],
)
def test_built_in_kinds(api_version: str, kind: str, expected: bool) -> None:
    assert is_built_in(api_version, kind) is expected
