"""Which of a Pod's wishes are named as not done; that none of the mesh's own Pods has one is seen live."""

from __future__ import annotations

from typing import Any, cast

import pytest
from lightkube.models.core_v1 import PodSpec

from sandbox.node.pod import unsupported


def spec(container: dict[str, Any] | None = None, **more: Any) -> PodSpec:
    return cast(
        PodSpec, PodSpec.from_dict({"containers": [{"name": "app", "image": "sample", **(container or {})}], **more})
    )


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        (spec(), []),
        (spec(shareProcessNamespace=False, securityContext={"runAsUser": 5}), []),
        (spec(shareProcessNamespace=True, hostPID=True), ["hostPID", "shareProcessNamespace"]),
        (spec(dnsPolicy="ClusterFirst"), []),
        (
            spec(activeDeadlineSeconds=9, dnsPolicy="None", dnsConfig={"nameservers": ["9.9.9.9"]}),
            ["activeDeadlineSeconds", "dnsConfig", "dnsPolicy"],
        ),
        (
            spec(securityContext={"sysctls": [{"name": "net.a", "value": "1"}, {"name": "kernel.b", "value": "1"}]}),
            ["securityContext.sysctls[kernel.b]"],
        ),
        (
            spec({"lifecycle": {"postStart": {"exec": {"command": ["true"]}}, "preStop": {"sleep": {"seconds": 1}}}}),
            ["containers[app].lifecycle.postStart"],
        ),
        (spec({"lifecycle": {"stopSignal": "SIGUSR1"}}), ["containers[app].lifecycle.stopSignal"]),
        (
            spec({"ports": [{"containerPort": 80}, {"containerPort": 81, "hostPort": 81}]}),
            ["containers[app].ports[81].hostPort"],
        ),
        (
            spec({"securityContext": {"seccompProfile": {"type": "RuntimeDefault"}, "readOnlyRootFilesystem": True}}),
            ["containers[app].securityContext.seccompProfile"],
        ),
        (
            spec(
                {
                    "volumeMounts": [
                        {"name": "a", "mountPath": "/a", "mountPropagation": "None"},
                        {"name": "b", "mountPath": "/b", "mountPropagation": "Bidirectional"},
                    ]
                }
            ),
            ["containers[app].volumeMounts[b].mountPropagation"],
        ),
        (spec(initContainers=[{"name": "first", "tty": True}]), ["initContainers[first].tty"]),
    ],
)
def test_what_is_asked_for_and_not_done_is_named(asked: PodSpec, named: list[str]) -> None:
    assert unsupported.fields(asked) == named
