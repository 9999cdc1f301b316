"""Phases, conditions and container statuses computed from what was observed."""

import time
from datetime import UTC, datetime

import pytest
from lightkube.models.core_v1 import Container, ContainerStatus, PodCondition, PodSpec, PodStatus
from lightkube.models.core_v1 import ContainerStateRunning as Running
from lightkube.models.core_v1 import ContainerStateTerminated as Terminated
from lightkube.models.core_v1 import ContainerStateWaiting as Waiting
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.core_v1 import Pod

from sandbox.node.container.state import BackOff, ContainerState, Current, Kind, PodState, initial_states
from sandbox.node.pod import status

AT = datetime(2026, 1, 1, tzinfo=UTC)
RUNNING, WAITING = Running(startedAt=AT), Waiting(reason="ErrImagePull", message="no such")
DONE, FAILED = Terminated(0, reason="Completed"), Terminated(7, reason="Error")


def container(kind: Kind, current: Current, *, ready: bool = False, started: bool = False) -> ContainerState:
    return ContainerState(f"{kind}-c", "image", kind, current, started=started, ready=ready)


def compute(*containers: ContainerState, policy: str = "Always", before: PodStatus | None = None) -> PodStatus:
    pod = Pod(
        metadata=ObjectMeta(name="p", generation=3), spec=PodSpec(containers=[], restartPolicy=policy), status=before
    )
    state = PodState("10.1.0.7", AT, True, containers=list(containers))
    return status.compute(pod, state, "10.9.0.1", AT)


def conditions(found: PodStatus) -> dict[str, str]:
    return {one.type: one.status for one in found.conditions or []}


@pytest.mark.parametrize(
    ("policy", "currents", "phase"),
    [
        ("Always", [RUNNING], "Running"),
        ("Always", [RUNNING, WAITING], "Pending"),
        ("Always", [DONE], "Running"),  # about to be started again
        ("OnFailure", [DONE, DONE], "Succeeded"),
        ("OnFailure", [DONE, FAILED], "Running"),
        ("Never", [DONE, FAILED], "Failed"),
        ("Never", [DONE, RUNNING], "Running"),
    ],
)
def test_phases(policy: str, currents: list[Current], phase: str) -> None:
    assert compute(*(container("main", one) for one in currents), policy=policy).phase == phase


def test_a_crashed_container_that_waits_does_not_make_the_pod_pending() -> None:
    crashed = container("main", Waiting(reason="CrashLoopBackOff"))
    crashed.last = FAILED
    found = compute(crashed)
    assert found.phase == "Running"
    assert found.containerStatuses is not None
    last = found.containerStatuses[0].lastState
    assert last is not None
    assert last.terminated is not None
    assert last.terminated.exitCode == 7


def test_init_containers_gate_everything() -> None:
    found = compute(container("init", RUNNING), container("main", Waiting(reason="PodInitializing")))
    assert found.phase == "Pending"
    assert conditions(found)["Initialized"] == "False"
    failed = compute(container("init", FAILED), container("main", Waiting(reason="PodInitializing")), policy="Never")
    assert failed.phase == "Failed"


def test_a_sidecar_must_have_started_and_counts_for_readiness() -> None:
    main = container("main", RUNNING, ready=True, started=True)
    starting = compute(container("sidecar", RUNNING), main)
    assert conditions(starting)["Initialized"] == "False"
    unready = compute(container("sidecar", RUNNING, started=True), main)
    assert conditions(unready) == {
        "PodReadyToStartContainers": "True", "Initialized": "True", "ContainersReady": "False", "Ready": "False",
        "PodScheduled": "True",
    }  # fmt: skip
    ready = compute(container("sidecar", RUNNING, started=True, ready=True), main)
    assert conditions(ready)["Ready"] == "True"
    assert [one.name for one in ready.initContainerStatuses or []] == ["sidecar-c"]


def test_readiness_names_who_is_missing() -> None:
    found = compute(container("main", RUNNING, started=True))
    row = next(one for one in found.conditions or [] if one.type == "ContainersReady")
    assert (row.reason, row.message) == ("ContainersNotReady", "containers with unready status: [main-c]")


def test_a_finished_pod_is_not_ready() -> None:
    found = compute(container("main", DONE), policy="Never")
    row = next(one for one in found.conditions or [] if one.type == "Ready")
    assert (row.status, row.reason) == ("False", "PodCompleted")


def test_the_time_of_a_transition_is_kept() -> None:
    earlier = datetime(2025, 1, 1, tzinfo=UTC)
    before = PodStatus(conditions=[PodCondition(type="Ready", status="True", lastTransitionTime=earlier)])
    ready = container("main", RUNNING, ready=True, started=True)
    found = compute(ready, before=before)
    times = {one.type: one.lastTransitionTime for one in found.conditions or []}
    assert times["Ready"] == earlier
    assert times["ContainersReady"] == AT


def test_the_patch_clears_what_no_longer_holds() -> None:
    document = status.patch("u-1", compute(container("main", RUNNING, ready=True, started=True)))
    assert document["metadata"] == {"uid": "u-1"}
    assert document["status"]["reason"] is None
    assert all("message" in row for row in document["status"]["conditions"])
    assert document["status"]["podIPs"] == [{"$patch": "replace"}, {"ip": "10.1.0.7"}]


def before_restart(policy: str) -> list[ContainerState]:
    ran = ContainerStatus(name="a", image="i", imageID="", ready=True, restartCount=2, containerID="process://7")
    spec = PodSpec(containers=[Container(name="a"), Container(name="b")], restartPolicy=policy)
    return initial_states(Pod(metadata=ObjectMeta(name="p"), spec=spec, status=PodStatus(containerStatuses=[ran])))


def test_what_ran_before_the_agents_restart_counts_as_restarted() -> None:
    first, second = before_restart("Always")
    assert (first.restarts, first.last and first.last.exitCode) == (3, 137)
    assert (second.restarts, second.last) == (0, None)


def test_what_must_not_restart_has_failed_with_the_agent() -> None:
    first, _ = before_restart("Never")
    assert isinstance(first.current, Terminated)
    assert first.done("Never")


def test_back_off_doubles_up_to_five_minutes_and_is_forgotten() -> None:
    back_off, just_now = BackOff(), time.monotonic()
    assert [back_off.next(just_now) for _ in range(8)] == [0, 10, 20, 40, 80, 160, 300, 300]
    assert back_off.next(just_now - 601) == 0
