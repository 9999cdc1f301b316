"""When a Deployment has rolled out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sandbox.plugins.kubernetes.objects import annotation, get, is_owned_by
from sandbox.plugins.kubernetes.readiness.pods import condition_of, pod_errors
from sandbox.plugins.kubernetes.readiness.verdict import CLAIMS, PODS, REPLICA_SETS, Condition, Verdict, View

_REVISION: Final = "deployment.kubernetes.io/revision"


def _judge(view: View) -> Verdict:
    """Ready: seen by its controller, available, its newest ReplicaSet ready, and its claims bound.

    After the first revision the rollout has to be over as well; a first revision has no rollout.
    """
    deployment = view.own
    if deployment is None or not _is_observed(deployment, view):
        return Verdict(
            False, "Waiting for the Deployment controller", ("Minimum number of live Pods was not attained",)
        )
    revision = annotation(deployment, _REVISION)
    available, progressing = condition_of(deployment, "Available"), condition_of(deployment, "Progressing")
    is_available = get(available, "status") == "True"
    rolled_out = (
        get(progressing, "status") == "True" and get(progressing, "reason") == "NewReplicaSetAvailable"
    ) or revision == "1"
    newest = next(
        (
            one
            for one in view.all(REPLICA_SETS).values()
            if revision and annotation(one, _REVISION) == revision and is_owned_by(one, view.target)
        ),
        None,
    )
    wanted, ready = _replicas(newest)
    is_ready = newest is not None and ready >= wanted
    unbound = _unbound_claims(deployment, view.all(CLAIMS))
    if is_available and rolled_out and is_ready and not unbound:
        return Verdict(True, "Deployment initialization complete")
    note = f"Waiting for app ReplicaSet to be available ({ready}/{wanted} Pods available)"
    reasons = [_complaint(entry) for entry in (available, progressing)]
    if unbound:
        reasons.append(f"Failed to bind PersistentVolumeClaim(s): {', '.join(unbound)}")
    reasons.append(_shortfall(is_available, rolled_out, first=revision == "1"))
    pods = [pod for pod in view.all(PODS).values() if is_owned_by(pod, newest)]
    return Verdict(False, note, (*(text for text in reasons if text), *pod_errors(pods)))


def _is_observed(deployment: Mapping[str, Any], view: View) -> bool:
    generation = get(deployment, "metadata", "generation")
    is_newest = bool(generation >= (get(view.target, "metadata", "generation") or 0))
    return is_newest and bool(generation == get(deployment, "status", "observedGeneration"))


def _replicas(replica_set: Mapping[str, Any] | None) -> tuple[int, int]:
    """(wanted, ready): from the live ReplicaSet, so that scaling by somebody else is no failure."""
    wanted = get(replica_set, "spec", "replicas")
    return (1 if wanted is None else wanted), get(replica_set, "status", "readyReplicas") or 0


def _unbound_claims(deployment: Mapping[str, Any], claims: Mapping[str, Mapping[str, Any]]) -> list[str]:
    volumes = get(deployment, "spec", "template", "spec", "volumes") or ()
    names = [get(volume, "persistentVolumeClaim", "claimName") for volume in volumes]
    return [name for name in names if name in claims and get(claims[name], "status", "phase") != "Bound"]


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


DEPLOYMENT = Condition(_judge, watches=(REPLICA_SETS, PODS, CLAIMS), on_read=True)
