"""Whether a revision of istiod is still in use: proxies that are connected, and webhooks of data planes that call it.

istiod is asked by a command in its Pod. Its debug pages answer that alone, and a NetworkPolicy closes its ports to an
API server.
"""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote, urlsplit

from pulumi_hosted_mesh.clusters.api_server import ApiServer, UnreachableError
from pulumi_hosted_mesh.clusters.kubeconfig import KubeconfigRequest, from_content
from pulumi_hosted_mesh.clusters.pod_exec import output_in_pod
from pulumi_hosted_mesh.problems import InvalidInputError
from pulumi_hosted_mesh.vocabulary import (
    KUBECONFIG_SECRET,
    REMOTE_CLUSTERS_SECRET,
    REMOVE_IN_USE_ANNOTATION,
    REVISION_LABEL,
)

CONTAINER: Final = "discovery"
CONNECTED: Final = ("pilot-discovery", "request", "GET", "/debug/syncz")
HOSTS: Final = "ISTIOD_CUSTOM_HOST"
ENDED: Final = ("Succeeded", "Failed")
ADMISSION: Final = "/apis/admissionregistration.k8s.io/v1"
WEBHOOKS: Final = ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")
MOST_NAMES: Final = 10


@dataclass(frozen=True)
class Use:
    """The use of a revision.

    proxies: connected ones by namespace of the data plane; Pods with its sidecar where no istiod answers.
    webhooks: names of configurations in data planes that call it.
    unknown: reasons for which a running istiod's proxies could be neither counted nor excluded.
    unseen: parts of data planes that could not be looked at. They do not keep a revision: a data plane may be gone.
    override: the reason on its Deployment to remove it anyway.
    """

    proxies: Mapping[str, int] = field(default_factory=dict)
    webhooks: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()
    override: str = ""


def use_of(api: ApiServer, namespace: str, revision: str, *, webhooks: bool) -> Use | None:
    """The use of a revision in the mesh's namespace of a control plane; None if its Deployment is not there.

    webhooks: whether those of data planes count too. Raises: UnreachableError.
    """
    deployments = api.list(f"/apis/apps/v1/namespaces/{quote(namespace)}/deployments?labelSelector={_istiod(revision)}")
    deployment = next(deployments, None)
    if deployment is None:
        return None
    override = str((deployment["metadata"].get("annotations") or {}).get(REMOVE_IN_USE_ANNOTATION) or "")
    unseen: list[str] = []
    hosts = _hosts(deployment)
    # Without a host it has no data plane but its own cluster (`split: false`).
    data_planes = list(data_planes_of(api, namespace, unseen)) if hosts else [api]
    unknown: list[str] = []
    proxies = _connected(api, namespace, revision, unknown)
    if proxies is None:
        proxies = _with_sidecars(data_planes, revision, unseen)
        if data_planes and not unseen:
            unknown.clear()
    calling = tuple(_calling(data_planes, hosts, unseen)) if webhooks else ()
    return Use(dict(proxies), calling, tuple(unknown), tuple(dict.fromkeys(unseen)), override)


def _istiod(revision: str) -> str:
    return quote(f"app=istiod,{REVISION_LABEL}={revision}", safe="")


def _connected(api: ApiServer, namespace: str, revision: str, unknown: list[str]) -> Counter[str] | None:
    """Connected proxies by namespace; None if no Pod of the revision runs, or one did not answer."""
    path = f"/api/v1/namespaces/{quote(namespace)}/pods"
    pods = [
        str(one["metadata"]["name"])
        for one in api.list(f"{path}?labelSelector={_istiod(revision)}")
        if (one.get("status") or {}).get("phase") == "Running" and not one["metadata"].get("deletionTimestamp")
    ]
    found = Counter[str]()
    for pod in pods:
        try:
            # `pod.namespace`, as a proxy calls itself; null where none is connected.
            listed = json.loads(output_in_pod(api, namespace, pod, CONTAINER, CONNECTED)) or []
            found.update(str(one["proxy"]).rpartition(".")[2] for one in listed)
        except (UnreachableError, ValueError, TypeError, KeyError) as error:
            why = str(error) if isinstance(error, UnreachableError) else "its answer cannot be read"
            unknown.append(f"proxies of Pod {namespace}/{pod}: {why}")
            return None
    return found if pods else None


