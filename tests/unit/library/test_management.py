"""What an authority that others made may bring: nothing private beside what data planes are given."""

from __future__ import annotations

import asyncio
from typing import Any

import pulumi
import pytest
from pulumi_hosted_mesh.problems import InvalidInputError
from pulumi_hosted_mesh.spec.trust import Trust
from pulumi_hosted_mesh.trust.management import FILES, ROOT_FILE, authority

from tests.unit.library.documents import CERTIFICATE

KEY = "-----BEGIN EC PRIVATE KEY-----\nWFla\n-----END EC PRIVATE KEY-----\n"


async def _authority(management: str, brought: Any = None, root: Any = None, *, later: bool = False) -> Any:
    def own() -> Any:
        raise AssertionError("is not this program's to make")

    trust = Trust.model_validate({"management": management})
    given = pulumi.Output.from_input(root) if later else root
    found = authority(trust, own, brought=brought, root_certificate=given, source="the test")
    return await pulumi.Output.from_input(found.root_certificate).future()


@pytest.mark.parametrize(
    "extra", [KEY, "-----BEGIN CERTIFICATE REQUEST-----\nQUJD\n-----END CERTIFICATE REQUEST-----\n"]
)
def test_a_root_with_more_than_certificates_is_refused(extra: str) -> None:
    brought = {**dict.fromkeys(FILES, CERTIFICATE), ROOT_FILE: CERTIFICATE + extra}
    for management, files, root, later in (
        ("brought", brought, None, False),
        ("unmanaged", None, CERTIFICATE + extra, False),
        ("unmanaged", None, extra + CERTIFICATE, True),
    ):
        with pytest.raises(InvalidInputError, match="holds more than certificates") as refused:
            asyncio.run(_authority(management, files, root, later=later))
        assert "WFla" not in str(refused.value)


def test_several_certificates_pass() -> None:
    files = {**dict.fromkeys(FILES, KEY), ROOT_FILE: "# roots\n" + CERTIFICATE * 2}
    assert asyncio.run(_authority("brought", files)) == files[ROOT_FILE]
    assert asyncio.run(_authority("unmanaged", root=CERTIFICATE, later=True)) == CERTIFICATE
