"""A cluster's load-balancer controller, run as a program in its network.

It does a cloud's work for Services of type LoadBalancer: an address of the cluster's pool on the node's wan link, the
address in the Service's status, the name of its `external-dns.alpha.kubernetes.io/hostname` annotation in the wan's
DNS. kube-proxy handles traffic and source ranges.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import NoReturn

import httpx2
from lightkube import ApiError, Client
from lightkube.models.core_v1 import Service as ServiceModel
from lightkube.resources.core_v1 import Service, ServiceStatus
from lightkube.types import PatchType
from pyroute2 import IPRoute  # type: ignore[import-untyped]

from sandbox.clusters.credentials.addons import client
from sandbox.clusters.credentials.files import Credentials
from sandbox.clusters.network.addresses import WAN_LINK, ClusterAddresses, addresses_of
from sandbox.clusters.network.dns import allowed, in_zone, precedence, publish
from sandbox.clusters.network.pool import Balanced, Key, assign, records
from sandbox.clusters.state import Layout, settings

HOSTNAME = "external-dns.alpha.kubernetes.io/hostname"
_RETRY = 1.0  # seconds
_FIELD_MANAGER = "hosted-mesh-load-balancers"


class Controller:
    """Level-based: every change of a Service makes it read all Services again."""

    def __init__(self, api: Client, pool: Collection[str], publish: Callable[[Mapping[str, str]], None]) -> None:
        self._api = api
        self._pool = list(pool)
        self._publish = publish
        self._services: dict[Key, ServiceModel] = {}

    def run(self) -> None:
        """Lists, then follows changes, for ever. Raises ApiError when a watch expires: list again."""
        listed = self._api.list(Service, namespace="*")
        self._services = {_key(one): one for one in listed}
        self._reconcile()
        for change, service in self._api.watch(Service, namespace="*", resource_version=listed.resourceVersion):
            if change == "DELETED":
                self._services.pop(_key(service), None)
            else:
                self._services[_key(service)] = service
            self._reconcile()

    def _reconcile(self) -> None:
        oldest_first = sorted(self._services.values(), key=_age)
        wanted = [balanced(one) for one in oldest_first if is_ours(one)]
        addresses = assign(self._pool, wanted)
        set_addresses(self._pool, addresses.values())
        self._publish(records(wanted, addresses))
        for key, service in self._services.items():
            if (balanced(service).address or None) != addresses.get(key):
                self._report(key, addresses.get(key))

    def _report(self, key: Key, address: str | None) -> None:
        namespace, name = key
        status = {"status": {"loadBalancer": {"ingress": [{"ip": address}] if address else None}}}
        try:
            self._api.patch(ServiceStatus, name, status, namespace=namespace, patch_type=PatchType.MERGE)
        except ApiError as error:
            if error.status.code != 404:  # deleted meanwhile: the watch reports it
                raise


def is_ours(service: ServiceModel) -> bool:
    """Whether the Service wants an address, and from no other controller."""
    spec, metadata = service.spec, service.metadata
    assert spec is not None
    assert metadata is not None
    return spec.type == "LoadBalancer" and not spec.loadBalancerClass and metadata.deletionTimestamp is None


def balanced(service: ServiceModel) -> Balanced:
    """The Service's fields that decide its address."""
    ingress = (service.status.loadBalancer.ingress if service.status and service.status.loadBalancer else None) or []
    metadata, spec = service.metadata, service.spec
    assert metadata is not None
    assert spec is not None
    names = (metadata.annotations or {}).get(HOSTNAME, "").split(",")
    return Balanced(
        key=_key(service),
        address=ingress[0].ip if ingress else None,
        wanted=spec.loadBalancerIP or None,
        names=tuple(name for name in (one.strip().rstrip(".").lower() for one in names) if in_zone(name)),
    )


def set_addresses(pool: Collection[str], wanted: Collection[str]) -> None:
    """Adds wanted addresses of the pool to the wan link and removes the others."""
    with IPRoute() as ip:
        (index,) = ip.link_lookup(ifname=WAN_LINK)
        held = {str(one.get_attr("IFA_ADDRESS")) for one in ip.get_addr(index=index)} & set(pool)
        for address in held - set(wanted):
            ip.addr("del", index=index, address=address, prefixlen=32)
        for address in set(wanted) - held:
            ip.addr("add", index=index, address=address, prefixlen=32)


def _key(service: ServiceModel) -> Key:
    assert service.metadata is not None
    return str(service.metadata.namespace), str(service.metadata.name)


def _age(service: ServiceModel) -> tuple[str, Key]:
    assert service.metadata is not None
    return str(service.metadata.creationTimestamp), _key(service)


def control(layout: Layout, cluster: ClusterAddresses, order: list[str]) -> NoReturn:
    """Never returns. order: publishers by precedence."""
    api = client(Credentials(layout, cluster).kubeconfig("load-balancers"), _FIELD_MANAGER)
    while True:
        try:
            Controller(
                api,
                [*cluster.pool_addresses()],
                lambda names: publish(layout.dns, cluster.name, allowed(names, cluster), order),
            ).run()
        except (ApiError, httpx2.TransportError) as error:  # an expired watch; the API server is down
            print(f"{cluster.name}: listing again: {error}", file=sys.stderr, flush=True)
            time.sleep(_RETRY)


if __name__ == "__main__":
    state = Layout(Path(sys.argv[1]))
    everybody = addresses_of(settings(state).topology)
    control(state, everybody[sys.argv[2]], precedence(everybody.values()))
