"""What two runs of a stack have in common, and what each has under another name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hosted_mesh_analysis.diff.snapshot import seen, with_noise
from hosted_mesh_analysis.diff.trees import Hidden, Why
from hosted_mesh_analysis.diff.versions import Version
from hosted_mesh_analysis.runner.capture import Capture, Registered

HERE = Version(Path("/app"), Path("/app"), "the working tree")


class _Read(dict[str, Registered]):
    """Counts how often all of it is read."""

    times = 0

    def keys(self) -> Any:
        self.times += 1
        return super().keys()

    def __iter__(self) -> Iterator[str]:  # without one of its own `{**this}` does not ask for the keys
        return super().__iter__()


def run(suffix: str, types: int = 2, more: int = 0) -> Capture:
    """Resources of several types with names that end so, `more` of the first type, and one whose name is always one."""
    names = [("t0", f"more{place}") for place in range(more)] + [(f"t{place}", "x") for place in range(types)]
    made = [Registered(f"{kind}::{name}{suffix}", kind, name, {"a": suffix}, None) for kind, name in names]
    same = Registered("t0::same", "t0", "same", {"a": "b"}, None)
    return Capture(resources=_Read({one.urn: one for one in (*made, same)}))


def test_what_has_another_name_in_each_run_is_one_by_type_and_counted() -> None:
    found = seen(run("-1", more=2), run("-2", more=1), HERE).resources
    assert {key: (one.name, one.count) for key, one in found.items()} == {
        ("t0::same",): ("same", 1),
        ("", "t0"): (None, 3),
        ("", "t1"): (None, 1),
    }
    again = with_noise(seen(run("-1"), run("-2"), HERE), run("-1"), run("-3"), HERE).resources
    assert [one.tree for key, one in again.items() if not key[0]] == [Hidden(Why.EACH_RUN, 1)] * 2


def test_what_one_run_alone_has_is_counted_too() -> None:
    for runs in ((run("-1"), Capture()), (Capture(), run("-1"))):
        assert {key: one.count for key, one in seen(*runs, HERE).resources.items()} == {("", "t0"): 2, ("", "t1"): 1}


def test_runs_are_read_a_few_times_however_many_types_there_are() -> None:
    first, second = run("-1", types=100), run("-2", types=100)
    sight = seen(first, second, HERE)
    with_noise(sight, first, second, HERE)
    assert len(sight.resources) == 101
    assert first.resources.times < 10
