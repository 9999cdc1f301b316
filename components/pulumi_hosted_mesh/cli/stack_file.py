"""A stack's file, `Pulumi.<stack>.yaml`: its settings, and the documents in it or in files beside it."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pulumi_hosted_mesh.assembly.preflight import charts_of
from pulumi_hosted_mesh.charts.directory import local_chart
from pulumi_hosted_mesh.cli.closing_line import closing_line
from pulumi_hosted_mesh.clusters.document_references import references_in
from pulumi_hosted_mesh.federation.exports import with_declared
from pulumi_hosted_mesh.federation.imports import notices, require_usable
from pulumi_hosted_mesh.federation.peer_outputs import with_placeholders
from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.federation import Federation, FederationMember, Offer
from pulumi_hosted_mesh.spec.fields import Model
from pulumi_hosted_mesh.spec.load import content_of_file, read_document, read_document_file
from pulumi_hosted_mesh.spec.schema import DOCUMENTS, LISTS, PROJECT
from pulumi_hosted_mesh.spec.stack import REQUIRED, StackKind, StackSettings

PREFIX: Final = f"{PROJECT}:"
RENDERING: Final = (StackKind.ALL_IN_ONE, StackKind.CLUSTER, StackKind.CONTROL_PLANE, StackKind.DATA_PLANE)
"""The stacks whose resources are rendered from Istio's charts."""
UNREAD: Final[Mapping[StackKind, tuple[str, ...]]] = {
    StackKind.TRUST: ("",),
    StackKind.CONTROL_PLANE: ("memberships",),
}
"""Fields of documents with kubeconfigs that only other kinds of stack read; an empty text is all."""


def checked(content: object, file: Path) -> tuple[list[str], list[Problem]]:
    """Lines that describe a valid stack's file, and the warnings of `pulumi up`.

    Keys of other projects and encrypted values are not checked. file: its path; it names documents relative to its
    folder. Raises: InvalidInputError.
    """
    config = content.get("config") if isinstance(content, Mapping) else None
    if not isinstance(config, Mapping):
        fix = "Name a file Pulumi.<stack>.yaml with its keys under config"
        raise InvalidInputError([Problem("config", "is no mapping of keys", fix)], str(file))
    given = {str(key).removeprefix(PREFIX): value for key, value in config.items() if _is_ours(str(key))}
    settings = {key: value for key, value in given.items() if key not in DOCUMENTS and not _is_secret(value)}
    read_settings = _settings(settings, str(file))
    kind = read_settings.stack
    if missing := [key for key in REQUIRED[kind] if key not in given]:
        fix = "Add the document, or the name of a file beside this one"
        problems = [Problem(f"{PREFIX}{key}", f"is required by a stack {kind.value}", fix) for key in missing]
        raise InvalidInputError(problems, str(file))
    if kind is StackKind.DATA_PLANE and not given.get("endpoints") and read_settings.references.control_plane is None:
        fix = "Name the stack `control-plane`, or files from `hosted-mesh endpoint`"
        problem = Problem(
            f"{PREFIX}references.controlPlane, or {PREFIX}endpoints", f"is required by a stack {kind}", fix
        )
        raise InvalidInputError([problem], str(file))
    lines, documents = [f"stack {kind.value}"], list[Model]()
    for key, value in given.items():
        if key in DOCUMENTS:
            for one in value if key in LISTS and isinstance(value, list) else [value]:
                document, where = _document(key, one, file, read_settings)
                if kind in RENDERING:
                    _check_charts(document, key, file)
                lines.append(f"{PREFIX}{key} {where}")
                documents.append(document)
    read, unread = list[str](), list[Problem]()
    with contextlib.chdir(_program_folder(file)):
        for document in documents:
            of_document = references_in(document, str(file), UNREAD.get(kind, ()))
            read += of_document[0]
            unread += of_document[1]
    lines.append(closing_line("stack", list(dict.fromkeys(read)), unread))
    return lines, [*_warnings(documents), *unread]


def _is_ours(key: str) -> bool:
    """Whether a key is this program's. To Pulumi a key without a project's name belongs to the current project."""
    return key.startswith(PREFIX) or ":" not in key


def _settings(given: Mapping[str, Any], file: str) -> StackSettings:
    """The settings among a stack's keys. Raises: InvalidInputError, with field names as in the file."""
    try:
        return read_document(StackSettings, given, file)
    except InvalidInputError as error:
        problems = [dataclasses.replace(one, field=f"{PREFIX}{one.field}") for one in error.problems]
        raise InvalidInputError(problems, file) from None


def is_one(content: object) -> bool:
    """Whether content has a stack's settings of this program, valid or not."""
    config = content.get("config") if isinstance(content, Mapping) else None
    return isinstance(config, Mapping) and any(str(key) in ("stack", f"{PREFIX}stack") for key in config)


def _document(key: str, value: Any, file: Path, settings: StackSettings) -> tuple[Model, str]:
    """A checked document, and its place. Raises: InvalidInputError."""
    if isinstance(value, str) and ("\n" in value or "://" in value):
        rule = "must be fields, or the path of a file, not text or a URL"
        fix = "Name a file beside this one, or remove the sign | or > before the fields"
        raise InvalidInputError([Problem(f"{PREFIX}{key}", rule, fix)], str(file))
    if key == "federation" and settings.stack is StackKind.FEDERATION:
        content = content_of_file(file.parent / value) if isinstance(value, str) else value
        outputs = with_placeholders(content, settings.references.data_planes, settings.references.roots)
        if outputs is not content:
            where = f"in {value}" if isinstance(value, str) else "can be used"
            read = read_document(DOCUMENTS[key], outputs, f"the document under {PREFIX}{key} of {file}")
            return read, f"{where}, with outputs of other stacks, which were not read"
    if isinstance(value, str):
        return read_document_file(DOCUMENTS[key], file.parent / value), f"in {value}"
    return read_document(DOCUMENTS[key], value, f"the document under {PREFIX}{key} of {file}"), "can be used"


def _check_charts(document: Model, key: str, file: Path) -> None:
    """Raises: InvalidInputError if a directory in the document lacks the charts, or has too old ones.

    A relative path starts in the working directory of the program.
    """
    start = _program_folder(file)
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


def _program_folder(file: Path) -> Path:
    """The working directory of the program: the folder of Pulumi.yaml, above the stack's file."""
    above = file.absolute().parents
    return next((folder for folder in above if (folder / "Pulumi.yaml").is_file()), Path())


def _warnings(documents: Sequence[Model]) -> Iterator[Problem]:
    """Warnings of the stack `federation`: offered services without an import. documents: all of the file.

    Raises: InvalidInputError for imports that the stack rejects.
    """
    federations = [one for one in documents if isinstance(one, Federation)]
    members = [one for one in documents if isinstance(one, FederationMember)]
    offers = [one for one in documents if isinstance(one, Offer)]
    for federation, member in zip(federations, members, strict=False):
        if member.mesh in {one.mesh for one in federation.peers}:
            known = with_declared(federation, offers)
            require_usable(federation, member.mesh, known)
            yield from notices(federation, member.mesh, known)


def _is_secret(value: object) -> bool:
    """Whether a value has an encrypted part."""
    if isinstance(value, Mapping):
        return "secure" in value or any(map(_is_secret, value.values()))
    return isinstance(value, list) and any(map(_is_secret, value))
