"""Proxies: their revision, whether their cluster has webhooks of it, and whether they received configuration."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pulumi_hosted_mesh.clusters.api_server import ApiServer
from pulumi_hosted_mesh.operations.discovery.mesh_identity import annotations_of, labels_of, name_of, namespace_of
from pulumi_hosted_mesh.operations.verdict import Verdict, few
from pulumi_hosted_mesh.spec.federation import Peer
from pulumi_hosted_mesh.spec.networks import NETWORK_VIEW
from pulumi_hosted_mesh.vocabulary import MESH_LABEL, REVISION_LABEL, TAG_LABEL

# The injection templates for sidecars and gateways both set this label and the annotation istio.io/rev.
PODS: Final = "/api/v1/pods?labelSelector=service.istio.io/canonical-name"
WEBHOOKS: Final = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
PROXY: Final = "istio-proxy"
ENDED: Final = ("Succeeded", "Failed")
# The kubelet's reasons for a waiting container that never ran (pkg/kubelet/kubelet_pods.go, images/types.go).
NEVER_STARTED: Final = (
    "PodInitializing",
    "ContainerCreating",
    "CreateContainerConfigError",
    "ErrImagePull",
    "ImagePullBackOff",
    "InvalidImageName",
)
# Only injection sets it. istiod writes the Pods of Gateway API objects without injection.
INJECTED: Final = "sidecar.istio.io/status"
# Annotations for a Pod's own settings of its proxy.
TEMPLATES, CONFIG = "inject.istio.io/templates", "proxy.istio.io/config"
MESH_ID, OWNER = "ISTIO_META_MESH_ID", "ISTIO_META_OWNER"
RESTARTED: Final = frozenset({"deployment", "daemonset", "statefulset"})
"""Kinds that `kubectl rollout restart` accepts."""
OWNED: Final = re.compile(r"kubernetes://apis/[\w./-]+/namespaces/[a-z0-9-]+/([a-z]+)s/([a-z0-9.-]+)")


@dataclass(frozen=True)
class Injected:
    """Injected settings of a proxy. mesh: its ID. view: networks of the workloads that it receives; empty for all.

    workload: the Pod's owner in kubectl's form, `deployment/page`. chooses: whether the Pod itself may set the view, as
    a gateway's chart does. gateway: labels of a gateway's Pod; None for a sidecar.
    """

    mesh: str
    view: frozenset[str]
    workload: str
    chooses: bool = False
    gateway: Mapping[str, str] | None = None


@dataclass(frozen=True)
class Proxy:
    """A Pod with a proxy. app: its label. ready: None until the node reports a status.

    injected: None for a proxy without injection. label: the revision or tag in its own label. is_started: False while
    it waits for a volume, an image or an init container, and so has no log.
    """

    namespace: str
    pod: str
    app: str
    revision: str
    ready: bool | None
    injected: Injected | None = None
    is_started: bool = True
    label: str | None = None


def proxies_of(api: ApiServer) -> Iterator[Proxy]:
    """The proxies of a cluster, without completed or terminating Pods. Raises: UnreachableError."""
    for pod in api.list(PODS):
        status = pod.get("status") or {}
        revision = annotations_of(pod).get(REVISION_LABEL)
        if revision and status.get("phase") not in ENDED and not pod["metadata"].get("deletionTimestamp"):
            app = labels_of(pod).get("app", "")
            container = _proxy_status(status)
            ready = None if container is None else bool(container.get("ready"))
            started = ((container or {}).get("state") or {}).get("waiting", {}).get("reason") not in NEVER_STARTED
            label = labels_of(pod).get(REVISION_LABEL)
            yield Proxy(namespace_of(pod), name_of(pod), app, revision, ready, injected(pod), started, label)


def _proxy_status(status: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Status of the proxy's container. As a native sidecar it is among the init containers."""
    containers = [*(status.get("containerStatuses") or []), *(status.get("initContainerStatuses") or [])]
    return next((one for one in containers if one["name"] == PROXY), None)


