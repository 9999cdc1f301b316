"""Proxies: of which revision they are, and whether their cluster knows it; whether they ever got configuration."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pulumi_hosted_mesh.clusters.api_server import ApiServer
from pulumi_hosted_mesh.operations.discovery.marks import annotations_of, labels_of, name_of, namespace_of
from pulumi_hosted_mesh.operations.verdict import Verdict, few
from pulumi_hosted_mesh.spec.federation import Peer
from pulumi_hosted_mesh.spec.networks import NETWORK_VIEW
from pulumi_hosted_mesh.vocabulary import MESH_LABEL, REVISION_LABEL

# Both templates of injection, of sidecars and of gateways, give this label and the annotation istio.io/rev.
PODS: Final = "/api/v1/pods?labelSelector=service.istio.io/canonical-name"
WEBHOOKS: Final = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
PROXY: Final = "istio-proxy"
ENDED: Final = ("Succeeded", "Failed")
# Reasons of kubelet's for a container that waits and has never run (pkg/kubelet/kubelet_pods.go, images/types.go).
NEVER_STARTED: Final = (
    "PodInitializing",
    "ContainerCreating",
    "CreateContainerConfigError",
    "ErrImagePull",
    "ImagePullBackOff",
    "InvalidImageName",
)
# Only injection gives it. What istiod makes of the Gateway API's objects it writes whole, and without injection.
INJECTED: Final = "sidecar.istio.io/status"
# Where a Pod may say something of its proxy itself.
TEMPLATES, CONFIG = "inject.istio.io/templates", "proxy.istio.io/config"
MESH_ID, OWNER = "ISTIO_META_MESH_ID", "ISTIO_META_OWNER"
OWNED: Final = re.compile(r"kubernetes://apis/[\w./-]+/namespaces/[a-z0-9-]+/([a-z]+)s/([a-z0-9.-]+)")


@dataclass(frozen=True)
class Injected:
    """What injection wrote into a proxy. mesh: its ID. view: the networks of whose workloads it is told; empty: of all.

    workload: that the Pod is of, as kubectl has it, `deployment/page`. chooses: whether the view may be the Pod's own,
    as a gateway's from its chart's values. gateway: labels of the Pod, if it is one; None of a sidecar's.
    """

    mesh: str
    view: frozenset[str]
    workload: str
    chooses: bool = False
    gateway: Mapping[str, str] | None = None


@dataclass(frozen=True)
class Proxy:
    """A Pod with one. app: its label. ready: None where the node has not said anything of it yet.

    injected: None where injection did not make it. is_started: false where it waits for a volume, an image or an init
    container, and so has no log.
    """

    namespace: str
    pod: str
    app: str
    revision: str
    ready: bool | None
    injected: Injected | None = None
    is_started: bool = True


def proxies_of(api: ApiServer) -> Iterator[Proxy]:
    """The proxies of a cluster, without Pods that have ended or are to. Raises: UnreachableError."""
    for pod in api.list(PODS):
        status = pod.get("status") or {}
        revision = annotations_of(pod).get(REVISION_LABEL)
        if revision and status.get("phase") not in ENDED and not pod["metadata"].get("deletionTimestamp"):
            app = labels_of(pod).get("app", "")
            said = _said(status)
            ready = None if said is None else bool(said.get("ready"))
            started = ((said or {}).get("state") or {}).get("waiting", {}).get("reason") not in NEVER_STARTED
            yield Proxy(namespace_of(pod), name_of(pod), app, revision, ready, injected(pod), started)


def _said(status: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """What the node says of the proxy. As a sidecar of Kubernetes' own kind it is among the init containers."""
    containers = [*(status.get("containerStatuses") or []), *(status.get("initContainerStatuses") or [])]
    return next((one for one in containers if one["name"] == PROXY), None)


def injected(pod: Mapping[str, Any]) -> Injected | None:
    """Of a Pod as its API server has it. As a sidecar of Kubernetes' own kind the proxy is an init container."""
    spec, annotations = pod.get("spec") or {}, annotations_of(pod)
    containers = [*(spec.get("containers") or []), *(spec.get("initContainers") or [])]
    proxy = next((one for one in containers if one["name"] == PROXY), None)
    if proxy is None or INJECTED not in annotations:
        return None
    said = {one["name"]: one.get("value") or "" for one in proxy.get("env") or []}
    owner = OWNED.fullmatch(said.get(OWNER, ""))
    is_gateway = "gateway" in annotations.get(TEMPLATES, "")
    return Injected(
        mesh=said.get(MESH_ID, ""),
        view=frozenset(one for one in said.get(NETWORK_VIEW, "").split(",") if one),
        workload="/".join(owner.groups()) if owner else f"pod/{name_of(pod)}",
        chooses=is_gateway or NETWORK_VIEW in annotations.get(CONFIG, ""),
        gateway=labels_of(pod) if is_gateway else None,
    )


