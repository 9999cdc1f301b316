"""The durable queue: one workflow of DBOS for each operation, with the operation's id.

A workflow stores the id alone. After a restart DBOS runs the interrupted steps again; the steps are safe to repeat.
"""

from __future__ import annotations

import logging
from typing import Final, Protocol

from dbos import DBOS, DBOSConfig, SetEnqueueOptions, SetWorkflowID

from hosted_mesh_controller import metrics
from hosted_mesh_controller.json_logs import adopt, facts
from hosted_mesh_controller.settings import Settings
from hosted_mesh_controller.store import orders
from hosted_mesh_controller.store.database import Database
from hosted_mesh_controller.work.runner import LostProcessError, Runner

LOG: Final = logging.getLogger(__name__)
NAME: Final = "operations"
_STEPS: Final = "1"
"""Version of the workflow's steps, for all versions of the controller: DBOS continues workflows of one version only.
The steps are safe to repeat."""
_OPEN: Final = ("ENQUEUED", "PENDING", "DELAYED")
_LOOK: Final = 0.25  # seconds between looks into the queue
_ATTEMPTS, _PAUSE = 4, 2.0


class Queue(Protocol):
    """The order of operations."""

    def add(self, identifier: str, tag: int) -> None:
        """Adds a queued operation; a repeated id has no effect."""

    def released(self, stack: str) -> None:
        """Notes that a stack may have no operation any more."""


class DurableQueue:
    """The queue on DBOS. There is one in a process, because DBOS has one instance."""

    def __init__(
        self, settings: Settings, database: Database, runner: Runner | None = None, executor: str | None = None
    ) -> None:
        self._settings, self._database, self._executor = settings, database, executor
        self._runner = runner or Runner(settings, database, executor=executor)

    def start(self) -> None:
        """Starts the workers, continues interrupted operations, and queues those that a crash left out."""
        config: DBOSConfig = {
            "name": "hosted-mesh-controller",
            "system_database_url": self._settings.queue_url,
            "application_version": _STEPS,
            "executor_id": self._executor or "controller",
            "log_level": "WARNING",
        }
        DBOS(config=config)
        _Active.queue = self
        DBOS.launch()
        adopt("dbos")
        DBOS.register_queue(
            NAME,
            # Of one process its own limit alone: the processes of a killed one count for the other.
            concurrency=self._settings.operations if self._executor else None,
            worker_concurrency=self._settings.operations_per_executor or self._settings.operations,
            polling_interval_sec=_LOOK,
            on_conflict="always_update",
        )
        for identifier, tag in orders.unfinished(self._database):
            status = DBOS.get_workflow_status(identifier)
            if status is not None and status.status not in _OPEN:
                # Its workflow failed: it would hold the stack for ever.
                self.give_up(identifier)
            else:
                self.add(identifier, tag)
        for stack in orders.waiting_stacks(self._database):
            self.released(stack)

    def add(self, identifier: str, tag: int) -> None:
        """Adds an operation. tag: its priority, a lower one first."""
        with SetWorkflowID(identifier), SetEnqueueOptions(priority=max(tag, 1)):
            DBOS.enqueue_workflow(NAME, operate, identifier)

    def released(self, stack: str) -> None:
        """Adds the stack's next operation, if one waits."""
        if found := orders.queue_next(self._database, stack):
            self.add(*found)

    def run(self, identifier: str) -> None:
        """Runs one operation."""
        self._runner.run(identifier)

    def give_up(self, identifier: str) -> None:
        """Ends an operation that no attempt could carry out."""
        self._runner.give_up(identifier)

    def following(self, identifier: str) -> tuple[str, int] | None:
        """The next operation of the same stack, marked as queued, and its tag."""

        def found() -> tuple[str, int] | None:
            stack = orders.stack_of(self._database, identifier)
            return orders.queue_next(self._database, stack) if stack else None

        return self._database.patiently(found, self._settings.take_over_seconds)

    def begun(self) -> dict[str, list[str]]:
        """Ids of the operations that executors have begun, by executor."""
        found: dict[str, list[str]] = {}
        for one in DBOS.list_workflows(status="PENDING", queue_name=NAME, load_input=False, load_output=False):
            found.setdefault(str(one.executor_id), []).append(one.workflow_id)
        return found

    def take_over(self, executor: str) -> None:
        """Queues the operations of a lost executor again, in their places."""
        DBOS._recover_pending_workflows([executor])

    def stop(self) -> None:
        """Ends the operations' processes, and leaves the operations to other executors."""
        self._runner.stop()


class _Active:
    """The queue of this process: workflows are functions of a module."""

    queue: DurableQueue


@DBOS.workflow(name="operate", max_recovery_attempts=None)
def operate(identifier: str) -> None:
    """One operation, then the next one of its stack."""
    try:
        run(identifier)
    except Exception:
        LOG.exception("operation lost", extra=facts(operation=identifier))
        give_up(identifier)
    if found := following(identifier):
        _Active.queue.add(*found)


@DBOS.step(
    name="run",
    retries_allowed=True,
    max_attempts=_ATTEMPTS,
    interval_seconds=_PAUSE,
    should_retry=lambda error: isinstance(error, LostProcessError),
)
def run(identifier: str) -> None:
    """Runs the operation's process; repeats it, with a growing pause, if the process is lost."""
    with metrics.RUNNING.track_inprogress():
        _Active.queue.run(identifier)


@DBOS.step(name="give up")
def give_up(identifier: str) -> None:
    """Ends the operation as failed."""
    _Active.queue.give_up(identifier)


@DBOS.step(name="following")
def following(identifier: str) -> tuple[str, int] | None:
    """The next operation of the same stack, and its tag. DBOS allows no step to add it to the queue itself."""
    return _Active.queue.following(identifier)
