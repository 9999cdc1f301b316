"""The meaning of changes, in words. Pure: its input is two snapshots of a stack and their differences.

A sentence names resources, selectors, hosts and addresses of the two versions. No cluster is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, Final

from hosted_mesh_plan.tree import at, items
from hosted_mesh_plan.vocabulary import EXTERNAL_DNS_HOSTNAME_ANNOTATION, MESH_LABEL

from .groups import kind_of
from .masked import is_credential
from .result import Change, Effect, EffectKind, Step
from .snapshot import SnapshotResource, StackSnapshot
from .trees import Hidden

MOST: Final = 100
"""Most sentences of a stack."""
MOST_NAMES: Final = 5
INJECTOR: Final = "istio-sidecar-injector"
_RUNS_PODS: Final = frozenset({"Deployment", "StatefulSet", "DaemonSet"})
_WEBHOOKS: Final = frozenset({"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"})
_RIGHTS: Final = frozenset({"Role", "ClusterRole"})
_BINDINGS: Final = frozenset({"RoleBinding", "ClusterRoleBinding"})
_CALLS: Final = frozenset({"AuthorizationPolicy", "PeerAuthentication", "RequestAuthentication", "NetworkPolicy"})
_LOST_WITH_IT: Final = {
    "Namespace": "every object in it",
    "CustomResourceDefinition": "every object of that kind",
    "PersistentVolumeClaim": "its data, unless the class keeps them",
}


@dataclass(frozen=True)
class Both:
    """A change with its object in both versions; an empty mapping for a version without it."""

    change: Change
    old: Mapping[str, Any]
    new: Mapping[str, Any]

    @property
    def kind(self) -> str:
        return kind_of(self.change)

    @property
    def tree(self) -> Mapping[str, Any]:
        return self.new or self.old

    @property
    def called(self) -> str:
        """Kind, and namespace and name of the object; of a resource without metadata, its name in the program."""
        place = "/".join(filter(None, (text(self.tree, "metadata", "namespace"), text(self.tree, "metadata", "name"))))
        return f"{self.kind} {place or self.change.name or '(hidden)'}"

    @property
    def mesh(self) -> str:
        return text(self.tree, "metadata", "labels", MESH_LABEL)


def effects(changes: Sequence[Change], old: StackSnapshot | None, new: StackSnapshot | None) -> list[Effect]:
    """The sentences on a stack's changes, each once; those on openings and losses first."""
    before, after = _by_name(old), _by_name(new)
    namespaces = [one for one in after.values() if one.type.endswith(":Namespace")]
    found: dict[Effect, None] = {}
    for change in changes:
        if change.name is None:
            continue
        key = (change.type, change.name)
        both = Both(change, _tree(before.get(key)), _tree(after.get(key)))
        for one in _of(both, namespaces):
            found.setdefault(one)
    ordered = sorted(found, key=lambda one: list(EffectKind).index(one.kind))
    return [_harmless(one) for one in ordered][:MOST]


def _harmless(one: Effect) -> Effect:
    return Effect(one.kind, "(a sentence with a credential in it)") if is_credential(one.text) else one


def _by_name(snapshot: StackSnapshot | None) -> dict[tuple[str, str | None], SnapshotResource]:
    return {(one.type, one.name): one for one in snapshot.resources.values()} if snapshot else {}


def _tree(one: SnapshotResource | None) -> Mapping[str, Any]:
    return one.tree if one is not None and isinstance(one.tree, dict) else {}


def text(tree: Any, *path: str | int) -> str:
    """A text in a tree; empty for none, and for a hidden one."""
    found = at(tree, *path)
    return found if isinstance(found, str) else str(found) if isinstance(found, int | float) else ""


def _of(one: Both, namespaces: Sequence[SnapshotResource]) -> Iterator[Effect]:
    yield from _whole(one)
    if one.kind in _WEBHOOKS:
        yield from _webhooks(one, namespaces)
    elif one.kind in _RUNS_PODS:
        yield from _pods(one)
    elif one.kind == "ConfigMap":
        yield from _settings(one)
    elif one.kind == "Service":
        yield from _service(one)
    elif one.kind in _RIGHTS:
        yield from _rights(one)
    elif one.kind in _BINDINGS:
        yield from _binding(one)
    elif one.kind in _CALLS:
        yield from _calls(one)
    elif one.kind in {"Gateway", "Ingress"}:
        yield from _hosts(one)
    elif one.kind == "DNSEndpoint":
        yield from _names(one)


