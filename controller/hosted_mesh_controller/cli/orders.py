"""`hosted-mesh order|list|show|logs|cancel`: the client, as commands of the library's program.

The address and the token come from $HOSTED_MESH_CONTROLLER and $HOSTED_MESH_TOKEN_FILE, or from options.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
import yaml

from hosted_mesh_controller.vocabulary import KindName, Repair, State

if TYPE_CHECKING:
    from hosted_mesh_controller.client import Client, Event
    from hosted_mesh_controller.views import Operation, View

_FAILED: Final = 3
"""Exit code of an operation that did not succeed."""

Url = Annotated[
    str, typer.Option("--controller", envvar="HOSTED_MESH_CONTROLLER", help="Address of the controller, https://...")
]
TokenFile = Annotated[
    Path, typer.Option("--token-file", envvar="HOSTED_MESH_TOKEN_FILE", help="File with your token, mode 0600.")
]
TenantName = Annotated[str, typer.Option("--tenant", envvar="HOSTED_MESH_TENANT", help="Your tenant.")]
Authority = Annotated[
    str | None,
    typer.Option("--ca-file", envvar="HOSTED_MESH_CA_FILE", help="The controller's certificate authority, PEM."),
]
OneKind = Annotated[KindName, typer.Argument(metavar="KIND", help=f"One of {', '.join(KindName)}.", show_default=False)]
Id = Annotated[str, typer.Argument(metavar="OPERATION", help="Id of the operation.", show_default=False)]
ObjectName = Annotated[str, typer.Argument(metavar="NAME", help="Name of the object.", show_default=False)]


AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, one value on each line.")]


def order(
    kind: OneKind,
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="The documents by key, YAML or JSON.", show_default=False)
    ] = None,
    *,
    controller: Url,
    token_file: TokenFile,
    tenant: TenantName,
    ca_file: Authority = None,
    remove: Annotated[str | None, typer.Option(metavar="NAME", help="Remove this object, in place of FILE.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the steps; change nothing.")] = False,
    wait: Annotated[bool, typer.Option(help="Follow the operation to its end.")] = True,
    as_json: AsJson = False,
    repair: Annotated[Repair | None, typer.Option(help="With FILE: also set the policy for changes by others.")] = None,
) -> None:
    """Order a new object, or the change of an existing one: hosted-mesh order meshes mesh.yaml

    FILE has the documents as a stack's file has them, such as `mesh: {...}`. Exit code 3 if the operation fails.
    """
    if (file is None) == (remove is None):
        print("give either FILE or --remove NAME", file=sys.stderr)
        raise typer.Exit(2)
    if repair is not None and (remove is not None or dry_run):
        print("--repair requires an order that changes or makes an object", file=sys.stderr)
        raise typer.Exit(2)
    with _connected(controller, token_file, tenant, ca_file) as client:
        if remove is not None:
            made = client.delete(kind, remove, etag=_etag(client, kind, remove), dry_run=dry_run)
        else:
            assert file is not None
            documents = _documents(file)
            made = _ordered(client, kind, documents, dry_run=dry_run)
            if repair is not None:
                client.keep(kind, made.name, repair)
        if wait or dry_run:
            _followed(client, made.id, is_quiet=dry_run, as_json=as_json)
        else:
            print(_json(made) if as_json else made.id)


def list_objects(
    kind: OneKind,
    *,
    controller: Url,
    token_file: TokenFile,
    tenant: TenantName,
    ca_file: Authority = None,
    as_json: AsJson = False,
) -> None:
    """List your objects of a kind: name, state, order, last operation, and `drift` if others changed it."""
    with _connected(controller, token_file, tenant, ca_file) as client:
        for one in client.objects(kind):
            if as_json:
                print(_json(one))
                continue
            drift = " drift" if one.upkeep.drift else ""
            print(f"{one.name:<32} {one.state:<9} {one.ready_generation}/{one.generation} {one.operation or ''}{drift}")


def show(
    kind: OneKind,
    name: ObjectName,
    *,
    controller: Url,
    token_file: TokenFile,
    tenant: TenantName,
    ca_file: Authority = None,
    as_json: AsJson = False,
) -> None:
    """Print an object as YAML: documents, state, public outputs, drift, ends of certificates."""
    with _connected(controller, token_file, tenant, ca_file) as client:
        found = client.show(kind, name)
        if as_json:
            print(_json(found))
        else:
            print(yaml.safe_dump(found.model_dump(mode="json", by_alias=True), sort_keys=False), end="")


def logs(
    operation: Id,
    *,
    controller: Url,
    token_file: TokenFile,
    tenant: TenantName,
    ca_file: Authority = None,
    as_json: AsJson = False,
) -> None:
    """Follow an operation to its end: its steps and messages. Exit code 3 if it does not succeed."""
    with _connected(controller, token_file, tenant, ca_file) as client:
        _followed(client, operation, as_json=as_json)


def cancel(
    operation: Id,
    *,
    controller: Url,
    token_file: TokenFile,
    tenant: TenantName,
    ca_file: Authority = None,
    as_json: AsJson = False,
) -> None:
    """Cancel an operation. One that runs ends its begun steps."""
    with _connected(controller, token_file, tenant, ca_file) as client:
        found = client.cancel(operation)
        print(_json(found) if as_json else found.state)


def _json(view: View) -> str:
    return view.model_dump_json(by_alias=True)


def _ordered(client: Client, kind: str, documents: dict[str, Any], *, dry_run: bool) -> Operation:
    """A new object; if it exists, its change."""
    name = _name_of(kind, documents)
    etag = _etag(client, kind, name) if name else None
    return client.order(kind, documents, name=name if etag else None, etag=etag, dry_run=dry_run)


def _name_of(kind: str, documents: dict[str, Any]) -> str | None:
    """The object's name; None for documents that the controller will reject."""
    try:
        name: str = import_module("hosted_mesh_controller.documents").KINDS[kind].named(documents)
    except (KeyError, TypeError):
        return None
    return name


