"""The way to the API server that a provider's settings name."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from sandbox.plugins.kubernetes.kubeconfig import KubeconfigError
from sandbox.plugins.kubernetes.settings import Settings

if TYPE_CHECKING:
    from sandbox.plugins.kubernetes.client import Client
    from sandbox.plugins.kubernetes.cluster import Cluster
    from sandbox.plugins.kubernetes.discovery import Discovery


class Connection:
    """Opened by the first operation that needs the API server, once. Safe for threads.

    A preview that changes nothing needs it for charts and for kinds that are not built in, and then only for its list
    of kinds; else not at all. It loads no more than it needs, for that would take longer than all of its operations.

    cancelled: set when the engine wants everything to stop.
    """

    def __init__(self, settings: Settings, cancelled: threading.Event) -> None:
        self._settings = settings
        self._cancelled = cancelled
        self._lock = threading.Lock()
        self._unreachable = settings.unreachable
        self._opened: tuple[Client, Discovery] | None = None
        self._cluster: Cluster | None = None

    @property
    def discovery(self) -> Discovery | None:
        """The kinds of the API server; None when it cannot be reached."""
        with self._lock:
            opened = self._open()
            return opened[1] if opened else None

    @property
    def cluster(self) -> Cluster | None:
        """None when it cannot be reached."""
        with self._lock:
            if self._cluster is None and (opened := self._open()):
                from sandbox.plugins.kubernetes.cluster import Cluster

                self._cluster = Cluster(*opened, self._settings, self._cancelled)
            return self._cluster

    @property
    def unreachable(self) -> str:
        """Why there is no API server; "" when there is one."""
        return "" if self.discovery is not None else self._unreachable

    def _open(self) -> tuple[Client, Discovery] | None:
        if self._opened or self._unreachable:
            return self._opened
        from sandbox.plugins.kubernetes.client import ApiError, Client, Unreachable
        from sandbox.plugins.kubernetes.discovery import Discovery

        assert self._settings.access is not None
        try:
            client = Client(self._settings.access)
            discovery = Discovery(client)
            discovery.refresh()
        except KubeconfigError as error:
            self._unreachable = f"unable to load Kubernetes client configuration from kubeconfig file: {error}"
        except (ApiError, Unreachable) as error:
            self._unreachable = f"unable to load schema information from the API server: {error}"
        else:
            self._opened = client, discovery
        return self._opened
