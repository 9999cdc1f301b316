"""Verdicts on Istio's Gateways: gateways that none selects, and Gateways that select other namespaces'. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping

from pulumi_hosted_mesh.operations.discovery.mesh_identity import environment_of, name_of, namespace_of
from pulumi_hosted_mesh.operations.doctor.observation import ControlPlaneObservation, Manifest, MeshObservation
from pulumi_hosted_mesh.operations.verdict import Verdict, few
from pulumi_hosted_mesh.spec.federation import Peer
from pulumi_hosted_mesh.spec.reserved import SCOPE
from pulumi_hosted_mesh.vocabulary import MESH_LABEL

Labels = Mapping[str, str]
IS_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
"""True for Go's strconv.ParseBool, istiod's parser of its environment."""


def selected(mesh: str, peer: Peer | None, observed: MeshObservation) -> Iterator[Verdict]:
    """Checks, by Pods' labels, all gateways that this mesh's istiod injected. peer: of a federation; its gateway is
    valid without exports too."""
    found: dict[tuple[str, str], list[Labels]] = defaultdict(list)
    for one in observed.proxies:
        if (its := one.injected) and its.mesh == mesh and its.gateway is not None:
            found[one.namespace, its.workload.rpartition("/")[2]].append(its.gateway)
    is_kept = {(peer.gateway_namespace, peer.gateway.name)} if peer else set()
    scoped = is_scoped(observed.control_plane)
    wrong = False
    for (namespace, gateway), pods in sorted(found.items()):
        there = [one for one in observed.gateways if any(selects(one.get("spec") or {}, pod) for pod in pods)]
        foreign = [one for one in there if namespace_of(one) != namespace]
        for other in foreign:
            wrong = True
            yield _foreign(other, f"{namespace}/{gateway}", namespace, scoped)
        used = len(foreign) < len(there) or (foreign and not scoped) or _admits(mesh, namespace, pods, observed)
        if not used and (namespace, gateway) not in is_kept:
            wrong = True
            yield _unused(namespace, gateway)
    if found and not wrong:
        names = [f"{namespace}/{gateway}" for namespace, gateway in sorted(found)]
        yield Verdict(f"gateways of {mesh}", None, f"{len(found)}, of Gateways in their own namespaces: {few(names)}")


def is_scoped(found: ControlPlaneObservation | None) -> bool | None:
    """Whether istiod lets a Gateway select Pods of its own namespace only; None if istiod was not checked."""
    if found is None or not found.istiods:
        return None
    return all(environment_of(one).get(SCOPE) in IS_TRUE for one in found.istiods)


def selects(spec: Manifest, labels: Labels) -> bool:
    """Whether an Istio Gateway selects a Pod with these labels. A Gateway without a selector selects all Pods."""
    return (spec.get("selector") or {}).items() <= labels.items()


def _admits(mesh: str, namespace: str, pods: Collection[Labels], observed: MeshObservation) -> bool:
    """Whether a federation's AuthorizationPolicy covers a gateway, which is then valid without exports too."""
    for one in (*observed.objects, *observed.of_federations):
        metadata = one["metadata"]
        if one["kind"] != "AuthorizationPolicy" or metadata["namespace"] != namespace:
            continue
        wanted = ((one.get("spec") or {}).get("selector") or {}).get("matchLabels") or {}
        if metadata["labels"].get(MESH_LABEL) == mesh and any(wanted.items() <= pod.items() for pod in pods):
            return True
    return False


def _foreign(gateway: Manifest, selected: str, namespace: str, scoped: bool | None) -> Verdict:
    name, own = name_of(gateway), namespace_of(gateway)
    check = f"Gateway {name} in namespace {own}"
    move = f"Move it to namespace {namespace}; VirtualServices may stay, with `gateways: [{namespace}/{name}]`. Or "
    move += f"delete it: `kubectl delete gateways.networking.istio.io {name} -n {own}`"
    if scoped:
        seen = f"it selects gateway {selected}, but istiod ignores Pods of another namespace"
        return Verdict(check, "without-effect", seen, move, notice=True)
    seen = f"it selects gateway {selected} of another namespace: its servers may replace others there, or forward "
    seen += "requests to services that are not exported"
    if scoped is None:
        seen += f", unless istiod has {SCOPE}, its default here: --control-plane-kubeconfig checks it"
        return Verdict(check, "foreign-gateway", seen, move, notice=True)
    return Verdict(check, "foreign-gateway", seen, f"{move}. Then remove {SCOPE} from istiod.environment")


def _unused(namespace: str, gateway: str) -> Verdict:
    check = f"gateway {gateway} in namespace {namespace}"
    seen = "no Istio Gateway in its namespace selects it, so it serves nothing; a gateway with its load balancer "
    seen += "stays like this when a mesh leaves a federation"
    fix = (
        "Remove it from gateways of the data plane's document, and run `pulumi up` of data-plane; or create its Gateway"
    )
    return Verdict(check, "unused-gateway", seen, fix, notice=True)
