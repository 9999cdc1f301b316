"""The choice of default catalogs by OperatorHub."""

from __future__ import annotations

from typing import Any

import pytest
from pulumi_hosted_mesh.operators.catalog_settings import disabled_catalogs

OFF, ON = {"name": "one", "disabled": True}, {"name": "one", "disabled": False}


@pytest.mark.parametrize(
    ("spec", "disabled"),
    [
        ({}, set()),
        ({"disableAllDefaultSources": True}, {"one", "two"}),
        ({"disableAllDefaultSources": True, "sources": [ON]}, {"two"}),
        ({"sources": [OFF]}, {"one"}),
        ({"sources": [{"name": "one"}]}, set()),
        ({"disableAllDefaultSources": True, "sources": [{"name": "one"}]}, {"two"}),
        ({"sources": [{"name": "unlisted", "disabled": True}]}, set()),
        ({"sources": None}, set()),
    ],
)
def test_a_sources_own_entry_overrides_the_switch_for_all(spec: dict[str, Any], disabled: set[str]) -> None:
    assert disabled_catalogs(["one", "two"], spec) == disabled
