"""The topology of a stack as Mermaid, generated from an engine's state or from a preview.

Boxes are the stack's Kubernetes objects and keys. Solid arrows are property dependencies between two places. Dotted
arrows are URLs of webhooks. Two clusters of one role are two boxes.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import urlsplit

from pulumi_hosted_mesh.topology_svg import Link, TopologyPart, svg
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
PROVIDER = "pulumi:providers:kubernetes"
MANY = 4  # names of one kind that a box lists; for more it shows the number


@dataclass(frozen=True)
class Box:
    """All objects of one kind in one namespace of one place, a cluster or the state."""

    place: str
    namespace: str
    kind: str
    cluster: str = ""
    """The cluster's name, if there are several of one role."""

    @property
    def id(self) -> str:
        return "_".join(_word(part) for part in (self.place, self.cluster, self.namespace, self.kind) if part)

    @property
    def place_id(self) -> str:
        return "_".join(_word(part) for part in (self.place, self.cluster) if part)

    @property
    def title(self) -> str:
        """The title of its place."""
        return f"{TITLES[self.place]} {self.cluster}".rstrip()


def _word(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9]", "_", text)


def topology(resources: Iterable[Mapping[str, Any]]) -> str:
    """Mermaid text for the resources of a state export (`deployment.resources`), the same for the same resources.

    It shows names, kinds, and hosts and ports of URLs only, so no secrets.
    """
    placed = _placed(resources)
    names: dict[Box, list[str]] = defaultdict(list)
    for resource, box in placed:
        names[box].append(name_of(resource))
    lines = ["flowchart LR"]
    for place, cluster in sorted({(box.place, box.cluster) for box in names}, key=_order):
        inside = {box: found for box, found in names.items() if (box.place, box.cluster) == (place, cluster)}
        first = next(iter(inside))
        lines += [f'  subgraph {first.place_id}["{first.title}"]', *_namespaces(inside), "  end"]
    shown, boxes = [resource for resource, _ in placed], _boxes(placed)
    lines += sorted({f"  {arrow}" for arrow in [*dependencies(shown, boxes), *webhook_calls(shown, boxes)]})
    return "\n".join(lines) + "\n"


def drawing(resources: Iterable[Mapping[str, Any]]) -> str:
    """The same as SVG, one file without script or address."""
    placed = _placed(resources)
    shown, boxes = [resource for resource, _ in placed], _boxes(placed)
    parts = {str(resource["urn"]): _part(box, name_of(resource)) for resource, box in placed}
    by_box = {boxes[urn]: part for urn, part in parts.items()}
    links = [Link(by_box[a], by_box[b], label) for a, b, label in _dependencies(shown, boxes)]
    links += [Link(by_box[a], by_box[b], label, calls=True) for a, b, label in _webhook_calls(shown, boxes)]
    return svg(list(parts.values()), sorted(set(links), key=repr))


_SIDES: Final = {ENGINE: "keys", CONTROL_PLANE: "control", DATA_PLANE: "data"}


def _part(box: Box, name: str) -> TopologyPart:
    return TopologyPart(_SIDES[box.place], box.title, box.namespace, box.kind, name)


def _order(place: tuple[str, str]) -> tuple[int, str]:
    return list(TITLES).index(place[0]), place[1]


def _placed(resources: Iterable[Mapping[str, Any]]) -> list[tuple[Mapping[str, Any], Box]]:
    """The drawn resources with their boxes."""
    everything = list(resources)
    clusters = _clusters(everything)
    return [
        (resource, replace(box, cluster=clusters.get(_provider_urn(resource), "")))
        for resource in everything
        if (box := box_of(resource))
    ]


def _boxes(placed: Iterable[tuple[Mapping[str, Any], Box]]) -> dict[str, Box]:
    return {str(resource["urn"]): box for resource, box in placed}


