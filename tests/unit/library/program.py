"""A Pulumi program without an engine: what it registers, in order, as the engine would get it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from google.protobuf import json_format, struct_pb2

from tests.support.registrations import Registrations
from tests.support.without_engine import perform

UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
SECRET = {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270"}


@dataclass
class Registered:
    """One registration. `inputs` are plain; `secrets` names those that are, or hold, a value marked secret."""

    type: str
    name: str
    inputs: dict[str, Any]
    secrets: set[str] = field(default_factory=set)
    provider: str = ""
    parent: str = ""
    protect: bool = False
    urn: str = ""


class Monitor(Registrations):
    """Records registrations. outputs: by name, what resources answer beside their inputs."""

    def __init__(self, outputs: Mapping[str, Mapping[str, Any]], found: list[Registered]) -> None:
        super().__init__("project", "stack")
        self.outputs = outputs
        self.found = found

    def registered(self, urn: str, request: Any) -> tuple[str, struct_pb2.Struct]:
        raw = json_format.MessageToDict(request.object)
        marked = {name for name, value in raw.items() if _has_mark(value)}
        plain = {name: _plain(value) for name, value in raw.items()}
        provider = request.provider.rpartition("::")[0].rpartition("::")[2]
        parent = request.parent.rpartition("::")[2]
        of_engine = (provider, parent, request.protect, urn)
        self.found.append(Registered(request.type, request.name, plain, marked, *of_engine))
        state = {**raw, **self.outputs.get(request.name, {})}
        return f"{request.name}-id" if request.custom else "", json_format.ParseDict(state, struct_pb2.Struct())


def run(
    program: Callable[[], Any],
    *,
    outputs: Mapping[str, Mapping[str, Any]] | None = None,
    preview: bool = False,
    into: list[Registered] | None = None,
) -> list[Registered]:
    """Runs the program. Raises what the program raises.

    outputs: what resources answer by name, beside their inputs. into: takes the registrations, also of a program that
    failed.
    """
    monitor = Monitor(outputs or {}, [] if into is None else into)
    perform(program, monitor, preview=preview)
    return monitor.found


def secret(value: Any) -> dict[str, Any]:
    """A value that a resource answers as a secret."""
    return {**SECRET, "value": value}


def _is_marked(value: Any) -> bool:
    return isinstance(value, dict) and SECRET.items() <= value.items()


def _has_mark(value: Any) -> bool:
    if _is_marked(value):
        return True
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(map(_has_mark, inner))


def _plain(value: Any) -> Any:
    if _is_marked(value):
        return _plain(value["value"])
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list) else value
