"""When a Pod is ready, and what to say of Pods that are not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sandbox.plugins.kubernetes.objects import get, name_of, namespace_of
from sandbox.plugins.kubernetes.readiness.verdict import Condition, Verdict, View


def condition_of(obj: Any, kind: str) -> Mapping[str, Any] | None:
    """The entry of .status.conditions of that type."""
    return next((entry for entry in get(obj, "status", "conditions") or () if entry.get("type") == kind), None)


def _judge(view: View) -> Verdict:
    if view.own is None:
        return Verdict(False, f'Waiting for Pod "{name_of(view.target)}"')
    return pod_verdict(view.own)


def pod_verdict(pod: Mapping[str, Any]) -> Verdict:
    """Scheduled, then initialized, then ready; a Pod that has succeeded is ready."""
    name = shown_name(pod)
    if get(pod, "status", "phase") == "Succeeded":
        return Verdict(True)
    for kind, word in (("PodScheduled", "scheduled"), ("Initialized", "initialized"), ("Ready", "ready")):
        entry = condition_of(pod, kind)
        if entry is not None and entry.get("status") == "True":
            continue
        return Verdict(False, f'Waiting for Pod "{name}" to be {word}', tuple(_complaints(name, kind, entry, pod)))
    return Verdict(True)


def shown_name(obj: Mapping[str, Any]) -> str:
    """namespace/name, without the namespace where it is the default one."""
    return f"{namespace_of(obj)}/{name_of(obj)}" if namespace_of(obj) not in ("", "default") else name_of(obj)


def pod_errors(pods: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """What is wrong with each of these Pods."""
    return tuple(reason for pod in pods for reason in pod_verdict(pod).reasons)


def _complaints(name: str, kind: str, entry: Mapping[str, Any] | None, pod: Mapping[str, Any]) -> Iterable[str]:
    if entry is None:
        return
    message = str(entry.get("message") or "") if entry.get("reason") else ""
    if kind == "PodScheduled":
        if message:
            yield message
        return
    errors = [text for status in get(pod, "status", "containerStatuses") or () for text in _container(status)]
    if message or errors:
        yield f"[Pod {name}]: {message}" + "\n".join(errors)


def _container(status: Mapping[str, Any]) -> Iterable[str]:
    if status.get("ready"):
        return
    waiting, ended = get(status, "state", "waiting"), get(status, "state", "terminated")
    if waiting and waiting.get("reason") != "ContainerCreating":
        yield f"[{waiting.get('reason', '')}] {waiting.get('message', '')}"
    if ended and ended.get("reason"):
        text = f"[{ended['reason']}] {ended['message']}" if ended.get("message") else ""
        yield text or f'container "{status.get("name")}" completed with exit code {ended.get("exitCode")}'
    before = get(status, "lastState", "terminated")
    if before:
        cause = f"{before.get('reason', '')}: exit code {before.get('exitCode')}"
        yield f'container "{status.get("name")}" terminated at {before.get("finishedAt")} ({cause})'


POD = Condition(_judge, on_read=True)
