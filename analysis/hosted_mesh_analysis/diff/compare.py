"""Compares two versions of a stack. Pure: what is given has been run, and nothing secret is in what it returns."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from ..detect.leaf.names import names_credential
from ..plan.model import PROVIDER_PREFIX
from ..plan.tree import Path as Keys
from ..prove.program.monitor import IS_TRIED
from ..prove.project import Project
from .masked import is_credential, shown_path, without_credentials
from .replacement import forces, is_ignored
from .result import Change, Cluster, Property, Stack, State, Step, Value
from .sight import Key, Seen, Sight
from .trees import ABSENT, File, Hidden, Why, differences, hidden_in, is_same

NOTHING: Final = Sight({}, {})


def compared(name: str, base: Sight | None, new: Sight | None, configuration: Sequence[Property] = ()) -> Stack:
    """What differs between two versions of a stack; None for a version that has no such stack."""
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
        State.NEW if base is None else State.REMOVED if new is None else State.CHANGED if differs else State.UNCHANGED
    )
    notes = list(now.notes if new is not None else old.notes)
    changes.sort(key=lambda one: (one.cluster, one.type, one.name or ""))
    return Stack(name, state, changes, outputs, list(configuration), notes)


def _under_their_names_of(now: Mapping[Key, Seen], before: Mapping[Key, Seen]) -> dict[Key, Seen]:
    """The base's resources by the keys that they have now: an alias says which it was."""
    renamed = {alias: key for key, one in now.items() if key not in before for alias in one.aliases if alias not in now}
    return {renamed.get(key, key): one for key, one in before.items()}


def _change(old: Seen | None, new: Seen | None) -> Change | None:
    """What becomes of one resource; None for nothing."""
    if old is None or new is None:
        return _of_one(old, new)
    if new.name is None:
        differs = not is_same(old.tree, new.tree) or old.cluster != new.cluster
        count, origin = max(old.count, new.count), _moved_from(old, new)
        step = Step.REPLACED if origin else Step.CHANGED
        return Change(step, new.type, None, new.cluster, count=count, moved_from=origin) if differs else None
    found = [one for one in _differing(old.tree, new.tree) if not is_ignored(one[0], new.options)]
    forced = [path for path, a, b in found if forces(new.type, path, a, b, old.tree, new.options)]
    properties = (*_about_all(old, new), *(_property(*one) for one in found))
    origin = _moved_from(old, new)
    step = Step.REPLACED if forced or origin else Step.CHANGED
    paths = tuple(map(shown_path, forced))
    return Change(step, new.type, new.name, new.cluster, properties, paths, moved_from=origin) if properties else None


def _moved_from(old: Seen, new: Seen) -> Cluster | None:
    """Where a resource was that is elsewhere now; None for one that stays, and for a provider, which is in none."""
    is_somewhere = old.cluster.name and new.cluster.name and not new.type.startswith(PROVIDER_PREFIX)
    return old.cluster if is_somewhere and old.cluster.name != new.cluster.name else None


def _of_one(old: Seen | None, new: Seen | None) -> Change | None:
    """A resource that only one version has."""
    one = new or old
    if one is None or one.options == IS_TRIED:
        return None
    step, properties = (Step.MADE, tuple(_of_made(one))) if old is None else (Step.REMOVED, ())
    return Change(step, one.type, one.name, one.cluster, properties, count=one.count)


def _differing(old: Any, new: Any) -> list[tuple[Keys, Any, Any]]:
    """Where two trees differ, without credentials: to look for these takes longer, so only where something differs."""
    if next(differences(old, new), None) is None:
        return []
    return list(differences(without_credentials(old), without_credentials(new)))


def _about_all(old: Seen, new: Seen) -> Iterator[Property]:
    """What differs beside the properties, in brackets: properties have such names too."""
    yield from _about("name", old.name if old.name is not None else Hidden(Why.SECRET), new.name)
    yield from _about("type", old.type, new.type)
    yield from _about("cluster", _cluster(old), _cluster(new))
    for key in sorted({*old.options, *new.options}):
        yield from _about(key, *(_text(one.options[key]) if key in one.options else ABSENT for one in (old, new)))


def _of_made(one: Seen) -> Iterator[Property]:
    """All that a new resource is given, without what its type says too."""
    if one.name is not None:
        for path, old, new in differences(ABSENT, without_credentials(one.tree)):
            if not (one.type.startswith("kubernetes:") and path in {("apiVersion",), ("kind",)}):
                yield _property(path, old, new)


def _cluster(one: Seen) -> str:
    return " ".join(filter(None, (one.cluster.side, one.cluster.name)))


def _text(option: Any) -> Any:
    text = ", ".join(map(str, option)) if isinstance(option, list) else option
    return Hidden(Why.FORM, text) if isinstance(text, str) and is_credential(text) else text


def _about(what: str, old: Any, new: Any) -> Iterator[Property]:
    if not is_same(old, new):
        yield Property(f"({what})", value_of(old), value_of(new))


def _property(path: Keys, old: Any, new: Any) -> Property:
    return Property(shown_path(path), value_of(old), value_of(new))


def value_of(one: Any) -> Value | None:
    """A value of a tree as a report has it."""
    if one is ABSENT:
        return None
    if isinstance(one, Hidden):
        return Value(hidden=one.why)
    return Value(file=one.path) if isinstance(one, File) else Value(one)


# The stack's own configuration ------------------------------------------------------------------------------------


def configuration(base: Project, new: Project) -> list[Property]:
    """What no resource shows: what is encrypted, and settings of packages, which their default providers take."""
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
    """Keys under which something else is written: if it is a secret, another one. Of ciphertexts nobody can tell."""
    return [key for key in new.config if key in base.config and base.config[key] != new.config[key]]
