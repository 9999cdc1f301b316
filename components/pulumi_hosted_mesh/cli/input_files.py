"""Reads the input files of every command. `-` is standard input. Each mistake is one message."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Final, TypeVar

from pulumi_hosted_mesh.cli import document_kinds
from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.fields import Model
from pulumi_hosted_mesh.spec.load import NOT_TEXT, content_of_text, read_document, text_of_file

M = TypeVar("M", bound=Model)
PIPE: Final = Path("-")
EXPORT: Final = "pulumi stack export"
OUTPUTS: Final = "pulumi stack output --json"


def text_of(path: Path) -> str:
    """The text of a file or of standard input. Raises: InvalidInputError."""
    if path != PIPE:
        return text_of_file(path)
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidInputError([NOT_TEXT], str(path)) from None


def document_of(model: type[M], path: Path) -> M:
    """The document in a file or on standard input. Raises: InvalidInputError, for another kind with its commands."""
    content = content_of_text(text_of(path), str(path))
    try:
        return read_document(model, content, str(path))
    except InvalidInputError:
        if kinds := document_kinds.kinds_of(content):
            rule = f"is a document of kind {' or '.join(kinds)}, which this command does not take here"
            fix = "; ".join(document_kinds.COMMANDS[kind] for kind in kinds)
            raise InvalidInputError([Problem("(file)", rule, fix)], str(path)) from None
        raise


def printed(text: str, source: str, command: str) -> dict[str, Any]:
    """The JSON object in the output of a pulumi command. source: origin of the text, for errors."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise not_printed_by(command, source)
    return found


def resources_of(path: Path) -> list[dict[str, Any]]:
    """The resources in a stack's export, or in a preview; none for an empty stack. Raises: InvalidInputError."""
    given = printed(text_of(path), str(path), EXPORT)
    if isinstance(steps := given.get("steps"), list):  # of `pulumi preview --json`
        states = [one.get("newState") for one in steps if isinstance(one, dict)]
        given = {"deployment": {"resources": [one for one in states if one is not None]}}
    deployment = given.get("deployment")
    if not isinstance(deployment, dict):
        raise not_printed_by(EXPORT, str(path))
    found = deployment.get("resources") or []
    if not isinstance(found, list) or not all(map(_is_resource, found)):
        raise not_printed_by(EXPORT, str(path))
    return found


def not_printed_by(command: str, source: str) -> InvalidInputError:
    """The error for text that is not the output of a pulumi command."""
    return InvalidInputError([Problem("(file)", f"is not the output of `{command}`", "Pipe its output in")], source)


def _is_resource(one: Any) -> bool:
    if not isinstance(one, dict) or not all(isinstance(one.get(key), str) for key in ("urn", "type")):
        return False
    parts = (one.get(key) for key in ("inputs", "outputs", "propertyDependencies"))
    return all(part is None or isinstance(part, dict) for part in parts)
