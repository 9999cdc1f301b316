"""Repairs a stack after an interrupted or failed operation, as docs/recovery.md describes, without a person.

A killed engine leaves its lock, and objects that exist but are not in the state. A killed plug-in leaves such objects
too, and the engine then forgets that it began to create them. So every object that a run would create goes into the
state; a refresh then reads it, or drops it if it does not exist.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from pulumi import automation

_SKEW: Final = 120.0  # seconds between the clocks of this machine and of an API server
_KUBERNETES: Final = "kubernetes:"
_COMPONENTS: Final = ("kubernetes:helm.sh/", "kubernetes:yaml")
_MASKED: Final = "[secret]"  # the engine's text for a secret in its events
_SECRET_MARK: Final = {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270"}

Resource = dict[str, Any]
Emit = Callable[[Mapping[str, Any]], None]


def recover(stack: automation.Stack, since: float, emit: Emit) -> None:
    """Removes a left lock, adopts created objects, and reads all objects again.

    since: the first start since the stack's last success. Older objects are not this controller's, and stay outside of
    the state.
    """
    with suppress(automation.CommandError):  # there may be no lock
        stack.cancel()
    exported, deployment = _exported(stack)
    if not deployment.get("resources"):
        return
    adopted = adopt_pending(deployment)
    if deployment != exported["deployment"]:
        _replace(stack, exported, deployment)
    created = _would_create(stack)
    exported, deployment = _exported(stack)
    if more := adopt_created(deployment, created):
        _replace(stack, exported, deployment)
    stack.refresh(color="never", suppress_outputs=True)
    adopted |= more
    exported, deployment = _exported(stack)
    found = {one["urn"] for one in deployment.get("resources", ()) if one.get("custom")} & adopted
    foreign = drop_older(deployment, found, since - _SKEW)
    if foreign:
        _replace(stack, exported, deployment)
    kept = len(found) - len(foreign)
    emit({"type": "message", "severity": "warning", "text": f"continues after an interruption: {kept} objects adopted"})


def adopt_pending(deployment: dict[str, Any]) -> set[str]:
    """Moves begun creations into the state; returns their URNs. Other pending operations need the refresh alone."""
    pending = deployment.pop("pending_operations", None) or []
    present = _urns(deployment)
    adopted = set()
    for operation in pending:
        resource = operation["resource"]
        if operation["type"] != "creating" or resource["urn"] in present:
            continue
        if identifier := _identifier(resource):
            deployment["resources"].append(_with_outputs(resource, identifier))
            adopted.add(resource["urn"])
    return adopted


def adopt_created(deployment: dict[str, Any], created: Iterable[Resource]) -> set[str]:
    """Adds resources that a preview would create, with the components above them; returns the URNs of objects.

    Masked inputs become secrets, so that a refresh keeps the object's own values encrypted.
    """
    adopted = set()
    providers = {
        one["urn"]: one["id"] for one in deployment["resources"] if one["type"].startswith("pulumi:providers:")
    }
    for resource in created:
        present = _urns(deployment)
        if resource["urn"] in present or (resource.get("parent") and resource["parent"] not in present):
            continue
        kept = {key: resource[key] for key in ("urn", "type", "parent") if resource.get(key)}
        if not resource["custom"]:
            deployment["resources"].append({**kept, "custom": False})
            continue
        provider = str(resource.get("provider")).rpartition("::")[0]
        identifier = _identifier(resource)
        # Without its provider in the state nothing was created.
        if identifier and provider in providers:
            inputs = _with_secrets(resource["inputs"])
            kept |= {"custom": True, "inputs": inputs, "provider": f"{provider}::{providers[provider]}"}
            deployment["resources"].append(_with_outputs(kept, identifier))
            adopted.add(resource["urn"])
    return adopted


def drop_older(deployment: dict[str, Any], adopted: set[str], oldest: float) -> list[str]:
    """Removes adopted objects that are older than `oldest`, such as another program's; returns their names."""
    foreign = {
        one["urn"]
        for one in deployment["resources"]
        if one["urn"] in adopted and _created(one) < oldest and not _is_shared(one)
    }
    deployment["resources"] = [one for one in deployment["resources"] if one["urn"] not in foreign]
    return sorted(urn.rpartition("::")[2] for urn in foreign)