def injected(pod: Mapping[str, Any]) -> Injected | None:
    """Injected settings of a Pod. A native sidecar is an init container."""
    spec, annotations = pod.get("spec") or {}, annotations_of(pod)
    containers = [*(spec.get("containers") or []), *(spec.get("initContainers") or [])]
    proxy = next((one for one in containers if one["name"] == PROXY), None)
    if proxy is None or INJECTED not in annotations:
        return None
    variables = {one["name"]: one.get("value") or "" for one in proxy.get("env") or []}
    owner = OWNED.fullmatch(variables.get(OWNER, ""))
    is_gateway = "gateway" in annotations.get(TEMPLATES, "")
    return Injected(
        mesh=variables.get(MESH_ID, ""),
        view=frozenset(one for one in variables.get(NETWORK_VIEW, "").split(",") if one),
        workload="/".join(owner.groups()) if owner else f"pod/{name_of(pod)}",
        chooses=is_gateway or NETWORK_VIEW in annotations.get(CONFIG, ""),
        gateway=labels_of(pod) if is_gateway else None,
    )


def labels_of_webhooks(api: ApiServer) -> list[Mapping[str, str]]:
    """Labels of each configuration of injection webhooks in a cluster. They contain its revisions and meshes.

    Raises: UnreachableError.
    """
    return [labels_of(one) for one in api.list(WEBHOOKS, metadata_only=True)]


def of_mesh(mesh: str, found: Collection[Proxy], hooks: Collection[Mapping[str, str]]) -> Iterator[Proxy]:
    """The proxies of a mesh, and those of no mesh with webhooks in this cluster, such as a removed one.

    hooks: as `labels_of_webhooks`. Webhooks of other owners have no label of a mesh, so their proxies are known by the
    revision.
    """
    meshes = {one[MESH_LABEL] for one in hooks if MESH_LABEL in one}
    revisions = {one[REVISION_LABEL] for one in hooks if REVISION_LABEL in one and MESH_LABEL not in one}
    for one in found:
        its = one.injected.mesh if one.injected else ""
        if its in ("", mesh) or (its not in meshes and one.revision not in revisions):
            yield one


def restart(those: Collection[Proxy], namespace: str) -> str:
    """Commands that recreate Pods. A bare Pod has no owner that would make it again, and a Job runs once."""
    kinds, bare, others = set[str](), set[str](), set[str]()
    for one in those:
        kind, _, name = (one.injected.workload if one.injected else "deployment/").partition("/")
        if kind in RESTARTED:
            kinds.add(kind)
        else:
            (bare if kind == "pod" else others).add(f"{kind}/{name}")
    ways = []
    if kinds:
        ways.append(f"`kubectl rollout restart {','.join(sorted(kinds))} -n {namespace}`")
    if bare:
        ways.append(f"delete and create again {few(sorted(bare))}, for example by `kubectl replace --force`")
    if others:
        ways.append(f"run again {few(sorted(others))}")
    return ", and ".join(ways)


def tags_of(hooks: Collection[Mapping[str, str]]) -> dict[str, str]:
    """Revisions by tag. hooks: as `labels_of_webhooks`."""
    return {one[TAG_LABEL]: one[REVISION_LABEL] for one in hooks if TAG_LABEL in one and REVISION_LABEL in one}


def not_given(
    found: Collection[Proxy], revisions: Collection[str], tags: Mapping[str, str], wishes: Mapping[str, str]
) -> Iterator[Verdict]:
    """Reports Pods of a revision with webhooks that no tag, no namespace and no Pod's label gives any more.

    They work, but stop the removal of the revision. tags: as `tags_of`. wishes: as `namespaces.wishes`.
    """
    labels = {one.label for one in found if one.label}
    given = {*tags.values(), *(tags.get(wish, wish) for wish in (*wishes.values(), *labels))}
    for namespace, those in _by_namespace(
        one for one in found if one.revision in revisions and one.revision not in given
    ):
        named = ", ".join(sorted({one.revision for one in those}))
        seen = f"{len(those)} of revision {named}, which no tag and no namespace gives: {_pods(those)}"
        fix = f"{restart(those, namespace)}. Then `hosted-mesh doctor --leaving REVISION` before you remove it"
        yield Verdict(f"proxies in namespace {namespace}", "left-revision", seen, fix)


