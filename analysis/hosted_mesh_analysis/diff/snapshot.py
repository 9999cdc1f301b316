"""A version's stack from two runs: nothing shown of it depends on a secret."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from hosted_mesh_plan.clusters import is_server
from hosted_mesh_plan.model import PROVIDER_PREFIX, SECRET_DATA, SECRET_TYPE

from ..runner.capture import Capture, Registered
from ..runner.places import Place, Side
from ..runner.program.monitor import IS_READ
from ..runner.values import secret
from .masked import differing_in, is_credential, merged, settled, without_root
from .result import Cluster
from .trees import Hidden, Why, relabelled
from .versions import Version

Key = tuple[str, ...]
"""A resource's key in the other version: its URN, or its types if its name depends on a secret."""
NOWHERE: Final = Cluster("nowhere")
SECRET_PLACE: Final = "(its address depends on a secret)"  # noqa: S105 no secret


@dataclass(frozen=True)
class SnapshotResource:
    """One resource. name: None if it depends on a secret; count: the number of such resources of one type. tree: its
    inputs, with `Hidden` for secrets. aliases: its former keys. chart: the name of the chart that
    has it. sources: by property, the URNs of its value's sources."""

    type: str
    name: str | None
    cluster: Cluster
    tree: Any
    options: Mapping[str, Any] = field(default_factory=dict)
    count: int = 1
    aliases: tuple[Key, ...] = ()
    chart: str = ""
    sources: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class StackSnapshot:
    """One version of a stack. notes: differences between its runs and an update."""

    resources: Mapping[Key, SnapshotResource]
    outputs: Any
    notes: tuple[str, ...] = ()


def seen(first: Capture, second: Capture, version: Version) -> StackSnapshot:
    """The common part of two runs with different secrets, and a note of the rest."""
    here, there = _all(first), _all(second)
    found: dict[Key, SnapshotResource] = {}
    for urn, one in here.items():
        if urn in there:
            tree = merged(_tree(one, version), _tree(there[urn], version))
            found[(urn,)] = _one(one, _cluster(first, second, one, version), tree)
    apart = _apart(here, there), _apart(there, here)
    for types in dict.fromkeys([*apart[0], *apart[1]]):
        found[("", types)] = _unnamed([run.get(types, {}) for run in apart], first, second, version)
    outputs = merged(settled(first.outputs, version), settled(second.outputs, version))
    return StackSnapshot(found, outputs, _notes(first, second, version))


def _one(one: Registered, cluster: Cluster, tree: Any) -> SnapshotResource:
    name, aliases = None if is_credential(one.name) else one.name, tuple((urn,) for urn in one.aliases)
    chart = "(hidden)" if is_credential(one.chart) else one.chart
    return SnapshotResource(
        _type(one), name, cluster, tree, one.options, aliases=aliases, chart=chart, sources=one.dependencies
    )


def _type(one: Registered) -> str:
    return "(a type with a credential in it)" if is_credential(one.type) else one.type


def _apart(run: Mapping[str, Registered], other: Mapping[str, Registered]) -> dict[str, dict[str, Registered]]:
    """By type, the resources without their name in the other run."""
    found: dict[str, dict[str, Registered]] = {}
    for urn in run:
        if urn not in other:
            found.setdefault(urn.rpartition("::")[0], {})[urn] = run[urn]
    return found


def _unnamed(
    apart: Sequence[Mapping[str, Registered]], first: Capture, second: Capture, version: Version
) -> SnapshotResource:
    """All resources of one type with different names in each run, as one resource without details."""
    run, found = (first, apart[0]) if apart[0] else (second, apart[1])
    some = next(iter(found.values()))
    trees = [{urn: _tree(one, version) for urn, one in each.items()} for each in apart]
    cluster = _cluster(run, run, some, version)
    return SnapshotResource(_type(some), None, cluster, Hidden(Why.SECRET, trees), count=max(map(len, trees)))


def _all(run: Capture) -> dict[str, Registered]:
    """The resources of a run, and its providers, which have a destination; read resources do not change."""
    return {urn: one for urn, one in {**run.resources, **run.providers}.items() if one.options != IS_READ}


def _tree(one: Registered, version: Version) -> Any:
    """A resource's inputs. A Secret's data are secret, even if the program does not mark them."""
    kept = SECRET_DATA if one.type == SECRET_TYPE else ()
    return settled({key: secret(two) if key in kept else two for key, two in one.inputs.items()}, version)


def _cluster(first: Capture, second: Capture, one: Registered, version: Version) -> Cluster:
    here, there = _place(first, one), _place(second, one)
    if here is None or there is None:
        return NOWHERE
    is_shown = here.name == there.name and not is_credential(here.name)
    name = without_root(here.name, version) if is_shown else SECRET_PLACE
    if here.side is not there.side or here.side is Side.UNKNOWN:
        is_cluster = is_server(here.name) or one.type.startswith(("kubernetes:", f"{PROVIDER_PREFIX}kubernetes"))
        return Cluster("unknown" if is_cluster else "other", name)
    return Cluster(here.side.value, name)


def _place(run: Capture, one: Registered) -> Place | None:
    place = run.place(one.urn) or one.place
    return Place(run.places.side(place), place.name) if place else None


def _notes(first: Capture, second: Capture, version: Version) -> tuple[str, ...]:
    """The notes of both runs. A note of one run only contains a secret."""
    told = [dict.fromkeys([*run.unsure, *run.remarks]) for run in (first, second)]
    notes = [without_root(text, version) for text in told[0] if text in told[1]]
    if set(told[0]) != set(told[1]):
        notes.append("a part that could not be run has a name that depends on a secret")
    return tuple(sorted({"(a note with a credential in it)" if is_credential(text) else text for text in notes}))


def with_noise(snapshot: StackSnapshot, first: Capture, again: Capture, version: Version) -> StackSnapshot:
    """A snapshot with the differences of runs with the same secrets marked as such."""
    here, there = _all(first), _all(again)
    apart = {*_apart(here, there), *_apart(there, here)}
    resources = dict(snapshot.resources)
    for key, one in snapshot.resources.items():
        if key[0] in here and key[0] in there:
            differing = differing_in(_tree(here[key[0]], version), _tree(there[key[0]], version))
            tree = relabelled(one.tree, differing)
        elif not key[0] and key[1] in apart:
            tree = Hidden(Why.EACH_RUN, one.count)
        else:
            continue
        resources[key] = replace(one, tree=tree)
    differing = differing_in(settled(first.outputs, version), settled(again.outputs, version))
    return StackSnapshot(resources, relabelled(snapshot.outputs, differing), snapshot.notes)
