"""The resources and the tables of `make bench ARGS=controller`."""

from __future__ import annotations

import compileall
from pathlib import Path

from hosted_mesh_controller.documents import MESHES, checked
from hosted_mesh_controller.vocabulary import Role

from bench.controller import Reaction, reaction_grid, spec
from bench.resting import Resting, filled, resting_grid
from bench.samples import Samples
from bench.throughput import PROGRAM, Throughput, order, throughput_grid
from tests.unit.controller.service import Service
from tests.unit.controller.webhooks import WATCHED


def test_an_edit_changes_one_path() -> None:
    before, after = spec("/0"), spec("/1")
    assert before != after
    (rule,) = after["groups"][0]["intents"][0]["access"]
    rule["paths"] = ["/0"]
    assert before == after


def test_the_table() -> None:
    found = Reaction(Samples([0.1, 0.2, 0.3]), Samples([0.4] * 3), Samples([2.0] * 3))
    assert reaction_grid(found).rows[0][1:] == ["0.20 s", "0.30 s", "0.30 s"]


def test_the_ratios_are_to_both_peers() -> None:
    rows = throughput_grid(Throughput(stacks=6, executors=2, orders=30.0, alone=60.0, together=36.0)).rows
    assert [row[1:] for row in rows] == [
        ["30.0 s", "12.0", "2.00", "1.20"],
        ["60.0 s", "6.0", "1.00", "0.60"],
        ["36.0 s", "10.0", "1.67", "1.00"],
    ]


def test_the_ratio_is_of_the_largest_number_to_the_smallest() -> None:
    few, many = (Resting(number, *[Samples([number / 1000])] * 4) for number in (10, 1000))
    assert resting_grid([few, many]).rows[0][1:] == ["10.0 ms", "1000.0 ms", "100.0"]


def test_orders_are_valid_and_the_program_compiles(tmp_path: Path) -> None:
    clusters = {
        "hub": {"kubeconfig": "/mounted/hub", "side": "control-plane", "tenants": ["*"]},
        "edge": {"kubeconfig": "/mounted/edge", "side": "data-plane", "tenants": ["*"]},
    }
    service = Service.make(tmp_path, clusters=clusters)
    given = order("small-0", "203.0.1.0/24")
    assert checked(MESHES, given, service.settings, "acme", Role.PROVIDER) == "small-0"
    assert order("small-0", "203.0.2.0/24") != given
    (tmp_path / "program.py").write_text(PROGRAM)
    assert compileall.compile_file(tmp_path / "program.py", quiet=2)


def test_meshes_at_rest_are_ready(tmp_path: Path) -> None:
    service = Service.make(tmp_path, clusters=WATCHED)
    cluster = filled(service, 3)
    assert {one["status"]["state"] for one in cluster.resources.values()} == {"ready"}
    assert cluster.reconciler.look("north", list(cluster.resources.values())) == []
    assert service.queue.added == []