def _whole(one: Both) -> Iterator[Effect]:
    change = one.change
    if change.step is Step.REPLACED:
        why = f" because {', '.join(change.forced_by[:2])} changes" if change.forced_by else ""
        if change.moved_from is not None:
            why = " because it moves to another cluster"
        lost = f"; {_LOST_WITH_IT[one.kind]} is deleted with it" if one.kind in _LOST_WITH_IT else ""
        yield Effect(EffectKind.REPLACES, f"{one.called} is deleted and made again{why}{lost}")
    elif change.step is Step.REMOVED and one.kind in _LOST_WITH_IT:
        yield Effect(EffectKind.REPLACES, f"{one.called} is removed, and {_LOST_WITH_IT[one.kind]} with it")


def _webhooks(one: Both, namespaces: Sequence[SnapshotResource]) -> Iterator[Effect]:
    hooks = [hook for hook in items(one.tree, "webhooks") if isinstance(hook, dict)]
    word = "all of its webhooks are" if len(hooks) != 1 else "its webhook is"
    verb = {Step.MADE: "made", Step.REMOVED: "removed"}.get(one.change.step, "changed")
    of = f" of mesh {one.mesh}" if one.mesh else ""
    yield Effect(EffectKind.TOUCHES, f"{one.called}{of}: {word} {verb}; {_acts(hooks)}{_where(hooks, namespaces)}")
    before = {text(hook, "failurePolicy") for hook in items(one.old, "webhooks")} - {""}
    after = {text(hook, "failurePolicy") for hook in items(one.new, "webhooks")} - {""}
    if one.old and one.new and before != after:
        yield Effect(EffectKind.TOUCHES, f"{one.called}: failurePolicy {_list(before)} becomes {_list(after)}")


def _acts(hooks: Sequence[Mapping[str, Any]]) -> str:
    acted = {
        f"{'/'.join(map(str, items(rule, 'apiGroups'))) or 'core'}:{','.join(map(str, items(rule, 'resources')))}"
        for hook in hooks
        for rule in items(hook, "rules")
    }
    pods = any(one.rpartition(":")[2].split(",")[0].startswith("pods") for one in acted)
    rest = sorted(one.removeprefix(":") for one in acted if not one.rpartition(":")[2].startswith("pods"))
    parts = [*(["every new Pod"] if pods else []), *([f"writes of {_list(rest)}"] if rest else [])]
    return f"they see {' and '.join(parts)}" if parts else "they see no object"


def _where(hooks: Sequence[Mapping[str, Any]], namespaces: Sequence[SnapshotResource]) -> str:
    selectors = {_selector(at(hook, "namespaceSelector")) for hook in hooks} - {""}
    matching = sorted(
        text(one.tree, "metadata", "name")
        for one in namespaces
        if isinstance(one.tree, dict)
        and any(_matches(at(hook, "namespaceSelector"), at(one.tree, "metadata", "labels")) for hook in hooks)
    )
    here = f" ({len(matching)} of this stack: {_list(matching)})" if matching else ""
    where = f" in namespaces with {' or '.join(sorted(selectors)[:2])}" if selectors else " in all namespaces"
    more = f" (and {len(selectors) - 2} selectors more)" if len(selectors) > 2 else ""
    return f"{where}{more}{here}"


def _selector(tree: Any) -> str:
    labels = at(tree, "matchLabels")
    parts = [f"{key}={value}" for key, value in labels.items()] if isinstance(labels, dict) else []
    for one in items(tree, "matchExpressions"):
        values = f" ({', '.join(map(str, items(one, 'values')))})" if items(one, "values") else ""
        parts.append(f"{text(one, 'key')} {text(one, 'operator')}{values}")
    return ", ".join(parts)


def _matches(tree: Any, labels: Any) -> bool:
    given = labels if isinstance(labels, dict) else {}
    wanted = at(tree, "matchLabels")
    if isinstance(wanted, dict) and any(given.get(key) != value for key, value in wanted.items()):
        return False
    return all(_fits(one, given) for one in items(tree, "matchExpressions"))


def _fits(one: Any, labels: Mapping[str, Any]) -> bool:
    has, value = text(one, "key") in labels, labels.get(text(one, "key"))
    tests: dict[str, Callable[[], bool]] = {
        "In": lambda: has and value in items(one, "values"),
        "NotIn": lambda: value not in items(one, "values"),
        "Exists": lambda: has,
        "DoesNotExist": lambda: not has,
    }
    return tests.get(text(one, "operator"), lambda: False)()


