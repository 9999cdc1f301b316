"""What a Pod asks for and this node does not do: such a Pod runs all the same, and an event says what it goes without.

Not named: what no Pod gets here (limits are not enforced; see docs/sandbox.md), and what keeps a container from
starting, which its status says: privileged containers, capabilities, kinds of volumes.
"""

from collections.abc import Iterator
from typing import Any

from lightkube.models.core_v1 import Container, PodSpec

_POD = (
    *("activeDeadlineSeconds", "dnsConfig", "ephemeralContainers", "hostIPC", "hostPID"),
    *("runtimeClassName", "setHostnameAsFQDN", "shareProcessNamespace"),
)
_CONTAINER = ("stdin", "tty", "volumeDevices")
_SECURITY = ("appArmorProfile", "seLinuxOptions", "seccompProfile")


def fields(spec: PodSpec) -> list[str]:
    """The fields, as `kubectl explain` names them, in containers with the container's name."""
    return [
        *_given(spec, _POD, ""),
        *(["dnsPolicy"] if spec.dnsPolicy not in (None, "ClusterFirst") else []),
        *_given(spec.securityContext, _SECURITY, "securityContext."),
        *(
            f"securityContext.sysctls[{one.name}]"
            for one in (spec.securityContext.sysctls if spec.securityContext else None) or []
            if not one.name.startswith("net.")
        ),
        *(
            f"{kind}[{container.name}].{field}"
            for kind, containers in (("initContainers", spec.initContainers), ("containers", spec.containers))
            for container in containers or []
            for field in _of_container(container)
        ),
    ]


def _of_container(container: Container) -> Iterator[str]:
    yield from _given(container, _CONTAINER, "")
    yield from _given(container.securityContext, (*_SECURITY, "procMount"), "securityContext.")
    yield from _given(container.lifecycle, ("postStart", "stopSignal"), "lifecycle.")
    for port in container.ports or []:
        yield from _given(port, ("hostIP", "hostPort"), f"ports[{port.containerPort}].")
    for mount in container.volumeMounts or []:
        if mount.mountPropagation not in (None, "None"):
            yield f"volumeMounts[{mount.name}].mountPropagation"


def _given(holder: Any, names: tuple[str, ...], prefix: str) -> Iterator[str]:
    """Those of the fields that are there and not empty or false."""
    return (f"{prefix}{name}" for name in names if holder and getattr(holder, name))
