"""The topology: what runs where, drawn from an engine's state or from a preview: Mermaid, which Markdown viewers show.

Nothing in it is drawn by hand: the boxes are the stack's Kubernetes objects and keys, the solid arrows are the property
dependencies that cross from one place to another, the dotted ones are the URLs that webhooks call.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from pulumi_hosted_mesh.vocabulary import (
    CONTROL_PLANE,
    DATA_PLANE,
    EXTERNAL_DNS_HOSTNAME_ANNOTATION,
    PROVIDER_NAME,
)

ENGINE = "engine"
TITLES = {
    ENGINE: "Pulumi's state, encrypted",
    CONTROL_PLANE: "control plane's cluster",
    DATA_PLANE: "data plane's cluster",
}
MANY = 4  # names of one kind that a box lists; of more it tells the number


@dataclass(frozen=True)
class Box:
    """All objects of one kind in one namespace of one place."""

    place: str
    namespace: str
    kind: str

    @property
    def id(self) -> str:
        return "_".join(part.replace("-", "_") for part in (self.place, self.namespace, self.kind) if part)


def topology(resources: Iterable[Mapping[str, Any]]) -> str:
    """Mermaid text for the resources of a state export (`deployment.resources`), the same for the same resources.

    No value is shown but names, kinds, URLs' hosts and ports; secrets cannot be among them.
    """
    known = [resource for resource in resources if box_of(resource)]
    names: dict[Box, list[str]] = defaultdict(list)
    for resource in known:
        box = box_of(resource)
        assert box is not None
        names[box].append(name_of(resource))
    lines = ["flowchart LR"]
    for place, title in TITLES.items():
        inside = {box: found for box, found in names.items() if box.place == place}
        if inside:
            lines += [f'  subgraph {place.replace("-", "_")}["{title}"]', *_namespaces(inside), "  end"]
    lines += sorted({f"  {arrow}" for arrow in [*dependencies(known), *webhook_calls(known)]})
    return "\n".join(lines) + "\n"


def box_of(resource: Mapping[str, Any]) -> Box | None:
    """Where a resource stands in the picture; None for what is neither a Kubernetes object nor a key or certificate."""
    kind = str(resource["type"]).rsplit(":", 1)[-1]
    if str(resource["type"]).startswith("tls:"):
        return Box(ENGINE, "", kind)
    inputs = _inputs(resource)
    if not {"apiVersion", "kind", "metadata"} <= inputs.keys():
        return None
    provider = str(resource.get("provider", "")).rsplit("::", 2)[-2:][0]
    # A component puts its own name before the role's; `clusters` has a second provider for objects that it takes over.
    roles = [role for role, name in PROVIDER_NAME.items() if re.fullmatch(f"(.+-)?{name}(-adopting)?", provider)]
    if not roles:
        return None
    namespace = inputs["metadata"].get("namespace", "")
    return Box(roles[0], namespace if isinstance(namespace, str) else "", str(inputs["kind"]))


def name_of(resource: Mapping[str, Any]) -> str:
    metadata = _inputs(resource).get("metadata", {})
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    return name if isinstance(name, str) else str(resource["urn"]).rsplit("::", 1)[-1]


def dependencies(resources: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """An arrow for each dependency of a property on a resource in another place, labelled with the property."""
    by_urn = {str(resource["urn"]): resource for resource in resources}
    for resource in by_urn.values():
        target = box_of(resource)
        for name, urns in (resource.get("propertyDependencies") or {}).items():
            for source in {box_of(by_urn[urn]) for urn in urns or () if urn in by_urn}:
                if source and target and source.place != target.place:
                    yield f"{source.id} -->|{name}| {target.id}"


def webhook_calls(resources: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """A dotted arrow from each webhook configuration to the Service whose annotation publishes the host of its URL, or
    whose address the DNS bridge's own record of that host is."""
    known = list(resources)
    services = _recorded(known) | {
        host: box_of(resource)
        for resource in known
        if _inputs(resource).get("kind") == "Service"
        for host in [_annotations(resource).get(EXTERNAL_DNS_HOSTNAME_ANNOTATION)]
        if isinstance(host, str)
    }
    for resource in known:
        for webhook in _inputs(resource).get("webhooks") or ():
            client = webhook.get("clientConfig")
            url = (
                urlsplit(client["url"]) if isinstance(client, Mapping) and isinstance(client.get("url"), str) else None
            )
            source, target = box_of(resource), services.get(url.hostname) if url and url.hostname else None
            if url and source and target:
                yield f"{source.id} -.->|{url.scheme}://{url.netloc}| {target.id}"


def _recorded(resources: Iterable[Mapping[str, Any]]) -> dict[str, Box | None]:
    """By host, the Services whose addresses the DNS bridge's own records are; their objects are named after hosts."""
    by_urn = {str(resource["urn"]): resource for resource in resources}
    return {
        name_of(resource): box_of(by_urn[urn])
        for resource in by_urn.values()
        if _inputs(resource).get("kind") == "DNSEndpoint"
        for urn in (resource.get("propertyDependencies") or {}).get("spec") or ()
        if urn in by_urn and _inputs(by_urn[urn]).get("kind") == "Service"
    }


def _inputs(resource: Mapping[str, Any]) -> Mapping[str, Any]:
    """Empty for a resource that has none, which an export leaves out."""
    found: Mapping[str, Any] = resource.get("inputs") or {}
    return found


def _annotations(resource: Mapping[str, Any]) -> Mapping[str, Any]:
    found = resource["inputs"]["metadata"].get("annotations")
    return found if isinstance(found, Mapping) else {}


def _namespaces(boxes: Mapping[Box, list[str]]) -> Iterator[str]:
    for namespace in sorted({box.namespace for box in boxes}):
        inside = [(box, found) for box, found in boxes.items() if box.namespace == namespace]
        nodes = [f'{box.id}["{_label(box, found)}"]' for box, found in sorted(inside, key=lambda one: one[0].id)]
        if namespace:
            place = inside[0][0].place.replace("-", "_")
            yield f'    subgraph {place}_in_{namespace.replace("-", "_")}["namespace {namespace}"]'
            yield from (f"      {node}" for node in nodes)
            yield "    end"
        else:
            yield from (f"    {node}" for node in nodes)


def _label(box: Box, names: list[str]) -> str:
    if len(names) > MANY:
        return f"<b>{box.kind}</b><br/>{len(names)} of them"
    return f"<b>{box.kind}</b><br/>{'<br/>'.join(sorted(names))}"
