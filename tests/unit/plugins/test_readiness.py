"""When an object counts as ready, by what it says of itself and what belongs to it."""

from __future__ import annotations

import re
from typing import Any

import pytest

from sandbox.plugins.kubernetes.objects import Gvk
from sandbox.plugins.kubernetes.readiness.kinds import condition_for, read_condition_for, waits_for_deletion
from sandbox.plugins.kubernetes.readiness.simple import asked_for
from sandbox.plugins.kubernetes.readiness.verdict import ENDPOINTS, PODS, REPLICA_SETS, View
from sandbox.plugins.kubernetes.readiness.waiting import is_settled
from sandbox.plugins.protocol.errors import NotImplementedHere

Others = dict[Gvk, dict[str, dict[str, Any]]]


def _judge(obj: dict[str, Any], others: Others | None = None, **more: bool) -> tuple[bool, tuple[str, ...]]:
    condition = condition_for(obj, obj)
    assert condition is not None
    verdict = condition.judge(View(obj, obj, others or {}, **more))
    return verdict.done, verdict.reasons


def _deployment(
    revision: str = "1", available: str = "True", progressing: str = "NewReplicaSetAvailable", **more: Any
) -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": "web",
            "uid": "d",
            "generation": 2,
            "annotations": {"deployment.kubernetes.io/revision": revision},
        },
        "spec": {},
        "status": {
            "observedGeneration": 2,
            "conditions": [
                {"type": "Available", "status": available, "reason": "Why", "message": "because"},
                {"type": "Progressing", "status": "True", "reason": progressing},
            ],
        },
        **more,
    }


def _replica_set(revision: str = "1", wanted: int = 1, ready: int | None = 1) -> dict[str, Any]:
    return {
        "metadata": {
            "name": "rs",
            "uid": "r",
            "ownerReferences": [{"uid": "d"}],
            "annotations": {"deployment.kubernetes.io/revision": revision},
        },
        "spec": {"replicas": wanted},
        "status": {} if ready is None else {"readyReplicas": ready},
    }


@pytest.mark.parametrize(
    ("deployment", "replica_set", "done"),
    [
        (_deployment(), _replica_set(), True),
        (_deployment(), _replica_set(wanted=0, ready=None), True),
        (_deployment(), _replica_set(wanted=2, ready=1), False),
        (_deployment(available="False"), _replica_set(), False),
        (_deployment("2"), _replica_set("1"), False),  # the new ReplicaSet is not there yet
        (_deployment("2"), _replica_set("2"), True),
        (_deployment("2", progressing="ReplicaSetUpdated"), _replica_set("2"), False),
        (_deployment("1", progressing="ReplicaSetUpdated"), _replica_set("1"), True),  # a first revision has no rollout
        (_deployment(status={"observedGeneration": 1}), _replica_set(), False),
    ],
)
def test_deployments(deployment: dict[str, Any], replica_set: dict[str, Any], done: bool) -> None:
    assert _judge(deployment, {REPLICA_SETS: {"rs": replica_set}})[0] is done


def test_a_deployment_says_what_is_wrong_with_its_pods() -> None:
    waiting = {"name": "main", "ready": False, "state": {"waiting": {"reason": "ErrImagePull", "message": "no image"}}}
    pod = {
        "metadata": {"name": "web-1", "namespace": "n", "ownerReferences": [{"uid": "r"}]},
        "status": {
            "conditions": [
                {"type": "PodScheduled", "status": "True"},
                {"type": "Initialized", "status": "True"},
                {"type": "Ready", "status": "False", "reason": "ContainersNotReady", "message": "not ready: [main]"},
            ],
            "containerStatuses": [waiting],
        },
    }
    others = {REPLICA_SETS: {"rs": _replica_set(ready=0)}, PODS: {"web-1": pod}}
    done, reasons = _judge(_deployment(available="False"), others)
    assert not done
    assert "[Why] because" in reasons
    assert "Minimum number of live Pods was not attained" in reasons
    assert any("[ErrImagePull] no image" in reason for reason in reasons)


def _service(kind: str = "ClusterIP", *, selects: bool = True, address: bool = False, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "front"},
        "spec": {"type": kind, **({"selector": {"a": "b"}} if selects else {}), **spec},
        "status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]} if address else {}},
    }


