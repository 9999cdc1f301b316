"""What is copied from: the examples and the stacks' files say which version of Istio, and which cluster."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pulumi_hosted_mesh as hosted_mesh
import pytest
import yaml

ROOT = Path(__file__).parents[4]
DOCUMENTS = [
    *ROOT.glob("examples/*/mesh.yaml"),
    *ROOT.glob("examples/federation/[ew]*st.yaml"),
    *ROOT.glob("examples/*/deployment.yaml"),
    *ROOT.glob("stacks/example.mesh.yaml"),
    *ROOT.glob("stacks/example.data-plane.yaml"),
    ROOT / "stacks/Pulumi.cluster.yaml",
]
PROGRAMS = [*ROOT.glob("examples/*/__main__.py"), *ROOT.glob("examples/*/*.ts")]
PYTHON = [*ROOT.glob("examples/**/*.py"), *ROOT.glob("stacks/*.py"), ROOT / "__main__.py"]
LIBRARY = "pulumi_hosted_mesh"


def mappings(part: Any) -> list[dict[str, Any]]:
    """Every mapping in a document."""
    inner = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    return ([part] if isinstance(part, dict) else []) + [one for value in inner for one in mappings(value)]


@pytest.mark.parametrize("file", DOCUMENTS, ids=lambda file: str(file.relative_to(ROOT)))
def test_a_document_pins_its_version_and_names_its_clusters(file: Path) -> None:
    found = mappings(yaml.safe_load(file.read_text()))
    clusters = [one for one in found if "kubeconfig" in one]
    assert clusters
    assert all(one.get("identity") for one in clusters)
    # What is made of a chart: a revision, and a cluster's definitions.
    charted = [
        one
        for one in found
        if "host" in one or (file.name == "Pulumi.cluster.yaml" and "cluster" in one and one["cluster"] in clusters)
    ]
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", one["charts"]["version"]) for one in charted)
    assert charted or file.name == "example.data-plane.yaml"


@pytest.mark.parametrize("file", PROGRAMS, ids=lambda file: str(file.relative_to(ROOT)))
def test_a_program_names_its_clusters_and_pins_its_version(file: Path) -> None:
    text = file.read_text()
    contexts, identities = (len(re.findall(rf"\b{word}\"?\s*[:=]", text)) for word in ("context", "identity"))
    assert contexts == identities
    if re.search(r"\bhost\"?:", text):
        assert re.search(r"charts\"?: \{ ?\"?version\"?: \"\d+\.\d+\.\d+\"", text)


@pytest.mark.parametrize("file", PYTHON, ids=lambda file: str(file.relative_to(ROOT)))
def test_a_program_imports_public_names_alone(file: Path) -> None:
    """lint-imports holds this for `stacks`; the other programs are in no package that it could read."""
    nodes = list(ast.walk(ast.parse(file.read_text(encoding="utf-8"))))
    modules = [one.name for node in nodes if isinstance(node, ast.Import) for one in node.names]
    modules += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    assert [one for one in modules if one.startswith(f"{LIBRARY}.")] == []
    names = {
        one.name for node in nodes if isinstance(node, ast.ImportFrom) and node.module == LIBRARY for one in node.names
    }
    assert names <= set(hosted_mesh.__all__)