def _clusters(resources: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """A name for each provider's cluster, by the provider's URN; none for the only cluster of a role.

    Providers with one `clusterIdentifier` have one cluster. Without the provider's resource its name identifies it.
    """
    everything = list(resources)
    identifiers = {
        str(resource["urn"]): str(_inputs(resource).get("clusterIdentifier") or "")
        for resource in everything
        if str(resource["type"]) == PROVIDER
    }
    used = {
        urn: box.place
        for resource in everything
        if (box := box_of(resource)) and box.place in PROVIDER_NAME and (urn := _provider_urn(resource))
    }
    found: dict[str, dict[str, str]] = defaultdict(dict)
    keys: dict[str, str] = {}
    for urn, place in sorted(used.items()):
        name = urn.rpartition("::")[2].removesuffix("-adopting").removesuffix(PROVIDER_NAME[place]).rstrip("-")
        keys[urn] = identifiers.get(urn) or name
        found[place].setdefault(keys[urn], name)
    return {urn: _shown(found[place], keys[urn]) for urn, place in used.items() if len(found[place]) > 1}


def _shown(names: Mapping[str, str], key: str) -> str:
    """A cluster's name: of its provider if unique, else its identifier."""
    name = names[key]
    return name if name and list(names.values()).count(name) == 1 else key


def _provider_urn(resource: Mapping[str, Any]) -> str:
    return str(resource.get("provider", "")).rpartition("::")[0]


def box_of(resource: Mapping[str, Any]) -> Box | None:
    """The box of a resource; None unless it is a Kubernetes object, a key or a certificate."""
    kind = str(resource["type"]).rsplit(":", 1)[-1]
    if str(resource["type"]).startswith("tls:"):
        return Box(ENGINE, "", kind)
    inputs = _inputs(resource)
    if not {"apiVersion", "kind", "metadata"} <= inputs.keys():
        return None
    provider = str(resource.get("provider", "")).rsplit("::", 2)[-2:][0]
    # A component puts its own name before the role's; `clusters` has a second provider for adopted objects.
    roles = [role for role, name in PROVIDER_NAME.items() if re.fullmatch(f"(.+-)?{name}(-adopting)?", provider)]
    if not roles:
        return None
    namespace = inputs["metadata"].get("namespace", "")
    return Box(roles[0], namespace if isinstance(namespace, str) else "", str(inputs["kind"]))


def name_of(resource: Mapping[str, Any]) -> str:
    metadata = _inputs(resource).get("metadata", {})
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    return name if isinstance(name, str) else str(resource["urn"]).rsplit("::", 1)[-1]


def dependencies(resources: Iterable[Mapping[str, Any]], boxes: Mapping[str, Box]) -> Iterator[str]:
    """An arrow for each dependency of a property on a resource in another place, labelled with the property."""
    for source, target, name in _dependencies(resources, boxes):
        yield f"{source.id} -->|{name}| {target.id}"


def _dependencies(resources: Iterable[Mapping[str, Any]], boxes: Mapping[str, Box]) -> Iterator[tuple[Box, Box, str]]:
    for resource in resources:
        target = boxes[str(resource["urn"])]
        for name, urns in (resource.get("propertyDependencies") or {}).items():
            for source in {boxes[urn] for urn in urns or () if urn in boxes}:
                if source.place_id != target.place_id:
                    yield source, target, str(name)


def webhook_calls(resources: Iterable[Mapping[str, Any]], boxes: Mapping[str, Box]) -> Iterator[str]:
    """A dotted arrow for each call of a webhook."""
    for source, target, address in _webhook_calls(resources, boxes):
        yield f"{source.id} -.->|{address}| {target.id}"


def _webhook_calls(resources: Iterable[Mapping[str, Any]], boxes: Mapping[str, Box]) -> Iterator[tuple[Box, Box, str]]:
    """A call from each webhook configuration to the Service with the host of its URL.

    The Service's annotation publishes the host, or the DNS bridge's own record of the host has the Service's address.
    """
    everything = list(resources)
    services = _recorded(everything, boxes) | {
        host: boxes[str(resource["urn"])]
        for resource in everything
        if _inputs(resource).get("kind") == "Service"
        for host in [_annotations(resource).get(EXTERNAL_DNS_HOSTNAME_ANNOTATION)]
        if isinstance(host, str)
    }
    for resource in everything:
        for webhook in _inputs(resource).get("webhooks") or ():
            client = webhook.get("clientConfig")
            url = (
                urlsplit(client["url"]) if isinstance(client, Mapping) and isinstance(client.get("url"), str) else None
            )
            target = services.get(url.hostname) if url and url.hostname else None
            if url and target:
                yield boxes[str(resource["urn"])], target, f"{url.scheme}://{url.netloc}"


def _recorded(resources: Iterable[Mapping[str, Any]], boxes: Mapping[str, Box]) -> dict[str, Box]:
    """Services by host, from the addresses in the DNS bridge's own records. A host names its record's object."""
    by_urn = {str(resource["urn"]): resource for resource in resources}
    return {
        name_of(resource): boxes[urn]
        for resource in by_urn.values()
        if _inputs(resource).get("kind") == "DNSEndpoint"
        for urn in (resource.get("propertyDependencies") or {}).get("spec") or ()
        if urn in by_urn and _inputs(by_urn[urn]).get("kind") == "Service"
    }


def _inputs(resource: Mapping[str, Any]) -> Mapping[str, Any]:
    """Inputs of a resource. An export omits empty ones."""
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
            place = inside[0][0].place_id
            yield f'    subgraph {place}_in_{_word(namespace)}["namespace {namespace}"]'
            yield from (f"      {node}" for node in nodes)
            yield "    end"
        else:
            yield from (f"    {node}" for node in nodes)


def _label(box: Box, names: list[str]) -> str:
    if len(names) > MANY:
        return f"<b>{box.kind}</b><br/>{len(names)} of them"
    return f"<b>{box.kind}</b><br/>{'<br/>'.join(sorted(names))}"
