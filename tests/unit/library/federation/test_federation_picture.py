"""A federation's picture is drawn from the objects of its meshes' stacks, and from those that are given alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pulumi_hosted_mesh.cli.command import app
from pulumi_hosted_mesh.operations.federation_picture import federation_picture
from typer.testing import CliRunner

from tests.unit.library.federation.documents import HOST, REVIEWS, WISH, document, made, peer

MONGODB = {**REVIEWS, "service": "mongodb", "port": 27017, "protocol": "TCP", "host": "mongodb.books.shops.example.com"}
GIVEN = document(
    peers=[
        peer(
            "east",
            imports=[{**WISH, "meshes": ["west", "north"]}],
            egress={"gateway": "egress", "ports": {"north": 15444}},
        ),
        peer("west", exports=[REVIEWS], imports=[{**WISH, "meshes": ["north"], "host": "other.example.org"}]),
        peer("north", exports=[{**REVIEWS, "to": [*REVIEWS["to"], {"mesh": "west", "identities": ["b/c"]}]}, MONGODB]),
    ],
)
ENTRY = "shops_east_entry_reviews_books_shops_example_com"


def resources(*meshes: str) -> list[dict[str, Any]]:
    """As a state has them, after resources of other kinds."""
    found: list[dict[str, Any]] = [
        {"urn": "stack", "type": "pulumi:pulumi:Stack"},
        {"urn": "other", "type": "x", "inputs": {"metadata": {"name": "other"}}},
    ]
    return [*found, *({"urn": "u", "type": "y", "inputs": one} for mesh in meshes for one in made(GIVEN, mesh))]


def test_each_mesh_has_what_it_serves_and_what_it_calls() -> None:
    lines = [line.strip() for line in federation_picture(resources("east", "west", "north")).splitlines()]
    east, north, west = (lines.index(f'subgraph shops_{mesh}["mesh {mesh}"]') for mesh in ("east", "north", "west"))
    assert lines[0] == "flowchart LR"
    assert lines[east + 1 : north] == [f'{ENTRY}(["<b>ServiceEntry</b><br/>{HOST}:9080"])', "end"]
    assert lines[north + 1] == 'shops_north_gateway{{"<b>gateway</b> eastwest<br/>port 15443"}}'
    who = "east.mesh.local/ns/books/sa/page<br/>west.mesh.local/ns/b/sa/c"
    assert f'shops_north_gateway -->|"{who}"| shops_north_service_reviews_books' in lines[north:west]
    assert 'shops_north_service_mongodb_books["<b>Service</b><br/>mongodb.books:27017"]' in lines[north:west]


def test_imports_lead_to_the_gateways_that_serve_them_by_the_name_that_these_know() -> None:
    drawn = federation_picture(resources("east", "west", "north"))
    calls = [line.strip() for line in drawn.splitlines() if "==>" in line]
    assert calls == [
        f'{ENTRY} ==>|"mTLS, {HOST}"| shops_north_gateway',
        f'{ENTRY} ==>|"mTLS, {HOST}"| shops_west_gateway',
        f'shops_west_entry_other_example_org ==>|"mTLS, {HOST}"| shops_north_gateway',
    ]
    assert "egress" not in drawn


def test_who_is_not_given_is_not_guessed() -> None:
    drawn = federation_picture(resources("east"))
    assert (ENTRY in drawn, "==>" in drawn, "west" in drawn) == (True, False, False)
    assert federation_picture([]) == "flowchart LR\n"


def test_what_nobody_may_call_says_so() -> None:
    found = resources("west")
    for one in found:
        if one.get("inputs", {}).get("kind") == "AuthorizationPolicy":
            del one["inputs"]["spec"]["rules"]
    assert 'shops_west_gateway -->|"no caller"| shops_west_service_reviews_books' in federation_picture(found)


def test_the_command_takes_the_states_of_several_stacks(tmp_path: Path) -> None:
    files = []
    for mesh in ("east", "west", "north"):
        files.append(tmp_path / f"{mesh}.json")
        files[-1].write_text(json.dumps({"deployment": {"resources": resources(mesh)}}))
    done = CliRunner().invoke(app, ["topology", "--federation", *map(str, files)])
    assert (done.exit_code, done.stdout) == (0, federation_picture(resources("east", "west", "north")))