def _pods(one: Both) -> Iterator[Effect]:
    if one.change.step is Step.MADE or one.change.step is Step.REMOVED:
        return
    if not any(two.path.startswith("spec.template.") for two in one.change.properties):
        return
    containers = items(one.new, "spec", "template", "spec", "containers")
    is_istiod = any(text(container, "name") == "discovery" for container in containers)
    if is_istiod:
        mesh = f" of mesh {one.mesh}" if one.mesh else ""
        yield Effect(EffectKind.RESTARTS, f"istiod{mesh} ({one.called}) restarts; its proxies connect again")
    else:
        yield Effect(EffectKind.RESTARTS, f"the Pods of {one.called} restart, one after another")


def _settings(one: Both) -> Iterator[Effect]:
    name = text(one.tree, "metadata", "name")
    paths = [two.path for two in one.change.properties if two.path.startswith("data.")]
    of = f" of mesh {one.mesh}" if one.mesh else ""
    if name.startswith(INJECTOR) and paths:
        tags = [two for two in one.change.properties if two.path.endswith(("global.tag", "global.hub"))]
        versions = ", ".join(
            f"{two.path.rpartition('.')[2]} {two.old.value} becomes {two.new.value}"
            for two in tags
            if two.old and two.new and not two.old.hidden and not two.new.hidden
        )
        proxy = f" ({versions})" if versions else ""
        yield Effect(
            EffectKind.RESTARTS,
            f"new Pods{of} get another proxy or template{proxy}; running Pods keep theirs until they restart",
        )
    if "data.mesh" in paths:
        yield Effect(EffectKind.TOUCHES, f"the mesh configuration{of} changes: istiod sends it to all of its proxies")


def _service(one: Both) -> Iterator[Effect]:
    was, now = _exposed(one.old), _exposed(one.new)
    ranges = [frozenset(map(str, items(tree, "spec", "loadBalancerSourceRanges"))) for tree in (one.old, one.new)]
    ports = _list(text(port, "port") for port in items(one.tree, "spec", "ports"))
    if now and not was:
        who = f"to {_list(ranges[1])}" if ranges[1] else "to every address"
        yield Effect(EffectKind.OPENS, f"{one.called}, ports {ports}, {who}")
    elif was and not now:
        yield Effect(EffectKind.CLOSES, f"{one.called}, ports {ports}, from outside of the cluster")
    elif was and now:
        yield from _ranges(one, *ranges)
    hosts = [text(tree, "metadata", "annotations", EXTERNAL_DNS_HOSTNAME_ANNOTATION) for tree in (one.old, one.new)]
    if hosts[0] != hosts[1]:
        yield from _published(one, set(filter(None, hosts[:1])), set(filter(None, hosts[1:])))


def _exposed(tree: Mapping[str, Any]) -> bool:
    return text(tree, "spec", "type") in {"LoadBalancer", "NodePort"}


def _opened_and_closed(
    old: Set[str], new: Set[str], opens: Callable[[str], str], closes: Callable[[str], str]
) -> Iterator[Effect]:
    """A sentence on the members of one set alone, for each of two sets."""
    if new - old:
        yield Effect(EffectKind.OPENS, opens(_list(new - old)))
    if old - new:
        yield Effect(EffectKind.CLOSES, closes(_list(old - new)))


def _ranges(one: Both, old: frozenset[str], new: frozenset[str]) -> Iterator[Effect]:
    if old and not new:
        yield Effect(EffectKind.OPENS, f"{one.called} to every address: its source ranges are gone")
    elif new and not old:
        yield Effect(EffectKind.CLOSES, f"{one.called} to all addresses but {_list(new)}")
    else:
        yield from _opened_and_closed(old, new, *[lambda ranges: f"{one.called} to {ranges}"] * 2)


def _published(one: Both, old: set[str], new: set[str]) -> Iterator[Effect]:
    yield from _opened_and_closed(
        old,
        new,
        lambda names: f"the name {names} leads to {one.called}",
        lambda names: f"the name {names} leads no more to {one.called}",
    )


def _rights(one: Both) -> Iterator[Effect]:
    yield from _opened_and_closed(
        _granted(one.old),
        _granted(one.new),
        lambda rights: f"holders of {one.called} may now: {rights}",
        lambda rights: f"holders of {one.called} may no more: {rights}",
    )


