"""Whether a cluster hosts a user-facing service: an object with a public host that the DNS bridge would publish."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import pulumi

from pulumi_hosted_mesh.clusters import exec_credential, kubeconfig
from pulumi_hosted_mesh.clusters.api_server import ApiServer, UnreachableError
from pulumi_hosted_mesh.spec.cluster import ClusterReference
from pulumi_hosted_mesh.spec.dns import Edge, Source
from pulumi_hosted_mesh.vocabulary import DNS_NAMESPACE, EXTERNAL_DNS_HOSTNAME_ANNOTATION, FEDERATION_LABEL

Manifest = Mapping[str, Any]
ISTIO: Final = "/apis/networking.istio.io/v1"
ROUTES: Final = "/apis/gateway.networking.k8s.io/v1"
DNS_ENDPOINTS: Final = "/apis/externaldns.k8s.io/v1alpha1/dnsendpoints"


def _of_gateway(found: Manifest) -> Iterator[str]:
    for server in found["spec"].get("servers") or []:
        yield from (str(host).rpartition("/")[2] for host in server.get("hosts") or [])


def _of_hosts(found: Manifest) -> Iterator[str]:
    if set(found["spec"].get("gateways") or []) - {"mesh"}:
        yield from map(str, found["spec"].get("hosts") or [])


def _of_route(found: Manifest) -> Iterator[str]:
    yield from map(str, found["spec"].get("hostnames") or [])


def _of_service(found: Manifest) -> Iterator[str]:
    if found["spec"].get("type") == "LoadBalancer":
        yield str((found["metadata"].get("annotations") or {}).get(EXTERNAL_DNS_HOSTNAME_ANNOTATION) or "")


def _of_record(found: Manifest) -> Iterator[str]:
    if found["metadata"].get("namespace") != DNS_NAMESPACE:
        yield from (str(one.get("dnsName") or "") for one in found["spec"].get("endpoints") or [])


READ: Final[Mapping[Source, tuple[str, Callable[[Manifest], Iterator[str]]]]] = {
    Source.ISTIO_GATEWAY: (f"{ISTIO}/gateways", _of_gateway),
    Source.ISTIO_VIRTUALSERVICE: (f"{ISTIO}/virtualservices", _of_hosts),
    Source.GATEWAY_HTTPROUTE: (f"{ROUTES}/httproutes", _of_route),
    Source.GATEWAY_GRPCROUTE: (f"{ROUTES}/grpcroutes", _of_route),
    Source.SERVICE: ("/api/v1/services", _of_service),
}
"""Path of each source's objects, and their hosts."""


def has_user_facing_service(reference: ClusterReference, edge: Edge, field: str, source: str) -> bool:
    """Whether the cluster has one now. True with a warning if it cannot be read: an outage must not remove names.

    field, source: the reference's field and document, for errors. Raises: InvalidInputError for a kubeconfig that
    cannot be used.
    """
    config = exec_credential.fetched(kubeconfig.read(reference, field, source), field, source)
    try:
        return any(public_hosts(ApiServer(config), edge))
    except UnreachableError as error:
        pulumi.log.warn(f"edge {edge.name} counts as user-facing, because its cluster cannot be read: {error}")
        return True


def public_hosts(api: ApiServer, edge: Edge) -> Iterator[str]:
    """The hosts of the edge's sources, and of records that users wrote. Objects of a federation are for peers only.

    Raises: UnreachableError.
    """
    for path, hosts in (*(READ[one] for one in edge.sources), (DNS_ENDPOINTS, _of_record)):
        for found in api.list(path):
            if FEDERATION_LABEL in (found["metadata"].get("labels") or {}) or not isinstance(found.get("spec"), dict):
                continue
            yield from (host for host in hosts(found) if host.strip("*."))
