"""The meaning of NetworkPolicies for one Pod: pure, from objects that the caller has read.

A Pod selected by a policy for a direction is isolated in it: only traffic allowed by a rule of those policies passes. A
Pod without such a policy is open.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from lightkube.models.meta_v1 import LabelSelector, LabelSelectorRequirement
from lightkube.models.networking_v1 import NetworkPolicyPeer, NetworkPolicyPort, NetworkPolicySpec
from lightkube.resources.core_v1 import Pod
from lightkube.resources.networking_v1 import NetworkPolicy

Direction = Literal["Ingress", "Egress"]
Labels = Mapping[str, str]


@dataclass(frozen=True)
class Endpoint:
    """A Pod as a policy's subject. named_ports: by protocol and name ("TCP", "http")."""

    namespace: str
    address: str
    labels: Labels
    named_ports: Mapping[tuple[str, str], int]

    @classmethod
    def of(cls, pod: Pod, address: str = "") -> Endpoint | None:
        """None for a Pod without an address of its own: not yet, no longer, or the node's.

        address: used where its status has none yet.
        """
        assert pod.metadata is not None
        assert pod.spec is not None
        if pod.spec.hostNetwork or (pod.status and pod.status.phase in ("Succeeded", "Failed")):
            return None
        own = address or (pod.status.podIP if pod.status else None)
        if not own:
            return None
        containers = [*pod.spec.containers, *(one for one in pod.spec.initContainers or [] if one.restartPolicy)]
        ports = [port for container in containers for port in container.ports or []]
        named = {(port.protocol or "TCP", port.name): port.containerPort for port in ports if port.name}
        return cls(str(pod.metadata.namespace), own, pod.metadata.labels or {}, named)


@dataclass(frozen=True)
class Ports:
    """Destination ports of one protocol, both ends included; None means all of them."""

    protocol: str
    numbers: tuple[int, int] | None = None


@dataclass(frozen=True)
class Allowed:
    """Allowed traffic: with these addresses, on these ports.

    addresses: single ones or in CIDR form; None means any. excluded: in CIDR form. ports: None means any protocol.
    """

    addresses: tuple[str, ...] | None
    excluded: tuple[str, ...] = ()
    ports: Ports | None = None


@dataclass(frozen=True)
class World:
    """The objects that policies may refer to. namespaces: labels by name."""

    policies: Sequence[NetworkPolicy]
    endpoints: Sequence[Endpoint]
    namespaces: Mapping[str, Labels]


def allowed(endpoint: Endpoint, direction: Direction, world: World) -> list[Allowed] | None:
    """The allowed traffic to (or from) this Pod; None when no policy isolates it in this direction."""
    specs = [
        policy.spec
        for policy in world.policies
        if policy.spec and policy.metadata and policy.metadata.namespace == endpoint.namespace
        if direction in _types(policy.spec) and matches(policy.spec.podSelector, endpoint.labels)
    ]
    if not specs:
        return None
    found: list[Allowed] = []
    for spec in specs:
        if direction == "Ingress":
            for incoming in spec.ingress or []:
                found += _of_rule(endpoint, direction, incoming.from_ or [], incoming.ports or [], world)
        else:
            for outgoing in spec.egress or []:
                found += _of_rule(endpoint, direction, outgoing.to or [], outgoing.ports or [], world)
    return list(dict.fromkeys(found))


def _types(spec: NetworkPolicySpec) -> Sequence[str]:
    """The policy's directions; without `policyTypes` the API server's default."""
    return spec.policyTypes or (["Ingress", "Egress"] if spec.egress else ["Ingress"])


def _of_rule(
    endpoint: Endpoint,
    direction: Direction,
    peers: Sequence[NetworkPolicyPeer],
    ports: Sequence[NetworkPolicyPort],
    world: World,
) -> Iterable[Allowed]:
    """A rule without peers means every peer, a rule without ports every port."""
    if not peers:
        yield from _with_ports(Allowed(None), endpoint, direction, world.endpoints, ports)
    for peer in peers:
        if peer.ipBlock:
            block = Allowed((peer.ipBlock.cidr,), tuple(peer.ipBlock.except_ or ()))
            yield from _with_ports(block, endpoint, direction, (), ports)
        else:
            chosen = [one for one in world.endpoints if _is_peer(one, peer, endpoint.namespace, world.namespaces)]
            addresses = tuple(sorted({one.address for one in chosen}))
            yield from _with_ports(Allowed(addresses), endpoint, direction, chosen, ports)


def _with_ports(
    traffic: Allowed,
    endpoint: Endpoint,
    direction: Direction,
    peers: Iterable[Endpoint],
    ports: Sequence[NetworkPolicyPort],
) -> Iterable[Allowed]:
    """The traffic on each of the ports. A name is a port of the called Pod; for egress, of each peer.

    peers: the Pods among the addresses, where only Pods have the name.
    """
    if not ports:
        yield traffic
    for port in ports:
        protocol = port.protocol or "TCP"
        if port.port is None:
            yield Allowed(traffic.addresses, traffic.excluded, Ports(protocol))
        elif isinstance(port.port, int) or str(port.port).isdigit():
            first = int(port.port)
            numbers = (first, port.endPort or first)
            yield Allowed(traffic.addresses, traffic.excluded, Ports(protocol, numbers))
        elif direction == "Ingress":
            if number := endpoint.named_ports.get((protocol, str(port.port))):
                yield Allowed(traffic.addresses, traffic.excluded, Ports(protocol, (number, number)))
        else:
            for peer in peers:
                if number := peer.named_ports.get((protocol, str(port.port))):
                    yield Allowed((peer.address,), (), Ports(protocol, (number, number)))


def _is_peer(one: Endpoint, peer: NetworkPolicyPeer, namespace: str, namespaces: Mapping[str, Labels]) -> bool:
    """Whether the Pod matches. A podSelector alone means the policy's own namespace, a namespaceSelector every Pod."""
    if peer.namespaceSelector is None:
        if one.namespace != namespace:
            return False
    elif one.namespace not in namespaces or not matches(peer.namespaceSelector, namespaces[one.namespace]):
        return False
    return peer.podSelector is None or matches(peer.podSelector, one.labels)


def matches(selector: LabelSelector | None, labels: Labels) -> bool:
    """Whether labels match all of a selector; an empty one, or none, matches any."""
    if selector is None:
        return True
    wanted = selector.matchLabels or {}
    if any(labels.get(name) != value for name, value in wanted.items()):
        return False
    return all(_satisfies(expression, labels) for expression in selector.matchExpressions or [])


def _satisfies(expression: LabelSelectorRequirement, labels: Labels) -> bool:
    """NotIn also matches labels without the key. Raises ValueError for an operator that Kubernetes does not have."""
    key, values = expression.key, expression.values or []
    if expression.operator == "In":
        return labels.get(key) in values
    if expression.operator == "NotIn":
        return labels.get(key) not in values
    if expression.operator == "Exists":
        return key in labels
    if expression.operator == "DoesNotExist":
        return key not in labels
    raise ValueError(f"a label selector has the operator {expression.operator!r}")