def _granted(tree: Mapping[str, Any]) -> set[str]:
    found = set()
    for rule in items(tree, "rules"):
        names = items(rule, "resourceNames")
        only = f" (named {', '.join(map(str, names))})" if names else ""
        for verb in items(rule, "verbs"):
            for resource in (*items(rule, "resources"), *items(rule, "nonResourceURLs")):
                found |= {
                    f"{verb} {resource}{f'.{group}' if group else ''}{only}"
                    for group in items(rule, "apiGroups") or [""]
                }
    return found


def _binding(one: Both) -> Iterator[Effect]:
    role = f"{text(one.tree, 'roleRef', 'kind')} {text(one.tree, 'roleRef', 'name')}"
    was, now = _subjects(one.old), _subjects(one.new)
    if text(one.old, "roleRef", "name") != text(one.new, "roleRef", "name"):
        was = set()
        if one.new and _subjects(one.old):
            gone = f"{text(one.old, 'roleRef', 'kind')} {text(one.old, 'roleRef', 'name')}"
            yield Effect(EffectKind.CLOSES, f"{_list(_subjects(one.old))} lose {gone} ({one.called})")
        elif one.old:
            was = _subjects(one.old)
    yield from _opened_and_closed(
        was,
        now,
        lambda subjects: f"{subjects} get {role} ({one.called})",
        lambda subjects: f"{subjects} lose {role} ({one.called})",
    )


def _subjects(tree: Mapping[str, Any]) -> set[str]:
    return {
        f"{text(one, 'kind')} {'/'.join(filter(None, (text(one, 'namespace'), text(one, 'name'))))}"
        for one in items(tree, "subjects")
    }


def _calls(one: Both) -> Iterator[Effect]:
    """A policy on traffic. The addition of one of these two restricts; the others are about identities."""
    limits = one.kind in {"NetworkPolicy", "AuthorizationPolicy"}
    if one.change.step is Step.MADE and limits:
        yield Effect(EffectKind.CLOSES, f"{one.called} restricts traffic that it selects")
    elif one.change.step is Step.REMOVED and limits:
        yield Effect(EffectKind.OPENS, f"{one.called} restricts traffic no more")
    else:
        yield Effect(EffectKind.TOUCHES, f"{one.called} changes the traffic that it permits")


def _hosts(one: Both) -> Iterator[Effect]:
    was, now = set(_hosts_of(one.old)), set(_hosts_of(one.new))
    yield from _published(one, was, now)


def _hosts_of(tree: Mapping[str, Any]) -> Iterator[str]:
    for server in items(tree, "spec", "servers"):
        yield from (str(host) for host in items(server, "hosts"))
    for listener in items(tree, "spec", "listeners"):
        yield text(listener, "hostname") or "*"
    for rule in items(tree, "spec", "rules"):
        yield text(rule, "host") or "*"


def _names(one: Both) -> Iterator[Effect]:
    was, now = (
        {text(each, "dnsName") for each in items(tree, "spec", "endpoints")} - {""} for tree in (one.old, one.new)
    )
    yield from _opened_and_closed(
        was, now, lambda names: f"{one.called} publishes {names}", lambda names: f"{one.called} withdraws {names}"
    )
    if was & now and not was ^ now:
        yield Effect(EffectKind.TOUCHES, f"{one.called} changes the records of {_list(now)}")


def _list(texts: Iterable[Any]) -> str:
    """Some texts in order, and the number of others."""
    found = sorted("[secret]" if isinstance(one, Hidden) else str(one) for one in texts)
    more = f" and {len(found) - MOST_NAMES} more" if len(found) > MOST_NAMES else ""
    return ", ".join(found[:MOST_NAMES]) + more


def touched(changes: Sequence[Change], old: StackSnapshot | None, new: StackSnapshot | None) -> list[Effect]:
    """One sentence with the meshes and the data planes that a stack's changes touch."""
    before, after = _by_name(old), _by_name(new)
    meshes, planes = set(), set()
    for one in changes:
        tree = _tree(after.get((one.type, one.name))) or _tree(before.get((one.type, one.name)))
        meshes |= {text(tree, "metadata", "labels", MESH_LABEL)} - {""}
        planes |= {one.cluster.name} if one.cluster.side == "data plane" else set()
    parts = [f"mesh{'es' if len(meshes) > 1 else ''} {_list(meshes)}"] if meshes else []
    parts += [f"data plane{'s' if len(planes) > 1 else ''} {_list(planes)}"] if planes else []
    return [_harmless(Effect(EffectKind.TOUCHES, "; ".join(parts)))] if parts else []
