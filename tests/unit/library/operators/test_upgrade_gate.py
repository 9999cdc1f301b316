"""The upgrade gate: the changes that it judges, the operators that block, and reasons that override them."""

from __future__ import annotations

import json
from typing import Any

import pulumi
import pytest
from pulumi_hosted_mesh.clusters.api_server import UnreachableError
from pulumi_hosted_mesh.clusters.cluster import ControlPlaneCluster, DataPlaneCluster
from pulumi_hosted_mesh.operators import upgrade_gate
from pulumi_hosted_mesh.operators.blockers import Blocker, blockers
from pulumi_hosted_mesh.operators.hosted_nodes import placements_of, without_nodes
from pulumi_hosted_mesh.problems import InvalidInputError
from pulumi_hosted_mesh.spec.load import read_document
from pulumi_hosted_mesh.spec.operators import Operators

from tests.unit.library.operators.documents import document, kubeconfig

VERSION, REVISION = "hosted-mesh.io/hosted-cluster-version", "hosted-mesh.io/hosted-cluster-mesh-revision"
BLOCKED = {"type": "Upgradeable", "status": "False", "reason": "Migrating", "message": "data moves"}


def csv(name: str = "etcd.v1.0.0", **metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "operators", **metadata}}


def condition(spec: Any = None, status: Any = None, name: str = "etcd.v1.0.0") -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "operators"}, "spec": spec or {}, "status": status or {}}


@pytest.mark.parametrize(
    ("one", "reasons"),
    [
        (condition({"conditions": [BLOCKED]}), ["Migrating"]),
        (condition(status={"conditions": [BLOCKED]}), ["Migrating"]),
        (condition({"conditions": [{**BLOCKED, "status": "True"}]}), []),
        (condition({"conditions": [{**BLOCKED, "status": "Unknown"}]}), []),
        # The administrator's override comes first, in both directions.
        (condition({"conditions": [BLOCKED], "overrides": [{**BLOCKED, "status": "True"}]}), []),
        (condition({"conditions": [], "overrides": [{**BLOCKED, "reason": "Frozen"}]}), ["Frozen"]),
        (condition({"conditions": [{**BLOCKED, "type": "Other"}]}), []),
        # Of an operator that is gone.
        (condition({"conditions": [BLOCKED]}, name="kafka.v1.0.0"), []),
    ],
)
def test_a_condition_blocks(one: Any, reasons: list[str]) -> None:
    assert [each.reason for each in blockers([one], [csv()], "1.37")] == reasons


@pytest.mark.parametrize(
    ("kind", "value", "version", "blocks"),
    [
        ("olm.maxOpenShiftVersion", "4.23", "1.37", True),  # OpenShift 4.23 has Kubernetes 1.36
        ("olm.maxOpenShiftVersion", "4.24", "1.37", False),
        ("olm.maxKubernetesVersion", "1.36", "1.37", True),
        ("olm.maxKubernetesVersion", "1.37", "1.37.2", False),
        ("olm.maxKubernetesVersion", "1.36", None, False),
        ("olm.other", "1.1", "1.37", False),
    ],
)
def test_a_newest_supported_version_blocks(kind: str, value: str, version: str | None, blocks: bool) -> None:
    properties = json.dumps([{"type": kind, "value": value}])
    found = blockers([], [csv(annotations={"olm.properties": properties})], version)
    assert bool(found) is blocks


def test_a_copied_csv_counts_once() -> None:
    properties = {"olm.properties": json.dumps([{"type": "olm.maxKubernetesVersion", "value": "1.36"}])}
    copied = csv(annotations=properties, labels={"olm.copiedFrom": "operators"})
    assert len(blockers([], [csv(annotations=properties), copied], "1.37")) == 1
    assert blockers([], [csv(annotations={"olm.properties": "{"})], "1.37") == []


