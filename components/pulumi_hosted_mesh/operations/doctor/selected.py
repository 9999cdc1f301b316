"""Verdicts on whom Istio's Gateways select: a gateway that none does, and Gateways of other namespaces. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping

from pulumi_hosted_mesh.operations.discovery.marks import environment_of, name_of, namespace_of
from pulumi_hosted_mesh.operations.doctor.observation import ControlPlane, Manifest, Observed
from pulumi_hosted_mesh.operations.verdict import Verdict, few
from pulumi_hosted_mesh.spec.federation import Peer
from pulumi_hosted_mesh.spec.reserved import SCOPE
from pulumi_hosted_mesh.vocabulary import MESH_LABEL

Labels = Mapping[str, str]
IS_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
"""As Go's strconv.ParseBool has it, by which istiod reads its environment."""


def selected(mesh: str, peer: Peer | None, observed: Observed) -> Iterator[Verdict]:
    """By Pods' own labels, for all gateways that this mesh's istiod injected. peer: of a federation, whose gateway is
    to stay where nothing is exported."""
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


def is_scoped(found: ControlPlane | None) -> bool | None:
    """Whether istiod has a Gateway select Pods of its own namespace alone; None where that was not looked at."""
    if found is None or not found.istiods:
        return None
    return all(environment_of(one).get(SCOPE) in IS_TRUE for one in found.istiods)


def selects(spec: Manifest, labels: Labels) -> bool:
    """Whether Istio's Gateway does, a Pod with these labels. One without a selector selects all."""
    return (spec.get("selector") or {}).items() <= labels.items()


def _admits(mesh: str, namespace: str, pods: Collection[Labels], observed: Observed) -> bool:
    """Whether a federation's AuthorizationPolicy is for it: it is to stay, though nothing may be exported now."""
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
    move = f"Write it in namespace {namespace}; VirtualServices may stay, with `gateways: [{namespace}/{name}]`. Or "
    move += f"delete it: `kubectl delete gateways.networking.istio.io {name} -n {own}`"
    if scoped:
        seen = f"it selects gateway {selected}, and istiod has none select Pods of another namespace"
        return Verdict(check, "without-effect", seen, move, notice=True)
    seen = f"it selects gateway {selected} of another namespace: its servers may take the place of others there, or "
    seen += "pass on what nobody exports"
    if scoped is None:
        seen += f", unless istiod has {SCOPE}, which it has by default: --control-plane-kubeconfig tells"
        return Verdict(check, "foreign-gateway", seen, move, notice=True)
    return Verdict(check, "foreign-gateway", seen, f"{move}. Then take {SCOPE} out of istiod.environment")


def _unused(namespace: str, gateway: str) -> Verdict:
    check = f"gateway {gateway} in namespace {namespace}"
    seen = "no Gateway of Istio's in its namespace selects it, so it serves nothing; a federation that the mesh left "
    seen += "leaves it so, with its load balancer"
    fix = (
        "Take it out of gateways of the data plane's document, and run `pulumi up` of data-plane; or write its Gateway"
    )
    return Verdict(check, "unused-gateway", seen, fix, notice=True)
