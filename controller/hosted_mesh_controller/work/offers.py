"""Looks at the Services that federated meshes export by labels. `work.upkeep` makes the runs that follow."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Sequence
from typing import Final

from hosted_mesh_controller import metrics
from hosted_mesh_controller.json_logs import facts
from hosted_mesh_controller.settings import Settings
from hosted_mesh_controller.store import offers
from hosted_mesh_controller.store.database import Database
from hosted_mesh_controller.work import looks

LOG: Final = logging.getLogger(__name__)
COMMAND: Final = (sys.executable, "-m", "hosted_mesh_controller.job.offers")


class OfferReader:
    """Looks on a schedule. command: of a look's process."""

    def __init__(self, settings: Settings, database: Database, command: Sequence[str] = COMMAND) -> None:
        self._settings, self._database, self._command = settings, database, command

    def start(self) -> None:
        """Looks until the process ends."""
        looks.start("offers", self._settings.offers.every_seconds, self.look)

    def look(self) -> None:
        """Looks once at all exporting meshes. One that cannot be read keeps its offer: an empty one withdraws all."""
        with self._database.reading() as connection:
            wanted = [
                (tenant, one, documents["federation"], cluster)
                for tenant, one, documents in offers.exporters(connection)
                if (cluster := self._settings.clusters.get(documents["member"]["cluster"]["kubeconfig"]))
            ]
        if not wanted:
            metrics.UNREAD_OFFERS.set(0)
            return
        question = [
            {"federation": document, "mesh": one.mesh, "kubeconfig": cluster.kubeconfig, "context": cluster.context}
            for _tenant, one, document, cluster in wanted
        ]
        answers, unread = looks.answer(self._command, question), 0
        for (tenant, one, _document, _cluster), services in zip(wanted, answers, strict=True):
            place = {"tenant": tenant, "federation": one.federation, "mesh": one.mesh}
            if services is None:
                unread += 1
                LOG.warning("exports cannot be read", extra=facts(**place))
                continue
            with self._database.writing() as connection:
                changed = offers.record(connection, tenant, one, services, time.time())
            if changed:
                LOG.info("exports changed", extra=facts(**place, services=[found["host"] for found in services]))
        metrics.UNREAD_OFFERS.set(unread)
