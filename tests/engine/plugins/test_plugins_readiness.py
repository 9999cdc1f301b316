"""Waiting: what is waited for, what happens when it does not come, and how the next run goes on."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes
import pytest
from pulumi.automation.errors import CommandError

from tests.engine.plugins.stack import Stack
from tests.support.kubectl import Kubectl
from tests.support.waiting import eventually

Provider = Callable[..., pulumi.ResourceOptions]


def _deployment(provider: Provider, replicas: int, **annotations: str) -> Callable[[], None]:
    """No node runs in these tests: a Deployment that wants Pods never gets ready, one without Pods is ready at once."""

    def program() -> None:
        options = provider()
        # Any: mypy takes many gigabytes to fit nested literals to the package's unions of typed dictionaries.
        # A large object: what fails must reach the state whatever its size.
        marks = {"filler": "x" * 100_000} | {f"pulumi.com/{key}": value for key, value in annotations.items()}
        metadata: Any = {"name": "web", "annotations": marks}
        spec: Any = {
            "replicas": replicas,
            "selector": {"match_labels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "main", "image": "sample"}]},
            },
        }
        kubernetes.apps.v1.Deployment("web", metadata=metadata, spec=spec, opts=options)

    return program


def test_a_deployment_that_is_not_ready_in_time_fails_and_the_next_run_goes_on(
    stack: Stack, provider: Provider, kubectl: Kubectl, namespace: str
) -> None:
    with pytest.raises(CommandError, match=r"(?s)timed out.*Minimum number of"):
        stack.up(_deployment(provider, 1, timeoutSeconds="3"))
    uid = kubectl.get("deployment", "web", "--namespace", namespace)["metadata"]["uid"]
    assert stack.resources()["web"]["initErrors"]
    kubectl("scale", "deployment", "web", "--replicas=0", "--namespace", namespace)
    stack.up(_deployment(provider, 0, timeoutSeconds="30", patchForce="true"))
    assert kubectl.get("deployment", "web", "--namespace", namespace)["metadata"]["uid"] == uid
    assert not stack.resources()["web"].get("initErrors")
    assert stack.preview() == {"same": 3}


def test_waiting_can_be_switched_off(stack: Stack, provider: Provider) -> None:
    assert stack.up(_deployment(provider, 1, skipAwait="true"))["create"] == 3
    assert stack.preview() == {"same": 3}


def test_an_interrupted_run_is_finished_by_the_next(
    stack: Stack, provider: Provider, kubectl: Kubectl, namespace: str
) -> None:
    failure: list[Exception] = []

    def interrupted() -> None:
        try:
            stack.up(_deployment(provider, 1))
        except CommandError as error:
            failure.append(error)

    run = threading.Thread(target=interrupted)
    run.start()
    eventually(lambda: stack.has_said("app ReplicaSet"), "the engine waits for the Deployment")
    assert kubectl.exists("deployment", "web", "--namespace", namespace)
    os.kill(_engine_process(), signal.SIGINT)
    run.join(60)  # left alone it would wait for ten minutes
    assert failure, "waiting was not cut short"
    assert "web" in stack.resources(), "what exists must be in state"
    stack.up(_deployment(provider, 0))
    assert stack.preview() == {"same": 3}


def _engine_process() -> int:
    """The id of the `pulumi up` that this process has started."""
    for entry in Path("/proc").iterdir():
        try:
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            command = (entry / "cmdline").read_bytes().split(b"\0")
        except (OSError, ValueError):
            continue
        if parent == os.getpid() and b"up" in command[:3]:
            return int(entry.name)
    raise AssertionError("no engine runs")


def test_a_load_balancer_is_ready_when_it_has_an_address(
    stack: Stack, provider: Provider, kubectl: Kubectl, namespace: str
) -> None:
    def program() -> None:
        ports = [{"port": 443}]
        service = kubernetes.core.v1.Service(
            "front", metadata={"name": "front"}, spec={"type": "LoadBalancer", "ports": ports}, opts=provider()
        )
        pulumi.export("address", service.status.load_balancer.ingress[0].ip)

    def give_address() -> None:
        eventually(lambda: stack.has_said("/3] "), "the engine waits for the Service")
        patch = '{"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.7"}]}}}'
        arguments = ("service", "front", "--namespace", namespace, "--subresource=status", "--type=merge")
        kubectl("patch", *arguments, f"--patch={patch}")

    balancer = threading.Thread(target=give_address)
    balancer.start()
    stack.up(program)
    balancer.join()
    assert stack.output("address") == "192.0.2.7"


def test_a_custom_timeout_limits_the_wait(stack: Stack, provider: Provider) -> None:
    def program() -> None:
        timeouts = pulumi.ResourceOptions(custom_timeouts=pulumi.CustomTimeouts(create="2s"))
        options = pulumi.ResourceOptions.merge(provider(), timeouts)
        spec: dict[str, Any] = {"type": "LoadBalancer", "ports": [{"port": 443}]}
        kubernetes.core.v1.Service("front", spec=spec, opts=options)

    with pytest.raises(CommandError, match="was not allocated an IP address"):
        stack.up(program)
