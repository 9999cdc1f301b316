"""An application's parts by cluster: the plan, the component, and refusals."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pulumi_hosted_mesh as hosted_mesh
import pytest
import yaml
from pulumi_hosted_mesh.applications.placement import key_of, placed
from pulumi_hosted_mesh.cli.command import app
from pulumi_hosted_mesh.problems import InvalidInputError
from pulumi_hosted_mesh.spec.application import Application
from pulumi_hosted_mesh.spec.load import read_document
from typer.testing import CliRunner

from tests.unit.library.assembly.kubeconfigs import kubeconfig
from tests.unit.library.program import Registered, run

Document = dict[str, Any]
EXAMPLE = Path(__file__).parents[4] / "examples/application/application.yaml"


def thing(kind: str, name: str, **rest: Any) -> Document:
    return {"apiVersion": "apps/v1" if kind == "Deployment" else "v1", "kind": kind, "metadata": {"name": name}, **rest}


def part(name: str, place: Document, *manifests: Document) -> Document:
    return {"name": name, "place": place, "manifests": list(manifests or [thing("Service", name)])}


def document(**fields: Any) -> Document:
    found = {
        "name": "books",
        "namespace": "books",
        "parts": [
            part("page", {"names": ["east"]}, thing("Deployment", "page"), thing("Service", "page")),
            part("reviews", {"labels": {"tier": "far"}}),
        ],
        "clusters": [
            {"name": "west", "labels": {"tier": "far"}},
            {"name": "east", "labels": {"tier": "near"}},
            {"name": "spare"},
        ],
    }
    return copy.deepcopy({**found, **fields})


def objects(given: Document) -> dict[str, list[tuple[str, str, str]]]:
    found = placed(read_document(Application, given))
    return {cluster: [key_of(one) for one in manifests] for cluster, manifests in found.items()}


def test_a_part_goes_where_its_place_says() -> None:
    assert objects(document()) == {
        "east": [("Deployment", "books", "page"), ("Service", "books", "page")],
        "west": [("Service", "books", "reviews")],
    }


def test_a_cluster_more_changes_nothing_of_the_others() -> None:
    given = document()
    before = objects(given)
    given["clusters"].append({"name": "north", "labels": {"tier": "far"}})
    assert objects(given) == {**before, "north": [("Service", "books", "reviews")]}


def test_an_object_keeps_its_namespace_and_gets_the_application_s_label() -> None:
    manifest = thing("Service", "page", status={"loadBalancer": {}})
    manifest["metadata"] |= {"namespace": "front", "labels": {"app": "page"}}
    (found,) = placed(read_document(Application, document(parts=[part("page", {"names": ["east"]}, manifest)])))["east"]
    labels = {"app": "page", "hosted-mesh.io/application": "books"}
    assert found["metadata"] == {"name": "page", "namespace": "front", "labels": labels}
    assert "status" not in found


BAD: dict[str, tuple[Document, str]] = {
    "labels that match nothing": (
        {"parts": [part("page", {"labels": {"tier": "fra"}})]},
        "parts.page.place.labels: matches none of the clusters (tier: fra). Correct these labels",
    ),
    "a name that is no cluster": (
        {"parts": [part("page", {"names": ["eats"]})]},
        "parts.page.place.names: names eats, which is none of the clusters. Did you mean east?",
    ),
    "no place": ({"parts": [part("page", {})]}, "parts[0]: place chooses no cluster. Add names or labels"),
    "no object": (
        {"parts": [{"name": "page", "place": {"names": ["east"]}}]},
        "parts[0]: has neither files nor manifests. Add one",
    ),
    "two parts with one object": (
        {"parts": [part("page", {"names": ["east"]}), part("more", {"names": ["east"]}, thing("Service", "page"))]},
        "parts.more: has Service books page, and so has part page, in cluster east. Leave it out of one, or rename it",
    ),
    "one object twice in a part": (
        {"parts": [part("page", {"names": ["east"]}, thing("Service", "page"), thing("Service", "page"))]},
        "parts.page: has Service books page, and so has part page, in cluster east.",
    ),
    "two parts of one name": (
        {"parts": [part("page", {"names": ["east"]}), part("page", {"names": ["west"]})]},
        "parts: has two of one name, page. Give each its own name",
    ),
    "two clusters of one name": (
        {"clusters": [{"name": "east"}, {"name": "east"}]},
        "clusters: has two of one name, east. Give each its own name",
    ),
    "an object of the cluster": (
        {"parts": [part("page", {"names": ["east"]}, thing("Namespace", "books"))]},
        "parts[0].manifests[0]: is a Namespace, which belongs to the whole cluster. Leave it out",
    ),
    "an object without a name": (
        {"parts": [part("page", {"names": ["east"]}, {"apiVersion": "v1", "kind": "Service"})]},
        "parts[0].manifests[0]: lacks apiVersion, kind or metadata.name. Write it as `kubectl apply` reads it",
    ),
    "labels that are a list": (
        {
            "parts": [
                part("page", {"names": ["east"]}, {**thing("Service", "a"), "metadata": {"name": "a", "labels": ["b"]}})
            ]
        },
        "parts[0].manifests[0]: has metadata.labels that are no mapping. Write it as `kubectl apply` reads it",
    ),
    "a namespace that is a number": (
        {
            "parts": [
                part("page", {"names": ["east"]}, {**thing("Service", "a"), "metadata": {"name": "a", "namespace": 5}})
            ]
        },
        "parts[0].manifests[0]: has a metadata.namespace that is no text. Put it in quotes",
    ),
    "a secret": (
        {"parts": [part("page", {"names": ["east"]}, thing("Secret", "login", stringData={"password": "hunter2"}))]},
        "parts[0].manifests[0]: is a Secret with its content, and documents are no place for one. Leave it out",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_placed_is_refused_by_field_rule_and_fix(case: str) -> None:
    changes, words = BAD[case]
    with pytest.raises(InvalidInputError) as refused:
        objects(document(**changes))
    (problem,) = map(str, refused.value.problems)
    assert problem.startswith(words)
    assert "hunter2" not in problem


def written(directory: Path, **files: str) -> Path:
    """The example beside the given files, with kubeconfigs of clusters where nobody answers."""
    given: Document = yaml.safe_load(EXAMPLE.read_text())
    for port, one in enumerate(given["clusters"], 1):
        config = directory / f"config-{port}"
        config.write_text(kubeconfig(f"https://127.0.0.1:{port}"))
        one["cluster"] = {"kubeconfig": str(config), "identity": one["name"]}
    for name in ("page.yaml", "reviews.yaml"):
        (directory / name).write_text(files.get(name.partition(".")[0], EXAMPLE.with_name(name).read_text()))
    file = directory / "application.yaml"
    file.write_text(yaml.safe_dump(given))
    return file


def registered(file: Path) -> list[Registered]:
    return run(lambda: hosted_mesh.ApplicationDeployment("books", hosted_mesh.read_application(file)), preview=True)


def test_each_cluster_gets_its_objects_by_its_own_provider(tmp_path: Path) -> None:
    found = [one for one in registered(written(tmp_path)) if one.type.startswith("kubernetes:")]
    names: dict[str, list[str]] = {}
    for one in found:
        names.setdefault(str(one.provider), []).append(f"{one.type} {one.inputs['metadata']['name']}")
    reviews = [
        "kubernetes:core/v1:ServiceAccount reviews",
        "kubernetes:core/v1:Service reviews",
        "kubernetes:apps/v1:Deployment reviews-v1",
    ]
    assert names == {
        "books-east-data-plane-cluster": [one.replace("reviews", "productpage") for one in reviews],
        "books-north-data-plane-cluster": reviews,
        "books-west-data-plane-cluster": reviews,
    }
    assert {one.inputs["metadata"]["namespace"] for one in found} == {"bookinfo"}


def test_one_cluster_under_two_names_is_refused(tmp_path: Path) -> None:
    file = written(tmp_path)
    given = yaml.safe_load(file.read_text())
    given["clusters"][2]["cluster"] = given["clusters"][1]["cluster"]
    file.write_text(yaml.safe_dump(given))
    with pytest.raises(InvalidInputError, match=r"clusters\[2\].cluster: has the same API server as clusters\[1\]"):
        registered(file)


FILES: dict[str, tuple[str, str]] = {
    "a cluster's object": (
        "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Namespace, metadata: {name: books}}",
        "Namespace books: is a Namespace, which belongs to the whole cluster",
    ),
    "text that is no YAML": ("{", "(line 2): is not valid YAML. Correct the syntax"),
    "a template": (
        "kind: Service\nmetadata: {name: {{ s3cr3t }}}",
        "(line 2): has a tag, a merge (<<) or a kind of key",
    ),
    "a list": ("- a", "(file): has a document that is no object. Remove it"),
}


@pytest.mark.parametrize("case", FILES)
def test_a_file_that_cannot_be_placed_is_refused(case: str, tmp_path: Path) -> None:
    text, words = FILES[case]
    done = CliRunner().invoke(app, ["validate", "--kind=application", str(written(tmp_path, page=text))])
    assert done.exit_code == 1
    assert f"{tmp_path}/page.yaml cannot be used, {words}" in done.output.replace("\n", " ")


def test_validate_prints_the_clusters_of_each_part(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["validate", "--kind=application", str(written(tmp_path))])
    assert done.exit_code == 0, done.output
    assert "part page, 3 objects, in east" in done.output
    assert "part reviews, 3 objects, in north, west" in done.output
