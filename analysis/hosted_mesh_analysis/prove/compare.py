"""The differences of two runs, without those of time or random ids."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from typing import Any, Final

from hosted_mesh_plan.tree import Path

from ..runner.capture import Capture, PropertyRef, Registered

_UUID: Final = r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
_DATE: Final = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?"
_NUMBER: Final = r"\d{10,20}(?:\.\d+)?"
_TOKENS: Final = re.compile(rf"({_UUID}|{_DATE}|{_NUMBER})")
_UNITS: Final = (1, 10**3, 10**6, 10**9)


def difference(one: Capture, other: Capture) -> set[PropertyRef]:
    """The differences of two runs. For a value of one run only, the place is the longest path that both have.

    A resource of one run only is a place with an empty path.
    """
    here, there = one.resources, other.resources
    found = {PropertyRef(urn, ()) for urn in here.keys() ^ there.keys()}
    return found | {
        PropertyRef(urn, path) for urn in here.keys() & there.keys() for path in _paths(here[urn], there[urn])
    }


def _paths(one: Registered, other: Registered) -> Iterator[Path]:
    if one.inputs == other.inputs:
        return
    here, there = one.leaves(), other.leaves()
    for path in here.keys() | there.keys():
        if path in here and path in there:
            if here[path].value != there[path].value:
                yield path
        else:
            yield _common(path, there if path in here else here)


def _common(path: Path, leaves: dict[Path, Any]) -> Path:
    """The longest beginning of a path that the other tree has too."""
    for length in range(len(path) - 1, 0, -1):
        if any(other[:length] == path[:length] for other in leaves):
            return path[:length]
    return path[:1]


def value_at(run: Capture, spot: PropertyRef) -> Any:
    """A leaf's value; None if it is no leaf of that run."""
    resource = run.resources.get(spot.urn)
    leaf = resource.leaves().get(spot.path) if resource else None
    return leaf.value if leaf else None


class Noise:
    """The parts of a value that are the time or an id, from two runs with the same secrets.

    Only a time of these runs or a UUID is noise. Any other difference is undecided, since it may contain a secret.
    """

    def __init__(self, since: datetime.datetime, until: datetime.datetime) -> None:
        margin = datetime.timedelta(days=1)
        self.window = ((since - margin).timestamp(), (until + margin).timestamp())

    def decides(self, first: Any, again: Any) -> bool:
        """True if every difference of two runs with the same secrets is noise."""
        return self._places(first, again) is not None

    def differs(self, first: Any, again: Any, other: Any) -> bool:
        """True if a third run differs in more than noise."""
        noisy, one, two = self._places(first, again), _split(first), _split(other)
        if noisy is None or len(one) != len(two):
            return True
        return any(
            a != b and not (place in noisy and self._is_noise(b))
            for place, (a, b) in enumerate(zip(one, two, strict=True))
        )

    def _places(self, first: Any, again: Any) -> set[int] | None:
        one, two = _split(first), _split(again)
        if len(one) != len(two):
            return None
        places = {place for place, (a, b) in enumerate(zip(one, two, strict=True)) if a != b}
        noise = all(self._is_noise(one[place]) and self._is_noise(two[place]) for place in places)
        return places if noise else None

    def _is_noise(self, text: str) -> bool:
        if re.fullmatch(_UUID, text):
            return True
        if re.fullmatch(_DATE, text):
            try:
                parsed = datetime.datetime.fromisoformat(text)
            except ValueError:
                return False
            parsed = parsed if parsed.tzinfo else parsed.replace(tzinfo=datetime.UTC)
            return self.window[0] <= parsed.timestamp() <= self.window[1]
        if re.fullmatch(_NUMBER, text):
            return any(self.window[0] <= float(text) / unit <= self.window[1] for unit in _UNITS)
        return False


def _split(value: Any) -> list[str]:
    """A value's text, cut at possible times and ids."""
    return _TOKENS.split(repr(value) if not isinstance(value, str) else value)
