"""The documents and the table of `make bench ARGS=tenants`."""

from __future__ import annotations

from typing import Any

from pulumi_hosted_mesh.spec.load import read_document
from pulumi_hosted_mesh.spec.mesh import Mesh

from bench.samples import Samples
from bench.tenants import Took, configuration, grid
from tests.unit.library.documents import CERTIFICATE, document


def test_all_tenants_call_their_mesh_alike_and_share_no_namespace_and_no_host() -> None:
    given: dict[str, Any] = document()
    meshes = [read_document(Mesh, configuration(given, number, CERTIFICATE)["mesh"]) for number in (1, 2, 50)]
    assert {one.name for one in meshes} == {"shop"}
    assert len({one.control_plane_namespace for one in meshes}) == 3
    hosts = {host for one in meshes for host in (one.revisions[0].host, one.revisions[0].exposure.address.webhook_host)}
    assert len(hosts) == 6
    assert given == document(), "the given document stays"


def test_the_table_compares_with_the_floor_and_the_first_mesh() -> None:
    found = [
        Took(1, 23, Samples([2.0]), Samples([4.0]), Samples([2.0]), 2, 0.001, 1_000),
        Took(50, 23, Samples([2.0]), Samples([4.4]), Samples([2.2]), 100, 0.05, 50_000),
    ]
    assert grid(found).rows[1] == ["50", "23", "2.00 s", "4.40 s", "2.20 s", "2.20", "1.10", "100", "50 ms", "50,000"]
