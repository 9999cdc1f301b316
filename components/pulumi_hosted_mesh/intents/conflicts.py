"""Contradictions between intents that no single object shows. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pulumi_hosted_mesh.intents.patterns import covers
from pulumi_hosted_mesh.intents.resolved import Resolved
from pulumi_hosted_mesh.problems import Problem
from pulumi_hosted_mesh.spec.intents import AccessRule, Action, MeshType


def contradictions(by_callee: Iterable[list[Resolved]]) -> Iterator[Problem]:
    """Of the intents of each callee: an allow that a deny makes void, and two APIs of routes for one host."""
    for those in by_callee:
        yield from _void(those)
        yield from _two_apis(those)
        yield from _weights_of_meshes(those)


def _weights_of_meshes(those: list[Resolved]) -> Iterator[Problem]:
    """A mesh has endpoints of its own clusters only: a share of another mesh's would fail."""
    for one in those:
        served, callers = one.places.meshes(one.service), one.by_mesh()
        for mesh in (one for one in served if one in callers or not callers):
            names = sorted(weight.cluster for weight in one.intent.weights or () if weight.cluster)
            if others := [name for name in names if one.places.clusters[name].mesh != mesh]:
                rule = (
                    f"name cluster {others[0]} of another mesh, for calls in mesh {mesh}, which has no endpoints of it"
                )
                yield one.problem("weights", rule, "Name clusters of one mesh, or leave weights out")
                break


def _void(those: list[Resolved]) -> Iterator[Problem]:
    denies = [(one, rule) for one in those for rule in one.intent.access if rule.action is Action.DENY]
    if not denies:
        return
    for one in those:
        for at, rule in enumerate(one.intent.access or (AccessRule(),)):
            if rule.action is Action.DENY:
                continue
            for other, deny in denies:
                if _covers(other, deny, one, rule):
                    field = f"access[{at}]" if one.intent.access else "clients"
                    text = f"allows calls that intent {other.name} denies, so it is void"
                    yield one.problem(field, text, f"Remove one of the two, or narrow the deny of {other.name}")
                    break


def _covers(other: Resolved, deny: AccessRule, one: Resolved, rule: AccessRule) -> bool:
    """Whether each call of an allow is also a call of a deny."""
    if deny.claims or deny.hosts or deny.ranges or (len(one.service.ports) > 1 and other.port != one.port):
        return False
    methods = not deny.methods or (bool(rule.methods) and {*rule.methods} <= {*deny.methods})
    paths = not deny.paths or (
        bool(rule.paths) and all(any(covers(wide, narrow) for wide in deny.paths) for narrow in rule.paths)
    )
    if not (methods and paths):
        return False
    denied, allowed = _principals(other, deny), _principals(one, rule)
    if deny.namespaces and not {place for place, _ in allowed} <= {*deny.namespaces}:
        return False
    return bool(allowed) and all(any(covers(wide, name) for _, wide in denied) for _, name in allowed)


def _principals(one: Resolved, rule: AccessRule) -> set[tuple[str, str]]:
    found = set()
    for caller in one.callers:
        for mesh in one.places.meshes(caller.service):
            domain = one.places.config(mesh).domain
            names = caller.accounts(domain)
            if rule.service_accounts:
                names = [
                    account if "/" in account else f"{domain}/ns/{caller.service.namespace}/sa/{account}"
                    for account in rule.service_accounts
                ]
            found |= {(caller.service.namespace, name) for name in names}
    return found


def _two_apis(those: list[Resolved]) -> Iterator[Problem]:
    """Istio prefers an HTTPRoute to a VirtualService of the same host, without a word."""
    for mesh in dict.fromkeys(mesh for one in those for mesh in one.places.meshes(one.service)):
        config = those[0].places.config(mesh)
        found: dict[MeshType, Resolved] = {}
        for one in those:
            if one.intent.type in ("intra-cluster", "inter-cluster") and _writes_routes(one):
                found.setdefault(one.mesh_type(config), one)
        if len(found) > 1:
            one, other = found[MeshType.GATEWAY_API], found[MeshType.ISTIO]
            rule = f"makes an HTTPRoute for a host with a VirtualService of intent {other.name}"
            yield one.problem("serviceMesh", rule, "Give both the same serviceMesh: Istio ignores the VirtualService")


def _writes_routes(one: Resolved) -> bool:
    intent = one.intent
    return bool(intent.weights or intent.retries or intent.timeout or intent.mirror or intent.egress_gateway)


def unsupported(one: Resolved) -> Iterator[Problem]:
    """Fields without an equivalent in the Gateway API."""
    intent = one.intent
    meshes = one.places.meshes(one.service) if one.callee else []
    if all(one.mesh_type(one.places.config(mesh)) is MeshType.ISTIO for mesh in meshes):
        return
    if intent.retries:
        rule = "is set for the Gateway API, whose standard channel has no field for it"
        yield one.problem("retries", rule, "Set serviceMesh: istio, or leave retries out")
    if any(weight.cluster for weight in intent.weights or ()):
        rule = "are by cluster for the Gateway API, which has no subsets"
        yield one.problem("weights", rule, "Set serviceMesh: istio, or use versions")
    if intent.certificate and intent.certificate.secret is None:
        rule = "is files for the Gateway API, which takes a Secret only"
        yield one.problem("certificate", rule, "Set serviceMesh: istio, or give secret")
    if intent.egress_gateway:
        rule = "is set for the Gateway API: the way through an egress gateway is a VirtualService"
        yield one.problem("egressGateway", rule, "Set serviceMesh: istio")
