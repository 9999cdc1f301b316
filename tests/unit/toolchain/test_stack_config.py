"""The sandbox's copy of the stack's configuration."""

from __future__ import annotations

import copy
from pathlib import Path

import yaml

from sandbox.bootstrap import CHECKOUT
from sandbox.engine.deployment import stack_config
from sandbox.program_environment import STACK


def test_it_is_the_committed_one_but_for_kubeconfigs_charts_and_the_salt() -> None:
    committed = yaml.safe_load((CHECKOUT / "stacks" / f"Pulumi.{STACK}.yaml").read_text())
    before = copy.deepcopy(committed)
    made = stack_config(committed, "v1:salt", kubeconfig=Path("/state/kubeconfig"), charts=Path("/tools/charts"))

    assert committed == before
    mesh = made["config"]["hosted-mesh:mesh"]
    assert mesh["controlPlane"]["cluster"] == {"kubeconfig": "/state/kubeconfig", "context": "control-plane"}
    (membership,), (revision,) = mesh["memberships"], mesh["revisions"]
    assert membership["cluster"] == {"kubeconfig": "/state/kubeconfig", "context": "data-plane"}
    assert revision["charts"].pop("path") == "/tools/charts"
    assert made.pop("encryptionsalt") == "v1:salt"
    for part in (mesh["controlPlane"], membership):
        part["cluster"]["kubeconfig"] = "$KUBECONFIG"
    assert made == before


def test_proxies_push_to_a_collector_only_with_its_host() -> None:
    committed = yaml.safe_load((CHECKOUT / "stacks" / f"Pulumi.{STACK}.yaml").read_text())
    where = {"kubeconfig": Path("/state/kubeconfig"), "charts": Path("/tools/charts")}
    plain = stack_config(committed, "v1:salt", **where)
    made = stack_config(committed, "v1:salt", **where, metrics="collector.example.com")
    (revision,) = made["config"]["hosted-mesh:mesh"]["revisions"]
    assert revision["proxies"].pop("metrics") == {"host": "collector.example.com"}
    if not revision["proxies"]:
        del revision["proxies"]
    assert made == plain
