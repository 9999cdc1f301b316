"""Claims: the data plane's API server calls the control plane's webhooks by URL: injection adds a sidecar, validation
rejects.

An answer does not name its sender. So each request carries a unique word. It counts as seen only if the API server
counted one more call of the mesh's own webhook and istiod's log has that very word.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Iterator, Mapping
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

from sandbox.clusters.readiness import get_text
from sandbox.proof import istiod, workloads
from sandbox.proof.deployed import Deployed, MeshFacts, NotObserved, eventually

Gateway = create_namespaced_resource("networking.istio.io", "v1", "Gateway", "gateways")
Configuration = MutatingWebhookConfiguration | ValidatingWebhookConfiguration
_METRIC = re.compile(r"^apiserver_admission_webhook_(request_total|rejection_count)\{(.*)\} (\S+)$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="([^"]*)"')
ANSWERED = {"metric": "request_total", "code": "200", "rejected": "false"}
REFUSED = {"metric": "rejection_count", "error_type": "no_error"}  # other types: it could not be called


def injection(deployed: Deployed) -> str:
    """Sends a new Pod as a dry run (webhooks are called, nothing is stored) and expects the sidecar in the answer."""
    urls = by_url(deployed.data_plane.list(MutatingWebhookConfiguration), deployed.mesh)
    workloads.deploy(deployed)
    word = f"proof-{secrets.token_hex(4)}"
    metadata = {"name": word, "namespace": workloads.NAMESPACE}
    pod = cast(Pod, Pod.from_dict({"metadata": metadata, "spec": workloads.pod_spec(workloads.CALLER)}))
    before = get_text(deployed.sandbox.data_plane, "/metrics")
    answer = deployed.data_plane.create(pod, dry_run=True)
    if not workloads.has_proxy(answer):
        raise NotObserved("a new Pod came back without a sidecar")
    name = called(urls, before, get_text(deployed.sandbox.data_plane, "/metrics"), ANSWERED)
    eventually(lambda: require_log_entry(istiod.log(deployed), "sidecar injection", word), seconds=30)
    seen = f"the API server counted a call of {urls[name]}, and istiod logged it"
    return f"a new Pod came back with {workloads.PROXY}; {seen}"


def validation(deployed: Deployed) -> str:
    """Sends a Gateway that breaks Istio's rules as a dry run and expects the mesh's own webhook to reject it; and a
    valid one, which must be accepted."""
    urls = by_url(deployed.data_plane.list(ValidatingWebhookConfiguration), deployed.mesh)
    word = f"proof-{secrets.token_hex(4)}"
    before = get_text(deployed.sandbox.data_plane, "/metrics")
    message = _refused(deployed, word, f"*/{word}/*")
    if message is None:
        raise NotObserved(f"a Gateway with host */{word}/* was accepted")
    reason = refusal(message, urls)
    name = called(urls, before, get_text(deployed.sandbox.data_plane, "/metrics"), REFUSED)
    eventually(lambda: require_log_entry(istiod.log(deployed), "configuration is invalid", word), seconds=30)
    if message := _refused(deployed, word, f"{word}.example.com"):
        raise NotObserved(f"a valid Gateway was refused too: {message[:200]}")
    seen = f"the API server counted a refusal by {urls[name]}, and istiod logged it"
    return f"{reason}; {seen}; a valid one was accepted"


def _refused(deployed: Deployed, name: str, host: str) -> str | None:
    """The API server's message about a Gateway for this host, None if it accepts it. A host with a second slash is
    invalid, and istiod's reason repeats it."""
    server = {"port": {"number": 80, "protocol": "HTTP", "name": "http"}, "hosts": [host]}
    metadata = ObjectMeta(name=name, namespace=workloads.NAMESPACE)
    try:
        deployed.data_plane.create(Gateway(metadata=metadata, spec={"servers": [server]}), dry_run=True)
    except ApiError as error:
        return error.status.message or "no reason was given"
    return None


def by_url(configurations: Iterable[Configuration], mesh: MeshFacts) -> dict[str, str]:
    """Name and URL of the webhooks of this mesh: at its host and its port. Raises NotObserved without any, and for one
    of Istio's that refers to a Service in the data plane."""
    found, others = {}, []
    for configuration in configurations:
        for webhook in configuration.webhooks or []:
            if not webhook.name.endswith("istio.io"):
                continue
            if webhook.clientConfig.service is not None:
                raise NotObserved(f"webhook {webhook.name} refers to a Service in the data plane")
            url = urlsplit(webhook.clientConfig.url or "")
            if (url.scheme, url.hostname, url.port or 443) == ("https", mesh.host, mesh.webhook_port):
                found[webhook.name] = str(webhook.clientConfig.url)
            else:
                others.append(f"{webhook.name} at {webhook.clientConfig.url}")
    if not found:
        raise NotObserved(
            f"no webhook in the data plane points to https://{mesh.host}:{mesh.webhook_port}"
            + (f", only {', '.join(sorted(others))}" if others else "")
        )
    return found


def called(urls: Mapping[str, str], before: str, after: str, wanted: Mapping[str, str]) -> str:
    """Name of the webhook called meanwhile by the API server with this result, by its metrics (`ANSWERED`,
    `REFUSED`). Raises NotObserved when it was none of them."""
    earlier, now = dict(_counts(before)), dict(_counts(after))
    for labels, count in now.items():
        one = dict(labels)
        if wanted.items() <= one.items() and one.get("name") in urls and count > earlier.get(labels, 0):
            return one["name"]
    raise NotObserved("the API server counted no such answer of the mesh's own webhook, so it was another's")


def refusal(message: str, urls: Mapping[str, str]) -> str:
    """The reason in a rejection. Raises NotObserved when it came from none of these webhooks."""
    for name in urls:
        begin = f'admission webhook "{name}" denied the request: '
        if message.startswith(begin):
            return " ".join(message.removeprefix(begin).split())
    raise NotObserved(f"the bad object was rejected, but not by the mesh's own webhook: {message[:200]}")


def require_log_entry(log: str, what: str, word: str) -> None:
    """Raises NotObserved unless one entry of a log has both. A line with a leading space continues the entry before."""
    entries = re.sub(r"\n\s+", " ", log).splitlines()
    if not any(what in entry and word in entry for entry in entries):
        raise NotObserved(f"istiod's log, at level info, has no line on {word} ({what}), so another program answered")


def _counts(metrics: str) -> Iterator[tuple[frozenset[tuple[str, str]], float]]:
    for metric, labels, value in _METRIC.findall(metrics):
        yield frozenset([("metric", metric), *_LABEL.findall(labels)]), float(value)
