"""Tests marked `nightly`: hooks of a conftest that leave them out, or keep those of one slice.

`@pytest.mark.nightly` marks a test, `pytestmark` a file, `pytest.param(..., marks=nightly_if(...))` one case; `one_in`
and `all_but` mark most cases of a list. The marker's argument, `nightly("part")`, names a part of a file: its tests
may run in another slice than the rest of the file. Without options all selected tests run.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Any

import pytest

from sandbox.bootstrap import CHECKOUT
from sandbox.commands import slices

PROPERTY = "nightly"
"""In the report of each nightly test, with its group."""
_LEAVE, _ALL = "leave", "all"
_STRAY = pytest.StashKey[str]()


def nightly_if(condition: object, *part: str) -> list[pytest.MarkDecorator]:
    """Marks for `pytest.param`: nightly under the condition, none otherwise."""
    return [pytest.mark.nightly(*part)] if condition else []


def all_but(daily: Collection[Any] | Callable[[Any], bool], values: Iterable[Any], *part: str) -> list[Any]:
    """Parameters for `parametrize`: those of `daily` run with each change, all others are nightly.

    daily: values, or a condition.
    """
    often = daily if callable(daily) else daily.__contains__
    return [pytest.param(value, marks=nightly_if(not often(value), *part)) for value in values]


def one_in(number: int, values: Iterable[Any], *part: str) -> list[Any]:
    """Parameters for `parametrize`: the first of each `number` values runs with each change, all others are nightly."""
    return [pytest.param(value, marks=nightly_if(place % number, *part)) for place, value in enumerate(values)]


def group_of(item: pytest.Item) -> str | None:
    """The nightly group of a test; None for one that runs with each change."""
    marker = item.get_closest_marker("nightly")
    if marker is None:
        return None
    file = item.path.relative_to(item.config.rootpath).as_posix()
    return f"{file}::{marker.args[0]}" if marker.args else file


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("nightly")
    group.addoption(
        "--nightly",
        default=_ALL,
        metavar="all|leave|NUMBER",
        help="tests marked nightly: run all that are selected (default), none, or those of one slice",
    )
    group.addoption("--nightly-groups", metavar="FILE", help="write the group of each nightly test, as JSON")


def select(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Takes out the nightly tests that the option leaves to another run, and gives the others their group."""
    groups = {item.nodeid: group for item in items if (group := group_of(item))}
    if file := config.getoption("nightly_groups"):
        Path(file).write_text(json.dumps(groups))
    mode = config.getoption("nightly")
    wanted: set[str] | None = None
    if mode != _ALL:
        known = slices.recorded(config.rootpath / slices.RECORDED.relative_to(CHECKOUT))
        parts = slices.slices(known)
        wanted = set() if mode == _LEAVE else set(parts[slices.chosen(mode, len(parts)) - 1])
        wanted |= _strays(items, groups, known)
    kept, left = [], []
    for item in items:
        group = groups.get(item.nodeid)
        if group is None or wanted is None or group in wanted:
            kept.append(item)
        else:
            left.append(item)
        if group:
            item.user_properties.append((PROPERTY, group))
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = kept


def _strays(items: list[pytest.Item], groups: dict[str, str], known: Collection[str]) -> set[str]:
    """Groups that no slice has: their tests stay, and fail."""
    for item in items:
        if (group := groups.get(item.nodeid)) and group not in known:
            item.stash[_STRAY] = group
    return {group for group in groups.values() if group not in known}


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    if group := item.stash.get(_STRAY, None):
        pytest.fail(
            f"The nightly group {group} is in no slice. Run its tests once, then `make slices`, and commit "
            f"{slices.RECORDED.relative_to(CHECKOUT)}.",
            pytrace=False,
        )
