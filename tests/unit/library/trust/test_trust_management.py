"""What `trust.management` asks for: given whole, or refused without a value in the message."""

from __future__ import annotations

from typing import Any

import pulumi
import pulumi_hosted_mesh as hosted_mesh
import pytest
from pulumi_hosted_mesh.boundary.cacerts import FILES
from pulumi_hosted_mesh.problems import InvalidInputError
from pulumi_hosted_mesh.spec.load import read_document
from pulumi_hosted_mesh.spec.trust import Trust
from pulumi_hosted_mesh.trust.management import Authority, mesh_authority

from tests.unit.library.documents import CERTIFICATE
from tests.unit.library.program import run

BROUGHT = dict.fromkeys(FILES, CERTIFICATE) | {"ca-key.pem": "s3cr3t"}
OWN = Authority("own files", "own root")


def found(management: str, **given: Any) -> Authority:
    issuer = {"issuer": {"name": "company"}} if management == "cert-manager" else {}
    options = {"brought": None, "root_certificate": None, "source": "the test"} | given
    return mesh_authority(read_document(Trust, {"management": management, **issuer}), lambda: OWN, **options)


@pytest.mark.parametrize(
    ("management", "field"),
    [("brought", "cacerts"), ("unmanaged", "rootCertificate"), ("cert-manager", "rootCertificate")],
)
def test_what_is_missing_is_named(management: str, field: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        found(management)
    assert str(refused.value).startswith(
        f"the test cannot be used, {field}: is required with trust.management: {management}."
    )


def test_each_way_takes_its_own() -> None:
    # Of the stack control-plane, what the root's owner hands over.
    assert found("own", root_certificate=CERTIFICATE) is OWN
    for management in ("unmanaged", "cert-manager"):
        assert found(management, root_certificate=CERTIFICATE) == Authority(None, CERTIFICATE)


@pytest.mark.parametrize("management", ["own", "unmanaged", "cert-manager"])
def test_an_authority_that_would_not_be_used_is_refused(management: str) -> None:
    """Silently the mesh would be another authority's."""
    with pytest.raises(InvalidInputError) as refused:
        found(management, brought=BROUGHT, root_certificate=CERTIFICATE)
    assert f"cacerts: is set, but trust.management is {management}." in str(refused.value)
    assert "s3cr3t" not in str(refused.value)


def test_what_is_brought_is_secret_but_for_its_root() -> None:
    seen = {}

    async def program() -> None:
        made = found("brought", brought=BROUGHT)
        for name, output in (("files", made.files), ("root", made.root_certificate)):
            seen[name] = (await pulumi.Output.from_input(output).future(), await output.is_secret())

    run(program)
    assert seen == {"files": (BROUGHT, True), "root": (CERTIFICATE, False)}


@pytest.mark.parametrize("lacking", FILES)
def test_an_authority_that_is_not_whole_is_refused(lacking: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        run(lambda: pulumi.export("files", found("brought", brought={**BROUGHT, lacking: ""}).files))
    assert f"cacerts: lacks {lacking}. Give all of" in str(refused.value)
    assert "s3cr3t" not in str(refused.value)


@pytest.mark.parametrize(
    ("document", "program", "kept"), [(True, False, True), (False, True, True), (False, False, False)]
)
def test_the_roots_key_is_kept_where_the_document_or_the_program_says_so(
    document: bool, program: bool, kept: bool
) -> None:
    options = pulumi.ResourceOptions(protect=program or None)
    made = run(lambda: hosted_mesh.MeshRoot("shop", {"trust": {"root": {"protect": document}}}, options))
    (key,) = [one for one in made if one.name == "shop-root-key"]
    assert key.protect is kept
