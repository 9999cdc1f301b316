"""Stacks from files: output of `pulumi stack export` and `pulumi preview --json`, and Kubernetes manifests."""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from hosted_mesh_plan import vocabulary, yaml_text
from hosted_mesh_plan.clusters import Role
from hosted_mesh_plan.decode import UNPARSABLE, from_plain
from hosted_mesh_plan.model import Provider, Resource, Stack
from hosted_mesh_plan.tree import UNKNOWN
from hosted_mesh_plan.vocabulary import CONTROL_PLANE, DATA_PLANE

PIPE = Path("-")
ENDINGS = {".json", ".yaml", ".yml"}


class UnreadableError(Exception):
    """A file that cannot be scanned. The message has its name and the reason."""


def from_paths(
    paths: Sequence[Path], control_plane: Sequence[Path], unreadable: list[UnreadableError] | None = None
) -> tuple[list[Stack], list[Path]]:
    """One stack per state or preview file, and one of all manifests together; and the paths without any of these.

    Manifests under `paths` go to the data plane, those under `control_plane` to the control plane. unreadable: receives
    the error of each unreadable file, so that the others are judged. Raises: UnreadableError, the first one without
    `unreadable`.
    """
    stacks: list[Stack] = []
    manifests: list[Resource] = []
    empty: list[Path] = []
    errors: list[UnreadableError] = []
    for role, given in ((Role.DATA_PLANE, paths), (Role.CONTROL_PLANE, control_plane)):
        for path in given:
            before = len(stacks) + len(manifests) + len(errors)
            for found in _found(path, role, errors):
                if isinstance(found, Stack):
                    stacks.append(found)
                else:
                    manifests += found
            if len(stacks) + len(manifests) + len(errors) == before:
                empty.append(path)
    if errors and (unreadable is None or not (stacks or manifests)):
        raise UnreadableError("\n".join(map(str, errors)))
    if unreadable is not None:
        unreadable += errors
    if not stacks and not manifests:
        raise UnreadableError(f"{', '.join(map(str, paths))}: has no state, preview or Kubernetes object")
    if manifests:
        stacks.append(Stack("manifests", tuple(manifests), marks=False))
    return stacks, empty


def files(path: Path, unreadable: list[UnreadableError]) -> Iterator[Path]:
    """The file itself, `-` for a pipe, or every .json, .yaml and .yml file below a folder, in order.

    unreadable: receives the error of the path, and of each folder below it, which would pass unseen.
    """
    try:
        if path != PIPE and stat.S_ISDIR(path.stat().st_mode):
            yield from sorted(one for one in _below(path, unreadable) if one.suffix in ENDINGS and one.is_file())
        else:
            yield path
    except FileNotFoundError:
        unreadable.append(UnreadableError(f"{path}: does not exist. Check the path"))
    except OSError as problem:
        unreadable.append(_not_read(problem, path))


def _below(folder: Path, unreadable: list[UnreadableError]) -> Iterator[Path]:
    def closed(problem: OSError) -> None:
        unreadable.append(_not_read(problem, folder))

    return (Path(place) / name for place, _, names in os.walk(folder, onerror=closed) for name in names)


def _not_read(problem: OSError, path: Path) -> UnreadableError:
    return UnreadableError(f"{problem.filename or path}: cannot be read: {why(problem)}")


def _found(path: Path, role: Role, errors: list[UnreadableError]) -> Iterator[Stack | list[Resource]]:
    """The content of each file of a path; an unreadable file or folder adds to the errors."""
    for file in files(path, errors):
        try:
            yield _read(file, role, errors)
        except UnreadableError as problem:
            errors.append(problem)


def _read(path: Path, role: Role, unreadable: list[UnreadableError]) -> Stack | list[Resource]:
    """JSON is recognised by content: a state may have any file name, or come through a pipe."""
    try:
        content = sys.stdin.buffer.read() if path == PIPE else path.read_bytes()
        text = content.decode("utf-8-sig")
        is_json, data = _json(text, must=path.suffix == ".json")
        if not is_json:
            return from_manifests(_documents(text, path, unreadable), str(path), role)
        return from_state(data, path.stem) or from_preview(data, path.stem) or from_manifests([data], str(path), role)
    except (OSError, *UNPARSABLE) as problem:
        raise UnreadableError(f"{path}: cannot be read as JSON or YAML: {why(problem)}") from None
    except (AttributeError, TypeError, IndexError):
        fix = "Write it with `pulumi stack export` or `pulumi preview --json`"
        raise UnreadableError(f"{path}: has an invalid resource. {fix}") from None


