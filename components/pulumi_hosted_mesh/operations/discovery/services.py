"""The services of discovered meshes: workloads, versions, and the other clusters with the same service. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from pulumi_hosted_mesh.operations.discovery.cluster_observation import ClusterObservation, Manifest
from pulumi_hosted_mesh.operations.discovery.facts import Discovery, FoundService, FoundWorkload, Installation
from pulumi_hosted_mesh.operations.discovery.mesh_identity import (
    containers_of,
    image_version,
    labels_of,
    name_of,
    namespace_of,
)

WORKLOADS: Final = ("Deployment", "StatefulSet", "DaemonSet")
VERSION_LABELS: Final = ("version", "app.kubernetes.io/version")


def services_of(observed: Sequence[ClusterObservation], found: Discovery) -> tuple[FoundService, ...]:
    """The Services of namespaces with injection, by namespace, name and cluster."""
    by_cluster = {one.cluster: one for one in observed}
    made = dict[tuple[str, str, str], FoundService]()
    for mesh in found.meshes:
        for one in mesh.installations:
            if one.role != "control-plane" and one.cluster in by_cluster:
                for service in _services(by_cluster[one.cluster], mesh.name, one):
                    made.setdefault((service.namespace, service.name, service.cluster), service)
    places = defaultdict[tuple[str, str], set[str]](set)
    for namespace, name, cluster in made:
        places[namespace, name].add(cluster)
    return tuple(
        FoundService(
            one.namespace, one.name, one.mesh, one.cluster, one.workloads, tuple(sorted(places[key[:2]] - {key[2]}))
        )
        for key, one in sorted(made.items())
    )


def selected_workloads(observed: ClusterObservation, service: Manifest) -> Iterator[tuple[str, Manifest]]:
    """The workloads that a Service selects, with their kinds."""
    selector = (service.get("spec") or {}).get("selector") or {}
    for kind in WORKLOADS:
        for one in observed.of(kind):
            fits = namespace_of(one) == namespace_of(service) and selector.items() <= labels_of(template(one)).items()
            if selector and fits:
                yield kind, one


def template(workload: Manifest) -> Mapping[str, Any]:
    """A workload's template of Pods."""
    found: Mapping[str, Any] = (workload.get("spec") or {}).get("template") or {}
    return found


def _services(observed: ClusterObservation, mesh: str, one: Installation) -> Iterator[FoundService]:
    members = {member.namespace for member in one.members}
    gateways = {(gate.namespace, gate.name) for gate in one.gateways}
    for service in observed.of("Service"):
        place = (namespace_of(service), name_of(service))
        if place[0] in members and place not in gateways and (service.get("spec") or {}).get("selector"):
            workloads = tuple(_workload(kind, each) for kind, each in selected_workloads(observed, service))
            yield FoundService(*place, mesh, one.cluster, workloads)


def _workload(kind: str, workload: Manifest) -> FoundWorkload:
    status, spec = workload.get("status") or {}, workload.get("spec") or {}
    if kind == "DaemonSet":
        ready, wanted = status.get("numberReady", 0), status.get("desiredNumberScheduled", 0)
    else:
        ready, wanted = status.get("readyReplicas", 0), spec.get("replicas", 1)
    return FoundWorkload(kind, name_of(workload), _version(workload), int(ready), int(wanted))


def _version(workload: Manifest) -> str:
    """By label, else by the first image's tag."""
    labels = labels_of(template(workload))
    labelled = next((labels[one] for one in VERSION_LABELS if labels.get(one)), "")
    images = [str(one.get("image", "")) for one in containers_of(workload)]
    return labelled or (image_version(images[0]) if images else "")
