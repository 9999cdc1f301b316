"""The committed JSON Schemas are those of the models, and the committed stack files and examples fit them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
import yaml
from pulumi_hosted_mesh.assembly import package_schema
from pulumi_hosted_mesh.spec import schema, typed_dicts
from pulumi_hosted_mesh.spec.data_plane import DataPlane
from pulumi_hosted_mesh.spec.deployment import Deployment
from pulumi_hosted_mesh.spec.dns import DnsBridge
from pulumi_hosted_mesh.spec.federation import Federation
from pulumi_hosted_mesh.spec.fields import Model
from pulumi_hosted_mesh.spec.intents import Intents
from pulumi_hosted_mesh.spec.inventory import Inventory
from pulumi_hosted_mesh.spec.load import read_document, read_text
from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.spec.operators import Operators
from referencing import Registry, Resource

from tests.unit.library.documents import document

ROOT = Path(__file__).parents[4]
STACK_FILES = sorted(ROOT.glob("stacks/Pulumi.*.yaml"))
MESH_FILES = [*sorted(ROOT.glob("stacks/*.mesh.yaml")), *sorted(ROOT.glob("examples/**/mesh.yaml"))]
DATA_PLANE_FILES = sorted(ROOT.glob("stacks/example*.data-plane.yaml"))
DEPLOYMENT_FILES = sorted(ROOT.glob("examples/**/deployment.yaml"))
FEDERATION_FILES = sorted(ROOT.glob("stacks/example*.federation.yaml"))
OPERATORS_FILES = sorted(ROOT.glob("examples/*/operators.yaml"))
INTENTS_FILES = [*sorted(ROOT.glob("stacks/*.intents.yaml")), *sorted(ROOT.glob("examples/**/intents.yaml"))]
INTENTS_FILES = [path for path in INTENTS_FILES if not path.name.startswith("Pulumi.")]
INVENTORY_FILES = [*sorted(ROOT.glob("stacks/*.inventory.yaml")), *sorted(ROOT.glob("examples/**/inventory.yaml"))]
DNS_FILES = sorted(ROOT.glob("examples/**/dns.yaml"))
DOCUMENTS = [(path, Mesh) for path in MESH_FILES] + [(path, DataPlane) for path in DATA_PLANE_FILES]
DOCUMENTS += [(path, Deployment) for path in DEPLOYMENT_FILES]
DOCUMENTS += [(path, Federation) for path in FEDERATION_FILES] + [(path, DnsBridge) for path in DNS_FILES]
DOCUMENTS += [(path, Operators) for path in OPERATORS_FILES]
DOCUMENTS += [(path, Intents) for path in INTENTS_FILES] + [(path, Inventory) for path in INVENTORY_FILES]
KIND_OF = {model: kind for kind, (model, _) in schema.TITLES.items()}


def from_file(uri: str) -> Resource[Any]:
    """A schema as an editor reads it: by its address, relative to the file that refers to it."""
    return Resource.from_contents(json.loads(Path(uri.removeprefix("file://")).read_text()))


def validate(content: Any, kind: str) -> None:
    """By the committed files, and by the whole schema."""
    reference = {"$ref": (schema.FOLDER / f"{kind}.schema.json").as_uri()}
    by_files = jsonschema.Draft202012Validator(reference, registry=Registry(retrieve=from_file))  # type: ignore[call-arg]
    by_files.validate(content)
    jsonschema.validate(content, schema.schema_of(kind))


@pytest.mark.parametrize("path", schema.files(), ids=lambda path: path.name)
def test_committed_schema_is_current(path: Path) -> None:
    generated = schema.files()[path]
    assert path.read_text() == f"{schema.text_of(generated)}\n", "run `hosted-mesh schema --write`"
    assert json.loads(path.read_text()) == generated
    assert "do not edit" in path.read_text().splitlines()[1]
    jsonschema.Draft202012Validator.check_schema(generated)


def test_no_other_file_is_among_the_generated() -> None:
    assert set(schema.FOLDER.iterdir()) == set(schema.files()) | {package_schema.FILE}


@pytest.mark.parametrize("kind", schema.KINDS)
def test_a_printed_schema_is_whole(kind: str) -> None:
    found = schema.schema_of(kind)
    jsonschema.Draft202012Validator.check_schema(found)
    assert {one.rpartition("/")[2] for one in references(found)} <= found["$defs"].keys()


def references(part: Any) -> list[str]:
    inner = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    own = [part["$ref"]] if isinstance(part, dict) and isinstance(part.get("$ref"), str) else []
    return [*own, *(one for value in inner for one in references(value))]


def test_committed_typed_dicts_are_current() -> None:
    assert typed_dicts.INPUTS.read_text() == typed_dicts.text(), "run `hosted-mesh schema --write`"


@pytest.mark.parametrize("path", STACK_FILES, ids=lambda path: path.name)
def test_stack_files_fit(path: Path) -> None:
    content = yaml.safe_load(path.read_text())
    validate(content, schema.STACK)
    documents = {key: content["config"].get(f"hosted-mesh:{key}") for key in schema.DOCUMENTS}
    given = {key: value for key, value in documents.items() if value is not None}
    assert given
    for key, value in given.items():
        document = value if isinstance(value, dict) else yaml.safe_load((path.parent / value).read_text())
        read_document(schema.DOCUMENTS[key], document)


@pytest.mark.parametrize(("path", "model"), DOCUMENTS, ids=[str(path.relative_to(ROOT)) for path, _ in DOCUMENTS])
def test_documents_fit(path: Path, model: type[Model]) -> None:
    content = yaml.safe_load(path.read_text())
    validate(content, KIND_OF[model])
    read_document(model, content)


@pytest.mark.parametrize("page", ["README.md", "docs/components/mesh-document.md", "docs/components/networks.md"])
def test_the_pages_documents_are_whole(page: str) -> None:
    """So that the stack `control-plane` takes them; where members' clusters are given, so does `all-in-one`."""
    (text,) = re.findall(r"```yaml\n(name: demo\n.*?)```", (ROOT / page).read_text(), re.DOTALL)
    mesh = read_text(Mesh, text, page)
    assert mesh.control_plane.cluster is not None
    assert page.endswith("networks.md") or all(member.cluster for member in mesh.memberships)