def labels_of_webhooks(api: ApiServer) -> list[Mapping[str, str]]:
    """Of each configuration of injection webhooks in a cluster: they tell its revisions and meshes.

    Raises: UnreachableError.
    """
    return [labels_of(one) for one in api.list(WEBHOOKS, metadata_only=True)]


def of_mesh(mesh: str, found: Collection[Proxy], hooks: Collection[Mapping[str, str]]) -> Iterator[Proxy]:
    """Those of a mesh, and those that nobody's webhooks here are for; without another mesh's, which it looks after.

    hooks: as `labels_of_webhooks`.
    """
    meshes = {one[MESH_LABEL] for one in hooks if MESH_LABEL in one}
    revisions = {one[REVISION_LABEL] for one in hooks if REVISION_LABEL in one}
    for one in found:
        its = one.injected.mesh if one.injected else ""
        if its in ("", mesh) or (its not in meshes and one.revision not in revisions):
            yield one


def proxies(
    found: Collection[Proxy], revisions: Collection[str], peer: Peer | None, awaited: str | None = None
) -> Iterator[Verdict]:
    """A proxy of a revision that is gone has no istiod, or one that is to go: it keeps what it had.

    One gets ready with its first configuration. peer: of a federation, whose gateways have checks of their own.
    awaited: a revision whose webhooks should be there and are not: a Pod that is restarted meanwhile has no proxy.
    """
    checked = {(peer.gateway_namespace, peer.gateway.name)} if peer else set()
    if peer and peer.egress:
        checked.add((peer.egress_namespace, peer.egress.gateway))
    strange, waiting = defaultdict[str, list[Proxy]](list), defaultdict[str, list[Proxy]](list)
    for one in found:
        if one.revision not in revisions:
            strange[one.namespace].append(one)
        elif one.ready is False and (one.namespace, one.app) not in checked:
            waiting[one.namespace].append(one)
    for namespace, those in sorted(strange.items()):
        named, there = {one.revision for one in those}, ", ".join(sorted(revisions)) or "none"
        seen = f"{len(those)} of revision {', '.join(sorted(named))}, of which the cluster has no webhooks; "
        fix = f"`kubectl rollout restart deployment -n {namespace}`. Before, label the namespace for a revision or a "
        fix += "tag that is there, if it is not: after a tag was moved it is"
        if not revisions or awaited in named:
            fix = "Do not restart them: without webhooks they come back with no proxy. First `pulumi up --refresh` of "
            fix += "the stack data-plane, then `hosted-mesh check-webhooks`; they go on by themselves"
        yield Verdict(f"proxies in namespace {namespace}", "unknown-revision", f"{seen}there are: {there}", fix)
    for namespace, those in sorted(waiting.items()):
        if pods := sorted(one.pod for one in those if not one.is_started):
            fix = f"See `kubectl describe pod {pods[0]} -n {namespace}`. Where it lacks a ConfigMap istio-ca-root-cert-"
            fix += ", istiod writes that into each namespace: see its access, by doctor with a credential of the "
            fix += "control plane"
            seen = f"{len(pods)} did not start: {few(pods)}"
            yield Verdict(f"proxies in namespace {namespace}", "not-started", seen, fix)
        pods = sorted(one.pod for one in those if one.is_started)
        if not pods:
            continue
        seen = f"{len(pods)} got no configuration yet: {few(pods)}"
        fix = f"See `kubectl logs {pods[0]} -c {PROXY} -n {namespace}`: istiod's host must resolve there, and the "
        fix += "exposure's source ranges must have the address under which workloads leave their network"
        yield Verdict(f"proxies in namespace {namespace}", "not-ready", seen, fix)
    if not strange and not waiting:
        used = ", ".join(sorted({one.revision for one in found})) or "no revision"
        yield Verdict("proxies", None, f"{len(found)}, of {used}")
