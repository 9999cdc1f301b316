"""A stack's file, `Pulumi.<stack>.yaml`: its settings, and the documents in it or in files beside it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.load import read, read_file
from pulumi_hosted_mesh.spec.schema import DOCUMENTS, LISTS, PROJECT
from pulumi_hosted_mesh.spec.stack import REQUIRED, StackSettings

PREFIX: Final = f"{PROJECT}:"


def checked(content: object, file: Path) -> Iterator[str]:
    """What can be said of a stack's file. Keys of other projects, and what is encrypted, are left to Pulumi.

    file: its path, beside which the documents are that it names. Raises: InvalidInputError.
    """
    config = content.get("config") if isinstance(content, Mapping) else None
    if not isinstance(config, Mapping):
        fix = "Name a file Pulumi.<stack>.yaml, whose keys are under config"
        raise InvalidInputError([Problem("config", "is no mapping of keys", fix)], str(file))
    given = {str(key).removeprefix(PREFIX): value for key, value in config.items() if _is_ours(str(key))}
    settings = {key: value for key, value in given.items() if key not in DOCUMENTS and not _is_secret(value)}
    kind = _settings(settings, str(file)).stack
    if missing := [key for key in REQUIRED[kind] if key not in given]:
        fix = "Give the document, or the name of a file beside this one"
        problems = [Problem(f"{PREFIX}{key}", f"is required by a stack {kind.value}", fix) for key in missing]
        raise InvalidInputError(problems, str(file))
    yield f"stack {kind.value}"
    for key, value in given.items():
        if key in DOCUMENTS:
            for one in value if key in LISTS and isinstance(value, list) else [value]:
                yield f"{PREFIX}{key} {_document(key, one, file)}"


def _is_ours(key: str) -> bool:
    """Whether a key is this program's: for Pulumi one without a project's name is of the project that it runs."""
    return key.startswith(PREFIX) or ":" not in key


def _settings(given: Mapping[str, Any], file: str) -> StackSettings:
    """The settings among a stack's keys. Raises: InvalidInputError, in which they are called as in the file."""
    try:
        return read(StackSettings, given, file)
    except InvalidInputError as error:
        problems = [dataclasses.replace(one, field=f"{PREFIX}{one.field}") for one in error.problems]
        raise InvalidInputError(problems, file) from None


def is_one(content: object) -> bool:
    """Whether something has a stack's settings of this program, such as they are."""
    config = content.get("config") if isinstance(content, Mapping) else None
    return isinstance(config, Mapping) and any(str(key) in ("stack", f"{PREFIX}stack") for key in config)


def _document(key: str, value: Any, file: Path) -> str:
    """Where a document is that can be used. Raises: InvalidInputError."""
    if isinstance(value, str):
        read_file(DOCUMENTS[key], file.parent / value)
        return f"in {value}"
    read(DOCUMENTS[key], value, f"the document under {PREFIX}{key} of {file}")
    return "can be used"


def _is_secret(value: object) -> bool:
    """Whether something in it is encrypted."""
    if isinstance(value, Mapping):
        return "secure" in value or any(map(_is_secret, value.values()))
    return isinstance(value, list) and any(map(_is_secret, value))