def data_planes_of(api: ApiServer, namespace: str, unseen: list[str]) -> Iterator[ApiServer]:
    """The API servers of the mesh's data planes, by istiod's own kubeconfigs."""
    for name in (KUBECONFIG_SECRET, REMOTE_CLUSTERS_SECRET):
        secret = api.get(f"/api/v1/namespaces/{quote(namespace)}/secrets/{name}")
        for key, content in sorted(((secret or {}).get("data") or {}).items()):
            source = f"Secret {namespace}/{name}"
            try:
                request = KubeconfigRequest(field=key, source=source)
                yield ApiServer(from_content(base64.b64decode(content).decode(), request))
            except (UnreachableError, InvalidInputError, ValueError):
                unseen.append(f"the data plane of {key} in {source}: its kubeconfig cannot be used")


def _with_sidecars(data_planes: Collection[ApiServer], revision: str, unseen: list[str]) -> Counter[str]:
    """Pods with a proxy of the revision, by namespace."""
    found = Counter[str]()
    for api in data_planes:
        try:
            for pod in api.list("/api/v1/pods?labelSelector=service.istio.io/canonical-name"):
                metadata = pod["metadata"]
                ended = (pod.get("status") or {}).get("phase") in ENDED or metadata.get("deletionTimestamp")
                if (metadata.get("annotations") or {}).get(REVISION_LABEL) == revision and not ended:
                    found[str(metadata.get("namespace"))] += 1
        except UnreachableError as error:
            unseen.append(f"a data plane: {error}")
    return found


def _hosts(deployment: Mapping[str, Any]) -> set[str]:
    """Names under which data planes call an istiod."""
    containers = deployment["spec"]["template"]["spec"]["containers"]
    values = [one.get("value") or "" for each in containers for one in each.get("env") or [] if one["name"] == HOSTS]
    return {host for value in values for host in value.split(",") if host}


def _calling(data_planes: Collection[ApiServer], hosts: Collection[str], unseen: list[str]) -> Iterator[str]:
    """Names of the webhook configurations that call one of the hosts."""
    for api in data_planes:
        try:
            for kind in WEBHOOKS:
                for one in api.list(f"{ADMISSION}/{kind}"):
                    urls = [
                        str((hook.get("clientConfig") or {}).get("url") or "") for hook in one.get("webhooks") or []
                    ]
                    if any(urlsplit(url).hostname in hosts for url in urls):
                        yield str(one["metadata"]["name"])
        except UnreachableError as error:
            unseen.append(f"a data plane: {error}")


def refusal(revision: str, namespace: str, use: Use) -> str | None:
    """Why a revision is not removed; None if nothing uses it."""
    override = f"Or set controlPlane.removeInUse: {{{revision}: REASON}}"
    called = f"revision {revision} in namespace {namespace} is in use"
    if use.proxies:
        names = sorted(use.proxies)
        listed = ", ".join(names[:MOST_NAMES]) + (f" and {len(names) - MOST_NAMES} more" if names[MOST_NAMES:] else "")
        fix = "Move them: `kubectl rollout restart deployment -n NAMESPACE` in each, after the tag or label has moved"
        proxies = f"{sum(use.proxies.values())} proxies in namespaces of the data plane: {listed}"
        return f"{called} by {proxies}. {fix}. {override}"
    if use.webhooks:
        listed = ", ".join(sorted(set(use.webhooks)))
        return f"{called} by webhooks of a data plane: {listed}. First run or destroy the stack data-plane. {override}"
    if use.unknown:
        return f"{called} as far as can be seen: {'; '.join(use.unknown)}. {override}"
    return None