READY = {ENDPOINTS: {"front": {"subsets": [{"addresses": [{"ip": "10.0.0.1"}]}]}}}
PENDING = {ENDPOINTS: {"front": {"subsets": [{"notReadyAddresses": [{"ip": "10.0.0.1"}]}]}}}
EMPTY: Others = {ENDPOINTS: {"front": {}}}


@pytest.mark.parametrize(
    ("service", "others", "settled", "done"),
    [
        (_service(), READY, True, True),
        (_service(), READY, False, False),
        (_service(), PENDING, True, False),
        (_service(), EMPTY, True, True),  # nothing is selected; so does the official plug-in
        (_service(selects=False), {ENDPOINTS: {}}, False, True),
        (_service(clusterIP="None"), PENDING, False, True),
        (_service("ExternalName"), {ENDPOINTS: {}}, False, True),
        (_service("LoadBalancer", address=True), READY, True, True),
        (_service("LoadBalancer"), READY, True, False),
        (_service("LoadBalancer", selects=False, address=True), {ENDPOINTS: {}}, False, True),
    ],
)
def test_services(service: dict[str, Any], others: Others, settled: bool, done: bool) -> None:
    assert _judge(service, others, settled=settled)[0] is done


def test_the_last_look_at_a_service_takes_what_there_is() -> None:
    assert _judge(_service(), EMPTY, settled=False, last=True)[0]
    assert not _judge(_service(), PENDING, settled=False, last=True)[0]


@pytest.mark.parametrize(
    ("events", "now", "settled"),
    [
        ([], 100, False),
        ([0], 9, False),
        ([0], 10, True),
        ([0, 5], 10, True),  # the first event's time is over, whatever came meanwhile
        ([0, 12], 13, False),  # a later event takes it back
        ([0, 12], 21, False),
        ([0, 12], 22, True),
        ([0, 4, 12], 14, True),  # by the timer of the second
    ],
)
def test_endpoints_are_quiet(events: list[float], now: float, settled: bool) -> None:
    assert is_settled(events, now) is settled


def _workload(kind: str, api_version: str = "apps/v1", **fields: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "a", "generation": 1}} | fields


@pytest.mark.parametrize(
    ("obj", "done"),
    [
        (_workload("Pod", "v1", status={"phase": "Succeeded"}), True),
        (_workload("Pod", "v1", status={"phase": "Pending"}), False),
        (_workload("ResourceQuota", "v1", spec={"hard": {"pods": "1"}}, status={"hard": {"pods": "1"}}), True),
        (_workload("ResourceQuota", "v1", spec={"hard": {"pods": "1"}}, status={}), False),
        (_workload("Secret", "v1", type="kubernetes.io/service-account-token", data={"token": "x"}), True),
        (_workload("Secret", "v1", type="kubernetes.io/service-account-token"), False),
    ],
)
def test_other_kinds(obj: dict[str, Any], done: bool) -> None:
    assert _judge(obj)[0] is done


@pytest.mark.parametrize("kind", ["ConfigMap", "ServiceAccount", "Namespace", "Secret"])
def test_kinds_that_are_ready_when_they_exist(kind: str) -> None:
    obj = _workload(kind, "v1")
    assert condition_for(obj, obj) is None
    assert read_condition_for(obj, obj) is None


def _annotated(key: str, value: str) -> dict[str, Any]:
    deployment = _deployment()
    deployment["metadata"]["annotations"] = {f"pulumi.com/{key}": value}
    return deployment


def test_waiting_can_be_switched_off() -> None:
    obj = _annotated("skipAwait", "true")
    assert condition_for(obj, obj) is None
    assert not waits_for_deletion(obj)
    assert waits_for_deletion({**obj, "kind": "Widget"})


@pytest.mark.parametrize(
    ("expression", "done"),
    [
        ("jsonpath={.status.observedGeneration}=2", True),
        ("jsonpath={.status.observedGeneration}=3", False),
        ("jsonpath={.status.nothing}", False),
    ],
)
def test_conditions_that_a_program_asks_for(expression: str, done: bool) -> None:
    assert _judge(_annotated("waitFor", expression))[0] is done


@pytest.mark.parametrize(
    "expression",
    ["ready", "condition=Available", '["jsonpath={.status}"]', "jsonpath={.status.conditions[0]}"],
)
def test_conditions_that_are_not_there_are_refused(expression: str) -> None:
    with pytest.raises(NotImplementedHere, match=re.escape(f"waitFor: {expression}")):
        asked_for(expression)
