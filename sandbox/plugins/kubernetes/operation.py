"""What every operation on one resource has at hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sandbox.plugins.kubernetes.cluster import Cluster
from sandbox.plugins.kubernetes.settings import Settings
from sandbox.plugins.protocol.engine import Engine
from sandbox.plugins.protocol.errors import ProviderError

FORGET_HELP: Final = (
    "If the cluster was deleted, you can remove this resource from Pulumi state by rerunning the operation with the "
    'PULUMI_K8S_DELETE_UNREACHABLE environment variable set to "true"'
)


@dataclass(frozen=True)
class Operation:
    """One resource and its provider. cluster: None when it cannot be reached, and unreachable says why."""

    urn: str
    cluster: Cluster | None
    settings: Settings
    unreachable: str
    engine: Engine

    def reachable(self) -> Cluster:
        """The cluster. Raises ProviderError when there is none."""
        if self.cluster is None:
            raise ProviderError(f"configured Kubernetes cluster is unreachable: {self.unreachable}")
        return self.cluster

    def warn_unreachable(self) -> None:
        self.engine.log("warning", f"configured Kubernetes cluster is unreachable: {self.unreachable}", self.urn)

    def note(self, message: str) -> None:
        """Says what the resource is waiting for; "" when for nothing any more."""
        self.engine.status("info", message, self.urn)
