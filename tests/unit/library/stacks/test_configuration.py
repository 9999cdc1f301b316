"""The stack's configuration: structured settings arrive as JSON text, and what cannot be read is one clear error."""

from __future__ import annotations

import json

import pulumi
import pytest
from pulumi_hosted_mesh.problems import InvalidInputError
from pulumi_hosted_mesh.spec.load import read_arguments, whole_numbers
from pulumi_hosted_mesh.spec.mesh import Mesh

from stacks import configuration
from tests.unit.library.documents import document


def configure(*secrets: str, **values: str) -> None:
    """secrets: keys under which something is encrypted, as the engine tells."""
    own = pulumi.get_project()
    pulumi.runtime.set_all_config(
        {f"{own}:{key}": value for key, value in values.items()}, [f"{own}:{key}" for key in secrets]
    )


def test_settings_and_mesh() -> None:
    configure(stack="control-plane", references='{"trust": "a/b/c"}', mesh=json.dumps(document()))
    settings, mesh = configuration.settings(), configuration.document(Mesh, "mesh")
    assert settings.references.trust == "a/b/c"
    assert mesh.name == "demo"


def test_a_secret_in_a_document_is_refused() -> None:
    """All that is read of one is plain from there on. What may be secret has a key of its own."""
    hidden = document({"revisions.0.istiod": {"environment": {"TOKEN": "s3cr3t"}}})
    configure("mesh", "cacerts", stack="all-in-one", mesh=json.dumps(hidden), cacerts='{"ca-key.pem": "s3cr3t"}')
    assert configuration.settings().cacerts == {"ca-key.pem": "s3cr3t"}
    with pytest.raises(InvalidInputError) as caught:
        configuration.document(Mesh, "mesh")
    (problem,) = caught.value.problems
    assert problem.field == "mesh"
    assert "holds a secret" in problem.rule
    assert "s3cr3t" not in str(caught.value)


@pytest.mark.parametrize(
    ("field", "values"),
    [("mesh", {"mesh": '{"name": "s3cr3t'}), ("references", {"references": "[s3cr3t", "mesh": json.dumps(document())})],
)
def test_json_that_cannot_be_read(field: str, values: dict[str, str]) -> None:
    configure(stack="trust", **values)
    with pytest.raises(InvalidInputError) as caught:
        configuration.settings()
        configuration.document(Mesh, "mesh")
    (problem,) = caught.value.problems
    assert problem.field == field
    assert "not valid JSON" in problem.rule
    assert "s3cr3t" not in str(caught.value)


@pytest.mark.parametrize("given", ["name: demo\npassword: s3cr3t\n", "https://me:s3cr3t@files.example.com/mesh.yaml"])
def test_no_text_or_url_in_place_of_a_document(given: str) -> None:
    """`mesh: |` makes text of the fields. It is not repeated as a path."""
    configure(stack="control-plane", mesh=given)
    with pytest.raises(InvalidInputError) as caught:
        configuration.document(Mesh, "mesh")
    (problem,) = caught.value.problems
    assert (problem.field, "not text" in problem.rule) == ("mesh", True)
    assert "s3cr3t" not in str(caught.value)


def test_numbers_come_back_whole_from_the_engine() -> None:
    carried = {"port": 15012.0, "half": 0.5, "nested": [{"replicas": 2.0, "on": True}], "text": "2.0"}
    kept = whole_numbers(carried)
    assert kept == carried
    assert [type(kept["port"]), type(kept["half"]), type(kept["nested"][0]["replicas"])] == [int, float, int]
    assert kept["nested"][0]["on"] is True
    arguments = document({"revisions.0.istiod": {"replicas": 3.0}})
    assert read_arguments(Mesh, arguments).revisions[0].istiod.replicas == 3
