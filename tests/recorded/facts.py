"""The facts: small data files, each with the version of the plug-in that gave it; and what of a replay differs."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

_FOLDER: Final = Path(__file__).parent
ABILITIES: Final = "abilities"  # beside the cases
_NOTHING: Final = "<nothing>"
_HEAD: Final = "# Written by record.py from a run of Pulumi's own plug-in. Not to be edited.\n"


@dataclass(frozen=True)
class Intended:
    """A place where the program is meant to answer otherwise. where: case and keys, joined by slashes, `*` for any."""

    where: str
    instead: Any
    reason: str

    def covers(self, where: str, _: Any, new: Any) -> bool:
        return fnmatch.fnmatchcase(where, self.where) and bool(new == self.instead)


@dataclass(frozen=True)
class Reworded:
    """Recorded texts that the program says otherwise, in whichever answers they are. words: the pieces of one, and what
    is in their place; all else of it is the same."""

    words: Mapping[str, str]
    reason: str

    def covers(self, _: str, old: Any, new: Any) -> bool:
        if not isinstance(old, str) or any(piece not in old for piece in self.words):
            return False
        for piece, instead in self.words.items():
            old = old.replace(piece, instead)
        return bool(new == old)


Difference = Intended | Reworded


def read(name: str) -> dict[str, Any]:
    """The recorded facts by case."""
    cases: dict[str, Any] = yaml.safe_load(_file(name).read_text())["cases"]
    return cases


def write(name: str, *, version: str, source: str, cases: Mapping[str, Any]) -> Path:
    """Writes what was recorded. source: what the plug-in was built from, or that it is a release."""
    content = {"version": version, "source": source, "cases": dict(cases)}
    _file(name).write_text(_HEAD + yaml.safe_dump(content, sort_keys=False, width=118, allow_unicode=True))
    return _file(name)


def intended(name: str) -> list[Difference]:
    """The differences that are meant to be, from `differences.yaml`."""
    listed = yaml.safe_load((_FOLDER / "differences.yaml").read_text()).get(name, [])
    return [
        *(Intended(where, new, one["reason"]) for one in listed for where, new in one.get("instead", {}).items()),
        *(Reworded(one["words"], one["reason"]) for one in listed if "words" in one),
    ]


def require_same(name: str, recorded: Mapping[str, Any], played: Mapping[str, Any], *, meant: list[Difference]) -> None:
    """Fails where the two are not the same, but for what is meant to be; and where that is no longer needed."""
    found = {where: (old, new) for where, old, new in _differences("", recorded, played)}
    stale = []
    for one in meant:
        covered = [where for where, values in found.items() if one.covers(where, *values)]
        for where in covered:
            del found[where]
        if not covered:
            stale.append(one)
    told = [f"{where}: recorded {old!r}, now {new!r}" for where, (old, new) in found.items()]
    told += [f"no longer so, though differences.yaml has it: {one}" for one in stale]
    assert not told, f"{name}: {len(told)} differences\n" + "\n".join(told)


def _differences(where: str, old: Any, new: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in {**old, **new}:
            path = f"{where}/{key}" if where else str(key)
            yield from _differences(path, old.get(key, _NOTHING), new.get(key, _NOTHING))
    elif old != new or type(old) is not type(new):
        yield where, old, new


def _file(name: str) -> Path:
    return _FOLDER / "facts" / f"{name}.yaml"
