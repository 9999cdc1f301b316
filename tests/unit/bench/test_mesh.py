"""What the bench gives to the floor is what the stack made: the same objects, secrets in the clear, in order."""

from __future__ import annotations

import json
import stat

import yaml

from bench.mesh import manifests, write_manifests
from bench.samples import Samples


def resource(name, provider="data-plane-cluster", **inputs):
    urn = f"urn:pulumi:bench::hosted-mesh::pulumi:providers:kubernetes::{provider}::1234"
    metadata = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}
    return {"custom": True, "provider": urn, "inputs": {**metadata, "__defaults": [], **inputs}}


SECRET = {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "plaintext": json.dumps("swordfish")}
STATE = [
    {"custom": True, "provider": "", "inputs": {}},
    {"custom": False, "inputs": {"apiVersion": "v1", "kind": "Component", "metadata": {}}},
    resource("one"),
    resource("two", "control-plane-cluster", data={"password": SECRET}),
    resource("three"),
]


def test_objects_go_to_their_own_cluster_in_the_order_of_their_creation():
    found = manifests(STATE)
    assert [one["metadata"]["name"] for one in found["data-plane"]] == ["one", "three"]
    assert found["control-plane"] == [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "two"}, "data": {"password": "swordfish"}}
    ]


def test_the_files_are_readable_by_their_owner_only(tmp_path):
    files = write_manifests(STATE, tmp_path)
    assert {stat.S_IMODE(path.stat().st_mode) for path in files.values()} == {0o600}
    assert len(list(yaml.safe_load_all(files["data-plane"].read_text()))) == 2


def test_ratios_are_taken_round_by_round():
    ratio = Samples([2.0, 9.0, 4.0]) / Samples([1.0, 3.0, 1.0])
    assert (ratio.least, ratio.median, ratio.most) == (2.0, 3.0, 4.0)
