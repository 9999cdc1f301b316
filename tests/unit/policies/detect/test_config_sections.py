"""A section of the configuration that is a data plane's own, and what looks like one and is none."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hosted_mesh_plan.clusters import ClusterConfig
from hosted_mesh_plan.evidence import Evidence
from hosted_mesh_plan.model import Provider, Resource, Stack
from hosted_mesh_plan.tree import Secret
from hosted_mesh_policies.evaluation.context import Context
from hosted_mesh_policies.evaluation.rule import judge
from hosted_mesh_policies.evaluation.settings import Settings
from hosted_mesh_policies.pack.preview_evidence import evidence_of
from hosted_mesh_policies.rules.credentials import SHAPE

from tests.corpus import literals

KIND, RELEASE = "kubernetes:core/v1:Secret", "kubernetes:helm.sh/v3:Release"
SIDES = {
    name: Provider(f"urn:pulumi:s::p::pulumi:providers:kubernetes::{name}", "pulumi:providers:kubernetes", name, {})
    for name in ("hub", "shop", "blue")
}
SETTINGS = Settings(clusters=ClusterConfig(control_plane_providers=("hub",), data_plane_providers=("shop", "blue")))


def _drawn(name: str) -> str:
    return literals.opaque(name, 40)


CONFIG = {f"{owner}:{key}": _drawn(f"{owner} {key}") for owner in ("hub", "shop", "blue") for key in ("wal", "dns")}


def _kept(side: str, value: str, name: str = "archive", key: str = "AWS_SECRET_ACCESS_KEY", **data: str) -> Resource:
    every = {key: Secret(value), **{other: Secret(text) for other, text in data.items()}}
    body = {"metadata": {"name": name}, "stringData": every}
    return Resource(
        f"urn:pulumi:s::p::{KIND}::{side}-{name}", KIND, f"{side}-{name}", inputs=body, provider=SIDES[side]
    )


def _chart(side: str, value: str, chart: str = "velero") -> Resource:
    values = {"credentials": {"cloud": Secret(f"aws_secret_access_key = {value}\n")}}
    urn = f"urn:pulumi:s::p::{RELEASE}::{side}-{chart}"
    return Resource(urn, RELEASE, f"{side}-{chart}", inputs={"chart": chart, "values": values}, provider=SIDES[side])


def _map(side: str, value: str) -> Resource:
    kind = "kubernetes:core/v1:ConfigMap"
    body = {"metadata": {"name": "archive"}, "data": {"AWS_SECRET_ACCESS_KEY": Secret(value)}}
    return Resource(f"urn:pulumi:s::p::{kind}::{side}-map", kind, f"{side}-map", inputs=body, provider=SIDES[side])


def _stack(resources: tuple[Resource, ...], config: dict[str, str], **more: Any) -> Stack:
    return Stack("s", resources, "mesh", config, frozenset(config), **more)


def _said(*resources: Resource, config: dict[str, str] | None = None) -> set[str]:
    context = Context(_stack(resources, config or CONFIG), SETTINGS)
    return {finding.urn.rpartition("::")[2] for finding in judge(SHAPE, context)}


HUB, SHOP, BLUE = (CONFIG[f"{owner}:wal"] for owner in ("hub", "shop", "blue"))
KEY_ID = "AKIA" + literals.opaque("key id", 16).upper()
LITERAL = _drawn("a literal")


@pytest.mark.parametrize(
    ("resources", "said"),
    [
        ((_kept("hub", HUB), _kept("shop", SHOP)), set()),
        ((_kept("hub", HUB), _kept("shop", SHOP), _kept("blue", BLUE)), set()),
        ((_chart("hub", HUB), _chart("shop", SHOP)), set()),
        ((_kept("hub", HUB), _kept("shop", SHOP, AWS_ACCESS_KEY_ID=KEY_ID)), set()),
        ((_kept("hub", HUB), _kept("shop", SHOP), _kept("shop", CONFIG["shop:dns"], "dns")), set()),
        # No counterpart.
        ((_kept("shop", SHOP),), {"shop-archive"}),
        ((_kept("hub", LITERAL), _kept("shop", SHOP)), {"shop-archive"}),
        ((_kept("shop", SHOP), _kept("blue", BLUE)), {"shop-archive", "blue-archive"}),
        # One in another object, by another key: subjects, and no owners.
        ((_kept("hub", HUB, "dns"), _kept("shop", SHOP, "backup")), {"shop-backup"}),
        ((_kept("hub", HUB, key="AWS_SESSION_TOKEN"), _kept("shop", SHOP)), {"shop-archive"}),
        ((_chart("hub", HUB, "loki"), _chart("shop", SHOP)), {"shop-velero"}),
        ((_kept("hub", CONFIG["hub:dns"]), _kept("shop", SHOP)), {"shop-archive"}),
        # A wrong prefix: something of the section goes elsewhere.
        ((_kept("hub", HUB), _kept("shop", CONFIG["hub:dns"])), {"shop-archive"}),
        ((_kept("hub", HUB), _kept("shop", SHOP), _kept("hub", CONFIG["shop:dns"], "dns")), {"shop-archive"}),
        ((_kept("hub", HUB), _kept("shop", SHOP), _kept("blue", CONFIG["shop:dns"], "x")), {"shop-archive", "blue-x"}),
        ((_kept("hub", HUB), _kept("shop", SHOP), _kept("blue", CONFIG["hub:dns"], "x")), {"shop-archive", "blue-x"}),
        # What is no section's, beside what is.
        ((_kept("hub", HUB), _kept("shop", SHOP, AWS_SESSION_TOKEN=LITERAL)), {"shop-archive"}),
        ((_kept("hub", HUB), _kept("shop", SHOP, token=literals.token({"sub": "shop"}))), {"shop-archive"}),
        # Outside of a Secret.
        ((_map("hub", HUB), _map("shop", SHOP)), {"shop-map"}),
    ],
)  # fmt: skip
def test_a_section_is_a_data_planes_own_by_its_counterpart(resources: tuple[Resource, ...], said: set[str]) -> None:
    assert _said(*resources) == said


@pytest.mark.parametrize("owner", ["mesh", "kubernetes", "shared"])
def test_a_section_of_a_project_or_a_package_or_of_all_is_nobodys(owner: str) -> None:
    config = {"hub:wal": HUB, f"{owner}:wal": SHOP}
    assert _said(_kept("hub", HUB), _kept("shop", SHOP), config=config) == {"shop-archive"}


@pytest.mark.parametrize(
    "both",
    [
        {"hub": {"wal": HUB, "host": "a.example.com"}, "shop": {"wal": SHOP, "host": "b.example.com"}},
        [{"name": "hub", "wal": HUB}, {"name": "shop", "wal": SHOP}],
    ],
)
def test_a_member_of_a_secret_object_is_a_section(both: Any) -> None:
    config = {"mesh:sites": json.dumps(both)}
    assert _said(_kept("hub", HUB), _kept("shop", SHOP), config=config) == set()
    assert _said(_kept("shop", SHOP), config=config) == {"shop-archive"}
    assert _said(_kept("hub", HUB), _kept("shop", SHOP), _kept("hub", SHOP, "copy"), config=config) == {"shop-archive"}


def _before_write(evidence: Evidence | None) -> int:
    one = _kept("shop", SHOP)
    return len(judge(SHAPE, Context(_stack((one,), CONFIG, partial=True), SETTINGS, evidence=evidence)))


def test_a_preview_shows_it_to_the_update() -> None:
    preview = Context(_stack((_kept("hub", HUB), _kept("shop", SHOP)), CONFIG, preview=True), SETTINGS)
    assert _before_write(evidence_of(preview, [])) == 0
    assert _before_write(evidence_of(Context(_stack((_kept("shop", SHOP),), CONFIG, preview=True), SETTINGS), []))
    assert _before_write(None)
