"""The engine's events as the controller's: names and kinds of steps, messages; no values of resources."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pulumi import automation

_COLOUR: Final = re.compile(r"<\{%.*?%\}>|\x1b\[[0-9;]*m")
UNCHANGING: Final = ("same", "refresh", "read")
"""Steps that change nothing. A refresh that finds a change ends as `update` or `delete`."""
_SHOWN: Final = ("error", "warning", "info#err")
_OF_THE_MACHINE: Final = "using pulumi-"
"""Begin of the engine's warning about a plug-in's path."""


@dataclass
class Recorder:
    """Collects what the result needs, and emits the rest."""

    emit: Callable[[Mapping[str, Any]], None]
    steps: list[dict[str, Any]] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def __call__(self, event: automation.EngineEvent) -> None:
        """Takes an event of the engine."""
        for one in _translated(event):
            if one["type"] == "step" and one["phase"] == "begin" and one["action"] not in UNCHANGING:
                self.steps.append({key: one[key] for key in ("action", "resource", "kind", "fields")})
            if one["type"] == "message" and one["severity"] == "error":
                self.errors.append(one["text"])
            if one["type"] != "step" or one["action"] not in UNCHANGING:
                self.emit({key: value for key, value in one.items() if key != "fields"})


def _translated(event: automation.EngineEvent) -> Iterator[dict[str, Any]]:
    phases = {"begin": event.resource_pre_event, "end": event.res_outputs_event, "failed": event.res_op_failed_event}
    for phase, found in phases.items():
        if found is not None:
            step = found.metadata
            # OpType is an enumeration of strings; paths of fields, without their values, explain an update.
            changed = sorted(step.detailed_diff or ()) or sorted(step.diffs or ())
            name, kind = step.urn.rpartition("::")[2], step.type
            action = getattr(step.op, "value", str(step.op))
            yield {"type": "step", "phase": phase, "action": action, "resource": name, "kind": kind, "fields": changed}
    if (said := event.diagnostic_event) is not None and said.severity in _SHOWN and not said.ephemeral:
        text = _COLOUR.sub("", said.message).strip()
        severity = "warning" if said.severity == "info#err" else said.severity
        if text and not text.startswith(_OF_THE_MACHINE):
            yield {"type": "message", "severity": severity, "text": text}
    if (violated := event.policy_event) is not None:
        level = violated.enforcement_level
        severity = "error" if level == "mandatory" else "warning"
        text = _COLOUR.sub("", violated.message).strip()
        yield {"type": "message", "severity": severity, "text": f"{violated.policy_name}: {text}"}
