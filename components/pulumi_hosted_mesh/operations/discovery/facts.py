"""The facts that discovery finds: plain data, which the table and the JSON show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class MeshNamespace:
    """A namespace with injection of sidecars, or with ambient mode.

    namespace: its name. proxies: number of its Pods with a sidecar. mode: `sidecar` or `ambient`.
    """

    namespace: str
    proxies: int
    mode: str = "sidecar"


@dataclass(frozen=True)
class FoundGateway:
    """A gateway: name and namespace of its Deployment.

    addresses: of its load balancer, IP or host name. ports: of its Service. network: Istio's name of its network.
    """

    namespace: str
    name: str
    addresses: tuple[str, ...]
    ports: tuple[int, ...]
    network: str = ""


@dataclass(frozen=True)
class Installation:
    """One revision of a mesh in one cluster.

    role: `istiod` for an istiod of its own cluster, `control-plane` for one that serves others, `data-plane` for
    webhooks that call an istiod elsewhere. version: of the image or the chart; empty without one.
    istiod: host of an istiod elsewhere. ready: Pods of istiod, `1/1`; empty without an istiod.
    cluster_id, network: Istio's names. tags: names of this revision. components: istiod and related programs.
    """

    cluster: str
    namespace: str
    revision: str
    role: str
    managed_by: str
    version: str = ""
    istiod: str = ""
    ready: str = ""
    cluster_id: str = ""
    network: str = ""
    tags: tuple[str, ...] = ()
    components: tuple[str, ...] = ()
    members: tuple[MeshNamespace, ...] = ()
    gateways: tuple[FoundGateway, ...] = ()


@dataclass(frozen=True)
class FoundMesh:
    """A mesh. name: its mesh ID, else cluster and namespace. peers: meshes and clusters in its configuration."""

    name: str
    trust_domain: str
    peers: tuple[str, ...]
    installations: tuple[Installation, ...]

    @property
    def managed_by(self) -> tuple[str, ...]:
        """Tools that manage a part of it."""
        return tuple(sorted({one.managed_by for one in self.installations}))


@dataclass(frozen=True)
class FoundWorkload:
    """A workload that a Service selects. kind: `Deployment`, `StatefulSet` or `DaemonSet`. version: by its label or
    image; empty without one. ready, wanted: numbers of Pods."""

    kind: str
    name: str
    version: str
    ready: int
    wanted: int


@dataclass(frozen=True)
class FoundService:
    """A Service of a namespace with injection, in one cluster. also_in: other clusters with the same service."""

    namespace: str
    name: str
    mesh: str
    cluster: str
    workloads: tuple[FoundWorkload, ...] = ()
    also_in: tuple[str, ...] = ()


@dataclass(frozen=True)
class Discovery:
    """Meshes of several clusters. unreachable, unreadable: reasons and kinds by cluster.

    injected_twice: by cluster, webhook configurations that select the same Pods. left_behind: by cluster, proxies of
    removed meshes and revisions.
    """

    meshes: Sequence[FoundMesh]
    unreachable: dict[str, str]
    unreadable: dict[str, tuple[str, ...]]
    injected_twice: dict[str, tuple[str, ...]] = field(default_factory=dict)
    left_behind: dict[str, tuple[str, ...]] = field(default_factory=dict)
    services: tuple[FoundService, ...] = ()
