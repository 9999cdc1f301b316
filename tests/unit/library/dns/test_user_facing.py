"""Whether an edge's cluster hosts a user-facing service, from the lists of an API server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pulumi_hosted_mesh as hosted_mesh
import pytest
from pulumi_hosted_mesh.clusters.api_server import ApiServer
from pulumi_hosted_mesh.dns.user_facing import DNS_ENDPOINTS, READ, public_hosts
from pulumi_hosted_mesh.spec.cluster import ClusterReference
from pulumi_hosted_mesh.spec.dns import Edge, Source

from tests.unit.library.assembly.kubeconfigs import kubeconfig
from tests.unit.library.program import run

Manifest = dict[str, Any]
HOSTNAME = {"external-dns.alpha.kubernetes.io/hostname": "web.example.com"}


class Lists(ApiServer):
    """An API server with one object."""

    def __init__(self, path: str, found: Manifest) -> None:
        self.path, self.found = path, found

    def list(self, path: str, *, metadata_only: bool = False) -> Iterator[Manifest]:
        return iter([self.found] if path == self.path else [])


def thing(spec: Any, **metadata: Any) -> Manifest:
    return {"metadata": {"name": "it", "namespace": "shop", **metadata}, "spec": spec}


GATEWAY = {"servers": [{"hosts": ["shop/web.example.com"]}]}
RECORD = {"endpoints": [{"dnsName": "web.example.com"}]}
FOUND: list[tuple[Source | None, Manifest, bool]] = [
    (Source.ISTIO_GATEWAY, thing(GATEWAY), True),
    (Source.ISTIO_GATEWAY, thing({"servers": [{"hosts": ["*", "./*"]}]}), False),
    (Source.ISTIO_GATEWAY, thing(GATEWAY, labels={"hosted-mesh.io/federation": "shops"}), False),
    (Source.ISTIO_GATEWAY, thing(None), False),
    (Source.ISTIO_VIRTUALSERVICE, thing({"hosts": ["web.example.com"], "gateways": ["front"]}), True),
    (Source.ISTIO_VIRTUALSERVICE, thing({"hosts": ["reviews"], "gateways": ["mesh"]}), False),
    (Source.ISTIO_VIRTUALSERVICE, thing({"hosts": ["reviews"]}), False),
    (Source.GATEWAY_HTTPROUTE, thing({"hostnames": ["web.example.com"]}), True),
    (Source.GATEWAY_GRPCROUTE, thing({}), False),
    (Source.SERVICE, thing({"type": "LoadBalancer"}, annotations=HOSTNAME), True),
    (Source.SERVICE, thing({"type": "LoadBalancer"}), False),
    (Source.SERVICE, thing({"type": "ClusterIP"}, annotations=HOSTNAME), False),
    (None, thing(RECORD), True),
    (None, thing(RECORD, namespace="hosted-mesh-dns"), False),
]


@pytest.mark.parametrize(("source", "found", "is_public"), FOUND)
def test_an_object_with_a_public_host_counts(source: Source | None, found: Manifest, is_public: bool) -> None:
    path = READ[source][0] if source else DNS_ENDPOINTS
    edge = Edge(name="east", sources=(source or Source.SERVICE,))
    assert any(public_hosts(Lists(path, found), edge)) is is_public


def test_only_the_edge_s_own_sources_count() -> None:
    path = READ[Source.ISTIO_GATEWAY][0]
    assert list(public_hosts(Lists(path, thing(GATEWAY)), Edge(name="east", sources=(Source.SERVICE,)))) == []


def test_a_cluster_that_cannot_be_read_keeps_its_names(tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text(kubeconfig("https://127.0.0.1:9"))
    found: list[bool] = []

    def program() -> None:
        reference = ClusterReference(kubeconfig=str(config))
        found.append(hosted_mesh.has_user_facing_service(reference, Edge(name="east"), "dnsEdge.cluster", "it"))

    run(program)
    assert found == [True]
