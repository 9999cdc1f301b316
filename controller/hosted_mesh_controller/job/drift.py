"""Drift from the events of a preview with a refresh: steps on resources that the refresh found changed.

Other steps come from the program, such as after an update of the controller. A status that a cluster writes is no step.
"""

from __future__ import annotations

from typing import Any, Final

from pulumi import automation

from hosted_mesh_controller.job.engine_events import UNCHANGING, Recorder

_REFRESH: Final = "refresh"


class Drift:
    """Reads events, and passes them on."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._refreshing: set[str] = set()
        self._changed: set[str] = set()
        self._steps: list[tuple[str, dict[str, Any]]] = []

    def __call__(self, event: automation.EngineEvent) -> None:
        """Takes an event of the engine."""
        if event.resource_pre_event is not None:
            step = event.resource_pre_event.metadata
            if _name(step.op) == _REFRESH:
                self._refreshing.add(step.urn)
            elif _name(step.op) not in UNCHANGING:
                shown = {"action": _name(step.op), "resource": step.urn.rpartition("::")[2], "kind": step.type}
                fields = sorted(step.detailed_diff or ()) or sorted(step.diffs or ())
                self._steps.append((step.urn, {**shown, "fields": fields}))
        if event.res_outputs_event is not None:
            step = event.res_outputs_event.metadata
            if step.urn in self._refreshing:
                self._refreshing.remove(step.urn)
                if _has_changed(step):
                    self._changed.add(step.urn)
        self._recorder(event)

    @property
    def steps(self) -> list[dict[str, Any]]:
        """The steps that would mend."""
        return [step for urn, step in self._steps if urn in self._changed]


def _has_changed(step: Any) -> bool:
    """Whether a refresh found another object, or none.

    `pulumi refresh` reports this as `update` or `delete`, but `preview --refresh` as `refresh`. A provider may report
    no differences, so the inputs are compared too.
    """
    if _name(step.op) not in UNCHANGING or step.new is None or step.detailed_diff or step.diffs:
        return True
    return step.old is not None and step.old.inputs != step.new.inputs


def _name(op: Any) -> str:
    return str(getattr(op, "value", op))
