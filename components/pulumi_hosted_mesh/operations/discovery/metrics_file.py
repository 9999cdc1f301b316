"""The facts as metrics, in Prometheus' text format, for the textfile collector of its node exporter. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from pulumi_hosted_mesh.operations.discovery.facts import Discovery, Installation

PREFIX: Final = "hosted_mesh_discovered"
HELP: Final[Mapping[str, str]] = {
    "cluster_read": "1 if the cluster could be read.",
    "installation": "A revision of a mesh in a cluster, always 1.",
    "istiod_ready": "Ready Pods of istiod.",
    "istiod_wanted": "Wanted Pods of istiod.",
    "proxies": "Pods with a sidecar in a namespace with injection.",
    "workload_ready": "Ready Pods of a workload of a service.",
    "workload_wanted": "Wanted Pods of a workload of a service.",
}
Sample = tuple[str, dict[str, str], int]


def metrics(found: Discovery, clusters: list[str]) -> str:
    """The text. clusters: all that discovery reads."""
    by_name: dict[str, list[tuple[dict[str, str], int]]] = {name: [] for name in HELP}
    for name, labels, value in _samples(found, clusters):
        by_name[name].append((labels, value))
    lines = []
    for name, samples in by_name.items():
        lines += [f"# HELP {PREFIX}_{name} {HELP[name]}", f"# TYPE {PREFIX}_{name} gauge"]
        lines += [f"{PREFIX}_{name}{{{_labels(labels)}}} {value}" for labels, value in samples]
    return "\n".join(lines) + "\n"


def _samples(found: Discovery, clusters: list[str]) -> Iterator[Sample]:
    for cluster in clusters:
        yield "cluster_read", {"cluster": cluster}, int(cluster not in found.unreachable)
    for mesh in found.meshes:
        for one in mesh.installations:
            yield from _installation(mesh.name, one)
    for service in found.services:
        place = {"mesh": service.mesh, "cluster": service.cluster, "namespace": service.namespace}
        for workload in service.workloads:
            labels = {**place, "service": service.name, "workload": workload.name, "version": workload.version}
            yield "workload_ready", labels, workload.ready
            yield "workload_wanted", labels, workload.wanted


def _installation(mesh: str, one: Installation) -> Iterator[Sample]:
    place = {"mesh": mesh, "cluster": one.cluster, "namespace": one.namespace, "revision": one.revision}
    yield "installation", {**place, "role": one.role, "version": one.version, "managed_by": one.managed_by}, 1
    if one.ready:
        ready, _, wanted = one.ready.partition("/")
        yield "istiod_ready", place, int(ready)
        yield "istiod_wanted", place, int(wanted)
    for member in one.members:
        labels = {"mesh": mesh, "cluster": one.cluster, "revision": one.revision, "namespace": member.namespace}
        yield "proxies", labels, member.proxies


def _labels(labels: Mapping[str, str]) -> str:
    return ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
