"""Generates docs/controller-api.md from the OpenAPI document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from hosted_mesh_controller.cli.service import api_document
from hosted_mesh_controller.documents import KINDS

HEAD: Final = """\
# The controller's interface

After this page you can write a client of the [controller](controller.md) in any language. The page is generated from
the OpenAPI 3.1 document by `python -m hosted_mesh_controller.cli.api_page`. A running controller serves that document
at `/v1/openapi.json`, and `hosted-mesh-controller openapi` prints it.

Every path below `/v1` requires `Authorization: Bearer TOKEN`. Another tenant's path is 404. Errors are
`application/problem+json` (RFC 9457) with the list `problems`: field, rule and fix of each. Orders answer 202 with the
operation, and its path in `Location`.
"""
_VIEWS: Final = ("OrderedObject", "Operation", "FoundMesh", "AuditEntry", "Cluster", "ProblemDetails", "FieldProblem")


def page() -> str:
    """The page, Markdown."""
    found = api_document()
    parts = [HEAD, "## Paths\n", *_paths(found), "## Parameters\n", *_parameters(found), "## Bodies of orders\n"]
    parts += [*_orders(), "## Errors\n", *_errors(found), "## Answers\n", *_answers(found)]
    return "\n".join(parts)


def _paths(found: Any) -> Iterator[str]:
    yield "| method | path | |"
    yield "|---|---|---|"
    for path, operations in found["paths"].items():
        for method, operation in operations.items():
            yield f"| {method.upper()} | `{path}` | {operation['summary']} |"
    yield ""


def _parameters(found: Any) -> Iterator[str]:
    """Each parameter once, by its place and name."""
    yield "| parameter | in | |"
    yield "|---|---|---|"
    seen: dict[tuple[str, str], str] = {}
    for operations in found["paths"].values():
        for operation in operations.values():
            for one in operation.get("parameters", ()):
                seen.setdefault((one["in"], one["name"]), one.get("description", ""))
    for (place, name), description in sorted(seen.items()):
        yield f"| `{name}` | {place} | {description} |"
    yield ""


def _orders() -> Iterator[str]:
    yield "The keys are those of the stack's file; [every field](components/fields.md) of a document is on its page.\n"
    yield "| path | kind of stack | keys | ordered by |"
    yield "|---|---|---|---|"
    for kind in KINDS.values():
        keys = [f"`{key}`{' (optional)' if key in kind.optional else ''}" for key in kind.documents]
        yield f"| `{kind.name}` | `{kind.stack}` | {', '.join(keys)} | {', '.join(sorted(kind.ordered_by))} |"
    yield ""
    yield "A membership's body is one entry of `mesh.memberships`.\n"


def _errors(found: Any) -> Iterator[str]:
    yield "| status | |"
    yield "|---|---|"
    responses = found["paths"][f"/v1/tenants/{{tenant}}/{next(iter(KINDS))}"]["post"]["responses"]
    for status, response in responses.items():
        if status.startswith("4"):
            yield f"| {status} | {response['description']} |"
    yield ""


def _answers(found: Any) -> Iterator[str]:
    for name in _VIEWS:
        schema = found["components"]["schemas"][name]
        yield f"### {name}\n"
        yield f"{schema['description']}\n"
        yield "| field | |"
        yield "|---|---|"
        for field, one in schema["properties"].items():
            yield f"| `{field}` | {one.get('description', '')} |"
        yield ""


if __name__ == "__main__":
    print(page(), end="")
