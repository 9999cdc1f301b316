"""Stacks that read all tenants' stacks: one without outputs is left out with a warning; a wrong kind ends the run."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import pulumi
import pytest
from pulumi_hosted_mesh.boundary.endpoint import ControlPlaneEndpoint
from pulumi_hosted_mesh.problems import InvalidInputError
from pulumi_hosted_mesh.spec.load import read_document
from pulumi_hosted_mesh.spec.stack import StackSettings

from stacks import dns, references
from tests.unit.library.documents import CERTIFICATE, document
from tests.unit.library.stacks.referenced_stacks import MESH

SETTINGS = read_document(
    StackSettings, {"stack": "dns", "references": {"controlPlanes": {"demo": "acme", "shop": "umbra"}}}
)


@dataclass(frozen=True)
class Details:
    value: Any
    secret_value: Any = None


@dataclass(frozen=True)
class Read:
    """A stack that was read, with these public outputs."""

    values: dict[str, Any]

    @property
    def outputs(self) -> pulumi.Output[Any]:
        return pulumi.Output.from_input(self.values)

    async def get_output_details(self, name: str) -> Details:
        return Details(self.values.get(name))


def deployed() -> dict[str, Any]:
    (revision,), (membership,) = MESH.revisions, MESH.memberships
    endpoint = ControlPlaneEndpoint.of(MESH, revision, membership, CERTIFICATE)
    facts = endpoint.document.model_dump(mode="json", by_alias=True, exclude_none=True)
    return {"endpoints": {"default/default": facts}, "addresses": {revision.host: ["192.0.2.1"]}}


def names(monkeypatch: pytest.MonkeyPatch, others: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Published hosts, and warnings."""
    warned: list[str] = []
    monkeypatch.setattr(references.pulumi, "StackReference", lambda name: Read(others[name]))
    monkeypatch.setattr(references.pulumi.log, "warn", warned.append)
    found = asyncio.get_event_loop().run_until_complete(dns._known(SETTINGS))
    return [one.host for one in found], warned


def test_names_of_other_tenants_are_published(monkeypatch: pytest.MonkeyPatch) -> None:
    found, warned = names(monkeypatch, {"acme": deployed(), "umbra": {}})
    assert found == [document()["revisions"][0]["host"]]
    assert len(warned) == 1
    assert warned[0].startswith("references.controlPlanes.shop: the stack umbra has no outputs. Its names are not")


def test_a_stack_with_other_outputs_is_a_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidInputError, match=r"references\.controlPlanes\.shop: names the stack umbra"):
        names(monkeypatch, {"acme": deployed(), "umbra": {"request": "x"}})
