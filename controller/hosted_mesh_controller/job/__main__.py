"""Runs one operation: see the package's docstring."""

from __future__ import annotations

import json
import os
import select
import shutil
import sys
import threading
import time
from collections.abc import Mapping
from typing import Any, Final

from pulumi import automation

from hosted_mesh_controller.job import processes
from hosted_mesh_controller.job.certificates import certificates
from hosted_mesh_controller.job.drift import Drift
from hosted_mesh_controller.job.engine_events import Recorder
from hosted_mesh_controller.job.recovery import recover
from hosted_mesh_controller.job.request import MARKER, RESULT, Request
from hosted_mesh_controller.job.state_file import restore_state
from hosted_mesh_controller.job.workspace import masker, open_stack
from hosted_mesh_controller.masking import Masker
from hosted_mesh_controller.vocabulary import Action

_GRACE: Final = 20.0  # seconds for an earlier process of this stack to save its state
_LONGEST_ERROR: Final = 4000


def main() -> None:
    """Reads the request, carries it out, and prints the result."""
    # By the descriptor, so that nothing of the input stays in a buffer that `select` does not see.
    request = Request.of(_first_line())
    mask = masker(request)
    threading.Thread(target=_interrupt_at_end, args=[request.lease_seconds], daemon=True).start()
    recorder = Recorder(lambda event: _print(event, mask))
    try:
        result = _carried_out(request, recorder)
    except automation.CommandError as error:
        text = "\n".join(recorder.errors) or str(error)
        result = {"ok": False, "error": text[-_LONGEST_ERROR:]}
    _print({"type": RESULT, **result}, mask)


def _first_line() -> str:
    line = b""
    while not line.endswith(b"\n") and (part := os.read(sys.stdin.fileno(), 1)):
        line += part
    return line.decode()


def _carried_out(request: Request, recorder: Recorder) -> dict[str, Any]:
    processes.wait_and_kill(os.environ[MARKER], _GRACE)
    restored = restore_state(request.backend, request.stack)
    if restored:
        text = "the state's file was incomplete after an interruption; its backup is restored"
        recorder.emit({"type": "message", "severity": "warning", "text": text})
    stack = open_stack(request)
    if request.unfinished_since is not None and not request.action.previews:
        recover(stack, request.unfinished_since, recorder.emit)
    options: dict[str, Any] = {"on_event": recorder, "color": "never"}
    packs: dict[str, Any] = {"policy_packs": [request.policy_pack]} if request.policy_pack else {}
    match request.action:
        case Action.UP | Action.RENEW | Action.REPAIR | Action.FOLLOW:
            again: dict[str, Any] = {"refresh": True} if request.action is Action.REPAIR else {}
            done = stack.up(show_secrets=False, suppress_outputs=True, **options, **packs, **again)
            public = {name: one.value for name, one in done.outputs.items() if not one.secret}
            changes = _counts(done.summary.resource_changes)
            ends = certificates(_resources(stack))
            return {"ok": True, "changes": changes, "outputs": public, "certificates": ends}
        case Action.CHECK:
            drift = Drift(recorder)
            seen = stack.preview(**{**options, "on_event": drift}, **packs, refresh=True)
            ends = certificates(_resources(stack))
            return {"ok": True, "changes": _counts(seen.change_summary), "drift": drift.steps, "certificates": ends}
        case Action.DESTROY:
            changes = _destroy(stack, options)
            stack.workspace.remove_stack(stack.name)
            shutil.rmtree(request.folder, ignore_errors=True)
            return {"ok": True, "changes": changes}
        case Action.PREVIEW_UP:
            seen = stack.preview(**options, **packs)
            changes = _counts(seen.change_summary)
        case Action.PREVIEW_DESTROY:
            seen_gone = stack.preview_destroy(run_program=_has_hooks(_resources(stack)), **options)
            changes = _counts(seen_gone.change_summary)
    _forget_if_empty(stack, request)
    return {"ok": True, "changes": changes, "steps": recorder.steps}


def _destroy(stack: automation.Stack, options: Mapping[str, Any]) -> dict[str, int]:
    """Removes all resources. The program runs only where resources have hooks, as in the library's commands.

    A program that runs registers components again which an interrupted run has removed: a second run removes these.
    """
    changes: dict[str, int] = {}
    for _ in range(2):
        if resources := _resources(stack):
            gone = stack.destroy(run_program=_has_hooks(resources), suppress_outputs=True, **options)
            changes = changes or _counts(gone.summary.resource_changes)
    return changes


def _counts(changes: Mapping[Any, int] | None) -> dict[str, int]:
    """Numbers of resources by operation, whose name is text or a member of an enumeration."""
    return {str(getattr(op, "value", op)): number for op, number in (changes or {}).items()}


def _resources(stack: automation.Stack) -> list[Mapping[str, Any]]:
    found: list[Mapping[str, Any]] = (stack.export_stack().deployment or {}).get("resources") or []
    return found


def _has_hooks(resources: list[Mapping[str, Any]]) -> bool:
    return any(one.get("resourceHooks") for one in resources)


def _forget_if_empty(stack: automation.Stack, request: Request) -> None:
    """Removes a stack that only the preview made."""
    if not _resources(stack):
        stack.workspace.remove_stack(stack.name)
        shutil.rmtree(request.folder, ignore_errors=True)


def _interrupt_at_end(lease: float | None) -> None:
    """Waits for the end of standard input, which comes with the controller's end too, or for the end of the lease."""
    if lease is None:
        sys.stdin.read()
    else:
        while select.select([sys.stdin], [], [], lease)[0] and os.read(sys.stdin.fileno(), 4096):
            pass
        threading.Thread(target=_kill_after, args=[lease], daemon=True).start()
    processes.interrupt_engine()


def _kill_after(seconds: float) -> None:
    """Ends an engine that does not end by itself: another executor may begin this operation soon."""
    time.sleep(seconds)
    processes.wait_and_kill(os.environ[MARKER], 0)
    os._exit(1)


def _print(event: Mapping[str, Any], mask: Masker) -> None:
    try:
        print(json.dumps(_masked(event, mask)), flush=True)
    except BrokenPipeError:  # the controller is gone; the engine goes on to save its state
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123


def _masked(value: Any, mask: Masker) -> Any:
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, Mapping):
        return {key: _masked(one, mask) for key, one in value.items()}
    return [_masked(one, mask) for one in value] if isinstance(value, list | tuple) else value


if __name__ == "__main__":
    main()
