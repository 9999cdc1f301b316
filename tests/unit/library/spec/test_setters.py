"""The setter of each field: in the models, the schemas, the page, and refusals."""

from __future__ import annotations

from typing import Any

import pytest
from pulumi_hosted_mesh.operations import fields_page
from pulumi_hosted_mesh.problems import InvalidInputError
from pulumi_hosted_mesh.spec import schema
from pulumi_hosted_mesh.spec.data_plane import DataPlane
from pulumi_hosted_mesh.spec.fields import SET_BY, Model, Setter
from pulumi_hosted_mesh.spec.load import read_document
from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.spec.setters import fields_with_setters
from pulumi_hosted_mesh.spec.stack import StackSettings

from sandbox.bootstrap import CHECKOUT
from tests.unit.library.documents import SMALLEST

ROOTS = {*schema.DOCUMENTS.values(), *(model for model, _ in schema.TITLES.values()), StackSettings}


@pytest.mark.parametrize("document", sorted(ROOTS, key=lambda model: model.__name__))
def test_each_field_of_each_document_has_a_setter(document: type[Model]) -> None:
    assert document.setter is not None, "it would have the setter of a field, and no field holds it"
    found = list(fields_with_setters(document))
    assert {name for model, name, _ in found if model is document} == {
        str(field.alias) for field in document.model_fields.values()
    }


def test_a_part_has_the_setter_of_the_field_that_holds_it() -> None:
    def of(document: type[Model], model: str) -> dict[str, set[Setter]]:
        found: dict[str, set[Setter]] = {}
        for part, name, setter in fields_with_setters(document):
            if part.__name__ == model:
                found.setdefault(name, set()).add(setter)
        return found

    assert of(Mesh, "ControlPlane")["cluster"] == {Setter.OPERATOR}
    # The control plane's cluster, and a membership's.
    assert of(Mesh, "ClusterReference")["kubeconfig"] == {Setter.OPERATOR, Setter.OWNER}
    assert of(DataPlane, "ClusterReference")["kubeconfig"] == {Setter.OWNER}
    assert of(DataPlane, "Gateway")["replicas"] == {Setter.OWNER}
    access = of(DataPlane, "Access")
    assert (access["apiServer"], access["features"], access["tokenGeneration"]) == (
        {Setter.BOTH},
        {Setter.BOTH},
        {Setter.OWNER},
    )


def test_schemas_have_setters() -> None:
    mesh: dict[str, Any] = schema.schema_of("mesh")
    assert mesh[SET_BY] == "control plane's operator"
    assert mesh["properties"]["name"][SET_BY] == "both"
    assert mesh["$defs"]["Membership"]["properties"]["webhooks"][SET_BY] == "data plane's owner"
    assert schema.schema_of("data-plane")[SET_BY] == "data plane's owner"
    assert schema.schema_of("data-plane")["properties"]["mesh"][SET_BY] == "both"


def test_the_page_has_a_setter_in_each_row() -> None:
    page = (CHECKOUT / "docs/components/fields.md").read_text()
    rows = [line.split(" | ") for line in page.splitlines() if line.startswith("| `")]
    assert len(rows) > 400
    words = {*fields_page.WHO.values(), "as its field"}
    assert [row[0] for row in rows if not words & {cell.strip() for cell in row}] == []


@pytest.mark.parametrize(
    ("document", "given", "message"),
    [
        (
            DataPlane,
            {"mesh": "shop", "revisions": []},
            "revisions: is not a field of this document: the control plane's operator sets it, in the mesh document. "
            "Remove it.",
        ),
        (
            Mesh,
            {**SMALLEST, "gateways": []},
            "gateways: is not a field of this document: the data plane's owner sets it, in the data plane's document. "
            "Move it there, or into memberships if one program deploys both sides.",
        ),
        (
            DataPlane,
            {"mesh": "shop", "gatewayz": []},
            "gatewayz: is not a field of the document. Did you mean gateways?",
        ),
    ],
)
def test_a_field_of_the_other_side_is_refused_with_its_setter(
    document: type[Model], given: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidInputError) as refused:
        read_document(document, given)
    assert message in str(refused.value)
