"""Of which networks' workloads proxies are told: as the endpoint says, or as it was when their Pods were made. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from typing import Final

from pulumi_hosted_mesh.operations.doctor.proxies import Injected, Proxy
from pulumi_hosted_mesh.operations.verdict import Verdict, few
from pulumi_hosted_mesh.spec.endpoint import EndpointDocument

RESTARTED: Final = frozenset({"deployment", "daemonset", "statefulset"})
"""What `kubectl rollout restart` takes."""
LISTED: Final = 10


def views(
    found: Collection[Proxy], endpoint: EndpointDocument, *, has_other_members: bool | None = None
) -> Iterator[Verdict]:
    """Injection gives a proxy its view once, so a Pod keeps that of when it was made.

    Those of the endpoint's mesh and revision are looked at. has_other_members: whether the mesh is known to have some;
    with one member there is no other network's workload to be told of, so no view does harm.
    """
    wanted = frozenset({endpoint.network_view}) - {""}
    count, other = 0, defaultdict[str, list[Injected]](list)
    for one in found:
        its = one.injected
        if its is None or its.mesh != endpoint.mesh or one.revision != endpoint.revision:
            continue
        count += 1
        # The webhook's wins over a Pod's own, but where it gives none.
        if its.view != wanted and (wanted or not its.chooses):
            other[one.namespace].append(its)
    if other and has_other_members is not False:
        for namespace, those in sorted(other.items()):
            check = f"network view of proxies in namespace {namespace}"
            fix = _restart(those, namespace)
            if has_other_members is None:
                fix += ". In a mesh of one member it can wait: --control-plane-kubeconfig tells"
            yield Verdict(check, "another-view", _seen(those, wanted), fix)
        return
    seen = f"{count} of revision {endpoint.revision}, told of {_networks(wanted)}"
    if other:
        some = f"{sum(map(len, other.values()))} in {few(sorted(other))}"
        seen += f", but for {some}, which does no harm in a mesh of one member: restart these before another joins"
    yield Verdict("network view of proxies", None, seen)


def _seen(those: Collection[Injected], wanted: frozenset[str]) -> str:
    told = " or ".join(sorted({_networks(one.view) for one in those}))
    workloads = [f"{workload} ({count})" for workload, count in _workloads(those)]
    return f"{len(those)} are told of {told}, the endpoint says {_networks(wanted)}: {few(workloads)}"


def _networks(view: frozenset[str]) -> str:
    return f"network {' and '.join(sorted(view))} alone" if view else "all networks"


def _restart(those: Collection[Injected], namespace: str) -> str:
    """What makes the Pods anew: by name, or by kind where there are many."""
    workloads = [workload for workload, _ in _workloads(those)]
    restarted = [one for one in workloads if one.partition("/")[0] in RESTARTED]
    others = [one for one in workloads if one not in restarted]
    fixes = []
    if restarted:
        kinds = sorted({one.partition("/")[0] for one in restarted})
        named = ",".join(kinds) if restarted[LISTED:] else " ".join(restarted)
        fixes.append(f"`kubectl rollout restart {named} -n {namespace}`")
    if others:
        fixes.append(f"Make anew {few(others, LISTED)}")
    return ". ".join(fixes)


def _workloads(those: Collection[Injected]) -> list[tuple[str, int]]:
    return sorted(Counter(one.workload for one in those).items())
