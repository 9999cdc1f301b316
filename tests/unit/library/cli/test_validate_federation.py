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

from tests.unit.library.federation.test_federation import (
    AUDIENCE,
    REVIEWS,
    SERVICE,
    Manifest,
    document,
    federation,
    labelled,
)

DATABASE = {**REVIEWS, "service": "db", "port": 5432, "protocol": "TCP"}
WHY = "does not import db.books.shops.example.com of west, which is TCP, of which all to port 5432 would go there"
POSTGRES: Manifest = {
    "metadata": {"name": "db", "namespace": "books", "labels": {"export": "yes"}},
    "spec": {"ports": [{"name": "pg", "port": 5432}]},
}


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
    assert (code, said) == (0, f"{tmp_path / 'federation.yaml'}: federation shops of east, west\n")
    assert warned.startswith(f"warning: imports[0] of east: {WHY}. To have it, name it in an import, `")
    given["peers"][0]["imports"].append(yaml.safe_load(warned.split("`")[1]))
    assert validated(written(tmp_path, given))[2] == ""


def test_json_has_the_same_for_machines(tmp_path: Path, given: Manifest) -> None:
    code, said, warned = validated(written(tmp_path, given), "--json")
    told = json.loads(said)
    assert (code, warned) == (0, "")
    assert (told["kind"], told["ok"], told["said"]) == ("federation", True, ["federation shops of east, west"])
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
        "warning: imports of east: takes what west exports by labels, of which the document does not tell what it "
        "leaves out. Give `--offer` with what `exports --mesh west` prints.\n"
    )
    offered = offer(federation(by_labels), "west", [SERVICE, POSTGRES]).model_dump(mode="json", by_alias=True)
    warned = validated(file, f"--offer={written(tmp_path, offered, 'west.yaml')}")[2]
    assert warned.startswith(f"warning: imports[0] of east: {WHY}.")
    assert warned.count("warning") == 1


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


def test_offers_are_of_a_federation_alone(tmp_path: Path, given: Manifest) -> None:
    file = written(tmp_path, given)
    code, _, said = validated(file, f"--offer={file}", kind="mesh")
    assert (code, said) == (
        1,
        "the command line cannot be used, --offer: is of a federation, and this is of kind mesh. Leave it out.\n",
    )