@pytest.mark.parametrize(
    "path", [*STACK_FILES, *(path for path, _ in DOCUMENTS)], ids=lambda path: str(path.relative_to(ROOT))
)
def test_editors_find_the_schema(path: Path) -> None:
    first = path.read_text().splitlines()[0]
    assert first.startswith("# yaml-language-server: $schema=")
    assert json.loads((path.parent / first.partition("=")[2]).read_text())["$schema"]


def test_every_field_is_described() -> None:
    definitions = schema.schema_of("mesh")["$defs"] | schema.schema_of("deployment")["$defs"]
    for name, definition in definitions.items():
        assert definition.get("description"), name
        for field, part in definition.get("properties", {}).items():
            assert part.get("description"), f"{name}.{field}"


def test_the_page_of_fields_begins_with_a_minimal_and_a_full_document() -> None:
    page = (ROOT / "docs/components/fields.md").read_text()
    minimal, full = (
        read_text(Mesh, text, "the page") for text in re.findall(r"```yaml\n(name: demo\n.*?)```", page, re.DOTALL)
    )
    assert minimal.model_fields_set == {"name", "control_plane", "revisions", "memberships"}
    assert full.model_fields_set == set(Mesh.model_fields)


def test_schema_refuses_what_the_models_refuse() -> None:
    wrong = document({"revisions.0.istiod": {"replica": 2}})
    with pytest.raises(jsonschema.ValidationError):
        validate(wrong, "mesh")
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wrong, schema.schema_of("mesh"))
