"""What a command is given to read: one way for all, in which `-` is a pipe and every mistake is one message."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Final, TypeVar

from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.fields import Model
from pulumi_hosted_mesh.spec.load import NOT_TEXT, read_text, text_of_file

M = TypeVar("M", bound=Model)
PIPE: Final = Path("-")
EXPORT: Final = "pulumi stack export"
OUTPUTS: Final = "pulumi stack output --json"


def text_of(path: Path) -> str:
    """The text of a file, or of the pipe. Raises: InvalidInputError."""
    if path != PIPE:
        return text_of_file(path)
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidInputError([NOT_TEXT], str(path)) from None


def document_of(model: type[M], path: Path) -> M:
    """The document that a file, or the pipe, holds. Raises: InvalidInputError."""
    return read_text(model, text_of(path), str(path))


def printed(text: str, source: str, command: str) -> dict[str, Any]:
    """The JSON object that a command of pulumi prints. source: what holds the text, for errors."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise not_printed_by(command, source)
    return found


def resources_of(path: Path) -> list[dict[str, Any]]:
    """The resources of a stack by its export; none of a stack that is empty. Raises: InvalidInputError."""
    deployment = printed(text_of(path), str(path), EXPORT).get("deployment")
    if not isinstance(deployment, dict):
        raise not_printed_by(EXPORT, str(path))
    found = deployment.get("resources") or []
    if not isinstance(found, list) or not all(map(_is_resource, found)):
        raise not_printed_by(EXPORT, str(path))
    return found


def not_printed_by(command: str, source: str) -> InvalidInputError:
    """The error about text that is not what a command of pulumi prints."""
    return InvalidInputError([Problem("(file)", f"is not what `{command}` prints", "Pipe its output in")], source)


def _is_resource(one: Any) -> bool:
    if not isinstance(one, dict) or not all(isinstance(one.get(key), str) for key in ("urn", "type")):
        return False
    parts = (one.get(key) for key in ("inputs", "outputs", "propertyDependencies"))
    return all(part is None or isinstance(part, dict) for part in parts)
