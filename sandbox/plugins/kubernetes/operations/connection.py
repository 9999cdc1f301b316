"""The way to the API server that a provider's settings name, and what every operation on a resource has at hand."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sandbox.plugins.kubernetes.api_server.kubeconfig import KubeconfigError
from sandbox.plugins.kubernetes.settings import Settings
from sandbox.plugins.protocol.engine import Engine
from sandbox.plugins.protocol.errors import ProviderError

if TYPE_CHECKING:
    from sandbox.plugins.kubernetes.api_server.discovery import Discovery
    from sandbox.plugins.kubernetes.operations.cluster import Cluster


class Connection:
    """Opened by the first operation that needs the API server, once. Safe for threads.

    A preview that changes nothing needs it for charts and for kinds that are not built in; else it is not even loaded.

    cancelled: set when the engine wants everything to stop.
    """

    def __init__(self, settings: Settings, cancelled: threading.Event) -> None:
        self.settings = settings
        self.unreachable = settings.unreachable
        """Why there is no API server, as far as it was tried; "" when there is one."""
        self._cancelled = cancelled
        self._lock = threading.Lock()
        self._cluster: Cluster | None = None

    @property
    def cluster(self) -> Cluster | None:
        """None when it cannot be reached."""
        with self._lock:
            if self._cluster is None and not self.unreachable:
                self._open()
            return self._cluster

    def reachable(self) -> Cluster:
        """The cluster. Raises ProviderError when there is none."""
        cluster = self.cluster
        if cluster is None:
            raise ProviderError(f"configured Kubernetes cluster is unreachable: {self.unreachable}")
        return cluster

    def _open(self) -> None:
        from sandbox.plugins.kubernetes.api_server.client import Client
        from sandbox.plugins.kubernetes.api_server.discovery import ClusterError, Discovery
        from sandbox.plugins.kubernetes.operations.cluster import Cluster

        assert self.settings.access is not None
        try:
            client = Client(self.settings.access)
            discovery = Discovery(client)
            discovery.refresh()
        except KubeconfigError as error:
            self.unreachable = f"unable to load Kubernetes client configuration from kubeconfig file: {error}"
        except ClusterError as error:
            self.unreachable = f"unable to load schema information from the API server: {error}"
        else:
            self._cluster = Cluster(client, discovery, self.settings, self._cancelled)


@dataclass(frozen=True)
class Operation:
    """One resource and its provider."""

    urn: str
    connection: Connection
    engine: Engine

    @property
    def settings(self) -> Settings:
        return self.connection.settings

    @property
    def cluster(self) -> Cluster | None:
        """None when it cannot be reached. Opens the connection: to be asked only where the API server is needed."""
        return self.connection.cluster

    @property
    def discovery(self) -> Discovery | None:
        """The kinds of the cluster, None when it cannot be reached."""
        return self.cluster.discovery if self.cluster else None

    def warn_unreachable(self) -> None:
        text = f"configured Kubernetes cluster is unreachable: {self.connection.unreachable}"
        self.engine.log("warning", text, self.urn)

    def note(self, message: str) -> None:
        """Says what the resource is waiting for; "" when for nothing any more."""
        self.engine.status("info", message, self.urn)
