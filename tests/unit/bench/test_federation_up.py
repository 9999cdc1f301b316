"""What the bench gives the engine: a stack that can be made, of as many objects as the library computes."""

from __future__ import annotations

import json
from pathlib import Path

from pulumi_hosted_mesh.federation.manifests import objects
from pulumi_hosted_mesh.spec.federation import Federation, Offer
from pulumi_hosted_mesh.spec.load import read_document_file

from bench.federation import EVERY_OTHER, EXPORTED
from bench.federation_up import FIRST, Took, configuration, grid


def made(folder: Path, size: int, neighbours: int) -> int:
    """Objects of the first mesh, by what its stack is given."""
    config = configuration(folder, size, neighbours, Path("kubeconfig"), "data-plane")
    assert len(json.dumps(config)) < 10_000
    federation = read_document_file(Federation, Path(config["federation"]))
    offers = [read_document_file(Offer, Path(one)) for one in config["offers"]]
    assert {one.mesh for one in offers} >= {FIRST}
    return len(objects(federation, config["member"]["mesh"], offers))


def test_a_stack_is_given_the_offers_that_it_needs(tmp_path: Path) -> None:
    assert made(tmp_path, 2, 1) == made(tmp_path, 20, 1) == 3 + EXPORTED + 2 * EXPORTED
    assert made(tmp_path, 20, EVERY_OTHER) == 3 + EXPORTED + 2 * 19 * EXPORTED


def test_each_is_held_against_the_least_that_imports_alike() -> None:
    found = [Took(2, "a", 1, 4.0, 1, 1), Took(20, "a", 1, 5.0, 1, 1), Took(2, "b", 1, 8.0, 1, 1)]
    assert [row[-1] for row in grid(found).rows] == ["1.00", "1.25", "1.00"]
