"""`hosted-mesh validate --kind dns`: who publishes where, what is probably not meant, and what is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from pulumi_hosted_mesh.cli.command import app
from typer.testing import CliRunner

from tests.unit.library.dns.documents import RFC2136, document, provider

EXAMPLE = Path(__file__).parents[4] / "examples" / "dns_bridge" / "dns.yaml"


def validate(path: Path) -> tuple[int, list[str]]:
    done = CliRunner().invoke(app, ["validate", "--kind", "dns", str(path)])
    return done.exit_code, done.output.replace(f"{path}: ", "").replace(str(path), "FILE").splitlines()


USABLE = "valid, as kind dns; it names no kubeconfig. No cluster was contacted. It can be used"


def written(directory: Path, content: dict[str, Any]) -> Path:
    path = directory / "dns.yaml"
    path.write_text(yaml.safe_dump(content))
    return path


def test_the_example_can_be_used() -> None:
    assert validate(EXAMPLE) == (
        0,
        [
            "data-plane by office in data-plane.shop.example.com",
            "control-plane by office in mesh.shop.example.com",
            USABLE,
        ],
    )


def test_it_says_who_publishes_where(tmp_path: Path) -> None:
    given = document(provider(), provider(RFC2136, selector={"region": "west"}))
    code, lines = validate(written(tmp_path, given))
    assert code == 0
    assert sorted(lines) == [
        "north by inner in north.example.com",
        "south by inner in south.example.com",
        USABLE,
        "warning: providers[1].selector: matches no edge, so outer publishes nothing. Correct it, or give an edge its "
        "labels.",
    ]


def test_two_edges_of_one_zone_are_refused(tmp_path: Path) -> None:
    code, lines = validate(written(tmp_path, document(provider(zones=[{"name": "example.com"}]))))
    assert code == 1
    assert lines == [
        "the DNS bridge's document cannot be used, providers[0].zones[0]: example.com would be written by the edges "
        "north and south, so its names have no single owner. Select one edge, give each a zone of its own "
        "({edge}.<domain>), or set shared: true."
    ]
