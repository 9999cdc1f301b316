"""Inputs: from the program's properties to the one spelling that the API server would give them."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any, Final

from sandbox.plugins.kubernetes.fields.diff import prune
from sandbox.plugins.kubernetes.objects import Object, get, is_crd, is_secret, remove_in
from sandbox.plugins.kubernetes.scheme import normalized
from sandbox.plugins.protocol.values import contains_unknown, plain

_READ_ONLY: Final = (
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "uid",
)
# Fields of the schemas in definitions, which the SDKs cannot spell with dashes.
_DASHED: Final = {
    f"x_kubernetes_{name}": f"x-kubernetes-{name.replace('_', '-')}"
    for name in (
        "embedded_resource",
        "int_or_string",
        "list_map_keys",
        "list_type",
        "map_type",
        "preserve_unknown_fields",
        "validations",
    )
}
_UNDERSCORED: Final = {dashed: name for name, dashed in _DASHED.items()}


def to_object(properties: Any) -> Object:
    """Properties as a Kubernetes object: without secret marks, field names as Kubernetes spells them."""
    obj: Object = _renamed(plain(properties), _DASHED)
    return obj


def to_properties(obj: Mapping[str, Any]) -> dict[str, Any]:
    """A Kubernetes object as properties: field names as the SDKs spell them."""
    properties: dict[str, Any] = _renamed(obj, _UNDERSCORED)
    return properties


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {names.get(key, key): _renamed(item, names) for key, item in value.items()}
    if isinstance(value, list):
        return [_renamed(item, names) for item in value]
    return value


def normalize(inputs: Object) -> Object:
    """Inputs as the API server would spell them, without read-only fields; owns and may change `inputs`.

    Inputs that are not all known yet keep their spelling.
    """
    if contains_unknown(inputs):
        result = inputs
    elif is_crd(inputs):
        result = _definition(inputs)
    elif is_secret(inputs):
        result = _secret(inputs)
    else:
        result = prune(normalized(inputs), inputs)
    for field in _READ_ONLY:
        remove_in(result, "metadata", field)
    return result


def _definition(crd: Object) -> Object:
    # The server drops both.
    if get(crd, "spec", "preserveUnknownFields") is False:
        remove_in(crd, "spec", "preserveUnknownFields")
    crd.pop("status", None)
    return crd


def _secret(secret: Object) -> Object:
    """stringData becomes data, over what is there; data is encoded without white space, as the server returns it."""
    texts = secret.get("stringData")
    data = secret.get("data") if isinstance(secret.get("data"), dict) else {}
    if isinstance(texts, dict) and texts and all(isinstance(text, str) for text in texts.values()):
        encoded = {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}
        secret["data"] = {**(data or {}), **encoded}
        del secret["stringData"]
    elif data:
        secret["data"] = {key: _encoded_again(value) for key, value in data.items()}
    return secret


def _encoded_again(value: Any) -> Any:
    try:
        return base64.b64encode(base64.b64decode(value, validate=False)).decode() if isinstance(value, str) else value
    except binascii.Error:
        return value  # The API server will refuse it, and say so.
