"""A Certificate of cert-manager's is istiod's authority on the control plane, and a finding on a data plane."""

from __future__ import annotations

from typing import Any

import pytest

from tests.corpus import objects
from tests.corpus.simulated_engine import run
from tests.corpus.world import World

RULE = "external-istiod-has-its-own-ca"
SPEC = {"secretName": "cacerts", "isCA": True, "issuerRef": {"name": "company", "kind": "ClusterIssuer"}}


def said(side: str | None, **changes: Any) -> list[str]:
    """Of an istiod on the control plane's side, with a Certificate on a side."""

    def program(world: World) -> None:
        if side:
            namespace = changes.pop("namespace", "default")
            body = {"spec": {**SPEC, **changes}, "metadata": {"namespace": namespace}}
            world.object(side, "cert-manager.io/v1:Certificate", "cacerts", body)
        objects.istiod(world)

    _, found, _, _ = run(program, preview=True, state={})
    return [one.message for one in found if one.rule == RULE]


def test_istiod_with_its_certificate_passes() -> None:
    assert said("cp") == []


@pytest.mark.parametrize("changes", [{"secretName": "serving"}, {"isCA": False}, {"namespace": "kube-public"}], ids=str)
def test_another_certificate_is_no_authority(changes: dict[str, Any]) -> None:
    (message,) = said("cp", **changes)
    assert "no Secret cacerts in namespace default of its cluster" in message
    assert said(None) == [message]


def test_the_key_of_an_authority_is_not_made_on_a_data_plane() -> None:
    found = said("dp")
    assert any(
        "cert-manager would make the key of Secret cacerts, istiod's CA, on the data plane" in one for one in found
    )
    assert len(found) == 2
