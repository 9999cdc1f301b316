"""`hosted-mesh validate` of a federation tells before `up` what an import leaves out, and what to write to have it."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from pulumi_hosted_mesh.cli.command import app
from pulumi_hosted_mesh.federation.exports import offer
from typer.testing import CliRunner

from tests.unit.library.federation.documents import (
    AUDIENCE,
    REVIEWS,
    SERVICE,
    Manifest,
    document,
    federation,
    labelled,
)

DATABASE = {**REVIEWS, "service": "db", "port": 5432, "protocol": "TCP"}
WHY = "does not import db.books.shops.example.com of west, which is TCP, so all TCP to port 5432 would go there"
POSTGRES: Manifest = {
    "metadata": {"name": "db", "namespace": "books", "labels": {"export": "yes"}},
    "spec": {"ports": [{"name": "pg", "port": 5432}]},
}


USABLE = "valid, as kind federation; it names no kubeconfig. No cluster was contacted. It can be used"


@pytest.fixture
def given() -> Manifest:
    """East imports all of west, which exports reviews and a database, by name."""
    both = document()
    both["peers"][0]["imports"] = [{"meshes": ["west"]}]
    both["peers"][1]["exports"].append(DATABASE)
    return copy.deepcopy(both)


def validated(path: Path, *options: str, kind: str = "federation") -> tuple[int, str, str]:
    done = CliRunner().invoke(app, ["validate", str(path), f"--kind={kind}", *options])
    return done.exit_code, done.stdout, done.stderr


def written(directory: Path, content: Any, name: str = "federation.yaml") -> Path:
    path = directory / name
    path.write_text(yaml.safe_dump(content))
    return path


def test_what_is_left_out_is_a_warning_and_the_import_that_it_names_ends_it(tmp_path: Path, given: Manifest) -> None:
    code, said, warned = validated(written(tmp_path, given))
    assert (code, said) == (
        0,
        f"{tmp_path / 'federation.yaml'}: federation shops of east, west\n{tmp_path / 'federation.yaml'}: {USABLE}\n",
    )
    assert warned.startswith(f"warning: imports[0] of east: {WHY}. Name it in an import, `")
    given["peers"][0]["imports"].append(yaml.safe_load(warned.split("`")[1]))
    assert validated(written(tmp_path, given))[2] == ""


def test_json_has_the_same_for_machines(tmp_path: Path, given: Manifest) -> None:
    code, said, warned = validated(written(tmp_path, given), "--json")
    told = json.loads(said)
    assert (code, warned) == (0, "")
    assert (told["kind"], told["ok"], told["said"]) == ("federation", True, ["federation shops of east, west", USABLE])
    assert told["problems"] == []
    (warning,) = told["warnings"]
    assert (warning["field"], warning["rule"]) == ("imports[0] of east", WHY)
    assert "{meshes: [west], namespace: books, service: db, port: 5432}" in warning["fix"]


def test_json_has_what_cannot_be_used_too(tmp_path: Path, given: Manifest) -> None:
    given["peers"][0]["gateway"] = {}
    code, said, _ = validated(written(tmp_path, given), "--json")
    told = json.loads(said)
    assert (code, told["ok"], [one["field"] for one in told["problems"]]) == (1, False, ["peers[0].gateway.address"])


def test_what_labels_select_is_told_with_the_peers_offer(tmp_path: Path) -> None:
    by_labels = labelled([AUDIENCE])
    file = written(tmp_path, by_labels)
    assert validated(file)[2] == (
        "warning: imports of east: cannot be checked: west exports by labels, and its offer is missing. "
        "Add `--offer` with the output of `exports --mesh west`.\n"
    )
    offered = offer(federation(by_labels), "west", [SERVICE, POSTGRES]).model_dump(mode="json", by_alias=True)
    warned = validated(file, f"--offer={written(tmp_path, offered, 'west.yaml')}")[2]
    assert warned.startswith(f"warning: imports[0] of east: {WHY}.")
    assert warned.count("warning") == 1


def test_overlapping_imports_are_refused_from_the_document_alone(tmp_path: Path, given: Manifest) -> None:
    by_labels = labelled([AUDIENCE])
    for overlapping in (given, by_labels):
        overlapping["peers"][0]["imports"] = [{"meshes": ["west"]}, {"meshes": ["west"], "namespace": "books"}]
        code, _, said = validated(written(tmp_path, overlapping))
        assert code == 1
        assert "imports[1] of east: has " in said
        assert "and so has another import, imports[0]. Both are of west: remove one of the two" in said
    keys = {"stack": "federation", "federation": "federation.yaml", "member": {"mesh": "east"}}
    stack = {"config": {f"hosted-mesh:{key}": value for key, value in keys.items()}}
    code, _, said = validated(written(tmp_path, stack, "Pulumi.federation.yaml"), kind="stack")
    assert (code, "imports[1] of east: has " in said) == (1, True)


def test_an_offer_shows_the_overlap_that_the_document_does_not(tmp_path: Path) -> None:
    by_labels = labelled([AUDIENCE])
    by_labels["peers"][0]["imports"] = [
        {"meshes": ["west"]},
        {"meshes": ["west"], "namespace": "books", "service": "reviews", "port": 8080},
    ]
    file = written(tmp_path, by_labels)
    assert validated(file)[0] == 0
    at_8080 = {**SERVICE, "spec": {"ports": [{"name": "http", "port": 8080}]}}
    offered = offer(federation(by_labels), "west", [at_8080]).model_dump(mode="json", by_alias=True)
    code, _, said = validated(file, f"--offer={written(tmp_path, offered, 'west.yaml')}")
    assert (code, "imports[1] of east: has host reviews.books.shops.example.com" in said) == (1, True)


def test_a_withdrawn_service_is_a_warning_and_refused_where_it_is_required(tmp_path: Path) -> None:
    given = document()
    given["peers"][1]["exports"] = []
    code, _, warned = validated(written(tmp_path, given))
    assert (code, warned.count("warning:")) == (0, 1)
    assert "imports[0] of east: is left out for west, which exports no such service to east" in warned
    given["peers"][0]["imports"][0]["required"] = True
    code, _, said = validated(written(tmp_path, given))
    assert (code, "imports[0] of east: names a service that west does not export to east" in said) == (1, True)


def test_a_stack_s_file_tells_what_its_own_mesh_leaves_out(tmp_path: Path) -> None:
    by_labels = labelled([AUDIENCE])
    offered = offer(federation(by_labels), "west", [SERVICE, POSTGRES]).model_dump(mode="json", by_alias=True)
    written(tmp_path, by_labels)

    def warned(mesh: str) -> str:
        keys = {"stack": "federation", "federation": "federation.yaml", "member": {"mesh": mesh}, "offers": [offered]}
        config = {"config": {f"hosted-mesh:{key}": value for key, value in keys.items()}}
        code, _, said = validated(written(tmp_path, config, "Pulumi.federation.yaml"), kind="stack")
        assert code == 0
        return said

    assert warned("east").startswith(f"warning: imports[0] of east: {WHY}.")
    assert warned("west") == ""


def test_a_stack_s_file_may_leave_addresses_to_outputs_of_other_stacks(tmp_path: Path, given: Manifest) -> None:
    given["peers"][1]["gateway"] = {}
    written(tmp_path, given)
    keys: Manifest = {"stack": "federation", "federation": "federation.yaml", "member": {"mesh": "east"}}

    def checked(references: Manifest) -> tuple[int, str, str]:
        config = {"config": {f"hosted-mesh:{key}": value for key, value in {**keys, "references": references}.items()}}
        return validated(written(tmp_path, config, "Pulumi.federation.yaml"), kind="stack")

    code, said, _ = checked({"dataPlanes": {"west": "organization/hosted-mesh/data-plane-west"}})
    assert (code, "federation.yaml, with outputs of other stacks, which were not read" in said) == (0, True)
    code, _, said = checked({})
    assert (code, "peers[1].gateway.address: is required" in said) == (1, True)


def test_copies_that_disagree_are_refused_by_field(tmp_path: Path, given: Manifest) -> None:
    own = written(tmp_path, given)
    same = copy.deepcopy(given)
    same["peers"].reverse()
    assert validated(own, f"--copy={written(tmp_path, same, 'same.yaml')}")[0] == 0
    other = copy.deepcopy(given)
    other["peers"][1]["exports"][0]["to"][0]["identities"] = ["books/other"]
    other["peers"][1]["gateway"]["port"] = 15444
    other["peers"].append({"mesh": "north", "gateway": {"address": "eastwest.north.example.com"}})
    code, _, said = validated(own, f"--copy={written(tmp_path, other, 'other.yaml')}")
    assert code == 1
    name = tmp_path / "other.yaml"
    for line in (
        f"peers[north]: is only in {name}",
        f"peers[west].exports: differs from {name}",
        f"peers[west].gateway.port: differs from {name}",
    ):
        assert line in said
    assert "peers[east]" not in said
    code, _, said = validated(own, f"--copy={own}", kind="mesh")
    assert (code, "--copy: requires a federation" in said) == (1, True)


def test_offers_are_of_a_federation_alone(tmp_path: Path, given: Manifest) -> None:
    file = written(tmp_path, given)
    code, _, said = validated(file, f"--offer={file}", kind="mesh")
    assert (code, said) == (
        1,
        "the command line cannot be used, --offer: requires a federation, but the document's kind is mesh. "
        "Remove it.\n",
    )
