"""When a Pod is ready, when a Deployment has rolled out, and what to say of its Pods if it has not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from sandbox.plugins.kubernetes.objects import annotation, get, name_of, namespace_of
from sandbox.plugins.kubernetes.readiness.verdict import PODS, REPLICA_SETS, Condition, Verdict, View

_REVISION: Final = "deployment.kubernetes.io/revision"


def _pod(view: View) -> Verdict:
    if view.own is None:
        return Verdict(False, f'Waiting for Pod "{name_of(view.target)}"')
    step = _open_step(view.own)
    note = f'Waiting for Pod "{_shown_name(view.own)}": {step}'
    return Verdict(not step, note, tuple(_errors_of(view.own)))


def _deployment(view: View) -> Verdict:
    """Ready: seen by its controller, available, and its newest ReplicaSet ready.

    After the first revision the rollout has to be over as well; a first revision has no rollout.
    """
    deployment = view.own
    if deployment is None or not _is_observed(deployment, view):
        return Verdict(
            False, "Waiting for the Deployment controller", ("Minimum number of live Pods was not attained",)
        )
    revision = annotation(deployment, _REVISION)
    available, progressing = _condition_of(deployment, "Available"), _condition_of(deployment, "Progressing")
    is_available = get(available, "status") == "True"
    rolled_out = (
        get(progressing, "status") == "True" and get(progressing, "reason") == "NewReplicaSetAvailable"
    ) or revision == "1"
    newest = next(
        (
            one
            for one in view.all(REPLICA_SETS).values()
            if revision and annotation(one, _REVISION) == revision and _is_owned_by(one, view.target)
        ),
        None,
    )
    wanted, ready = _replicas(newest)
    is_ready = newest is not None and ready >= wanted
    if is_available and rolled_out and is_ready:
        return Verdict(True, "Deployment initialization complete")
    note = f"Waiting for app ReplicaSet to be available ({ready}/{wanted} Pods available)"
    reasons = [_complaint(entry) for entry in (available, progressing)]
    reasons.append(_shortfall(is_available, rolled_out, first=revision == "1"))
    pods = [pod for pod in view.all(PODS).values() if _is_owned_by(pod, newest)]
    errors = [text for pod in pods for text in _errors_of(pod)]
    return Verdict(False, note, (*(text for text in reasons if text), *errors))


def _is_observed(deployment: Mapping[str, Any], view: View) -> bool:
    generation = get(deployment, "metadata", "generation")
    is_newest = bool(generation >= (get(view.target, "metadata", "generation") or 0))
    return is_newest and bool(generation == get(deployment, "status", "observedGeneration"))


def _replicas(replica_set: Mapping[str, Any] | None) -> tuple[int, int]:
    """(wanted, ready): from the live ReplicaSet, so that scaling by somebody else is no failure."""
    wanted = get(replica_set, "spec", "replicas")
    return (1 if wanted is None else wanted), get(replica_set, "status", "readyReplicas") or 0


def _complaint(entry: Mapping[str, Any] | None) -> str:
    if entry is None or entry.get("status") == "True" or not entry.get("reason"):
        return ""
    return f"[{entry['reason']}] {entry.get('message', '')}"


def _shortfall(available: bool, rolled_out: bool, *, first: bool) -> str:
    if not available:
        return "Minimum number of live Pods was not attained"
    if first or not rolled_out:
        return "Minimum number of Pods to consider the application live was not attained"
    return "Attempted to roll forward to new ReplicaSet, but minimum number of Pods did not become live"


def _condition_of(obj: Any, kind: str) -> Mapping[str, Any] | None:
    """The entry of .status.conditions of that type."""
    return next((entry for entry in get(obj, "status", "conditions") or () if entry.get("type") == kind), None)


def _is_owned_by(obj: Mapping[str, Any], owner: Mapping[str, Any] | None) -> bool:
    uid = get(owner, "metadata", "uid")
    return uid is not None and any(get(one, "uid") == uid for one in get(obj, "metadata", "ownerReferences") or ())


def _shown_name(obj: Mapping[str, Any]) -> str:
    """namespace/name, without the namespace where it is the default one."""
    return f"{namespace_of(obj)}/{name_of(obj)}" if namespace_of(obj) not in ("", "default") else name_of(obj)


def _open_step(pod: Mapping[str, Any]) -> str:
    """The first step that a Pod has not taken yet, "" when it is ready; one that has succeeded is."""
    steps = ("PodScheduled", "Initialized", "Ready") if get(pod, "status", "phase") != "Succeeded" else ()
    return next((one for one in steps if get(_condition_of(pod, one), "status") != "True"), "")


def _errors_of(pod: Mapping[str, Any]) -> Iterable[str]:
    """What is wrong with a Pod at that step."""
    step = _open_step(pod)
    entry = _condition_of(pod, step)
    if entry is None:
        return
    message = str(entry.get("message") or "") if entry.get("reason") else ""
    if step == "PodScheduled":
        if message:
            yield message
        return
    errors = [text for status in get(pod, "status", "containerStatuses") or () for text in _container(status)]
    if message or errors:
        yield f"[Pod {_shown_name(pod)}]: {message}" + "\n".join(errors)


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


POD = Condition(_pod, on_read=True)
DEPLOYMENT = Condition(_deployment, others=(REPLICA_SETS, PODS), on_read=True)
