"""Compares two versions of a stack. Pure: its input comes from runs, and its output has no secret."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from hosted_mesh_plan.model import PROVIDER_PREFIX
from hosted_mesh_plan.tree import Path as Keys
from hosted_mesh_policies.detect.leaf.names import names_credential

from ..runner.program.monitor import IS_TRIED
from ..runner.project import Project
from .effects import effects, touched
from .masked import is_credential, shown_path, without_credentials
from .picture import drawn
from .replacement import forces, is_ignored
from .result import Change, Cluster, Property, Stack, StackChange, Step, Value
from .snapshot import Key, SnapshotResource, StackSnapshot
from .trees import ABSENT, File, Hidden, Why, differences, hidden_in, is_same

DEFINITION: Final = ":CustomResourceDefinition"
MOST_OF_A_DEFINITION: Final = 40
"""Most properties of a definition of a kind: a new version of Istio has hundreds, with texts of documentation."""
LONG_TEXT: Final = 4000
"""Characters from which on a text is cut to its different lines: the injector's template has a hundred thousand."""
NOTHING: Final = StackSnapshot({}, {})


def compared(
    name: str, base: StackSnapshot | None, new: StackSnapshot | None, configuration: Sequence[Property] = ()
) -> Stack:
    """The difference of two versions of a stack; None for a version without it."""
    old, now = base or NOTHING, new or NOTHING
    before = _under_their_names_of(now.resources, old.resources)
    changes = [
        found
        for key in dict.fromkeys([*before, *now.resources])
        if (found := _change(before.get(key), now.resources.get(key)))
    ]
    outputs = [_property(*one) for one in _differing(old.outputs, now.outputs)]
    differs = bool(changes or outputs or configuration)
    state = (
        StackChange.NEW
        if base is None
        else StackChange.REMOVED
        if new is None
        else StackChange.CHANGED
        if differs
        else StackChange.UNCHANGED
    )
    notes = list(now.notes if new is not None else old.notes)
    changes.sort(key=lambda one: (one.cluster, one.type, one.name or ""))
    stack = Stack(name, state, changes, outputs, list(configuration), notes)
    if changes:
        stack.effects = [*effects(changes, base, new), *touched(changes, base, new)]
        stack.parts, stack.links = drawn(changes, base, new)
    return stack


def _under_their_names_of(
    now: Mapping[Key, SnapshotResource], before: Mapping[Key, SnapshotResource]
) -> dict[Key, SnapshotResource]:
    """The base's resources by their present keys, by aliases."""
    renamed = {alias: key for key, one in now.items() if key not in before for alias in one.aliases if alias not in now}
    return {renamed.get(key, key): one for key, one in before.items()}


def _change(old: SnapshotResource | None, new: SnapshotResource | None) -> Change | None:
    if old is None or new is None:
        return _of_one(old, new)
    if new.name is None:
        differs = not is_same(old.tree, new.tree) or old.cluster != new.cluster
        count, origin = max(old.count, new.count), _moved_from(old, new)
        step = Step.REPLACED if origin else Step.CHANGED
        change = Change(step, new.type, None, new.cluster, count=count, moved_from=origin, chart=new.chart)
        return change if differs else None
    found = [one for one in _differing(old.tree, new.tree) if not is_ignored(one[0], new.options)]
    forced = [path for path, a, b in found if forces(new.type, path, a, b, old.tree, new.options)]
    properties = (*_about_all(old, new), *(_property(*one) for one in found))
    if new.type.endswith(DEFINITION) and len(properties) > MOST_OF_A_DEFINITION:
        more = Property(f"(and {len(properties) - MOST_OF_A_DEFINITION} more)")
        properties = (*properties[:MOST_OF_A_DEFINITION], more)
    origin = _moved_from(old, new)
    step = Step.REPLACED if forced or origin else Step.CHANGED
    paths = tuple(map(shown_path, forced))
    if not properties:
        return None
    return Change(step, new.type, new.name, new.cluster, properties, paths, moved_from=origin, chart=new.chart)


def _moved_from(old: SnapshotResource, new: SnapshotResource) -> Cluster | None:
    """The former cluster of a moved resource; None for one that stays, and for a provider, which has no cluster."""
    is_somewhere = old.cluster.name and new.cluster.name and not new.type.startswith(PROVIDER_PREFIX)
    return old.cluster if is_somewhere and old.cluster.name != new.cluster.name else None


def _of_one(old: SnapshotResource | None, new: SnapshotResource | None) -> Change | None:
    one = new or old
    if one is None or one.options == IS_TRIED:
        return None
    step, properties = (Step.MADE, tuple(_of_made(one))) if old is None else (Step.REMOVED, ())
    return Change(step, one.type, one.name, one.cluster, properties, count=one.count, chart=one.chart)


