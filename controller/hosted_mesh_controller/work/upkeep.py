"""Keeps objects as ordered: checks for drift, repairs within a budget, renewals before certificates end, new offers.

`due` is the whole policy, a function of facts. The schedule asks for it every few seconds, and makes the operations.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from hosted_mesh_controller.json_logs import facts as log_facts
from hosted_mesh_controller.settings import Settings, Upkeep
from hosted_mesh_controller.store import orders, upkeep
from hosted_mesh_controller.store.database import Database
from hosted_mesh_controller.store.orders import Key
from hosted_mesh_controller.store.upkeep import Facts
from hosted_mesh_controller.vocabulary import Action, ObjectState, Repair
from hosted_mesh_controller.work.queue import Queue

LOG: Final = logging.getLogger(__name__)
LOOK: Final = 5.0  # seconds between looks at the facts
RETRY_PAUSE: Final = 3600.0  # seconds between two attempts of a renewal; the most between two of a repair


@dataclass(frozen=True)
class Due:
    """An operation that is due."""

    key: Key
    action: Action
    since: float


def due(facts: Iterable[Facts], rules: Upkeep, now: float) -> list[Due]:
    """The operations that are due, at most one for each object: the most urgent first.

    now: seconds since 1970.
    """
    found = [one for each in facts if (one := _due(each, rules, now))]
    urgency = [Action.RENEW, Action.FOLLOW, Action.REPAIR, Action.CHECK]
    return sorted(found, key=lambda one: (urgency.index(one.action), one.since))


def is_held(facts: Facts, rules: Upkeep, now: float) -> bool:
    """Whether the budget of repairs is used up."""
    return rules.used(facts.repairs, now) >= rules.repairs


def _due(facts: Facts, rules: Upkeep, now: float) -> Due | None:
    key = Key(facts.tenant, facts.kind, facts.name)
    if facts.is_busy:
        return None
    renewable = min((one.renew_from for one in facts.certificates), default=now + 1)
    if renewable <= now and (facts.renewed is None or now - facts.renewed >= RETRY_PAUSE):
        return Due(key, Action.RENEW, renewable)
    if facts.behind is not None:
        return Due(key, Action.FOLLOW, facts.behind)
    mends = (facts.repair or rules.repair) is Repair.ALWAYS
    pause = min(rules.every_seconds or RETRY_PAUSE, RETRY_PAUSE)
    is_early = bool(facts.repairs) and now - facts.repairs[-1] < pause
    if facts.has_drift and mends and not is_early and not is_held(facts, rules, now):
        return Due(key, Action.REPAIR, facts.checked or facts.changed)
    if rules.every_seconds is None:
        return None
    since = (facts.checked or facts.changed) + rules.every_seconds
    return Due(key, Action.CHECK, since) if since <= now else None


class Schedule:
    """Makes the operations that are due. It uses at most half of the operations at a time."""

    def __init__(self, settings: Settings, database: Database, queue: Queue) -> None:
        self._settings, self._database, self._queue = settings, database, queue

    def start(self) -> None:
        """Looks at the facts until the process ends."""
        threading.Thread(target=self._run, daemon=True, name="upkeep").start()

    def look(self, now: float | None = None) -> list[str]:
        """Makes the operations that are due at this moment, within the limit; returns their ids."""
        moment = time.time() if now is None else now
        with self._database.reading() as connection:
            wanted = due(upkeep.facts(connection), self._settings.upkeep, moment)
            room = max(1, self._settings.operations // 2) - upkeep.open_operations(connection)
        made = [self._make(one) for one in wanted[: max(room, 0)]]
        return [one for one in made if one]

    def _make(self, one: Due) -> str | None:
        with self._database.writing() as connection:
            row = orders.find(connection, one.key)
            # An order may have come since the facts were read: it comes first.
            if row is None or row.state != ObjectState.READY or orders.has_open_operation(connection, one.key.stack):
                return None
            documents = json.loads(row.documents)
            identifier = orders.add_operation(connection, one.key, one.action, row.generation, documents)
        level = logging.INFO if one.action in (Action.CHECK, Action.FOLLOW) else logging.WARNING
        key = {"tenant": one.key.tenant, "kind": one.key.kind, "name": one.key.name}
        LOG.log(level, "upkeep is due", extra=log_facts(operation=identifier, action=str(one.action), **key))
        self._queue.add(identifier, orders.LAST)
        return identifier

    def _run(self) -> None:
        while True:
            try:
                self.look()
            except Exception:  # such as a database that is away for a moment
                LOG.exception("upkeep failed")
            time.sleep(LOOK)
