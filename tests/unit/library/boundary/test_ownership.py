"""Which types are whose: one table, with no component left out."""

from __future__ import annotations

import pytest
from pulumi_hosted_mesh import vocabulary
from pulumi_hosted_mesh.boundary import ownership

BOTH_SIDES = {f"{vocabulary.PACKAGE}:index:{name}" for name in ("HostedMesh", "MeshDeployment", "HostedOperators")}


def test_every_component_has_one_owner() -> None:
    tokens = {value for name, value in vars(vocabulary).items() if name.startswith("TYPE_")} - BOTH_SIDES
    assert tokens <= ownership.CONTROL_PLANE_TYPES | ownership.DATA_PLANE_TYPES
    assert not ownership.CONTROL_PLANE_TYPES & ownership.DATA_PLANE_TYPES


def urn(*types: str) -> str:
    return f"urn:pulumi:stack::project::{'$'.join(types)}::name"


@pytest.mark.parametrize(
    ("types", "owned"),
    [
        ((vocabulary.TYPE_MESH_TRUST, "tls:index/privateKey:PrivateKey"), True),
        (("any:index:Box", vocabulary.TYPE_EXTERNAL_CONTROL_PLANE, "kubernetes:core/v1:Secret"), True),
        (("pulumi:pulumi:StackReference",), True),
        (("pulumi:pulumi:StackReference", "any:index:Box"), False),
        ((vocabulary.TYPE_DATA_PLANE_ACCESS, "kubernetes:core/v1:Secret"), False),
        (("tls:index/privateKey:PrivateKey",), False),
    ],
)
def test_whose_a_resource_is_by_its_urn(types: tuple[str, ...], owned: bool) -> None:
    assert ownership.is_control_planes(urn(*types)) is owned


def test_what_is_no_urn_is_nobodys() -> None:
    assert ownership.types_of("") == []
    assert not ownership.is_control_planes("unknown")
    assert not ownership.is_certificate("")


def test_a_certificate_is_told_by_its_own_type() -> None:
    assert ownership.is_certificate(urn(vocabulary.TYPE_MESH_TRUST, "tls:index/selfSignedCert:SelfSignedCert"))
    assert not ownership.is_certificate(urn("tls:index/selfSignedCert:SelfSignedCert", "any:index:Box"))