def _differing(old: Any, new: Any) -> list[tuple[Keys, Any, Any]]:
    """The differences of two trees, without credentials, which are searched for only in differences to save time."""
    if next(differences(old, new), None) is None:
        return []
    found = differences(without_credentials(old), without_credentials(new))
    return [one for path, a, b in found for one in _inside(path, a, b)]


def _inside(path: Keys, old: Any, new: Any) -> list[tuple[Keys, Any, Any]]:
    """The differences of two texts with a mapping in JSON each, by their keys; of others, the difference itself."""
    trees = [_parsed(one) for one in (old, new)]
    if all(isinstance(tree, dict) for tree in trees):
        inner = list(differences(without_credentials(trees[0]), without_credentials(trees[1]), path))
        if inner:
            return inner
    return [(path, old, new)]


def _parsed(one: Any) -> Any:
    if not isinstance(one, str) or not one.lstrip().startswith("{"):
        return None
    try:
        return json.loads(one)
    except (ValueError, RecursionError):
        return None


def _about_all(old: SnapshotResource, new: SnapshotResource) -> Iterator[Property]:
    """The differences beside the properties, in brackets: properties have such names too."""
    yield from _about("name", old.name if old.name is not None else Hidden(Why.SECRET), new.name)
    yield from _about("type", old.type, new.type)
    yield from _about("cluster", _cluster(old), _cluster(new))
    for key in sorted({*old.options, *new.options}):
        yield from _about(key, *(_text(one.options[key]) if key in one.options else ABSENT for one in (old, new)))


def _of_made(one: SnapshotResource) -> Iterator[Property]:
    """All inputs of a new resource, without those that repeat its type."""
    if one.name is not None:
        for path, old, new in differences(ABSENT, without_credentials(one.tree)):
            if not (one.type.startswith("kubernetes:") and path in {("apiVersion",), ("kind",)}):
                yield _property(path, old, new)


def _cluster(one: SnapshotResource) -> str:
    return " ".join(filter(None, (one.cluster.side, one.cluster.name)))


def _text(option: Any) -> Any:
    text = ", ".join(map(str, option)) if isinstance(option, list) else option
    return Hidden(Why.FORM, text) if isinstance(text, str) and is_credential(text) else text


def _about(what: str, old: Any, new: Any) -> Iterator[Property]:
    if not is_same(old, new):
        yield Property(f"({what})", value_of(old), value_of(new))


def _property(path: Keys, old: Any, new: Any) -> Property:
    if isinstance(old, str) and isinstance(new, str) and min(len(old), len(new)) > LONG_TEXT:
        old, new = _different_lines(old, new)
    return Property(shown_path(path), value_of(old), value_of(new))


def _different_lines(old: str, new: str) -> tuple[str, str]:
    """Two long texts from their first to their last different line."""
    here, there = old.split("\n"), new.split("\n")
    first = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(here, there, strict=False)))
    here, there = here[first:], there[first:]
    backwards = zip(reversed(here), reversed(there), strict=False)
    last = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], backwards))
    return "\n".join(here[: len(here) - last]), "\n".join(there[: len(there) - last])


def value_of(one: Any) -> Value | None:
    """A tree's value in the form of a report."""
    if one is ABSENT:
        return None
    if isinstance(one, Hidden):
        return Value(hidden=one.why)
    return Value(file=one.path) if isinstance(one, File) else Value(one)


def configuration(base: Project, new: Project) -> list[Property]:
    """Configuration that no resource shows: encrypted values, and settings of packages for their default providers."""
    found = []
    for key in dict.fromkeys([*base.config, *new.config]):
        old, now = base.config.get(key, ABSENT), new.config.get(key, ABSENT)
        is_secret = key in base.secret_keys or key in new.secret_keys
        if old != now and (is_secret or key.partition(":")[0] != new.name):
            values = [_setting(key, one, is_secret) for one in (old, now)]
            found.append(Property("…" if is_credential(key) else key, *map(value_of, values)))
    return found


def _setting(key: str, one: Any, is_secret: bool) -> Any:
    if one is ABSENT:
        return one
    if is_secret:
        return Hidden(Why.ENCRYPTED)
    if names_credential(key.rpartition(":")[2]) or any(hidden_in(without_credentials({key.rpartition(":")[2]: one}))):
        return Hidden(Why.FORM)
    return one if isinstance(one, str | int | float) else json.dumps(one, default=str)


def other_values(base: Project, new: Project) -> list[str]:
    """Keys with another written value: of a secret, another secret. Ciphertexts cannot be compared."""
    return [key for key in new.config if key in base.config and base.config[key] != new.config[key]]
