"""The committed JSON Schemas are those of the models, and the committed stack files and examples fit them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]
import pytest
import yaml
from pulumi_hosted_mesh.spec import schema, typed_dicts
from pulumi_hosted_mesh.spec.data_plane import DataPlane
from pulumi_hosted_mesh.spec.deployment import Deployment
from pulumi_hosted_mesh.spec.dns import DnsBridge
from pulumi_hosted_mesh.spec.federation import Federation
from pulumi_hosted_mesh.spec.fields import Model
from pulumi_hosted_mesh.spec.load import read, read_text
from pulumi_hosted_mesh.spec.mesh import Mesh

from tests.unit.library.documents import document

ROOT = Path(__file__).parents[4]
STACK_FILES = sorted(ROOT.glob("stacks/Pulumi.*.yaml"))
MESH_FILES = [*sorted(ROOT.glob("stacks/*.mesh.yaml")), *sorted(ROOT.glob("examples/**/mesh.yaml"))]
DATA_PLANE_FILES = sorted(ROOT.glob("stacks/example*.data-plane.yaml"))
DEPLOYMENT_FILES = sorted(ROOT.glob("examples/**/deployment.yaml"))
FEDERATION_FILES = sorted(ROOT.glob("stacks/example*.federation.yaml"))
DNS_FILES = sorted(ROOT.glob("examples/**/dns.yaml"))
DOCUMENTS = [(path, Mesh) for path in MESH_FILES] + [(path, DataPlane) for path in DATA_PLANE_FILES]
DOCUMENTS += [(path, Deployment) for path in DEPLOYMENT_FILES]
DOCUMENTS += [(path, Federation) for path in FEDERATION_FILES] + [(path, DnsBridge) for path in DNS_FILES]
SCHEMA_OF = {
    Mesh: schema.mesh_schema,
    DataPlane: schema.data_plane_schema,
    Deployment: schema.deployment_schema,
    Federation: schema.federation_schema,
    DnsBridge: schema.dns_schema,
}


@pytest.mark.parametrize("path", schema.SCHEMAS, ids=lambda path: path.name)
def test_committed_schema_is_current(path: Path) -> None:
    generated = schema.SCHEMAS[path]()
    assert path.read_text() == schema.text_of(generated), "run `hosted-mesh schema --write`"
    jsonschema.Draft202012Validator.check_schema(generated)


def test_committed_typed_dicts_are_current() -> None:
    assert typed_dicts.INPUTS.read_text() == typed_dicts.text(), "run `hosted-mesh schema --write`"


@pytest.mark.parametrize("path", STACK_FILES, ids=lambda path: path.name)
def test_stack_files_fit(path: Path) -> None:
    content = yaml.safe_load(path.read_text())
    jsonschema.validate(content, schema.stack_schema())
    documents = {key: content["config"].get(f"hosted-mesh:{key}") for key in schema.DOCUMENTS}
    given = {key: value for key, value in documents.items() if value is not None}
    assert given
    for key, value in given.items():
        document = value if isinstance(value, dict) else yaml.safe_load((path.parent / value).read_text())
        read(schema.DOCUMENTS[key], document)


@pytest.mark.parametrize(("path", "model"), DOCUMENTS, ids=[str(path.relative_to(ROOT)) for path, _ in DOCUMENTS])
def test_documents_fit(path: Path, model: type[Model]) -> None:
    content = yaml.safe_load(path.read_text())
    jsonschema.validate(content, SCHEMA_OF[model]())
    read(model, content)


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
    definitions = schema.mesh_schema()["$defs"] | schema.deployment_schema()["$defs"]
    for name, definition in definitions.items():
        assert definition.get("description"), name
        for field, part in definition.get("properties", {}).items():
            assert part.get("description"), f"{name}.{field}"


def test_schema_refuses_what_the_models_refuse() -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document({"revisions.0.istiod": {"replica": 2}}), schema.mesh_schema())
