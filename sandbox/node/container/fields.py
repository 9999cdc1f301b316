"""What fieldRef and resourceFieldRef of a Pod mean; used by environments and by downwardAPI files alike."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lightkube.models.core_v1 import Container, ResourceFieldSelector
from lightkube.resources.core_v1 import Pod
from lightkube.utils.quantity import parse_quantity

_KEYED = re.compile(r"^metadata\.(annotations|labels)\['(?P<key>.+)'\]$")


class UnknownFieldError(ValueError):
    """The Pod asks for a field that this node does not know; the text names it."""


@dataclass(frozen=True)
class Facts:
    """What the node knows beyond the Pod's own object.

    api_server: address of the Service `kubernetes`. allocatable: of the node, "cpu" and "memory" as quantities.
    """

    pod_ip: str
    host_ip: str
    api_server: str
    allocatable: Mapping[str, str]


def _as_lines(pairs: Mapping[str, str] | None) -> str:
    """All labels or annotations in the format of downwardAPI files: sorted lines key="escaped value"."""
    escaped = {key: value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
               for key, value in (pairs or {}).items()}  # fmt: skip
    return "\n".join(f'{key}="{escaped[key]}"' for key in sorted(escaped))


def field(pod: Pod, facts: Facts, path: str) -> str:
    """The value of a fieldRef. Raises UnknownFieldError."""
    metadata, spec = pod.metadata, pod.spec
    assert metadata is not None
    assert spec is not None
    keyed = _KEYED.match(path)
    if keyed:
        pairs: Mapping[str, str] = (metadata.annotations if keyed[1] == "annotations" else metadata.labels) or {}
        return pairs.get(keyed["key"], "")
    values: Mapping[str, Any] = {
        "metadata.name": metadata.name,
        "metadata.namespace": metadata.namespace,
        "metadata.uid": metadata.uid,
        "metadata.labels": _as_lines(metadata.labels),
        "metadata.annotations": _as_lines(metadata.annotations),
        "spec.nodeName": spec.nodeName,
        "spec.serviceAccountName": spec.serviceAccountName or "default",
        "status.hostIP": facts.host_ip,
        "status.hostIPs": facts.host_ip,
        "status.podIP": facts.pod_ip,
        "status.podIPs": facts.pod_ip,
    }
    if path not in values:
        raise UnknownFieldError(f'fieldRef "{path}" is not a field that a Pod can refer to')
    return str(values[path] or "")


def resource(container: Container, facts: Facts, selector: ResourceFieldSelector) -> str:
    """The value of a resourceFieldRef; a limit that is not set is what the node has. Raises UnknownFieldError."""
    kind, _, name = selector.resource.partition(".")
    resources = container.resources
    if kind not in ("limits", "requests") or not name:
        raise UnknownFieldError(f'resourceFieldRef "{selector.resource}" is not limits.<name> or requests.<name>')
    limits = (resources.limits if resources else None) or {}
    requests = (resources.requests if resources else None) or {}
    amount = limits.get(name) or facts.allocatable.get(name, "0")
    if kind == "requests":
        amount = requests.get(name) or limits.get(name) or "0"
    unit = parse_quantity(selector.divisor or "1") or 1  # "0" means 1
    return str(math.ceil((parse_quantity(amount) or 0) / unit))
