"""The facts that discovery finds: plain data, which the table and the JSON show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Member:
    """A namespace whose Pods get sidecars, or whose traffic ambient takes.

    namespace: its name. proxies: Pods there that have a sidecar now. mode: `sidecar` or `ambient`.
    """

    namespace: str
    proxies: int
    mode: str = "sidecar"


@dataclass(frozen=True)
class Gateway:
    """A proxy that stands for itself: name and namespace of its Deployment.

    addresses: of its load balancer, IP or host name. ports: of its Service. network: Istio's name of its network.
    """

    namespace: str
    name: str
    addresses: tuple[str, ...]
    ports: tuple[int, ...]
    network: str = ""


@dataclass(frozen=True)
class Installation:
    """One revision of a mesh as one cluster shows it.

    role: `istiod` where one runs for its own cluster, `control-plane` where it serves others, `data-plane` where
    webhooks call one that runs elsewhere. version: as the image or the chart says; empty where nothing does.
    istiod: its host where it is elsewhere. ready: Pods of istiod, `1/1`; empty where there is none.
    cluster_id, network: Istio's names. tags: names of this revision. components: what runs beside it.
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
    members: tuple[Member, ...] = ()
    gateways: tuple[Gateway, ...] = ()


@dataclass(frozen=True)
class FoundMesh:
    """A mesh: its mesh ID, else where it was found. peers: meshes and clusters that it knows of."""

    name: str
    trust_domain: str
    peers: tuple[str, ...]
    installations: tuple[Installation, ...]

    @property
    def managed_by(self) -> tuple[str, ...]:
        """All who manage a part of it."""
        return tuple(sorted({one.managed_by for one in self.installations}))


@dataclass(frozen=True)
class Discovery:
    """What was found, and what could not be looked at: reasons by cluster.

    injected_twice: by cluster, which webhooks are asked about the same Pods.
    """

    meshes: Sequence[FoundMesh]
    unreachable: dict[str, str]
    unreadable: dict[str, tuple[str, ...]]
    injected_twice: dict[str, tuple[str, ...]] = field(default_factory=dict)
