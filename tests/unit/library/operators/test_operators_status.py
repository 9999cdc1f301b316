"""`hosted-mesh operators status`: the hosted cluster's objects as a table and as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pulumi_hosted_mesh.cli import operators as command
from pulumi_hosted_mesh.cli.command import app
from pulumi_hosted_mesh.operators.faults import Fault, faults
from pulumi_hosted_mesh.operators.status import OperatorsStatus, as_json, status_of, table
from typer.testing import CliRunner

from tests.unit.library.operators.documents import kubeconfig


def named(name: str, namespace: str = "operators", **parts: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": namespace}, **parts}


CATALOGS = [
    named(
        "provider",
        "olm",
        spec={"address": "catalog-provider.operators-north.svc:50051"},
        status={"connectionState": {"lastObservedState": "READY"}},
    ),
    named("users", "shop", spec={"image": "registry.example.com/users:1"}),
]
SUBSCRIPTIONS = [
    named(
        "etcd",
        spec={"name": "etcd", "channel": "stable"},
        status={"installedCSV": "etcd.v1.0.0", "currentCSV": "etcd.v1.1.0", "state": "AtLatestKnown"},
    ),
    named("kafka", spec={"name": "kafka", "channel": "fast", "installPlanApproval": "Manual"}),
]
CSVS = [
    named("etcd.v1.0.0", spec={"version": "1.0.0"}, status={"phase": "Succeeded"}),
    named(
        "etcd.v1.1.0",
        spec={"version": "1.1.0"},
        status={"phase": "Pending", "reason": "OperatorConditionNotUpgradeable"},
    ),
]
CONDITIONS = [
    named(
        "etcd.v1.0.0",
        spec={"conditions": [{"type": "Upgradeable", "status": "False", "reason": "Busy", "message": "x\ny"}]},
    )
]
AVAILABLE = {"status": {"conditions": [{"type": "Available", "status": "True"}]}}


def found(packages: Any = AVAILABLE) -> OperatorsStatus:
    return status_of("north", CATALOGS, SUBSCRIPTIONS, CSVS, CONDITIONS, packages, [], [])


def test_a_version_that_waits_is_seen_in_spite_of_the_subscription() -> None:
    etcd, kafka = found().operators
    assert (etcd.installed, etcd.version, etcd.phase) == ("etcd.v1.0.0", "1.1.0", "Pending")
    assert (etcd.reason, etcd.is_upgradeable) == ("OperatorConditionNotUpgradeable", False)
    assert (kafka.installed, kafka.phase, kafka.approval, kafka.is_upgradeable) == ("", "", "Manual", True)


def test_the_table() -> None:
    assert table([found(), OperatorsStatus("south", error="the API server does not answer")]).splitlines() == [
        "CLUSTER  CATALOG       SERVED BY                                   STATE",
        "north    olm/provider  catalog-provider.operators-north.svc:50051  READY",
        "north    shop/users    hosted cluster                              unknown",
        "",
        "CLUSTER  OPERATOR         CHANNEL  APPROVAL   INSTALLED    PHASE" + 38 * " " + "UPGRADEABLE",
        "north    operators/etcd   stable   Automatic  etcd.v1.0.0  Pending (OperatorConditionNotUpgradeable)  no",
        "north    operators/kafka  fast     Manual     -            -                                          yes",
        "",
        "north: operator etcd.v1.0.0 in namespace operators: Busy: x\\ny blocks an upgrade",
        "north: catalog shop/users: catalog-unreachable: its connection is unknown. Set tunnel, or expose its "
        "Pod within networkPolicy.catalogRanges and list that by address",
        "south: the API server does not answer",
    ]


@pytest.mark.parametrize(
    ("packages", "line"),
    [
        (None, "packages-missing: there is no APIService. Run"),
        ({"status": {}}, "packages-unavailable: it has no status yet. Look"),
        (
            {
                "status": {
                    "conditions": [
                        {"type": "Available", "status": "False", "reason": "FailedDiscoveryCheck", "message": "a\nb."}
                    ]
                }
            },
            "packages-unavailable: FailedDiscoveryCheck: a\\nb. Look",
        ),
    ],
)
def test_an_unavailable_packageserver_is_a_fault(packages: Any, line: str) -> None:
    assert f"north: packageserver's API: {line}" in table([found(packages)])


def condition(type_: str, status: str = "True") -> dict[str, Any]:
    return named("etcd", status={"conditions": [{"type": type_, "status": status, "reason": "R", "message": "m"}]})


def latest(installed: str) -> dict[str, Any]:
    """With a condition that an upgrade left."""
    found = condition("ResolutionFailed")
    found["status"] |= {"state": "AtLatestKnown", "installedCSV": installed}
    return found


def deployment(selector: dict[str, str]) -> dict[str, Any]:
    return named("etcd", spec={"template": {"spec": {"nodeSelector": selector}}})


NODE = {"metadata": {"name": "a", "labels": {"pool": "operators", "zone": "b"}}}
COPY = {"metadata": {"name": "etcd.v1", "namespace": "b", "labels": {"olm.copiedFrom": "operators"}}}
FAILED = {"status": {"phase": "Failed", "reason": "R", "message": "m"}}


@pytest.mark.parametrize(
    ("objects", "causes"),
    [
        ({"catalogs": CATALOGS[:1]}, []),
        ({"catalogs": [named("a", spec={"address": "a:1"})]}, ["catalog-unreachable"]),
        ({"subscriptions": [condition("ResolutionFailed")]}, ["resolution-failed"]),
        ({"subscriptions": [condition("ResolutionFailed", "False"), condition("CatalogSourcesUnhealthy")]}, []),
        ({"subscriptions": [latest("etcd.v1")], "csvs": [named("etcd.v1", status={"phase": "Succeeded"})]}, []),
        ({"subscriptions": [latest("etcd.v1")], "csvs": CSVS}, ["resolution-failed"]),
        ({"subscriptions": [condition("BundleUnpackFailed")]}, ["unpack-failed"]),
        ({"subscriptions": [condition("InstallPlanFailed")]}, ["install-failed"]),
        ({"csvs": [named("etcd.v1", **FAILED), {**COPY, **FAILED}]}, ["operator-failed"]),
        ({"csvs": CSVS}, []),
        ({"deployments": [deployment({"pool": "operators"}), deployment({})], "nodes": [NODE]}, []),
        ({"deployments": [deployment({"pool": "operators", "zone": "a"})], "nodes": [NODE]}, ["no-node"]),
        ({"deployments": [deployment({})]}, ["no-node"]),
    ],
)
def test_faults(objects: dict[str, list[Any]], causes: list[str]) -> None:
    none: dict[str, list[Any]] = {"catalogs": [], "subscriptions": [], "csvs": [], "deployments": [], "nodes": []}
    found = faults(packages=AVAILABLE, **{**none, **objects})
    assert [one.cause for one in found] == causes
    assert all(one.fix and one.subject for one in found)


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (found(), 3),
        (OperatorsStatus("north", error="no answer"), 4),
        (OperatorsStatus("north", "True"), 0),
        (OperatorsStatus("north", "True", faults=(Fault("a", "b", "c", "d"),)), 5),
    ],
)
def test_the_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, answer: OperatorsStatus, code: int) -> None:
    file = tmp_path / "config"
    file.write_text(kubeconfig("north"))
    monkeypatch.setattr(command, "read_status", lambda context, api, version: answer)
    arguments = ["operators", "status", "--kubeconfig", str(file)]
    assert CliRunner().invoke(app, arguments).exit_code == code
    done = CliRunner().invoke(app, [*arguments, "--output", "json"])
    assert json.loads(done.stdout) == json.loads(json.dumps(as_json([answer])))
