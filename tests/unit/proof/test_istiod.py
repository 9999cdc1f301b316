"""A process is taken for its Pod's only with the values that the Pod's own object leads to."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from lightkube.models.core_v1 import Container
from lightkube.resources.core_v1 import Pod

from sandbox.proof.deployed import Deployed, NotObserved
from sandbox.proof.istiod import differences, image_name
from sandbox.proof.pod_values import values
from sandbox.proof.processes import Process

POD = Pod.from_dict(
    {
        "metadata": {"name": "istiod-1", "namespace": "mesh-demo", "labels": {"istio.io/rev": "default"}},
        "spec": {"serviceAccountName": "istiod", "containers": []},
        "status": {"podIP": "10.88.0.5"},
    }
)
OBJECTS = {"configMapKeyRef": {"settings": {"level": "info"}}, "secretKeyRef": {"keys": {"key": "s3cret"}}}


def container(*env: dict[str, Any], args: tuple[str, ...] = ()) -> Container:
    limits = {"cpu": "1500m", "memory": "2Gi"}
    made = {"name": "discovery", "image": "hub/pilot:1", "env": list(env), "args": list(args)}
    return cast(Container, Container.from_dict({**made, "resources": {"limits": limits}}))


def reference(kind: str, **more: object) -> dict[str, Any]:
    return {"name": "IT", "valueFrom": {kind: more}}


def resolved(one: Container) -> dict[str, str]:
    return values(POD, one, {kind: lambda name, held=held: held.get(name, {}) for kind, held in OBJECTS.items()})


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ({"name": "IT", "value": "plain"}, "plain"),
        ({"name": "IT"}, ""),
        ({"name": "IT", "value": "$(FIRST)-$$(FIRST)-$(NONE)"}, "one-$(FIRST)-$(NONE)"),
        (reference("fieldRef", fieldPath="metadata.name"), "istiod-1"),
        (reference("fieldRef", fieldPath="metadata.labels['istio.io/rev']"), "default"),
        (reference("fieldRef", fieldPath="spec.serviceAccountName"), "istiod"),
        (reference("fieldRef", fieldPath="status.podIP"), "10.88.0.5"),
        (reference("resourceFieldRef", resource="limits.memory"), str(2 * 1024**3)),
        (reference("resourceFieldRef", resource="limits.cpu"), "2"),
        (reference("resourceFieldRef", resource="limits.memory", divisor="1Mi"), "2048"),
        (reference("configMapKeyRef", name="settings", key="level"), "info"),
        (reference("secretKeyRef", name="keys", key="key"), "s3cret"),
    ],
)
def test_a_variable_is_resolved(variable, value):
    found = resolved(container({"name": "FIRST", "value": "one"}, variable))
    assert found == {"FIRST": "one", "IT": value}


def test_an_optional_reference_that_leads_nowhere_is_no_variable():
    assert resolved(container(reference("secretKeyRef", name="none", key="key", optional=True))) == {}


@pytest.mark.parametrize(
    "variable",
    [
        reference("secretKeyRef", name="keys", key="other"),
        reference("fieldRef", fieldPath="spec.nodeName"),
        reference("resourceFieldRef", resource="limits.ephemeral-storage"),
        reference("fileKeyRef", path="x", key="y", volumeName="z"),
    ],
)
def test_what_cannot_be_resolved_is_not_passed_over(variable):
    with pytest.raises(NotObserved):
        resolved(container(variable))


def process(argv=("pilot-discovery", "--domain", "one"), **env: str) -> Process:
    def read(path):
        return b"36 35 98:0 / /etc/cacerts rw - ext4 / rw\n" if path.name == "mountinfo" else b""

    return Process(7, tuple(argv), env, read)


ONE = container(
    {"name": "FIRST", "value": "one"}, reference("secretKeyRef", name="keys", key="key"), args=("--domain", "$(FIRST)")
)


def test_the_pods_own_process_has_no_difference():
    assert differences(ONE, process(FIRST="one", IT="s3cret"), resolved(ONE)) == []


@pytest.mark.parametrize(
    ("other", "difference"),
    [
        (process(FIRST="one", IT="another"), "variable IT is another"),
        (process(FIRST="one"), "variable IT is missing"),
        (process(FIRST="", IT="s3cret"), "variable FIRST is another"),
        (process(("pilot-discovery", "--domain", "$(FIRST)"), FIRST="one", IT="s3cret"), "arguments are"),
        (process(("pilot-discovery",), FIRST="one", IT="s3cret"), "arguments are"),
    ],
)
def test_another_process_has(other, difference):
    (found,) = differences(ONE, other, resolved(ONE))
    assert difference in found
    assert "s3cret" not in found


def test_a_mount_that_is_missing_is_a_difference():
    one = Container.from_dict({"name": "d", "volumeMounts": [{"name": "c", "mountPath": "/etc/other"}]})
    assert differences(one, process(("x",)), {}) == ["nothing is mounted at /etc/other"]


@pytest.mark.parametrize(
    "reference", ["pilot", "hub.test:5000/istio/pilot:1.31", "hub.test/pilot:1@sha256:0f", "pilot@sha256:0f"]
)
def test_the_name_of_an_image(reference):
    assert image_name(reference) == "pilot"


@pytest.mark.parametrize("reference", ["hub.test/pilot/other:1", "hub.test/copilot:1", "hub.test:5000/x"])
def test_another_image(reference):
    assert image_name(reference) != "pilot"


def test_a_program_is_known_by_its_file_and_not_by_its_name(tmp_path):
    tools = {"pilot-discovery": Path(sys.executable), "other": tmp_path / "pilot-discovery"}
    shutil.copy(sys.executable, tools["other"])
    deployed = SimpleNamespace(tools=tools, sandbox=SimpleNamespace(mode="root"))
    ours = Process(os.getpid(), ("pilot-discovery",), {})
    assert Deployed.is_program(deployed, ours, "pilot-discovery")
    assert not Deployed.is_program(deployed, ours, "other")