def leaving(found: Collection[Proxy], revision: str) -> Iterator[Verdict]:
    """Reports the Pods that still have a revision. It can be removed without any."""
    those_left = [one for one in found if one.revision == revision]
    for namespace, those in _by_namespace(those_left):
        seen = f"{len(those)} still have it in namespace {namespace}: {_pods(those)}"
        fix = f"{restart(those, namespace)}, after its tag or label names another revision"
        yield Verdict(f"revision {revision}", "in-use", seen, fix)
    if not those_left:
        yield Verdict(f"revision {revision}", None, "no Pod has it")


def _by_namespace(found: Iterable[Proxy]) -> list[tuple[str, list[Proxy]]]:
    result = defaultdict[str, list[Proxy]](list)
    for one in found:
        result[one.namespace].append(one)
    return sorted(result.items())


def _pods(those: Collection[Proxy]) -> str:
    return few(sorted(one.pod for one in those))


def proxies(
    found: Collection[Proxy],
    revisions: Collection[str],
    peer: Peer | None,
    awaited: str | None = None,
    meshes: Collection[str] = (),
) -> Iterator[Verdict]:
    """Reports proxies of removed meshes and revisions, which keep their old configuration, and proxies not ready.

    A proxy is ready after its first configuration. peer: of a federation; its gateways have separate checks. awaited: a
    revision with missing webhooks: a Pod that is restarted meanwhile has no proxy. meshes: the checked one's
    name; empty for any.
    """
    checked = {(peer.gateway_namespace, peer.gateway.name)} if peer else set()
    if peer and peer.egress:
        checked.add((peer.egress_namespace, peer.egress.gateway))
    strange, waiting = defaultdict[str, list[Proxy]](list), defaultdict[str, list[Proxy]](list)
    orphans = defaultdict[tuple[str, str], list[Proxy]](list)
    for one in found:
        if meshes and one.injected and one.injected.mesh not in {"", *meshes} and one.revision in revisions:
            orphans[one.namespace, one.injected.mesh].append(one)
        elif one.revision not in revisions:
            strange[one.namespace].append(one)
        elif one.ready is False and (one.namespace, one.app) not in checked:
            waiting[one.namespace].append(one)
    for namespace, those in sorted(strange.items()):
        named, there = {one.revision for one in those}, ", ".join(sorted(revisions)) or "none"
        seen = f"{len(those)} of revision {', '.join(sorted(named))}, which has no webhooks in the cluster; "
        way = restart(those, namespace)
        fix = f"{way[:1].upper()}{way[1:]}. First label the namespace for an existing "
        fix += "revision or tag, unless it has one: after a tag was moved it has"
        if not revisions or awaited in named:
            fix = "Do not restart them: without webhooks they come back with no proxy. First `pulumi up --refresh` of "
            fix += "the stack data-plane, then `hosted-mesh check-webhooks`; they need no restart"
        yield Verdict(f"proxies in namespace {namespace}", "unknown-revision", f"{seen}there are: {there}", fix)
    for (namespace, removed), those in sorted(orphans.items()):
        named_pods = few(sorted(one.pod for one in those))
        seen = f"{len(those)} of mesh {removed}, which has no webhooks in the cluster: {named_pods}"
        fix = f"Label the namespace for an existing mesh, or remove its labels, then {restart(those, namespace)}"
        yield Verdict(f"proxies in namespace {namespace}", "removed-mesh", seen, fix)
    for namespace, those in sorted(waiting.items()):
        if pods := sorted(one.pod for one in those if not one.is_started):
            fix = f"See `kubectl describe pod {pods[0]} -n {namespace}`. If it lacks a ConfigMap istio-ca-root-cert-, "
            fix += "check the access of istiod, which writes it: run doctor with a credential of the control plane"
            seen = f"{len(pods)} did not start: {few(pods)}"
            yield Verdict(f"proxies in namespace {namespace}", "not-started", seen, fix)
        pods = sorted(one.pod for one in those if one.is_started)
        if not pods:
            continue
        seen = f"{len(pods)} got no configuration yet: {few(pods)}"
        fix = f"See `kubectl logs {pods[0]} -c {PROXY} -n {namespace}`: istiod's host must resolve there, and the "
        fix += "exposure's source ranges must contain the workloads' outgoing address"
        yield Verdict(f"proxies in namespace {namespace}", "not-ready", seen, fix)
    if not strange and not waiting and not orphans:
        used = ", ".join(sorted({one.revision for one in found})) or "no revision"
        yield Verdict("proxies", None, f"{len(found)}, of {used}")
