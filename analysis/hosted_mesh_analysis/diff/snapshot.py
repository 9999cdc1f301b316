"""What a stack of one version registers, seen in two runs: nothing of it that is shown depends on a secret."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from ..plan.clusters import is_server
from ..plan.model import PROVIDER_PREFIX, SECRET_DATA, SECRET_TYPE
from ..prove.capture import Capture, Registered
from ..prove.places import Place, Side
from ..prove.program.monitor import IS_READ
from ..prove.values import secret
from .masked import differing_in, is_credential, merged, settled, without_root
from .result import Cluster
from .trees import Hidden, Why, relabelled
from .versions import Version

Key = tuple[str, ...]
"""By which a resource is found in the other version: its URN, or its types where its name depends on a secret."""
NOWHERE: Final = Cluster("nowhere")
SECRET_PLACE: Final = "(its address depends on a secret)"  # noqa: S105 no secret


@dataclass(frozen=True)
class Seen:
    """One resource. name: None where it depends on a secret; count: how many such of one type. tree: its inputs, with
    `Hidden` where something is secret. aliases: keys under which it was known before."""

    type: str
    name: str | None
    cluster: Cluster
    tree: Any
    options: Mapping[str, Any] = field(default_factory=dict)
    count: int = 1
    aliases: tuple[Key, ...] = ()


@dataclass(frozen=True)
class Sight:
    """One version of a stack. notes: what its runs did not do as an update would."""

    resources: Mapping[Key, Seen]
    outputs: Any
    notes: tuple[str, ...] = ()


def seen(first: Capture, second: Capture, version: Version) -> Sight:
    """What two runs with other secrets have in common, and that there is more."""
    here, there = _all(first), _all(second)
    found: dict[Key, Seen] = {}
    for urn, one in here.items():
        if urn in there:
            tree = merged(_tree(one, version), _tree(there[urn], version))
            found[(urn,)] = _one(one, _cluster(first, second, one, version), tree)
    apart = _apart(here, there), _apart(there, here)
    for types in dict.fromkeys([*apart[0], *apart[1]]):
        found[("", types)] = _unnamed([run.get(types, {}) for run in apart], first, second, version)
    outputs = merged(settled(first.outputs, version), settled(second.outputs, version))
    return Sight(found, outputs, _notes(first, second, version))


def _one(one: Registered, cluster: Cluster, tree: Any) -> Seen:
    name, aliases = None if is_credential(one.name) else one.name, tuple((urn,) for urn in one.aliases)
    return Seen(_type(one), name, cluster, tree, one.options, aliases=aliases)


def _type(one: Registered) -> str:
    return "(a type with a credential in it)" if is_credential(one.type) else one.type


def _apart(run: Mapping[str, Registered], other: Mapping[str, Registered]) -> dict[str, dict[str, Registered]]:
    """By type, what has no such name in the other run."""
    found: dict[str, dict[str, Registered]] = {}
    for urn in run:
        if urn not in other:
            found.setdefault(_types(urn), {})[urn] = run[urn]
    return found


def _unnamed(apart: Sequence[Mapping[str, Registered]], first: Capture, second: Capture, version: Version) -> Seen:
    """All resources of one type that have other names in each run, as one of which nothing is shown."""
    run, found = (first, apart[0]) if apart[0] else (second, apart[1])
    some = next(iter(found.values()))
    trees = [{urn: _tree(one, version) for urn, one in each.items()} for each in apart]
    cluster = _cluster(run, run, some, version)
    return Seen(_type(some), None, cluster, Hidden(Why.SECRET, trees), count=max(map(len, trees)))


def _all(run: Capture) -> dict[str, Registered]:
    """What a run registered: resources, and providers, which lead somewhere; nothing becomes of what is only read."""
    return {urn: one for urn, one in {**run.resources, **run.providers}.items() if one.options != IS_READ}


def _types(urn: str) -> str:
    return urn.rpartition("::")[0]


def _tree(one: Registered, version: Version) -> Any:
    """A resource's inputs. What is in a Secret is secret, also where the program does not mark it."""
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
    """What both runs say. What only one of them says has a secret in it."""
    told = [dict.fromkeys([*run.unsure, *run.remarks]) for run in (first, second)]
    notes = [without_root(text, version) for text in told[0] if text in told[1]]
    if set(told[0]) != set(told[1]):
        notes.append("some of what could not be run has a name that depends on a secret")
    return tuple(sorted({"(a note with a credential in it)" if is_credential(text) else text for text in notes}))


def with_noise(sight: Sight, first: Capture, again: Capture, version: Version) -> Sight:
    """A sight in which what differs in a run with the same secrets is said to be another in each run."""
    here, there = _all(first), _all(again)
    apart = {*_apart(here, there), *_apart(there, here)}
    resources = dict(sight.resources)
    for key, one in sight.resources.items():
        if key[0] in here and key[0] in there:
            differing = differing_in(_tree(here[key[0]], version), _tree(there[key[0]], version))
            tree = relabelled(one.tree, differing)
        elif not key[0] and key[1] in apart:
            tree = Hidden(Why.EACH_RUN, one.count)
        else:
            continue
        resources[key] = replace(one, tree=tree)
    differing = differing_in(settled(first.outputs, version), settled(again.outputs, version))
    return Sight(resources, relabelled(sight.outputs, differing), sight.notes)