def gate(
    monkeypatch: pytest.MonkeyPatch, before: dict[str, str] | None, found: list[Blocker] | None, **fields: Any
) -> list[str]:
    """The warnings of the gate. before: annotations of the namespace; None for no namespace."""

    class Server:
        def __init__(self, config: Any) -> None:
            pass

        def get(self, path: str) -> Any:
            assert path == "/api/v1/namespaces/operators-north"
            return None if before is None else {"metadata": {"annotations": before}}

    warned: list[str] = []
    monkeypatch.setattr(upgrade_gate, "ApiServer", Server)
    monkeypatch.setattr(upgrade_gate, "_blockers", lambda given, config: found)
    monkeypatch.setattr(pulumi.log, "warn", warned.append)
    upgrade_gate.require_upgradable(
        read_document(Operators, document(**fields)),
        ControlPlaneCluster(kubeconfig=kubeconfig("centre")),
        DataPlaneCluster(kubeconfig=kubeconfig("north")),
        "HostedOperators north",
    )
    return warned


ETCD = Blocker("etcd.v1.0.0", "operators", "Migrating", "data moves")


@pytest.mark.parametrize(
    ("before", "field"),
    [
        ({VERSION: "1.35"}, "version: cannot change from 1.35 to 1.36, blocked by operator etcd.v1.0.0"),
        ({VERSION: "1.36", REVISION: "1-30"}, "meshRevision: cannot change from 1-30 to none, blocked by operator"),
    ],
)
def test_a_change_is_refused(monkeypatch: pytest.MonkeyPatch, before: dict[str, str], field: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        gate(monkeypatch, before, [ETCD])
    (problem,) = refused.value.problems
    assert field in str(problem)
    assert "in namespace operators: Migrating: data moves" in str(problem)
    assert "upgrades.override: {etcd.v1.0.0: REASON}" in str(problem)


@pytest.mark.parametrize("before", [None, {}, {VERSION: "1.36"}])
def test_no_change_is_no_upgrade(monkeypatch: pytest.MonkeyPatch, before: dict[str, str] | None) -> None:
    assert gate(monkeypatch, before, [ETCD]) == []


def test_a_reason_opens_the_gate_and_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    (warning,) = gate(monkeypatch, {VERSION: "1.35"}, [ETCD], upgrades={"override": {"etcd.v1.0.0": "data is moved"}})
    assert warning.endswith("is overridden: data is moved")
    other = Blocker("kafka.v1.0.0", "operators", "Busy", "")
    with pytest.raises(InvalidInputError, match=r"kafka\.v1\.0\.0"):
        gate(monkeypatch, {VERSION: "1.35"}, [ETCD, other], upgrades={"override": {"etcd.v1.0.0": "data is moved"}})


def test_without_an_answer_the_gate_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidInputError, match="API server gives no answer"):
        gate(monkeypatch, {VERSION: "1.35"}, None)
    assert gate(monkeypatch, {VERSION: "1.35"}, None, upgrades={"override": {"unknown": "the cluster is rebuilt"}})


@pytest.mark.parametrize(
    ("preview", "fields", "passes"),
    [
        (True, {}, True),
        (False, {}, False),
        (False, {"upgrades": {"override": {"unknown": "the control plane is rebuilt"}}}, True),
        (False, {"version": None}, True),
    ],
)
def test_an_update_without_an_answer_of_the_control_plane_is_refused(
    monkeypatch: pytest.MonkeyPatch, preview: bool, fields: dict[str, Any], passes: bool
) -> None:
    given = {key: value for key, value in document(**fields).items() if value is not None}

    def refuse(config: Any) -> Any:
        raise UnreachableError("the API server does not answer")

    monkeypatch.setattr(upgrade_gate, "ApiServer", refuse)
    monkeypatch.setattr(pulumi.runtime, "is_dry_run", lambda: preview)
    clusters = (
        ControlPlaneCluster(kubeconfig=kubeconfig("centre")),
        DataPlaneCluster(kubeconfig=kubeconfig("north")),
    )
    operators = read_document(Operators, given)
    if passes:
        upgrade_gate.require_upgradable(operators, *clusters, "HostedOperators north")
    else:
        with pytest.raises(InvalidInputError, match="version: cannot be compared with the last update: the API server"):
            upgrade_gate.require_upgradable(operators, *clusters, "HostedOperators north")


def test_a_selector_matches_a_node_or_there_are_none() -> None:
    placements = placements_of(read_document(Operators, document()))
    assert without_nodes(placements, []) == []
    assert without_nodes(placements, [{"pool": "other"}, {"pool": "operators"}]) == []
    (problem,) = without_nodes(placements, [{"pool": "other"}])
    assert str(problem).startswith("placement.nodeSelector: matches none of the hosted cluster's 1 nodes")
