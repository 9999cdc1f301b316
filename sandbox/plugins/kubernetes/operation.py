"""What every operation on one resource has at hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sandbox.plugins.kubernetes.connection import Connection
from sandbox.plugins.kubernetes.settings import Settings
from sandbox.plugins.protocol.engine import Engine
from sandbox.plugins.protocol.errors import ProviderError

if TYPE_CHECKING:
    from sandbox.plugins.kubernetes.cluster import Cluster
    from sandbox.plugins.kubernetes.discovery import Discovery


@dataclass(frozen=True)
class Operation:
    """One resource and its provider."""

    urn: str
    connection: Connection
    settings: Settings
    engine: Engine

    @property
    def cluster(self) -> Cluster | None:
        """None when it cannot be reached. Opens the connection: to be asked only where the API server is needed."""
        return self.connection.cluster

    @property
    def discovery(self) -> Discovery | None:
        """The kinds of the cluster, for which less has to be loaded; None when it cannot be reached."""
        return self.connection.discovery

    def reachable(self) -> Cluster:
        """The cluster. Raises ProviderError when there is none."""
        cluster = self.cluster
        if cluster is None:
            raise ProviderError(f"configured Kubernetes cluster is unreachable: {self.connection.unreachable}")
        return cluster

    def warn_unreachable(self) -> None:
        self.engine.log(
            "warning", f"configured Kubernetes cluster is unreachable: {self.connection.unreachable}", self.urn
        )

    def note(self, message: str) -> None:
        """Says what the resource is waiting for; "" when for nothing any more."""
        self.engine.status("info", message, self.urn)