def _documents(text: str, path: Path, unreadable: list[UnreadableError]) -> list[Any]:
    """The documents of a YAML text, up to the first unreadable one."""
    found: list[Any] = []
    try:
        found.extend(yaml_text.load_all(text))
    except UNPARSABLE as problem:
        unreadable.append(UnreadableError(f"{path}: cannot be read as JSON or YAML: {why(problem)}"))
    return found


def _json(text: str, *, must: bool) -> tuple[bool, Any]:
    """True and the data if it is JSON. must: raise ValueError otherwise."""
    if not must and not text.lstrip().startswith(("{", "[")):
        return False, None
    try:
        return True, json.loads(text)
    except ValueError:
        if must:
            raise
        return False, None  # YAML may begin so too


def why(problem: Exception) -> str:
    """A file's problem and the fix, without the exception's text, which repeats the file's content."""
    if isinstance(problem, OSError):
        return f"{(problem.strerror or 'it could not be opened').lower()}. Check the path and the file's mode"
    if isinstance(problem, UnicodeDecodeError):
        return "it is not UTF-8 text. Save it as UTF-8"
    if isinstance(problem, RecursionError):
        return "it nests too deep. Name another file"
    if isinstance(problem, yaml_text.RepeatedPartError):
        return "its aliases repeat a part of it a million times. Write it out"
    line = getattr(problem, "lineno", None)
    if mark := getattr(problem, "problem_mark", None):
        line = mark.line + 1
    return f"its syntax is wrong{f' in line {line}' if line else ''}. Correct it"


def from_state(data: Any, name: str) -> Stack | None:
    """A stack's state: an export or a file backend's checkpoint. None for anything else."""
    if not isinstance(data, dict):
        return None
    inner = data.get("deployment") or (data.get("checkpoint") or {}).get("latest")
    if not isinstance(inner, dict) or not isinstance(inner.get("resources"), list):
        return None
    return _stack(inner["resources"], name)


def from_preview(data: Any, name: str) -> Stack | None:
    """A preview's JSON: the new state of each step. None for anything else."""
    if not isinstance(data, dict) or not isinstance(data.get("steps"), list):
        return None
    states = [step.get("newState") for step in data["steps"] if isinstance(step, dict)]
    return _stack([state for state in states if isinstance(state, dict)], name, preview=True)


def _stack(states: Iterable[Mapping[str, Any]], fallback: str, *, preview: bool = False) -> Stack:
    states = list(states)
    by_urn = {state.get("urn"): state for state in states}
    resources = tuple(_resource(state, by_urn) for state in states if isinstance(state.get("urn"), str))
    names = resources[0].urn.split(":")[2:] if resources else []
    return Stack(names[0] if names and names[0] else fallback, resources, preview=preview)


def _resource(state: Mapping[str, Any], by_urn: Mapping[Any, Mapping[str, Any]]) -> Resource:
    urn, kind = str(state["urn"]), str(state.get("type", ""))
    reference = str(state.get("provider") or "").rpartition("::")[0]
    provider = None
    if reference:
        found = by_urn.get(reference, {})
        name, provider_kind = reference.rpartition("::")[2], reference.split("::")[2].split("$")[-1]
        provider = Provider(reference, provider_kind, name, from_plain(found.get("inputs") or {}))
    return Resource(
        urn=urn,
        type=kind,
        name=urn.rpartition("::")[2],
        inputs=from_plain(state.get("inputs") or {}),
        outputs=from_plain(state.get("outputs") or {}),
        parent=state.get("parent") or None,
        provider=provider,
        dependencies={key: tuple(urns or ()) for key, urns in (state.get("propertyDependencies") or {}).items()},
        read_only=bool(state.get("external")),
    )


def from_manifests(documents: Iterable[Any], where: str, role: Role) -> list[Resource]:
    """Kubernetes objects, Lists unfolded. Other documents are skipped."""
    name = vocabulary.PROVIDER_NAME[CONTROL_PLANE if role is Role.CONTROL_PLANE else DATA_PLANE]
    provider = Provider(f"file::{name}", "pulumi:providers:kubernetes", name, {"kubeconfig": UNKNOWN})
    found: list[Resource] = []
    todo = list(documents)[::-1]
    while todo:
        document = todo.pop()
        if not isinstance(document, dict):
            continue
        if str(document.get("kind", "")).endswith("List") and isinstance(document.get("items"), list):
            todo += document["items"][::-1]
        elif isinstance(document.get("apiVersion"), str) and isinstance(document.get("kind"), str):
            version = document["apiVersion"] if "/" in document["apiVersion"] else f"core/{document['apiVersion']}"
            metadata = document.get("metadata")
            name = str(metadata.get("name", "")) if isinstance(metadata, dict) else ""
            urn, kind = f"{where}::{document['kind']}::{name}", f"kubernetes:{version}:{document['kind']}"
            found.append(Resource(urn, kind, name, inputs=document, provider=provider))
    return found
