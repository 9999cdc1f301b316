"""An executor among others on one PostgreSQL: signs of life, the lead, and the operations of a lost executor.

The oldest executor leads: it has the schedule of upkeep, discovery and the watches, and queues a lost executor's
operations again. An executor that could not sign for a third of the time to a takeover interrupts its operations and
ends. An executor that does not run at all is noticed by its operations' processes, which end themselves.
"""

from __future__ import annotations

import logging
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable
from typing import Final

from hosted_mesh_controller import metrics
from hosted_mesh_controller.json_logs import facts
from hosted_mesh_controller.settings import Settings
from hosted_mesh_controller.store import executors
from hosted_mesh_controller.store.database import Database
from hosted_mesh_controller.work.queue import DurableQueue
from hosted_mesh_controller.work.runner import lease

LOG: Final = logging.getLogger(__name__)
_SIGNS: Final = 24  # in the time to a takeover
_LOOK: Final = 0.25


def new_id() -> str:
    """An id of this process; another one on the same machine has another."""
    return f"{socket.gethostname()[:100]}-{secrets.token_hex(4)}"


class Membership:
    """The place of this executor. lead: starts the work that one executor alone does."""

    def __init__(
        self, settings: Settings, database: Database, queue: DurableQueue, executor: str, lead: Callable[[], None]
    ) -> None:
        self._settings, self._database, self._queue = settings, database, queue
        self._executor, self._lead = executor, lead
        self._leads = False
        self._signed = time.monotonic()
        self._left = threading.Event()

    def start(self) -> None:
        """Signs until the process ends. The executor has joined, and its queue has started."""
        threading.Thread(target=self._run, daemon=True, name="membership").start()
        threading.Thread(target=self._guard, daemon=True, name="membership guard").start()

    def leave(self) -> None:
        """Stops the operations, and lets another executor begin them at once."""
        self._queue.stop()
        self._left.set()
        executors.leave(self._database, self._executor)

    def sign(self) -> bool:
        """Signs once, and leads if this executor is the oldest one; returns False if it is lost."""
        begun = self._queue.begun()  # before the list of those that live: one that joins afterwards is not in it
        began = time.monotonic()
        live = executors.sign(self._database, self._executor, self._settings.take_over_seconds)
        if self._executor not in live:
            return False
        self._signed = began
        metrics.EXECUTORS.set(len(live))
        if live[0] != self._executor:
            return True
        if not self._leads:
            self._leads = True
            LOG.info("leads", extra=facts(executor=self._executor))
            self._lead()
        for lost in sorted(begun.keys() - set(live)):
            LOG.warning("takes over", extra=facts(executor=lost, operations=begun[lost]))
            self._queue.take_over(lost)
        return True

    def _run(self) -> None:
        while not self._left.wait(self._settings.take_over_seconds / _SIGNS):
            try:
                if not self.sign():
                    self._end("its operations are another executor's")
            except Exception:  # a server that restarts, or is away
                LOG.exception("no sign of life")

    def _guard(self) -> None:
        """In a thread of its own: a request to a server that vanished may take longer."""
        while not self._left.wait(_LOOK):
            if time.monotonic() - self._signed > lease(self._settings):
                self._end("the database is away")

    def _end(self, reason: str) -> None:
        LOG.error("executor ends", extra=facts(executor=self._executor, reason=reason))
        self._queue.stop()
        logging.shutdown()
        os._exit(1)
