"""The objects of a changed stack, and the arrows between them, for the page's drawing. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final
from urllib.parse import urlsplit

from hosted_mesh_plan.model import PROVIDER_PREFIX
from hosted_mesh_plan.topology_svg import Link, TopologyPart
from hosted_mesh_plan.vocabulary import EXTERNAL_DNS_HOSTNAME_ANNOTATION

from ..runner.charts import RENDERED
from ..runner.program.monitor import IS_TRIED
from .effects import text
from .masked import is_credential
from .result import Change
from .snapshot import Key, SnapshotResource, StackSnapshot

MOST: Final = 3000
"""Most objects of a stack."""
_SIDES: Final = {"control plane": "control", "data plane": "data", "unknown": "data"}
_TITLES: Final = {"nowhere": "keys and passwords", "unknown": "cluster without a declared owner"}


def drawn(
    changes: Sequence[Change], old: StackSnapshot | None, new: StackSnapshot | None
) -> tuple[list[TopologyPart], list[Link]]:
    """Parts and arrows of both versions, with marks."""
    before, after = _shown(old), _shown(new)
    marks = {(one.type, one.name): str(one.step) for one in changes}
    parts: dict[Key, TopologyPart] = {}
    for key, one in list({**before, **after}.items())[:MOST]:
        parts[key] = _part(one, marks.get((one.type, one.name), ""))
    here, there = set(_links(before, parts)), set(_links(after, parts))
    found = [
        Link(*link, mark="" if link in here & there else "made" if link in there else "removed")
        for link in here | there
    ]
    return list(parts.values()), sorted(found, key=repr)


def _shown(snapshot: StackSnapshot | None) -> dict[Key, SnapshotResource]:
    if snapshot is None:
        return {}
    return {
        key: one
        for key, one in snapshot.resources.items()
        if not one.type.startswith(PROVIDER_PREFIX) and one.options != IS_TRIED and one.type not in RENDERED
    }


def _part(one: SnapshotResource, mark: str) -> TopologyPart:
    side = _SIDES.get(one.cluster.side, "keys")
    place = _TITLES.get(one.cluster.side) or f"{one.cluster.side}: {one.cluster.name}"
    if one.cluster.side == "unknown":
        place = f"{place}: {one.cluster.name}"
    name = text(one.tree, "metadata", "name") or one.name or "(hidden)"
    texts = [place, text(one.tree, "metadata", "namespace"), name]
    place, space, name = ("(hidden)" if part and is_credential(part) else part for part in texts)
    return TopologyPart(side, place, space, one.type.rpartition(":")[2], name, mark)


def _links(
    resources: Mapping[Key, SnapshotResource], parts: Mapping[Key, TopologyPart]
) -> Iterator[tuple[TopologyPart, TopologyPart, str, bool]]:
    """Property dependencies between two places, and the calls of webhooks."""
    hosts = dict(_hosts(resources))
    for key, one in resources.items():
        if key not in parts:
            continue
        for name, sources in one.sources.items():
            for source in sources:
                origin = parts.get((source,))
                if name and origin and origin.place != parts[key].place:
                    yield origin, parts[key], name, False
        webhooks = one.tree.get("webhooks") if isinstance(one.tree, dict) else None
        for hook in webhooks if isinstance(webhooks, list) else ():
            url = urlsplit(text(hook, "clientConfig", "url"))
            target = parts.get(hosts.get(url.hostname or "", ("",)))
            if target is not None and not is_credential(url.netloc):
                yield parts[key], target, f"{url.scheme}://{url.netloc}", True


def _hosts(resources: Mapping[Key, SnapshotResource]) -> Iterator[tuple[str, Key]]:
    """The Services that names lead to."""
    names: dict[str, list[str]] = {}
    """Of the DNS bridge's records, by the URN of a source."""
    for one in resources.values():
        if one.type.endswith(":DNSEndpoint"):
            for urn in {urn for urns in one.sources.values() for urn in urns}:
                names.setdefault(urn, []).append(text(one.tree, "metadata", "name"))
    for key, one in resources.items():
        if one.type.endswith(":Service"):
            if host := text(one.tree, "metadata", "annotations", EXTERNAL_DNS_HOSTNAME_ANNOTATION):
                yield host, key
            for name in names.get(str(key[0]), ()):
                yield name, key
