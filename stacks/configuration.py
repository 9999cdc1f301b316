"""The stack's configuration, typed: the kind of stack, and the documents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeVar

import pulumi
from pulumi_hosted_mesh import (
    InvalidInputError,
    Model,
    Problem,
    StackSettings,
    content_of_file,
    field_path,
    read_document,
    read_document_file,
)

HERE = Path(__file__).parent
SOURCE = "the stack's configuration"
M = TypeVar("M", bound=Model)


def settings() -> StackSettings:
    """The stack's settings. Raises: InvalidInputError."""
    config = pulumi.Config()
    written = {str(field.alias): config.get(str(field.alias)) for field in StackSettings.model_fields.values()}
    given = {key: _parsed(key, value) for key, value in written.items() if value is not None}
    return read_document(StackSettings, given, SOURCE)


def document(model: type[M], key: str) -> M:
    """The document under a key: written there, or in a file named there. Raises: InvalidInputError."""
    return read_value(model, _value(key), called(key))


def called(key: str) -> str:
    """The name in errors of the document under a key."""
    return f"the document under {key}"


def content(key: str) -> object:
    """The content of the document under a key, before validation. Raises: InvalidInputError."""
    value = _value(key)
    return content_of_file(HERE / value) if isinstance(value, str) else value


def optional_document(model: type[M], key: str) -> M | None:
    """The same; None where the key is not set. Raises: InvalidInputError."""
    return None if _value(key, required=False) is None else document(model, key)


def documents(model: type[M], key: str) -> list[M]:
    """A list of documents, each as above; empty where the key is not set. Raises: InvalidInputError."""
    value = _value(key, required=False)
    if value is None:
        return []
    parts = value if isinstance(value, list) else [value]
    return [read_value(model, part, called(field_path([key, at]))) for at, part in enumerate(parts)]


def read_value(model: type[M], value: Any, source: str) -> M:
    """A document from its fields, or from the file of that name beside the stack's."""
    return read_document_file(model, HERE / value) if isinstance(value, str) else read_document(model, value, source)


def _value(key: str, *, required: bool = True) -> Any:
    config = pulumi.Config()
    value = config.get(key)
    if value is not None and pulumi.runtime.is_config_secret(config.full_key(key)):
        rule = "holds a secret, but a document is plain: the state and the clusters would hold it unencrypted"
        fix = (
            "Take it out, or set it without --secret; cacerts, kubeconfigs and dnsCredentials are settings of their own"
        )
        raise InvalidInputError([Problem(key, rule, fix)], SOURCE)
    if value is None and required:
        problem = Problem(key, "is required by this stack", "Give the document, or the name of a file in stacks/")
        raise InvalidInputError([problem], SOURCE)
    found = None if value is None else _parsed(key, value)
    if isinstance(found, str) and ("\n" in found or "://" in found):
        rule = "must be fields, or the path of a file, not text or a URL"
        fix = "Name a file in stacks/, or remove the sign | or > before the fields"
        raise InvalidInputError([Problem(key, rule, fix)], SOURCE)
    return found


def _parsed(key: str, value: str) -> Any:
    """A value of Pulumi, which passes objects as JSON text, and plain values unchanged. Raises: InvalidInputError."""
    if not value.startswith(("{", "[")):
        return value
    try:
        return json.loads(value)
    except ValueError:
        fix = "Write it as YAML in the stack's file, or set its parts with `pulumi config set --path`"
        raise InvalidInputError([Problem(key, "begins like JSON, but is not valid JSON", fix)], SOURCE) from None
