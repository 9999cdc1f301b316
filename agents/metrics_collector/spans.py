"""Spans of a proxy with the identity of its certificate: attributes of the resource are the collector's own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from . import telemetry_messages
from .peer import ForeignPeerError, Peer
from .settings import Endpoint

FORGED, INVALID = "forged", "invalid"
OWN_PREFIX: Final = "hosted_mesh."
# Attributes of the resource. A span that has one of them itself would look like another's in a search by attribute.
OWN_KEYS: Final = frozenset(
    {"service.name", "service.namespace", "service.instance.id", "k8s.namespace.name", "k8s.cluster.name"}
    | {"k8s.pod.name", "k8s.pod.uid", "k8s.deployment.name", "k8s.container.name", "k8s.node.name", "host.name"}
)
# Of Istio's tags of a span (pilot/pkg/networking/core/tracing.go): the ones that the certificate or the port proves.
NAMESPACE_TAG, CLUSTER_TAG, NODE_TAG = "istio.namespace", "istio.cluster_id", "node_id"
_NAME = re.compile(r"[a-zA-Z0-9][-a-zA-Z0-9_]{0,62}")
_TRACE, _SPAN = 16, 8


def attributed(request: Any, peer: Peer, endpoint: Endpoint) -> tuple[bytes, int, dict[str, int]]:
    """A request for the backend, its number of spans, and the number of rejected ones by reason.

    All attributes of the resource are replaced. Unlisted fields of the messages are dropped: a backend may read them.
    """
    made = telemetry_messages.ExportTraceServiceRequest()
    kept, rejected = 0, {FORGED: 0, INVALID: 0}
    request.DiscardUnknownFields()
    for resource in request.resource_spans:
        spans = [span for scope in resource.scope_spans for span in scope.spans]
        service = _service(_text(resource.resource.attributes, "service.name"), peer)
        good, pod = [], ""
        for span in spans:
            reason, named = _judged(span, peer, endpoint) if service else (FORGED, "")
            pod = pod or named
            if reason:
                rejected[reason] += 1
            else:
                good.append(span)
        if not good:
            continue
        kept += len(good)
        sent = made.resource_spans.add()
        for key, value in _resource(f"{endpoint.tenant}/{service}", pod, peer, endpoint).items():
            sent.resource.attributes.add(key=key).value.string_value = value
        sent.scope_spans.add().spans.extend(good)
    return made.SerializeToString(), kept, rejected


def _resource(service: str, pod: str, peer: Peer, endpoint: Endpoint) -> Mapping[str, str]:
    found = {
        # With the tenant: backends list services by this name alone.
        "service.name": service,
        "service.namespace": peer.namespace,
        "k8s.namespace.name": peer.namespace,
        "k8s.cluster.name": endpoint.cluster,
        f"{OWN_PREFIX}tenant": endpoint.tenant,
        f"{OWN_PREFIX}network": endpoint.network,
        f"{OWN_PREFIX}principal": peer.principal,
    }
    return {**found, "k8s.pod.name": pod} if pod else found


def _service(written: str, peer: Peer) -> str:
    """`workload.namespace`, as Istio names a proxy's service; empty if it is of another namespace.

    The workload is the sender's word, within its principal.
    """
    name, dot, namespace = written.partition(".")
    if not _NAME.fullmatch(name) or (dot and namespace != peer.namespace):
        return ""
    return f"{name}.{peer.namespace}"


def _judged(span: Any, peer: Peer, endpoint: Endpoint) -> tuple[str, str]:
    """The reason of a rejection, or none; and the Pod's name, if the span has it."""
    if len(span.trace_id) != _TRACE or len(span.span_id) != _SPAN or len(span.parent_span_id) not in (0, _SPAN):
        return INVALID, ""
    parts = (span.attributes, *(one.attributes for one in (*span.events, *span.links)))
    if any(one.key in OWN_KEYS or one.key.startswith(OWN_PREFIX) for those in parts for one in those):
        return FORGED, ""
    proved = {NAMESPACE_TAG: peer.namespace, CLUSTER_TAG: endpoint.cluster}
    if any(one.value.string_value != proved[one.key] for those in parts for one in those if one.key in proved):
        return FORGED, ""
    node = _text(span.attributes, NODE_TAG)
    try:
        return "", peer.pod(node) if node else ""
    except ForeignPeerError:
        return FORGED, ""


def _text(attributes: Iterable[Any], key: str) -> str:
    return next((str(one.value.string_value) for one in attributes if one.key == key), "")
