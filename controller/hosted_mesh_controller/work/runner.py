"""Runs the process of an operation and records its events and its end."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, NoReturn

from pulumi_hosted_mesh import InvalidInputError
from sqlalchemy import Row
from sqlalchemy.exc import DBAPIError

from hosted_mesh_controller import metrics
from hosted_mesh_controller.documents import KINDS, configuration
from hosted_mesh_controller.job import processes
from hosted_mesh_controller.job.request import MARKER, RESULT, Request
from hosted_mesh_controller.json_logs import facts
from hosted_mesh_controller.settings import Settings
from hosted_mesh_controller.store import orders
from hosted_mesh_controller.store.database import Database, Result
from hosted_mesh_controller.store.orders import LostExecutorError, Outcome
from hosted_mesh_controller.vocabulary import Action, State

LOG: Final = logging.getLogger(__name__)
_LOOK: Final = 0.5  # seconds between looks at a request to cancel
_STEP: Final = 0.1
_GRACE: Final = 60.0  # seconds for an interrupted engine to end its begun steps


COMMAND: Final = (sys.executable, "-m", "hosted_mesh_controller.job")


class LostProcessError(Exception):
    """The process of an operation ended without a result, such as by the kernel for lack of memory."""


class _StoppingError(Exception):
    """An operation that `stop` leaves to other executors."""


class Runner:
    """Runs operations one by one; several threads may share it. command: of an operation's process."""

    def __init__(
        self, settings: Settings, database: Database, command: Sequence[str] = COMMAND, executor: str | None = None
    ) -> None:
        self._settings, self._database, self._command, self._executor = settings, database, command, executor
        self._patience = float(settings.take_over_seconds)
        self._stopping = threading.Event()
        self._running: set[str] = set()

    def stop(self) -> None:
        """Interrupts all operations, waits for their processes, and leaves the operations to other executors."""
        self._stopping.set()
        while self._running:
            time.sleep(_STEP)

    def run(self, identifier: str) -> None:
        """Runs an operation to its end. Safe to repeat after an interruption. Raises: LostProcessError."""
        self._running.add(identifier)  # before the look at `stop`, which waits for those that it does not reach
        try:
            if not self._stopping.is_set():
                self._run(identifier)
                return
        except (LostExecutorError, _StoppingError):
            pass  # another executor begins it
        finally:
            self._running.discard(identifier)
        _wait_for_exit()

    def _run(self, identifier: str) -> None:
        row = self._patiently(lambda: orders.start(self._database, identifier, self._executor))
        if row is None:
            return
        LOG.info("operation started", extra=facts(**_facts(row)))
        metrics.STARTED.labels(row.kind, row.action).inc()
        try:
            outcome = self._outcome(row)
        except InvalidInputError as mistake:
            outcome = Outcome(State.FAILED, {}, str(mistake))
        if self._patiently(lambda: orders.finish(self._database, identifier, outcome, row.attempts)):
            seconds = time.time() - row.started
            metrics.ENDED.labels(row.kind, row.action, outcome.state).inc()
            metrics.SECONDS.labels(row.kind, row.action).observe(seconds)
            end = {"state": str(outcome.state), "seconds": round(seconds, 1)}
            error = {"error": outcome.error} if outcome.error else {}
            LOG.info("operation ended", extra=facts(**_facts(row), **end, **error))
            self._report_drift(row, outcome)

    def _report_drift(self, row: Row[Any], outcome: Outcome) -> None:
        """Logs changes by others, and their repair: names of resources, no values."""
        if drift := outcome.result.get("drift"):
            metrics.DRIFTED.labels(row.kind).inc()
            steps = [f"{one['action']} {one['resource']}" for one in drift]
            LOG.warning("drift found", extra=facts(**_facts(row), drift=steps))
        if row.action == Action.REPAIR and outcome.state is State.SUCCEEDED:
            metrics.REPAIRED.labels(row.kind).inc()
            LOG.warning("drift repaired", extra=facts(**_facts(row), changes=outcome.result.get("changes")))

    def give_up(self, identifier: str) -> None:
        """Ends an operation that no attempt could carry out."""
        failed = Outcome(State.FAILED, {}, "the controller failed; its log has the reason")
        self._database.patiently(lambda: orders.finish(self._database, identifier, failed), self._patience)

    def _patiently(self, call: Callable[[], Result]) -> Result:
        """Calls the database, also while its server restarts, but not any more after `stop`."""

        def unless_stopping() -> Result:
            if self._stopping.is_set():
                raise _StoppingError
            return call()

        return self._database.patiently(unless_stopping, self._patience)

    def _outcome(self, row: Row[Any]) -> Outcome:
        request = self._patiently(lambda: self._request(row))
        result, reason = self._carried_out(row, request)
        return self._patiently(lambda: self._judged(row, result, reason))

    def _carried_out(self, row: Row[Any], request: Request) -> tuple[Mapping[str, Any] | None, str | None]:
        """The result of the operation's process, and the reason of its end if this process has ended it."""
        marker = str(Path(request.folder))
        with subprocess.Popen(
            self._command,
            env={**os.environ, MARKER: marker},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # the engine's text may have values; events have none
            text=True,
            start_new_session=True,
        ) as process:
            assert process.stdin
            assert process.stdout
            process.stdin.write(request.line() + "\n")
            process.stdin.flush()
            limit = self._settings.timeout_seconds
            watch = _Watch(self._database, row.id, process, marker, limit, self._stopping, request.lease_seconds)
            result = None
            with watch:
                for line in process.stdout:
                    event = json.loads(line)
                    if event["type"] == RESULT:
                        result = event
                    else:
                        self._patiently(partial(orders.add_event, self._database, row.id, event))
        return result, watch.reason

    def _judged(self, row: Row[Any], result: Mapping[str, Any] | None, reason: str | None) -> Outcome:
        if result and result["ok"]:
            return Outcome(State.SUCCEEDED, {key: one for key, one in result.items() if key not in ("type", "ok")})
        if reason:
            state = State.CANCELLED if orders.wants_cancel(self._database, row.id) else State.FAILED
            return Outcome(state, {}, reason)
        if result is None:
            raise LostProcessError(row.id)
        return Outcome(State.FAILED, {}, result["error"])

    def _request(self, row: Row[Any]) -> Request:
        settings, kind = self._settings, KINDS[row.kind]
        credentials = Path(settings.dns_credentials) / row.tenant if settings.dns_credentials else None
        return Request(
            operation=row.id,
            action=Action(row.action),
            stack=row.stack,
            folder=str(settings.folder / "stacks" / row.stack),
            program=str(Path(settings.program).resolve()),
            backend=settings.backend_url,
            passphrase_file=str(Path(settings.passphrase_file).resolve()),
            config=configuration(kind, json.loads(row.documents), settings, row.tenant),
            unfinished_since=orders.unfinished_since(self._database, row),
            kubeconfigs=tuple(one.kubeconfig for one in settings.clusters.values()),
            dns_credentials=str(credentials) if credentials else None,
            policy_pack=str(Path(settings.policy_pack).resolve()) if settings.policy_pack else None,
            lease_seconds=lease(settings) if self._executor else None,
        )


