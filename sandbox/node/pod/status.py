"""Computes a PodStatus from what was observed; pure. Phases and reasons are kubelet's."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from lightkube.models.core_v1 import (
    ContainerState as ApiContainerState,
)
from lightkube.models.core_v1 import (
    ContainerStateRunning,
    ContainerStateTerminated,
    ContainerStateWaiting,
    ContainerStatus,
    HostIP,
    PodCondition,
    PodIP,
    PodStatus,
)
from lightkube.resources.core_v1 import Pod

from sandbox.node.container.state import ContainerState, PodState


def _container(state: ContainerState) -> ContainerStatus:
    current = state.current
    return ContainerStatus(
        name=state.name,
        image=state.image,
        imageID=state.image_id,
        containerID=state.container_id or None,
        ready=is_ready(state),
        started=state.started and isinstance(current, ContainerStateRunning),
        restartCount=state.restarts,
        state=ApiContainerState(
            running=current if isinstance(current, ContainerStateRunning) else None,
            terminated=current if isinstance(current, ContainerStateTerminated) else None,
            waiting=current if isinstance(current, ContainerStateWaiting) else None,
        ),
        lastState=ApiContainerState(terminated=state.last),
    )


def is_ready(state: ContainerState) -> bool:
    """A finished init container counts as ready; any other must run and pass its readiness probe."""
    if state.kind == "init":
        return state.succeeded
    return state.ready and isinstance(state.current, ContainerStateRunning)


def initialized(pod: PodState) -> bool:
    """Whether all init containers have done their part and all sidecars have started."""
    return all(one.succeeded for one in pod.of("init")) and all(one.started for one in pod.of("sidecar"))


def phase(pod: PodState, restart_policy: str) -> str:
    """Pending, Running, Succeeded or Failed."""
    mains = pod.of("main")
    if any(one.done(restart_policy) and not one.succeeded for one in pod.of("init")):
        return "Failed"
    if mains and all(one.done(restart_policy) for one in mains):
        return "Succeeded" if all(one.succeeded for one in mains) else "Failed"
    never_ran = any(isinstance(one.current, ContainerStateWaiting) and one.last is None for one in mains)
    begun = pod.of("init") == [] or all(one.succeeded for one in pod.of("init"))
    return "Pending" if never_ran or not begun else "Running"


def _names(states: Iterable[ContainerState]) -> str:
    return "[" + " ".join(state.name for state in states) + "]"


def _condition(
    kind: str, holds: bool, reason: str, message: str, generation: int | None, before: PodStatus | None, at: datetime
) -> PodCondition:
    status = "True" if holds else "False"
    old = next((one for one in (before.conditions if before else None) or [] if one.type == kind), None)
    since = old.lastTransitionTime if old is not None and old.status == status else at
    return PodCondition(
        type=kind,
        status=status,
        reason=None if holds else reason or None,
        message=None if holds else message or None,
        lastTransitionTime=since,
        observedGeneration=generation,
    )


def compute(pod: Pod, state: PodState, host_ip: str, at: datetime) -> PodStatus:
    """The whole status. ``pod`` carries the last one known to the API server: times of transitions are kept."""
    assert pod.spec is not None
    assert pod.metadata is not None
    policy = pod.spec.restartPolicy or "Always"
    now_in = phase(state, policy)
    over = now_in in ("Succeeded", "Failed")
    inits = [one for one in state.containers if one.kind != "main"]
    unready = [one for one in [*state.of("main"), *state.of("sidecar")] if not is_ready(one)]
    not_ready = "PodCompleted" if now_in == "Succeeded" else "PodFailed" if now_in == "Failed" else "ContainersNotReady"
    message = "" if over else f"containers with unready status: {_names(unready)}"
    containers_ready = not unready and not over and initialized(state)
    gates = {gate.conditionType for gate in pod.spec.readinessGates or []}
    known = (pod.status.conditions if pod.status else None) or []
    gates_open = gates <= {one.type for one in known if one.status == "True"}
    begun = initialized(state) or (over and all(one.succeeded for one in state.of("init")))
    waiting = [one for one in inits if not (one.succeeded or (one.kind == "sidecar" and one.started))]
    generation = pod.metadata.generation
    rows = [
        ("PodReadyToStartContainers", state.volumes_ready and bool(state.address) and not over, "", ""),
        ("Initialized", begun, "ContainersNotInitialized", f"containers with incomplete status: {_names(waiting)}"),
        ("ContainersReady", containers_ready, not_ready, message),
        ("Ready", containers_ready and gates_open,
         not_ready if not containers_ready else "ReadinessGatesNotReady", message),
        ("PodScheduled", True, "", ""),
    ]  # fmt: skip
    mains = [_container(one) for one in state.containers if one.kind == "main"]
    return PodStatus(
        phase=now_in,
        hostIP=host_ip,
        hostIPs=[HostIP(ip=host_ip)],
        podIP=state.address or None,
        podIPs=[PodIP(ip=state.address)] if state.address else None,
        startTime=state.started_at,
        observedGeneration=generation,
        conditions=[_condition(*row, generation, pod.status, at) for row in rows],
        initContainerStatuses=[_container(one) for one in inits] or None,
        containerStatuses=mains,
    )


def patch(uid: str, computed: PodStatus) -> dict[str, Any]:
    """The strategic merge patch that makes the Pod's status so and refuses another Pod of the same name.

    Conditions are merged by type, so those of others (readiness gates, the scheduler's) stay.
    """
    document: dict[str, Any] = computed.to_dict()
    for field in ("reason", "message", "podIP"):
        document.setdefault(field, None)
    for condition in document["conditions"]:
        condition.setdefault("reason", None)
        condition.setdefault("message", None)
    for field in ("podIPs", "hostIPs"):  # lists that would be merged: an address of before must go
        document[field] = [{"$patch": "replace"}, *document.get(field, [])]
    return {"metadata": {"uid": uid}, "status": document}
