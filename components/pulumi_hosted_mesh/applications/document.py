"""The manifests of an application's files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pulumi_hosted_mesh import yaml_text
from pulumi_hosted_mesh.problems import InvalidInputError, Problem, RuleBrokenError
from pulumi_hosted_mesh.spec.application import Application, manifest
from pulumi_hosted_mesh.spec.load import text_of_file, unparsable


def with_manifests(application: Application, folder: Path) -> Application:
    """The application with the objects of its files in `manifests`. folder: of relative paths.

    Raises: InvalidInputError for a file that cannot be read, or an object that must not be placed.
    """
    parts = [
        one.model_copy(
            update={
                "files": (),
                "manifests": (*one.manifests, *(found for file in one.files for found in _objects(folder / file))),
            }
        )
        for one in application.parts
    ]
    return application.model_copy(update={"parts": tuple(parts)})


def _objects(file: Path) -> Iterator[dict[str, Any]]:
    try:
        documents = list(yaml_text.load_all(text_of_file(file)))
    except yaml_text.UNPARSABLE as error:
        raise InvalidInputError([unparsable(error)], str(file)) from None
    for document in documents:
        if document is None:
            continue
        if not isinstance(document, dict):
            raise InvalidInputError([Problem("(file)", "has a document that is no object", "Remove it")], str(file))
        items = document.get("items") if document.get("kind") == "List" else [document]
        for one in items if isinstance(items, list) else []:
            try:
                yield manifest(one if isinstance(one, dict) else {})
            except RuleBrokenError as broken:
                raise InvalidInputError([Problem(_called(one), broken.rule, broken.fix)], str(file)) from None


def _called(one: Any) -> str:
    """`Deployment reviews`, as far as it has these."""
    found = one if isinstance(one, dict) else {}
    metadata = found.get("metadata")
    name = metadata.get("name", "") if isinstance(metadata, dict) else ""
    return f"{found.get('kind', 'object')} {name}".strip()
