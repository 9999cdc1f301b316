"""Claims: the user's API server calls the provider's webhooks by URL: injection gives a sidecar, validation refuses."""

from __future__ import annotations

import re
import secrets
from typing import cast
from urllib.parse import urlsplit

from lightkube import ApiError
from lightkube.generic_resource import create_namespaced_resource
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.admissionregistration_v1 import (
    MutatingWebhookConfiguration,
    ValidatingWebhookConfiguration,
)
from lightkube.resources.core_v1 import Pod

from sandbox.proof import workloads
from sandbox.proof.scene import NotObserved, Scene, get_text

Gateway = create_namespaced_resource("networking.istio.io", "v1", "Gateway", "gateways")
INVALID_GATEWAY = {"servers": [{"port": {"number": 80, "protocol": "HTTP", "name": "http"}, "hosts": ["*/*/*"]}]}


def injection(scene: Scene) -> str:
    """Sends a new Pod as a dry run (webhooks are called, nothing is stored) and looks for the sidecar in the answer."""
    names = _by_url(scene, MutatingWebhookConfiguration)
    workloads.deploy(scene)
    before = _calls(scene, names)
    metadata = {"name": f"proof-{secrets.token_hex(4)}", "namespace": workloads.NAMESPACE}
    pod = cast(Pod, Pod.from_dict({"metadata": metadata, "spec": workloads.pod_spec(workloads.CALLER)}))
    answer = scene.user.create(pod, dry_run=True)
    if not workloads.has_proxy(answer):
        raise NotObserved("a new Pod came back without a sidecar")
    called = _calls(scene, names) - before
    if called < 1:
        raise NotObserved("a sidecar came back but the API server counted no call of the provider's webhook")
    return f"a new Pod came back with {workloads.PROXY}; the API server called https://{scene.mesh.host}:{scene.mesh.webhook_port}"


def validation(scene: Scene) -> str:
    """Sends a Gateway that breaks Istio's rules as a dry run and expects the provider's webhook to refuse it."""
    names = _by_url(scene, ValidatingWebhookConfiguration)
    metadata = ObjectMeta(name=f"proof-{secrets.token_hex(4)}", namespace=workloads.NAMESPACE)
    try:
        scene.user.create(Gateway(metadata=metadata, spec=INVALID_GATEWAY), dry_run=True)
    except ApiError as error:
        message = error.status.message or ""
        if any(f'admission webhook "{name}" denied' in message for name in names):
            return " ".join(message.split("denied the request: ")[-1].split())
        raise NotObserved(f"the bad object was refused, but not by the provider's webhook: {message[:200]}") from None
    raise NotObserved("a Gateway with host */*/* was accepted")


def _by_url(scene: Scene, kind: type[MutatingWebhookConfiguration] | type[ValidatingWebhookConfiguration]) -> set[str]:
    """Names of the webhooks of this mesh; each must be a URL at the mesh's host, none a Service reference."""
    names = set()
    for configuration in scene.user.list(kind):
        for webhook in configuration.webhooks or []:
            if not webhook.name.endswith("istio.io"):
                continue
            if webhook.clientConfig.service is not None:
                raise NotObserved(f"webhook {webhook.name} refers to a Service in the user's cluster")
            url = urlsplit(webhook.clientConfig.url or "")
            if (url.scheme, url.hostname) == ("https", scene.mesh.host):
                names.add(webhook.name)
    if not names:
        raise NotObserved(f"no webhook in the user's cluster points to https://{scene.mesh.host}")
    return names


def _calls(scene: Scene, names: set[str]) -> int:
    """How often the user's API server has called the webhooks with an answer, by its own metrics."""
    total = 0.0
    metric = re.compile(r"^apiserver_admission_webhook_request_total\{(.*)\} (\S+)$", re.MULTILINE)
    for labels, value in metric.findall(get_text(scene.sandbox.data_plane, "/metrics")):
        if any(f'name="{name}"' in labels for name in names) and 'code="200"' in labels:
            total += float(value)
    return int(total)
