"""Compares the network view of proxies with the endpoint's: a Pod keeps the view of its creation. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from typing import Final

from pulumi_hosted_mesh.operations.doctor.proxies import RESTARTED, Injected, Proxy
from pulumi_hosted_mesh.operations.verdict import Verdict, few
from pulumi_hosted_mesh.spec.endpoint import EndpointDocument

LISTED: Final = 10


def views(
    found: Collection[Proxy], endpoint: EndpointDocument, *, has_other_members: bool | None = None
) -> Iterator[Verdict]:
    """Checks the proxies of the endpoint's mesh and revision. Injection sets a proxy's view once, at its creation.

    has_other_members: whether the mesh has more than one; None if unchecked. With one member there are no workloads of
    other networks, so any view is harmless.
    """
    wanted = frozenset({endpoint.network_view}) - {""}
    count, other = 0, defaultdict[str, list[Injected]](list)
    for one in found:
        its = one.injected
        if its is None or its.mesh != endpoint.mesh or one.revision != endpoint.revision:
            continue
        count += 1
        # The webhook's view takes precedence over a Pod's own; without one the Pod's own applies.
        if its.view != wanted and (wanted or not its.chooses):
            other[one.namespace].append(its)
    if other and has_other_members is not False:
        for namespace, those in sorted(other.items()):
            check = f"network view of proxies in namespace {namespace}"
            fix = _restart(those, namespace)
            if has_other_members is None:
                fix += ". In a mesh of one member it can wait: --control-plane-kubeconfig checks this"
            yield Verdict(check, "another-view", _seen(those, wanted), fix)
        return
    seen = f"{count} of revision {endpoint.revision}, which receive {_networks(wanted)}"
    if other:
        some = f"{sum(map(len, other.values()))} in {few(sorted(other))}"
        seen += f", except {some}, which is harmless in a mesh of one member: restart these before another joins"
    yield Verdict("network view of proxies", None, seen)


def _seen(those: Collection[Injected], wanted: frozenset[str]) -> str:
    own = " or ".join(sorted({_networks(one.view) for one in those}))
    workloads = [f"{workload} ({count})" for workload, count in _workloads(those)]
    return f"{len(those)} receive {own}, the endpoint has {_networks(wanted)}: {few(workloads)}"


def _networks(view: frozenset[str]) -> str:
    return f"network {' and '.join(sorted(view))} only" if view else "all networks"


def _restart(those: Collection[Injected], namespace: str) -> str:
    """Commands that recreate the Pods: by name, or by kind for many."""
    workloads = [workload for workload, _ in _workloads(those)]
    restarted = [one for one in workloads if one.partition("/")[0] in RESTARTED]
    others = [one for one in workloads if one not in restarted]
    fixes = []
    if restarted:
        kinds = sorted({one.partition("/")[0] for one in restarted})
        named = ",".join(kinds) if restarted[LISTED:] else " ".join(restarted)
        fixes.append(f"`kubectl rollout restart {named} -n {namespace}`")
    if others:
        fixes.append(f"Recreate {few(others, LISTED)}")
    return ". ".join(fixes)


def _workloads(those: Collection[Injected]) -> list[tuple[str, int]]:
    return sorted(Counter(one.workload for one in those).items())
