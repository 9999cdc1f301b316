"""What all Pods of this node share."""

from collections.abc import Mapping
from dataclasses import dataclass

from lightkube import AsyncClient

from sandbox.node.addresses import AddressPool
from sandbox.node.config import NodeConfig
from sandbox.node.network_policies.enforcer import Enforcer
from sandbox.node.pod.events import Events
from sandbox.node.pod.names import ClusterDns
from sandbox.node.pod.networking import Uplink
from sandbox.node.runtime.security import IdMap
from sandbox.node.watching import NamedObjects


@dataclass(frozen=True)
class Node:
    """client: for single calls; watches have another one, so that neither waits for the other's connections."""

    config: NodeConfig
    client: AsyncClient
    objects: NamedObjects
    events: Events
    addresses: AddressPool
    uplink: Uplink
    policies: Enforcer
    dns: ClusterDns
    ids: IdMap
    allocatable: Mapping[str, str]