def _etag(client: Client, kind: str, name: str) -> str | None:
    try:
        return f'"{client.show(kind, name).generation}"'
    except _client().ClientError as error:
        if error.details and error.details.status in (404, 422):
            return None
        raise


def _followed(client: Client, identifier: str, *, is_quiet: bool = False, as_json: bool = False) -> None:
    for event in client.events(identifier):
        if as_json and (event.kind == "end" or not is_quiet):
            print(json.dumps(event.data), flush=True)
        if event.kind == "end":
            _end(_client().Operation.model_validate(event.data), is_quiet=as_json)
        elif not (is_quiet or as_json) and (line := _line(event)):
            print(line, flush=True)


def _line(event: Event) -> str | None:
    data = event.data
    if event.kind == "message":
        return f"{data['severity']}: {data['text']}"
    return f"{data['action']:<10} {data['resource']} ({data['kind']})" if data.get("phase") == "end" else None


def _end(operation: Operation, *, is_quiet: bool) -> None:
    if not is_quiet:
        print(_summary(operation))
    if operation.state is not State.SUCCEEDED:
        print(operation.error or "", file=sys.stderr)
        raise typer.Exit(_FAILED)


def _summary(operation: Operation) -> str:
    if operation.action.previews and operation.result:
        return json.dumps(operation.result, indent=2)
    changes = (operation.result or {}).get("changes", {})
    counts = ", ".join(f"{number} {action}" for action, number in sorted(changes.items()))
    return f"{operation.kind}/{operation.name}: {operation.state}{f' ({counts})' if counts else ''}"


def _documents(file: Path) -> dict[str, Any]:
    try:
        found = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        found = None
    if not isinstance(found, dict):
        print(f"{file} cannot be read as a mapping of YAML", file=sys.stderr)
        raise typer.Exit(1)
    return found


def _client() -> Any:
    """The module of the client, loaded by its commands only: every start of `hosted-mesh` imports this module."""
    return import_module("hosted_mesh_controller.client")


@contextmanager
def _connected(url: str, token_file: Path, tenant: str, ca_file: str | None) -> Iterator[Client]:
    try:
        token = token_file.read_text(encoding="utf-8").strip()
    except OSError as error:
        print(f"{token_file} cannot be read: {error.strerror}", file=sys.stderr)
        raise typer.Exit(1) from None
    try:
        with _client().Client(url, token, tenant, ca_file or True) as client:
            yield client
    except _client().ClientError as error:
        print(error, file=sys.stderr)
        raise typer.Exit(1) from None
