"""Compares two versions of a stack. Pure: what is given has been run, and nothing secret is in what it returns."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from ..plan.tree import Path as Keys
from ..prove.program.monitor import IS_TRIED
from ..prove.project import Project
from .masked import is_credential, shown_path, without_credentials
from .replacement import forces, is_ignored
from .result import Change, Property, Stack, State, Step, Value
from .sight import Key, Seen, Sight
from .trees import ABSENT, File, Hidden, Why, differences, is_same

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
    outputs = [_property(*one) for one in differences(*map(without_credentials, (old.outputs, now.outputs)))]
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
        one = new or old
        if one is None or one.options == IS_TRIED:
            return None
        step, properties = (Step.MADE, tuple(_of_made(one))) if old is None else (Step.REMOVED, ())
        return Change(step, one.type, one.name, one.cluster, properties, count=one.count)
    if new.name is None:
        step = Step.CHANGED
        differs = not is_same(old.tree, new.tree) or old.cluster != new.cluster
        return Change(step, new.type, None, new.cluster, count=max(old.count, new.count)) if differs else None
    differs = next(differences(old.tree, new.tree), None) is not None  # looking for credentials takes longer
    trees = [without_credentials(one.tree) for one in (old, new)] if differs else []
    found = [one for one in differences(*trees) if not is_ignored(one[0], new.options)] if differs else []
    forced = [path for path, a, b in found if forces(new.type, path, a, b, old.tree, new.options)]
    about = [
        *_about("name", old.name if old.name is not None else Hidden(Why.SECRET), new.name),
        *_about("type", old.type, new.type),
        *_about("cluster", _cluster(old), _cluster(new)),
        *_options(old.options, new.options),
    ]
    properties = (*about, *(_property(*one) for one in found))
    if not properties:
        return None
    step = Step.REPLACED if forced else Step.CHANGED
    return Change(step, new.type, new.name, new.cluster, properties, tuple(map(shown_path, forced)))


def _of_made(one: Seen) -> Iterator[Property]:
    """All that a new resource is given, without what its type says too."""
    if one.name is not None:
        for path, old, new in differences(ABSENT, without_credentials(one.tree)):
            if not (one.type.startswith("kubernetes:") and path in {("apiVersion",), ("kind",)}):
                yield _property(path, old, new)


def _cluster(one: Seen) -> str:
    return " ".join(filter(None, (one.cluster.side, one.cluster.name)))


def _options(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Property]:
    """Options in brackets, for properties have such names too."""
    for key in sorted({*old, *new}):
        yield from _about(key, *(_text(one[key]) if key in one else ABSENT for one in (old, new)))


def _text(option: Any) -> Any:
    return ", ".join(map(str, option)) if isinstance(option, list) else option


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
            values = [_setting(one, is_secret) for one in (old, now)]
            found.append(Property("…" if is_credential(key) else key, *map(value_of, values)))
    return found


def _setting(one: Any, is_secret: bool) -> Any:
    if one is ABSENT:
        return one
    if is_secret:
        return Hidden(Why.ENCRYPTED)
    text = one if isinstance(one, str | int | float) else json.dumps(one, default=str)
    return Hidden(Why.FORM) if is_credential(str(text)) else text


def other_secrets(base: Project, new: Project) -> list[str]:
    """Keys of which the ciphertext is another one. Whether the secret is, nobody can tell without its key."""
    return [key for key in new.secret_keys if key in base.config and base.config[key] != new.config[key]]