class _Watch:
    """Interrupts a process at a request to cancel or at its time limit; kills it if it does not end then.

    With a lease it sends a line at each look: without them the process ends.
    """

    def __init__(
        self,
        database: Database,
        identifier: str,
        process: subprocess.Popen[str],
        marker: str,
        limit: float,
        stopping: threading.Event,
        lease_seconds: float | None,
    ) -> None:
        self.reason: str | None = None
        self._database, self._identifier = database, identifier
        self._process, self._marker = process, marker
        self._end = time.monotonic() + limit
        self._limit = limit
        self._stopping, self._lease = stopping, lease_seconds
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        assert self._process.stdin
        while not self._over.wait(_LOOK):
            if self._stopping.is_set():
                self.reason = "interrupted"
            elif self._wants_cancel():
                self.reason = "cancelled"
            elif time.monotonic() > self._end:
                self.reason = f"did not end within {self._limit:g} seconds"
            if self.reason:
                break
            if self._lease is not None:
                # The process may end at this moment: a buffer would fail again at its close.
                with suppress(OSError):
                    os.write(self._process.stdin.fileno(), b"\n")
        else:
            return
        with suppress(OSError):
            self._process.stdin.close()
        if not self._over.wait(_GRACE if self._lease is None else self._lease):
            processes.wait_and_kill(self._marker, 0)

    def _wants_cancel(self) -> bool:
        try:
            return orders.wants_cancel(self._database, self._identifier)
        except DBAPIError:  # a server that restarts
            return False


def lease(settings: Settings) -> float:
    """Seconds that an executor without its database, and a process without its executor, go on.

    An interrupted engine has as many again to end. Together they are shorter than the time to the takeover.
    """
    return settings.take_over_seconds / 3


def _wait_for_exit() -> NoReturn:
    """Holds a thread: the process of this service ends, and the operation stays as it is."""
    while True:
        time.sleep(3600)


def _facts(row: Row[Any]) -> dict[str, Any]:
    keys = ("tenant", "kind", "name", "action", "attempts")
    return {"operation": row.id, **{key: getattr(row, key) for key in keys}}
