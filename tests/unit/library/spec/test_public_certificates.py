"""What a PEM certificate is: one rule for documents, files of `cacerts` and Outputs."""

from __future__ import annotations

import asyncio
from typing import Any

import pulumi
import pytest
from pulumi_hosted_mesh.boundary.cacerts import FILES, ROOT_FILE
from pulumi_hosted_mesh.boundary.endpoint import ControlPlaneEndpoint
from pulumi_hosted_mesh.problems import InvalidInputError
from pulumi_hosted_mesh.spec.fields import pem_certificate
from pulumi_hosted_mesh.spec.load import read_document
from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.spec.trust import Trust
from pulumi_hosted_mesh.trust.management import mesh_authority

from tests.unit.library.documents import CERTIFICATE, document

KEY = "-----BEGIN EC PRIVATE KEY-----\nWFla\n-----END EC PRIVATE KEY-----\n"
REQUEST = "-----BEGIN CERTIFICATE REQUEST-----\nWFla\n-----END CERTIFICATE REQUEST-----\n"
COMMENT = "Certificate:\n    Data:\n        Issuer: O = Soci\N{LATIN SMALL LETTER E WITH ACUTE}te\n"
BROUGHT = {**dict.fromkeys(FILES, CERTIFICATE), "ca-key.pem": KEY}
REFUSED = {
    "nothing": "",
    "blank": " \n",
    "junk": "WFla",
    "base64 of it": "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tWFla",
    "a comment alone": COMMENT + "WFla",
    "no value": None,
    "a number": 5,
    "a key behind": CERTIFICATE + KEY,
    "a key before": KEY + CERTIFICATE,
    "a request": REQUEST,
    "a request behind": CERTIFICATE + REQUEST,
    "an end that is cut off": CERTIFICATE + COMMENT + CERTIFICATE[:200],
}


async def brought(root: Any) -> Any:
    trust = Trust.model_validate({"management": "brought"})
    files = pulumi.Output.from_input({**BROUGHT, ROOT_FILE: root})
    return mesh_authority(trust, _not_ours, brought=files, root_certificate=None, source="it").root_certificate


async def unmanaged(root: Any) -> Any:
    trust = Trust.model_validate({"management": "unmanaged"})
    return mesh_authority(trust, _not_ours, brought=None, root_certificate=root, source="it").root_certificate


async def unmanaged_later(root: Any) -> Any:
    return await unmanaged(pulumi.Output.from_input(root))


async def of(root: Any) -> Any:
    mesh = read_document(Mesh, document())
    return ControlPlaneEndpoint.of(mesh, mesh.revisions[0], mesh.memberships[0], root).root_certificate


async def of_later(root: Any) -> Any:
    return await of(pulumi.Output.from_input(root))


async def facts(root: Any) -> Any:
    mesh = read_document(Mesh, document())
    told = ControlPlaneEndpoint.of(mesh, mesh.revisions[0], mesh.memberships[0], CERTIFICATE)
    return ControlPlaneEndpoint.from_facts({**told.document.arguments(), "root_certificate": root}).root_certificate


async def facts_later(root: Any) -> Any:
    return await facts(pulumi.Output.from_input(root))


async def facts_awaited(root: Any) -> Any:
    async def later() -> Any:
        return root

    return await facts(later())


WAYS = (brought, unmanaged, unmanaged_later, of, of_later, facts, facts_later, facts_awaited)


def _not_ours() -> Any:
    raise AssertionError("is not this program's to make")


async def _resolved(way: Any, root: Any) -> Any:
    return await pulumi.Output.from_input(await way(root)).future()


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_what_is_no_certificate_is_refused_by_each_way(way: Any, case: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        asyncio.run(_resolved(way, REFUSED[case]))
    assert any(field in str(refused.value) for field in ("rootCertificate", "root_certificate", "cacerts"))
    assert "WFla" not in str(refused.value)


@pytest.mark.parametrize("root", [CERTIFICATE, COMMENT + CERTIFICATE * 2 + COMMENT, CERTIFICATE.replace("\n", "\r\n")])
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_certificates_with_comments_pass_as_they_are(way: Any, root: str) -> None:
    assert asyncio.run(_resolved(way, root)) == root == pem_certificate(root)


@pytest.mark.parametrize("name", [name for name in FILES if name != "ca-key.pem"])
def test_no_key_is_beside_a_certificate_of_cacerts(name: str) -> None:
    trust = Trust.model_validate({"management": "brought"})

    async def made() -> Any:
        files = {**BROUGHT, name: CERTIFICATE + KEY}
        return await mesh_authority(trust, _not_ours, brought=files, root_certificate=None, source="it").files.future()

    with pytest.raises(InvalidInputError, match=rf"cacerts\.{name}: holds a private key"):
        asyncio.run(made())
