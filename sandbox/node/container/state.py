"""What the node has observed of a Pod's containers: the facts from which its status is computed."""

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal

from lightkube.models.core_v1 import (
    ContainerStateRunning,
    ContainerStateTerminated,
    ContainerStateWaiting,
    ContainerStatus,
)
from lightkube.resources.core_v1 import Pod


def now() -> datetime:
    """Kubernetes' metav1.Time knows whole seconds only."""
    return datetime.now(UTC).replace(microsecond=0)


Current = ContainerStateWaiting | ContainerStateRunning | ContainerStateTerminated
Kind = Literal["init", "sidecar", "main"]


@dataclass
class ContainerState:
    """kind: sidecar means an init container with restartPolicy Always.

    started: its startup probe has passed (or there is none and it runs). ready: its readiness probe says so.
    image_id: what runs, empty until it was first started.
    """

    name: str
    image: str
    kind: Kind
    current: Current = field(default_factory=lambda: ContainerStateWaiting(reason="ContainerCreating"))
    last: ContainerStateTerminated | None = None
    restarts: int = 0
    started: bool = False
    ready: bool = False
    image_id: str = ""
    container_id: str = ""

    @property
    def succeeded(self) -> bool:
        return isinstance(self.current, ContainerStateTerminated) and self.current.exitCode == 0

    def done(self, restart_policy: str) -> bool:
        """Whether it has ended for good."""
        if not isinstance(self.current, ContainerStateTerminated):
            return False
        if self.kind == "init":
            return self.succeeded or restart_policy == "Never"
        return self.kind == "main" and (restart_policy == "Never" or (restart_policy == "OnFailure" and self.succeeded))


@dataclass
class PodState:
    """What holds for the whole Pod, and its containers."""

    address: str = ""
    started_at: datetime | None = None
    volumes_ready: bool = False
    containers: list[ContainerState] = field(default_factory=list)

    def of(self, kind: Kind) -> list[ContainerState]:
        return [one for one in self.containers if one.kind == kind]


class BackOff:
    """Pauses between restarts: 10 s, doubled each time, at most 300 s; forgotten after ten minutes of running."""

    FIRST, LONGEST, FORGOTTEN_AFTER = 10.0, 300.0, 600.0

    def __init__(self) -> None:
        self._pause = 0.0

    def next(self, ran_since: float) -> float:
        """Seconds to wait after a run that began at ``ran_since`` (time.monotonic())."""
        if time.monotonic() - ran_since > self.FORGOTTEN_AFTER:
            self._pause = 0.0
        pause = self._pause
        self._pause = min(self._pause * 2 or self.FIRST, self.LONGEST)
        return pause


def initial_states(pod: Pod) -> list[ContainerState]:
    """As if nothing had run; what had run before the node's own restart counts as a restart, as with kubelet."""
    spec, known = pod.spec, pod.status
    assert spec is not None
    listed = [*(known.containerStatuses or []), *(known.initContainerStatuses or [])] if known else []
    before: dict[str, ContainerStatus] = {one.name: one for one in listed}
    states = []
    for container in spec.initContainers or []:
        kind: Kind = "sidecar" if container.restartPolicy == "Always" else "init"
        states.append(ContainerState(container.name, container.image or "", kind))
    states += [ContainerState(container.name, container.image or "", "main") for container in spec.containers]
    for state in states:
        if spec.initContainers:
            state.current = ContainerStateWaiting(reason="PodInitializing")
        status_before = before.get(state.name)
        if not status_before or not status_before.containerID:
            continue
        message = "The container could not be located: the node agent had ended, and all its containers with it"
        lost = ContainerStateTerminated(137, reason="ContainerStatusUnknown", finishedAt=now(), message=message)
        if state.kind == "main" and spec.restartPolicy == "Never":
            state.restarts, state.current = status_before.restartCount, lost
        else:
            state.restarts, state.last = status_before.restartCount + 1, lost
    return states
