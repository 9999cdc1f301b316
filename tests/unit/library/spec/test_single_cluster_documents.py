"""`split: false` and `tenant` in mesh documents: rejected fields, and names that never collide."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest
from pulumi_hosted_mesh.problems import InvalidInputError
from pulumi_hosted_mesh.spec.load import read_arguments, read_document
from pulumi_hosted_mesh.spec.mesh import Mesh

from tests.unit.library.documents import LOCAL, document

HOST, EXPOSURE = "revisions.0.host", "revisions.0.exposure"
CANARY = {"name": "canary"}


def test_the_document_of_one_cluster_needs_no_host_and_survives_a_second_reading() -> None:
    mesh = read_document(Mesh, document({**LOCAL, "revisions.1": CANARY}))
    assert mesh.split is False
    assert [mesh.host_of(one) for one in mesh.revisions] == ["istiod.mesh-demo.svc", "istiod-canary.mesh-demo.svc"]
    assert read_arguments(Mesh, mesh.arguments()) == mesh
    again = mesh.model_dump(exclude_unset=True, exclude={"memberships": True})
    assert read_arguments(Mesh, {**again, "memberships": [{}]}) == mesh


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("control plane", {"controlPlane": {"priority": 5}}, "controlPlane would have no effect"),
    (
        "more",
        {"controlPlane": {"priority": 5, "removeInUse": {"canary": "only tried here"}}},
        "controlPlane would have no effect",
    ),
    ("host", {HOST: "istiod.demo.example.com"}, r"revisions[0].host would"),
    ("exposure", {EXPOSURE: {"openToAll": True}}, r"revisions[0].exposure would"),
    ("gateway", {EXPOSURE: {"kind": "gateway", "openToAll": True}}, r"revisions[0].exposure would"),
    ("access", {"memberships.0.access": {"apiServer": "https://a.example.com"}}, r"memberships[0].access would"),
    ("webhooks", {"memberships.0.webhooks": {"timeoutSeconds": 5}}, r"memberships[0].webhooks would"),
    ("remote values", {"memberships.0.chartValues": {"x": 1}}, r"memberships[0].chartValues would"),
    ("tenant", {"tenant": "acme"}, "tenant would have no effect"),
    ("two clusters", {"memberships.1": {"name": "west"}}, "2 memberships, each a cluster of its own"),
    ("both", {HOST: "a.example.com", "controlPlane": {"priority": 5}}, "controlPlane and revisions[0].host would"),
    (
        "default moved",
        {"revisions.1": CANARY, "tags": {"default": "canary"}},
        "tags.default is not the revision default",
    ),
    ("text", {"split": "no"}, "must be true or false"),
]


@pytest.mark.parametrize(("changes", "words"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_fields_of_the_other_side_are_rejected(changes: dict[str, Any], words: str) -> None:
    given = {**LOCAL, **changes}
    removed = {key: value for key, value in given.items() if value is not None or key not in changes}
    with pytest.raises(InvalidInputError) as caught:
        read_document(Mesh, document(removed))
    assert words in str(caught.value)


def test_an_istiod_in_use_may_have_a_reason_for_its_removal() -> None:
    mesh = read_document(Mesh, document({**LOCAL, "controlPlane": {"removeInUse": {"canary": "only tried here"}}}))
    assert mesh.control_plane.remove_in_use == {"canary": "only tried here"}
    assert read_arguments(Mesh, mesh.arguments()) == mesh


def test_the_owner_of_the_root_certificate_may_be_set() -> None:
    mesh = read_document(Mesh, document({**LOCAL, "memberships.0.access": {"rootCertificateOwner": False}}))
    assert mesh.memberships[0].access.root_certificate_owner is False


@pytest.mark.parametrize("field", [HOST, EXPOSURE])
def test_a_split_mesh_still_requires_them(field: str) -> None:
    for changes in ({field: None}, {field: None, "split": True}):
        with pytest.raises(InvalidInputError) as caught:
            read_document(Mesh, document(changes))
        assert f"revisions[0].{field.rpartition('.')[2]}: is required" in str(caught.value)


def test_without_a_tenant_all_names_are_as_before() -> None:
    mesh = read_document(Mesh, document())
    names = (mesh.control_plane_namespace, mesh.namespace, mesh.domain, mesh.owner)
    assert names == ("mesh-demo", "mesh-demo", "demo.mesh.local", "demo")


def test_a_tenant_has_a_namespace_and_a_trust_domain_of_its_own_but_the_data_planes_namespace_stays() -> None:
    mesh = read_document(Mesh, document({"tenant": "acme"}))
    assert mesh.control_plane_namespace == "tenant-acme--demo"
    assert (mesh.namespace, mesh.domain) == ("mesh-demo", "demo.acme.mesh.local")


def test_no_two_pairs_of_tenant_and_mesh_share_a_namespace_or_a_name_at_the_root() -> None:
    words = ("a", "b", "a-b", "b-a", "a--b", "b--a", "mesh", "mesh-a", "tenant", "tenant-a", "a-mesh")
    found: dict[tuple[str | None, str], Mesh] = {}
    for tenant in (None, *words):
        for name in words:
            try:
                changes = {"name": name, "trust": {"management": "unmanaged"}}
                found[tenant, name] = read_document(
                    Mesh, document({**changes, **({"tenant": tenant} if tenant else {})})
                )
            except InvalidInputError:
                assert tenant
                assert "--" in tenant
    assert len(found) == len(words) * (len(words) - 1)
    for one, other in combinations(found.values(), 2):
        assert one.control_plane_namespace != other.control_plane_namespace, (one.tenant, one.name)


@pytest.mark.parametrize(
    ("tenant", "words"),
    [
        ("a--b", "separates tenant and mesh"),
        ("Acme", "must be a Kubernetes name"),
        ("a" * 58, "tenant and name must have at most"),
        ("7up", "must begin with a letter"),
    ],
)
def test_a_tenants_name_is_checked(tenant: str, words: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        read_document(Mesh, document({"tenant": tenant}))
    assert words in str(caught.value)


def test_a_priority_and_a_class_of_your_own_exclude_each_other() -> None:
    changes = {"controlPlane": {"priority": 5}, "revisions.0.istiod": {"scheduling": {"priorityClass": "high"}}}
    with pytest.raises(InvalidInputError, match=r"priorityClass contradicts controlPlane\.priority"):
        read_document(Mesh, document(changes))
