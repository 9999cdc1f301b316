"""When StatefulSets, DaemonSets and Jobs are ready."""

from __future__ import annotations

from typing import Any, Final

from sandbox.plugins.kubernetes.objects import Object, get, is_owned_by
from sandbox.plugins.kubernetes.readiness.pods import condition_of, pod_errors, shown_name
from sandbox.plugins.kubernetes.readiness.verdict import PODS, Condition, Verdict, View

# A Job that failed for any other reason (a Pod failure policy, say) is waited for until the time is over.
_JOB_GIVEN_UP: Final = ("BackoffLimitExceeded", "DeadlineExceeded")


def _number(obj: Any, *path: str) -> int:
    value = get(obj, *path)
    return value if isinstance(value, int) else 0


def _is_observed(obj: Object | None, target: Object) -> bool:
    generation = _number(obj, "metadata", "generation")
    return (
        obj is not None
        and generation >= _number(target, "metadata", "generation")
        and _number(obj, "status", "observedGeneration") >= generation
    )


def _own_pod_errors(view: View) -> tuple[str, ...]:
    return pod_errors(pod for pod in view.all(PODS).values() if is_owned_by(pod, view.target))


def _stateful_set(view: View) -> Verdict:
    """All replicas there, ready and of the current revision; with OnDelete updates the revision does not count."""
    own = view.own
    if own is None or not _is_observed(own, view.target):
        return Verdict(False, "Waiting for the StatefulSet controller", ("the StatefulSet controller has not seen it",))
    wanted, ready = _number(own, "spec", "replicas"), _number(own, "status", "readyReplicas")
    current, update = get(own, "status", "currentRevision"), get(own, "status", "updateRevision")
    by_hand = _number(own, "metadata", "generation") > 1 and get(own, "spec", "updateStrategy", "type") == "OnDelete"
    is_ready = wanted == ready == _number(own, "status", "replicas")
    is_current = by_hand or bool(current and current == update)
    if not by_hand:
        is_ready = is_ready and wanted == _number(own, "status", "currentReplicas")
    if is_ready and is_current:
        return Verdict(True, "StatefulSet initialization complete")
    reasons = []
    if not is_ready:
        reasons.append(f"{ready} out of {wanted} replicas succeeded readiness checks")
    if not is_current:
        reasons.append(f'StatefulSet controller failed to advance from revision "{current}" to revision "{update}"')
    note = f"Waiting for StatefulSet Pods ({ready}/{wanted} ready)"
    return Verdict(False, note, (*reasons, *_own_pod_errors(view)))


def _daemon_set(view: View) -> Verdict:
    """A Pod of the newest template available on every node that it belongs on."""
    own = view.own
    if own is None or not _is_observed(own, view.target):
        return Verdict(False, "Waiting for the DaemonSet controller", ("the DaemonSet controller has not seen it",))
    if get(own, "status", "desiredNumberScheduled") is None:
        return Verdict(False, "Waiting for DaemonSet Pods to be scheduled", ("no Pods are scheduled yet",))
    wanted = _number(own, "status", "desiredNumberScheduled")
    for field, word in (
        ("currentNumberScheduled", "scheduled"),
        ("updatedNumberScheduled", "updated"),
        ("numberAvailable", "available"),
        ("numberReady", "ready"),
    ):
        there = _number(own, "status", field)
        if there < wanted:
            text = f"{word.capitalize()}: {there}/{wanted}"
            return Verdict(False, text, (text, *_own_pod_errors(view)))
    return Verdict(True, f"All replicas scheduled as expected. Replicas: {wanted}")


def _job(view: View) -> Verdict:
    """Started and complete; failed as soon as its controller gives up for one of the two common reasons."""
    own = view.own
    if own is None:
        return Verdict(False, "Waiting for the Job to start")
    name = shown_name(own)
    if not get(own, "status", "startTime"):
        return Verdict(False, f'Waiting for Job "{name}" to start', _own_pod_errors(view))
    counts = " | ".join(f"{word}: {_number(own, 'status', word.lower())}" for word in ("Active", "Succeeded", "Failed"))
    note = f'Waiting for Job "{name}" to succeed ({counts})'
    failed = condition_of(own, "Failed")
    if get(failed, "status") == "True" and get(failed, "reason") in _JOB_GIVEN_UP:
        reason = f"[{get(failed, 'reason')}] {get(failed, 'message')}"
        return Verdict(False, note, (reason, *_own_pod_errors(view)), failed=True)
    if get(condition_of(own, "Complete"), "status") == "True":
        return Verdict(True)
    return Verdict(False, note, _own_pod_errors(view))


STATEFUL_SET = Condition(_stateful_set, watches=(PODS,), on_read=True)
DAEMON_SET = Condition(_daemon_set, watches=(PODS,), on_read=True)
JOB = Condition(_job, watches=(PODS,), on_read=True)