def _would_create(stack: automation.Stack) -> list[Resource]:
    """The resources that a preview would create; none if the program fails, which the operation reports itself."""
    found: list[Resource] = []

    def take(event: automation.EngineEvent) -> None:
        step = event.resource_pre_event.metadata if event.resource_pre_event else None
        if step is not None and step.new is not None and getattr(step.op, "value", step.op) == "create":
            new = step.new
            one = {"urn": new.urn, "type": new.type, "custom": bool(new.custom), "parent": new.parent}
            found.append({**one, "provider": new.provider, "inputs": dict(new.inputs or {})})

    with suppress(automation.CommandError):
        stack.preview(on_event=take, color="never")
    return found


def _exported(stack: automation.Stack) -> tuple[dict[str, Any], dict[str, Any]]:
    """The exported state, and a copy of its deployment. Secrets stay encrypted; the API's own export decrypts them."""
    exported: dict[str, Any] = json.loads(_pulumi(stack, "stack", "export").stdout)
    return exported, copy.deepcopy(exported.get("deployment") or {})


def _pulumi(stack: automation.Stack, *arguments: str) -> automation.CommandResult:
    workspace = stack.workspace
    command = [*arguments, "--stack", stack.name]
    return workspace.pulumi_command.run(command, workspace.work_dir, dict(workspace.env_vars))


def _urns(deployment: Mapping[str, Any]) -> set[str]:
    return {one["urn"] for one in deployment["resources"] if not one.get("delete")}


def _identifier(resource: Mapping[str, Any]) -> str | None:
    """The id of a Kubernetes object: its namespace and name. Other resources exist in the state alone."""
    kind = resource["type"]
    if not kind.startswith(_KUBERNETES) or kind.startswith(_COMPONENTS):
        return None
    metadata = resource.get("inputs", {}).get("metadata", {})
    namespace, name = metadata.get("namespace"), metadata.get("name")
    return f"{namespace}/{name}" if namespace and name else name


def _with_outputs(resource: Resource, identifier: str) -> Resource:
    """A resource as the Kubernetes plug-in saves it before it has read the object."""
    inputs = resource.get("inputs", {})
    saved = {"__inputs": inputs, "__initialApiVersion": inputs.get("apiVersion", "")}
    return {**resource, "id": identifier, "outputs": {**inputs, **saved}}


def _with_secrets(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Inputs of an event, with masked values and a Secret's data as secrets of the state."""

    def walked(value: Any) -> Any:
        if _is_masked(value):
            return _secret(_MASKED)
        if isinstance(value, Mapping):
            return {key: walked(one) for key, one in value.items()}
        return [walked(one) for one in value] if isinstance(value, list) else value

    found: dict[str, Any] = walked(inputs)
    if inputs.get("kind") == "Secret":
        # The value does not matter: the next run compares it with the program's, and replaces the Secret.
        found |= {key: _secret({}) for key in ("data", "stringData") if key in inputs}
    return found


def _is_masked(value: Any) -> bool:
    """Events have a secret as text, or as a secret of the state with that text in it."""
    is_secret = isinstance(value, Mapping) and _SECRET_MARK.items() <= value.items()
    return bool(is_secret or value == _MASKED)


def _secret(value: Any) -> dict[str, str]:
    """A secret for `pulumi stack import`, which encrypts it."""
    return {**_SECRET_MARK, "plaintext": json.dumps(value)}


def _created(resource: Mapping[str, Any]) -> float:
    stamp = (resource.get("outputs") or {}).get("metadata", {}).get("creationTimestamp")
    return datetime.fromisoformat(stamp).timestamp() if stamp else float("inf")


def _is_shared(resource: Mapping[str, Any]) -> bool:
    """Custom resource definitions are adopted in any case, as a plain run does."""
    return bool(resource["type"].endswith(":CustomResourceDefinition"))


def _replace(stack: automation.Stack, exported: dict[str, Any], deployment: dict[str, Any]) -> None:
    """Imports a state. The API's own import would leave a file in a public folder if it failed."""
    file = Path(stack.workspace.work_dir) / "recovery.json"
    try:
        file.touch(mode=0o600)
        file.write_text(json.dumps({**exported, "deployment": deployment}), encoding="utf-8")
        _pulumi(stack, "stack", "import", "--file", str(file))
    finally:
        file.unlink(missing_ok=True)
