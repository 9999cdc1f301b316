"""A stack's file, `Pulumi.<stack>.yaml`: its settings, and the documents in it or in files beside it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pulumi_hosted_mesh.assembly.preflight import charts_of
from pulumi_hosted_mesh.charts.directory import local_chart
from pulumi_hosted_mesh.federation.exports import with_declared
from pulumi_hosted_mesh.federation.imports import left_out
from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.federation import Federation, FederationMember, Offer
from pulumi_hosted_mesh.spec.fields import Model
from pulumi_hosted_mesh.spec.load import read, read_file
from pulumi_hosted_mesh.spec.schema import DOCUMENTS, LISTS, PROJECT
from pulumi_hosted_mesh.spec.stack import REQUIRED, StackKind, StackSettings

PREFIX: Final = f"{PROJECT}:"
RENDERING: Final = (StackKind.ALL_IN_ONE, StackKind.CLUSTER, StackKind.CONTROL_PLANE, StackKind.DATA_PLANE)
"""The stacks whose resources are rendered from Istio's charts."""


def checked(content: object, file: Path) -> tuple[list[str], list[Problem]]:
    """What can be said of a stack's file, and what it may not be meant to do, as `pulumi up` would warn of it.

    Keys of other projects, and what is encrypted, are left to Pulumi. file: its path, beside which the documents are
    that it names. Raises: InvalidInputError.
    """
    config = content.get("config") if isinstance(content, Mapping) else None
    if not isinstance(config, Mapping):
        fix = "Name a file Pulumi.<stack>.yaml, whose keys are under config"
        raise InvalidInputError([Problem("config", "is no mapping of keys", fix)], str(file))
    given = {str(key).removeprefix(PREFIX): value for key, value in config.items() if _is_ours(str(key))}
    settings = {key: value for key, value in given.items() if key not in DOCUMENTS and not _is_secret(value)}
    read_settings = _settings(settings, str(file))
    kind = read_settings.stack
    if missing := [key for key in REQUIRED[kind] if key not in given]:
        fix = "Give the document, or the name of a file beside this one"
        problems = [Problem(f"{PREFIX}{key}", f"is required by a stack {kind.value}", fix) for key in missing]
        raise InvalidInputError(problems, str(file))
    if kind is StackKind.DATA_PLANE and not given.get("endpoints") and read_settings.references.control_plane is None:
        fix = "Name the stack `control-plane`, or the files that `hosted-mesh endpoint` wrote"
        problem = Problem(
            f"{PREFIX}references.controlPlane, or {PREFIX}endpoints", f"is required by a stack {kind}", fix
        )
        raise InvalidInputError([problem], str(file))
    said, documents = [f"stack {kind.value}"], list[Model]()
    for key, value in given.items():
        if key in DOCUMENTS:
            for one in value if key in LISTS and isinstance(value, list) else [value]:
                document, where = _document(key, one, file)
                if kind in RENDERING:
                    _check_charts(document, key, file)
                said.append(f"{PREFIX}{key} {where}")
                documents.append(document)
    return said, list(_warnings(documents))


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


def _document(key: str, value: Any, file: Path) -> tuple[Model, str]:
    """A document that can be used, and where it is. Raises: InvalidInputError."""
    if isinstance(value, str):
        return read_file(DOCUMENTS[key], file.parent / value), f"in {value}"
    return read(DOCUMENTS[key], value, f"the document under {PREFIX}{key} of {file}"), "can be used"


def _check_charts(document: Model, key: str, file: Path) -> None:
    """Raises: InvalidInputError if a directory that the document names has no such charts, or too old ones.

    A relative one starts where Pulumi starts the program: in the folder of Pulumi.yaml, above the stack's file.
    """
    above = file.absolute().parents
    start = next((folder for folder in above if (folder / "Pulumi.yaml").is_file()), Path())
    problems: dict[str, Problem] = {}
    for section, charts, name in charts_of(document):
        try:
            local_chart(charts, name, start)
        except InvalidInputError as error:
            (problem,) = error.problems
            field = f"{section}.path"
            problems.setdefault(field, dataclasses.replace(problem, field=field))
    if problems:
        raise InvalidInputError(list(problems.values()), f"the document under {PREFIX}{key} of {file}")


def _warnings(documents: Sequence[Model]) -> Iterator[Problem]:
    """Of the stack `federation`: what its mesh does not import. documents: all of the file's."""
    federations = [one for one in documents if isinstance(one, Federation)]
    members = [one for one in documents if isinstance(one, FederationMember)]
    offers = [one for one in documents if isinstance(one, Offer)]
    for federation, member in zip(federations, members, strict=False):
        if member.mesh in {one.mesh for one in federation.peers}:
            yield from left_out(federation, member.mesh, with_declared(federation, offers))


def _is_secret(value: object) -> bool:
    """Whether something in it is encrypted."""
    if isinstance(value, Mapping):
        return "secure" in value or any(map(_is_secret, value.values()))
    return isinstance(value, list) and any(map(_is_secret, value))
